"""What the clients of a cluster do all the time: stream, approve, create, fork, rename, remark.

That something is refused is fine, and that a node goes away is what it is about. That an answer
never comes, or that a node breaks over a command, is not.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from websockets.exceptions import WebSocketException

from soak.cluster.history import History
from soak.cluster.visitor import Memory, Visit, visit
from tests.wire.client import WireFailure
from tests.wire.talking import calls_of, confirmed
from tests.wire.wording import annotation, forked_from

__all__ = ["Stage", "approve_all", "keep_busy"]

INTERNAL_ERROR = -32603
# Sessions that are used at a time; older ones rest, and are looked at in the end.
RECENT, MOST_SESSIONS = 16, 300
# What shows that a connection is over, depending on the moment.
GONE = (OSError, WebSocketException, AssertionError)


@dataclass
class Stage:
    """What the clients of a run share."""

    random: Random
    history: History
    # Where the nodes listen that run now.
    urls: Callable[[], list[str]]
    # Session -> its default chat.
    chats: dict[str, str] = field(default_factory=dict)
    # What no host should do, in words, and what was refused, by the reason.
    faults: list[str] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    # No new work; what runs ends.
    over: bool = False

    def some_session(self) -> str:
        """Return one of the newest sessions."""
        return self.random.choice(list(self.chats)[-RECENT:])


async def keep_busy(stage: Stage, memory: Memory) -> None:
    """Come, do things, lose the connection, come back through another node, until it is over."""
    while not stage.over:
        try:
            visiting = await visit(stage.random.choice(stage.urls()), memory)
        except (*GONE, IndexError):
            await asyncio.sleep(stage.random.uniform(0.05, 0.3))
            continue
        except WireFailure as failure:
            _refused(stage, "arrive", failure)
            await asyncio.sleep(stage.random.uniform(0.05, 0.3))
            continue
        try:
            await _work(stage, visiting)
        except GONE:
            pass
        finally:
            visiting.tell_what_is_held()
            visiting.abort()
            await visiting.close()


async def _work(stage: Stage, visiting: Visit) -> None:
    while not stage.over:
        command = stage.random.choice(COMMANDS) if stage.chats else create
        try:
            await command(stage, visiting)
            stage.done[command.__name__] += 1
        except WireFailure as failure:
            _refused(stage, command.__name__, failure)
        except TimeoutError:
            where = visiting.socket.remote_address
            stage.faults.append(
                f"{visiting.client_id}: {command.__name__} was never answered by {where}, "
                f"open: {list(visiting.memory.unanswered.items())!r:.400}"
            )
            return
        if command is leave:
            return
        await asyncio.sleep(stage.random.uniform(0.02, 0.4))


def _refused(stage: Stage, what: str, failure: WireFailure) -> None:
    stage.refusals[f"{what}: {failure}"] += 1
    if failure.code == INTERNAL_ERROR:
        stage.faults.append(f"{what} failed with {failure}")


async def _follow(visiting: Visit, *channels: str) -> None:
    for channel in channels:
        if channel not in visiting.states:
            await visiting.subscribe(channel)


async def create(stage: Stage, visiting: Visit, **more: Any) -> None:
    """Create a session and follow it."""
    if stage.random.random() < len(stage.chats) / MOST_SESSIONS:
        # The more there are the fewer come, so that some come until the end.
        return
    session = f"ahp-session:/{uuid.UUID(int=stage.random.getrandbits(128))}"
    chat = await visiting.ready_session(session, provider="worker", **more)
    stage.chats[session] = chat
    await _follow(visiting, chat, f"{session}/annotations")


async def fork(stage: Stage, visiting: Visit) -> None:
    """Begin a session with the turns of another."""
    session = stage.some_session()
    chat = stage.chats[session]
    await _follow(visiting, session, chat)
    turns = visiting.states[chat]["turns"]
    if turns:
        turn_id = stage.random.choice(turns)["id"]
        await create(stage, visiting, **forked_from(visiting.version, session, turn_id))


async def start_turn(stage: Stage, visiting: Visit) -> None:
    """Have words streamed, or a deed done; it is refused while another turn runs."""
    chat = stage.chats[stage.some_session()]
    await _follow(visiting, chat)
    text = stage.random.choice(("approve", f"stream {stage.random.randint(5, 150)}"))
    turn_id = f"t{stage.random.getrandbits(64):x}"
    await visiting.settled(chat, visiting.turn_started(turn_id, text))


async def approve(stage: Stage, visiting: Visit) -> None:
    """Allow what the client sees waiting."""
    for chat, turn_id, call in waiting(visiting):
        await visiting.settled(chat, confirmed(turn_id, call, True))


def waiting(visiting: Visit) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the calls that a client sees waiting for an approval."""
    return [
        (channel, state["activeTurn"]["id"], call)
        for channel, state in visiting.states.items()
        if "activeTurn" in state
        for call in calls_of(state["activeTurn"])
        if call["status"] == "pending-confirmation"
    ]


async def rename(stage: Stage, visiting: Visit) -> None:
    """Give a session another title."""
    session = stage.some_session()
    await _follow(visiting, session)
    title = f"title {stage.random.getrandbits(32)}"
    await visiting.settled(session, {"type": "session/titleChanged", "title": title})


async def annotate(stage: Stage, visiting: Visit) -> None:
    """Leave a remark."""
    session = stage.some_session()
    channel = f"{session}/annotations"
    await _follow(visiting, channel)
    id = f"a{stage.random.getrandbits(64):x}"
    await visiting.settled(channel, annotation(visiting.version, id, session))


async def leave(stage: Stage, visiting: Visit) -> None:
    """Lose the connection, most likely in the middle of something: ``keep_busy`` comes back."""


async def approve_all(stage: Stage, visiting: Visit, patience: float) -> list[str]:
    """Follow every chat and approve what waits until nothing runs; return the chats that do."""
    await _follow(visiting, *stage.chats.values())
    try:
        async with asyncio.timeout(patience):
            while any("activeTurn" in visiting.states[chat] for chat in stage.chats.values()):
                await approve(stage, visiting)
                await asyncio.sleep(0.1)
    except TimeoutError:
        pass
    return [chat for chat in stage.chats.values() if "activeTurn" in visiting.states[chat]]


Command = Callable[[Stage, Visit], Awaitable[None]]
COMMANDS: tuple[Command, ...] = (
    *(create,),
    *(fork,),
    *(start_turn,) * 8,
    *(approve,) * 6,
    *(rename,) * 2,
    *(annotate,) * 2,
    *(leave,),
)
