"""Whatever happens to the wires and to the host: in the end all agree, and nobody was misled."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agenthost.client import (
    Channel,
    ChannelGone,
    Client,
    Dispatch,
    NotSent,
    Rejected,
    Uncertain,
    Unsupported,
)
from agenthost.client.chat import Chat
from agenthost.client.sessions import Session
from agenthost.protocol import SUPPORTED_VERSIONS, translator
from agenthost.protocol.status import IS_ARCHIVED, IS_READ
from tests.client.world import World
from tests.thoroughness import examples
from tests.wire.client import promised

Json = dict[str, Any]

# Seconds in which the dust must have settled.
PATIENCE = 60.0


# What may happen


@dataclass(frozen=True)
class Act:
    """A client does something."""

    client: int
    what: str


@dataclass(frozen=True)
class Deliver:
    """Some messages of a client's wire arrive, in each direction."""

    client: int
    up: int
    down: int


@dataclass(frozen=True)
class Cut:
    """A client's wire is cut; a few more messages arrive before that."""

    client: int
    up: int
    down: int


@dataclass(frozen=True)
class Restart:
    """The host ends, properly or not, and another one takes its place after a while."""

    crash: bool
    ticks: int


@dataclass(frozen=True)
class Pass:
    """Time passes for whoever has something to do."""

    ticks: int


Step = Act | Deliver | Cut | Restart | Pass

# Decisions are frequent, because most of the time there is nothing to decide on.
DECISIONS = ("approve", "deny", "answer")
ACTS = ("title", "annotate", "reply", "queue", "say", "wait", "fail", "cancel", "steer", "truncate",
        "draft", "leave", "read", "confirm", "ask", *("stumble",) * 4, *("resume",) * 6,
        *DECISIONS * 3)  # fmt: skip


def script(seed: int, length: int) -> tuple[list[str], list[Step]]:
    """Make up what happens: the versions of two to five clients, and steps as likely as in life.

    From a seed rather than drawn one by one: what shrinks is the length, and long stories, in
    which much is under way at once, are as likely as short ones.
    """
    random = Random(seed)
    versions = [random.choice(SUPPORTED_VERSIONS) for _ in range(random.randint(2, 5))]
    return versions, [_step(random, len(versions)) for _ in range(length)]


def _step(random: Random, clients: int) -> Step:
    client = random.randrange(clients)
    match random.choices(("act", "deliver", "pass", "cut", "restart"), (40, 30, 25, 4, 1))[0]:
        case "act":
            return Act(client, random.choice(ACTS))
        case "deliver":
            return Deliver(client, random.randint(0, 9), random.randint(0, 9))
        case "cut":
            return Cut(client, random.randint(0, 4), random.randint(0, 4))
        case "restart":
            return Restart(random.random() < 0.5, random.randint(0, 5))
    return Pass(random.randint(1, 30))


SCRIPTS = st.builds(script, st.integers(0, 2**32 - 1), st.integers(1, 120) | st.just(120))


@dataclass
class Person:
    """A client, what it looks at, and what it did."""

    name: str
    version: str
    client: Client
    session: Session
    chat: Chat
    notes: Any
    # How many turns of the chat it asked for; None for all.
    turns: int | None
    done: list[Dispatch] = field(default_factory=list)


class Play:
    """Carries out the steps."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.people: list[Person] = []
        self._count = 0

    async def gather(self, versions: list[str]) -> None:
        first = await self.world.join("p0", versions[0])
        session = await first.sessions.create(uri="ahp-session:/s")
        session.close()
        for number, version in enumerate(versions):
            name = f"p{number}"
            client = first if number == 0 else await self.world.join(name, version)
            assert client.version == version
            entered = await client.sessions.get("ahp-session:/s")
            # Every third one wants to see the end of the chat only.
            turns = 2 if number % 3 == 2 else None
            chat, notes = await entered.chat(turns=turns), await entered.annotations()
            self.people.append(Person(name, version, client, entered, chat, notes, turns))

    async def step(self, step: Step) -> None:
        match step:
            case Act(client, what):
                self._act(self.people[client % len(self.people)], what)
            case Deliver(client, up, down):
                self._wire(client).let_through(up, down)
            case Cut(client, up, down):
                self._wire(client).cut(up, down)
            case Restart(crash, ticks):
                await (self.world.kill() if crash else self.world.stop())
                await self.world.passing(ticks)
                await self.world.start()
            case Pass(ticks):
                await self.world.passing(ticks)

    def _wire(self, client: int) -> Any:
        return self.world.wire(self.people[client % len(self.people)].name)

    def _act(self, person: Person, what: str) -> None:
        self._count += 1
        if what == "resume":
            # Most versions have no word for it; who can do it does.
            able = [p for p in self.people if translator(p.version).exists("chat/turnResume")]
            person = able[self._count % len(able)] if able else person
        try:
            dispatch = self._dispatch(person, what, f"{what} {self._count}")
        except (ChannelGone, Unsupported):
            return
        if dispatch is not None:
            person.done.append(dispatch)

    def _dispatch(self, person: Person, what: str, unique: str) -> Dispatch | None:
        chat, notes = person.chat, person.notes
        match what:
            case "title":
                return person.session.rename(unique)
            case "read":
                read = bool(person.session.state["status"] & 32)
                return person.session.mark_read(not read)
            case "annotate":
                dispatch: Dispatch = notes.add("file:///a", unique, turn_id="t")[1]
                return dispatch
            case "reply":
                known = notes.state["annotations"]
                return notes.reply(known[0]["id"], unique) if known else None
            case "queue":
                return chat.queue(f"say {self._count % 7}")
            case "resume":
                # Most of the time there is nothing to resume.
                with contextlib.suppress(LookupError):
                    return chat.resume().started
                return None
            case "say" | "fail" | "stumble":
                return chat.send(f"{what} {self._count % 7}").started
            case "wait" | "ask" | "confirm":
                return chat.send(what).started
            case "approve" | "deny":
                call = waiting(chat, "toolCall")
                decide = chat.approve if what == "approve" else chat.deny
                return decide(call) if call is not None else None
            case "answer":
                request = waiting(chat, "request")
                return chat.answer(request, unique) if request is not None else None
            case "cancel":
                return chat.cancel()
            case "steer":
                return chat.steer(unique)
            case "truncate":
                turns = chat.state["turns"]
                return chat.truncate(turns[len(turns) // 2]["id"]) if turns else None
            case "draft":
                return chat.draft(unique)
            case "leave":
                self._wire(self.people.index(person)).end(1001, "bye")
        return None

    async def settle(self) -> None:
        """Let everything through, and wait until nothing is under way any more."""
        self.world.calm_down()
        async with asyncio.timeout(PATIENCE):
            await self._heard()
            outcomes = [dispatch.outcome for person in self.people for dispatch in person.done]
            if outcomes:
                await asyncio.wait(outcomes)
            before = None
            while before != (before := self._truth()):
                # The end of one turn may be the beginning of the next one.
                await self._end_waiting()
                await self._heard()

    async def _heard(self) -> None:
        """Wait until everybody has heard what the host has decided by now."""
        for person in (*self.people, *self.people):
            await person.client.request("ping")

    def _truth(self) -> list[Any]:
        """Return the states of the channels that everybody follows, as the host holds them."""
        assert self.world.host is not None
        person = self.people[0]
        uris = (person.session.uri, person.chat.uri, person.notes.channel.uri)
        held = [self.world.host.core.directory.get(uri) for uri in uris]
        return [None if channel is None else channel.state for channel in held]

    async def _end_waiting(self) -> None:
        chat = self.people[0].chat
        while "activeTurn" in chat.channel.confirmed:
            waiting = chat.cancel()
            assert waiting is not None
            try:
                await waiting
            except Rejected:
                # It ended by itself.
                await self.people[0].client.request("ping")


def waiting(chat: Chat, key: str) -> Json | None:
    """Return the call or the request of the turn under way that waits for somebody."""
    parts: list[Any] = (chat.active_turn or {"responseParts": []})["responseParts"]
    for part in parts:
        found: Json | None = None if "response" in part else part.get(key)
        if found is not None and found.get("status") in (None, "pending-confirmation"):
            return found
    return None


# What must hold


async def assert_all_agree(play: Play) -> None:
    """Check that each mirror holds what a fresh snapshot in its own version does."""
    for person in play.people:
        observer = await play.world.join(f"observer {person.name}", person.version)
        channels: list[Channel[Any]] = [person.session.channel, person.chat.channel]
        for held in (*channels, person.notes.channel):
            assert held.pending == ()
            fresh = await observer.subscribe(held.uri)
            for one, other in (
                (held.mirror.raw, fresh.mirror.raw),
                (held.state, fresh.state),
            ):
                shown = one if held.window.is_whole else unwindowed(one, other)
                assert comparable(shown, person.version) == comparable(other, person.version)
        if person.version == SUPPORTED_VERSIONS[0] and person.turns is None:
            host = play.world.host
            assert host is not None
            truth = host.core.directory.get(person.chat.uri)
            assert truth is not None
            assert promised(person.chat.state) == promised(truth.state)
        root = await observer.subscribe("ahp-root://")
        assert promised(person.client.root.state) == promised(root.state)


def comparable(state: Json, version: str) -> Json:
    """Return of a state what a client of this version holds as a fresh snapshot has it."""
    kept: Json = promised(state, version)
    if "turns" in kept and not translator(version).exists("chat/isReadChanged"):
        # It is not told when single chats are read or archived.
        return {**kept, "status": kept["status"] & ~(IS_READ | IS_ARCHIVED)}
    return kept


def unwindowed(end: Json, whole: Json) -> Json:
    """Return a state that holds the end of a chat as if it held all of it."""
    turns = end["turns"]
    hidden = whole["turns"][: len(whole["turns"]) - len(turns)]
    shown = {key: value for key, value in end.items() if key != "turnsNextCursor"}
    cursor = {"turnsNextCursor": whole["turnsNextCursor"]} if "turnsNextCursor" in whole else {}
    return {**shown, **cursor, "turns": [*hidden, *turns]}


# Actions that may change nothing: what was read is read, and a chat is cut behind its last turn.
MAY_BE_VOID = ("session/isReadChanged", "chat/truncated")


def assert_nobody_was_misled(play: Play) -> None:
    """Check every action's outcome against what the host made durable."""
    took_effect = play.world.backing.origins()
    assert len(took_effect) == len(set(took_effect)), "something took effect twice"
    for person in play.people:
        for dispatch in person.done:
            times = took_effect.count((person.name, dispatch.client_seq))
            match dispatch.outcome.exception():
                case None:
                    # What changed nothing is accepted and leaves no trace.
                    may_be_void = dispatch.action["type"] in MAY_BE_VOID
                    assert times == 1 or may_be_void, f"{dispatch.action} vanished"
                case Rejected() | NotSent():
                    assert times == 0, f"{dispatch.action} took effect behind its caller's back"
                case Uncertain():
                    assert times <= 1
                case other:
                    raise AssertionError(f"{dispatch.action} ended with {other!r}")


async def perform(
    versions: list[str], steps: list[Step], make_world: Callable[[], World] = World
) -> None:
    """Play a script to its end, and check what must hold then."""
    async with make_world() as world:
        play = Play(world)
        await play.gather(versions)
        world.trouble()
        for step in steps:
            await play.step(step)
        await play.settle()
        await assert_all_agree(play)
        assert_nobody_was_misled(play)


@examples(150)
@given(SCRIPTS)
def test_all_clients_agree_with_the_host_when_the_dust_settles(
    told: tuple[list[str], list[Step]],
) -> None:
    asyncio.run(perform(*told))
