"""What begins while a session comes to an owner host, or is about to leave it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any

import pytest

from agenthost.cluster.owner.store import ELSEWHERE, OwnedElsewhere
from agenthost.host.channels.chat.extra import extra_of
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.session.kind import SESSION
from agenthost.host.store import StoreError
from agenthost.host.trust import LOCAL_OWNER
from agenthost.protocol.uris import default_chat_uri
from tests.cluster.owner.realm_in_memory import MemoryRealm
from tests.cluster.owner.test_owner_host import (
    CHAT_ONE,
    ME,
    ONE,
    PATIENCE,
    TWO,
    Other,
    Patient,
    ask,
    began,
    begin,
    caught_up,
    last_turn,
    link,
    owner,
    rejection,
)

# What is asked of an agent whose sessions have many chats.
MANY_CHATS: Any = SimpleNamespace(capabilities={"multipleChats": {}}, models=())


class Pause:
    """Holds calls of a function up, until it is over."""

    def __init__(self, function: Callable[..., Awaitable[Any]]) -> None:
        self._function = function
        self.is_reached = asyncio.Event()
        self.over = asyncio.Event()

    async def __call__(self, *args: Any) -> Any:
        self.is_reached.set()
        await self.over.wait()
        return await self._function(*args)


class PauseBehind(Pause):
    """Holds its results up."""

    async def __call__(self, *args: Any) -> Any:
        result = await self._function(*args)
        self.is_reached.set()
        await self.over.wait()
        return result


async def test_a_turn_that_is_sent_while_its_session_is_taken_up_is_not_taken_for_an_old_one(
    realm: MemoryRealm, stack: AsyncExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await owner(realm, stack, "a", [Other()])
    second = await owner(realm, stack, "b", [Other()])
    await begin(first)
    await first.give_up(ONE, "b", wait=0)
    await caught_up(second, realm)
    pause = Pause(second.core.drafts.take_up)
    monkeypatch.setattr(second.core.drafts, "take_up", pause)
    owning = asyncio.create_task(second.own(ONE))
    async with asyncio.timeout(PATIENCE), link(second) as client:
        await pause.is_reached.wait()
        # Nobody is told yet that it is owned here, and whoever knows is to send it again.
        assert second.owned == frozenset()
        client.start_turn(CHAT_ONE, "hello")
        assert (await rejection(client)).endswith(ELSEWHERE)
        pause.over.set()
        assert await owning
        assert second.owned == {ONE}
        await ask(second, "hello")
        assert (await last_turn(second))["state"] == "complete"
    assert "hostRestarted" not in str(realm.commits(ONE))


async def test_taking_up_that_failed_is_done_again(
    realm: MemoryRealm, stack: AsyncExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Patient()
    dead = await owner(realm, stack, "a", [agent])
    await begin(dead)
    await ask(dead, "hello")
    await began(agent)
    await dead.core.writer.ledger.settle()
    host = await owner(realm, stack, "b", [Other()])
    taken_up: list[str] = []

    async def fail(session: str) -> None:
        taken_up.append(session)
        raise TimeoutError

    with monkeypatch.context() as broken:
        broken.setattr(host.core.drafts, "take_up", fail)
        with pytest.raises(TimeoutError):
            await host.own(ONE)
    assert taken_up == [ONE]
    assert host.owned == frozenset()
    assert await host.own(ONE)
    assert (await last_turn(host))["state"] == "error"
    agent.may_end.set()


async def test_an_owner_that_leaves_takes_on_nothing_and_begins_nothing(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    agent = Patient()
    host = await owner(realm, stack, "a", [agent])
    await begin(host)
    await ask(host, "runs")
    await began(agent)
    await begin(host, TWO)
    await host.leave()
    async with asyncio.timeout(PATIENCE), link(host) as client:
        client.start_turn(default_chat_uri(TWO), "hello")
        assert (await rejection(client)).endswith(ELSEWHERE)
    with pytest.raises(OwnedElsewhere):
        await begin(host, TWO + "1")
    assert not await host.own(TWO + "2")
    assert host.owned == {ONE, TWO}
    # What runs has its time.
    assert host.core.turns.running == 1
    agent.may_end.set()
    assert (await last_turn(host))["state"] == "complete"


async def test_what_was_being_taken_up_when_an_owner_was_to_leave_is_among_what_it_hands_on(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    first = await owner(realm, stack, "a", [Other()])
    host = await owner(realm, stack, "b", [Other()])
    await begin(first)
    await first.give_up(ONE, "b", wait=0)
    await caught_up(host, realm)
    realm.gate.clear()
    owning = asyncio.create_task(host.own(ONE))
    making = asyncio.create_task(begin(host, TWO))
    async with asyncio.timeout(PATIENCE):
        while len(realm.in_flight) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0)
        leaving = asyncio.create_task(host.leave())
        await asyncio.sleep(0.05)
        assert not leaving.done()
        realm.open()
        await leaving
        assert host.owned == {ONE, TWO}
        assert await owning
        await making
        for unit in (ONE, TWO):
            await host.give_up(unit, "a", wait=0)
        await caught_up(first, realm)
        assert await first.own(TWO)
        session = await first.core.directory.find(TWO, SESSION)
    assert session is not None
    assert session.state["lifecycle"] == "ready"


async def test_a_session_is_not_given_up_before_it_is_made(
    realm: MemoryRealm, stack: AsyncExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await owner(realm, stack, "a", [Other()])
    second = await owner(realm, stack, "b", [Other()])
    pause = PauseBehind(first._owner_store.claim_new)
    monkeypatch.setattr(first._owner_store, "claim_new", pause)
    making = asyncio.create_task(begin(first))
    async with asyncio.timeout(PATIENCE):
        await pause.is_reached.wait()
        giving = asyncio.create_task(first.give_up(ONE, "b", wait=0))
        await asyncio.sleep(0)
        pause.over.set()
        await making
        await giving
        await caught_up(second, realm)
        assert await second.own(ONE)
        assert await second.core.directory.find(CHAT_ONE, CHAT) is not None
    assert first._owner_store.failure is None


async def test_what_is_read_while_its_session_is_given_up_is_nobodys_here(
    realm: MemoryRealm, stack: AsyncExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = await owner(realm, stack, "a", [Other()])
    await begin(maker)
    await maker.give_up(ONE, "b", wait=0)
    host = await owner(realm, stack, "b", [Other()])
    assert await host.own(ONE)
    pause = PauseBehind(host._owner_store.load_whole)
    monkeypatch.setattr(host._owner_store, "load_whole", pause)
    finding = asyncio.create_task(host.core.directory.find(CHAT_ONE, CHAT))
    async with asyncio.timeout(PATIENCE):
        await pause.is_reached.wait()
        await host.give_up(ONE, "a", wait=0)
        pause.over.set()
        with pytest.raises(OwnedElsewhere):
            await finding
    assert host.core.directory.get(CHAT_ONE) is None


async def test_the_first_message_of_a_chat_that_is_made_in_a_leaving_session_waits(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    agent = Patient()
    first = await owner(realm, stack, "a", [agent])
    second = await owner(realm, stack, "b", [Patient()])
    await begin(first)
    await ask(first, "hello")
    await began(agent)
    giving = asyncio.create_task(first.give_up(ONE, "b", wait=PATIENCE))
    await asyncio.sleep(0)
    message = {"text": "beside it", "origin": {"kind": "user"}}
    params = {"channel": ONE, "chat": "ahp-chat:/other", "initialMessage": message}
    await first.core.chats.create(params, MANY_CHATS, ME)
    assert first.core.turns.running == 1
    agent.may_end.set()
    async with asyncio.timeout(PATIENCE):
        await giving
        await caught_up(second, realm)
        assert await second.own(ONE)
        chat = await second.core.directory.find("ahp-chat:/other", CHAT)
        assert chat is not None
        await second.core.turns.wait_for(chat, lambda state: state.get("activeTurn"))
    assert chat.state["activeTurn"]["message"]["text"] == "beside it"
    assert second.core.turns._running[chat.uri].starter == ME
    assert "hostRestarted" not in str(realm.commits(ONE))


async def test_a_session_whose_turn_can_be_recorded_no_more_is_not_waited_for(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    host = await owner(realm, stack, "a", [Other()])
    await begin(host)
    realm.gate.clear()
    await ask(host, "hello")
    (running,) = host.core.turns._running.values()
    host._owner_store.fail(StoreError("the realm is gone"))
    assert running.task is not None
    async with asyncio.timeout(PATIENCE):
        await asyncio.wait({running.task})
        assert host.core.turns.running == 1
        await host.core.turns.rest(ONE, 100 * PATIENCE, "the session goes")
    assert host.core.turns.running == 0
    realm.open()


async def test_what_was_being_judged_when_its_session_went_is_sent_to_who_has_it(
    realm: MemoryRealm, stack: AsyncExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = await owner(realm, stack, "a", [Other()])
    await begin(host)
    pause = Pause(CHAT.gather)
    monkeypatch.setattr(type(CHAT), "gather", staticmethod(pause))
    async with asyncio.timeout(PATIENCE), link(host) as client:
        client.start_turn(CHAT_ONE, "hello")
        await pause.is_reached.wait()
        await host.give_up(ONE, "b", wait=0)
        pause.over.set()
        assert (await rejection(client)).endswith(ELSEWHERE)


async def test_a_chat_that_was_being_made_when_its_session_went_is_made_by_who_has_it(
    realm: MemoryRealm, stack: AsyncExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = await owner(realm, stack, "a", [Other()])
    await begin(host)
    pause = Pause(host._owner_store.load_whole)
    monkeypatch.setattr(host._owner_store, "load_whole", pause)
    params = {"channel": ONE, "chat": "ahp-chat:/other"}
    making = asyncio.create_task(host.core.chats.create(params, MANY_CHATS, ME))
    async with asyncio.timeout(PATIENCE):
        await pause.is_reached.wait()
        await host.give_up(ONE, "b", wait=0)
        pause.over.set()
        with pytest.raises(OwnedElsewhere):
            await making


async def test_queued_messages_are_their_authors_wherever_they_begin(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    agents = [Patient(), Patient()]
    first = await owner(realm, stack, "a", [agents[0]])
    second = await owner(realm, stack, "b", [agents[1]])
    await begin(first)
    async with asyncio.timeout(PATIENCE), link(first) as client:
        client.start_turn(CHAT_ONE, "hello")
        await began(agents[0])
        for number in (2, 3):
            message = {"text": f"message {number}", "origin": {"kind": "user"}}
            pending = {"type": "chat/pendingMessageSet", "kind": "queued", "id": f"q{number}"}
            action = {**pending, "message": message}
            params = {"channel": CHAT_ONE, "clientSeq": number, "action": action}
            client.send(method="dispatchAction", params=params)
        await client.request("ping")
        giving = asyncio.create_task(first.give_up(ONE, "b", wait=PATIENCE))
        agents[0].may_end.set()
        await giving
        await caught_up(second, realm)
        assert await second.own(ONE)
        await began(agents[1])
        running = second.core.turns._running[CHAT_ONE]
        assert running.channel.state["queuedMessages"][0]["id"] == "q3"
        for author in (running.starter, extra_of(running.channel).authors["q3"]):
            assert (author.principal, author.client_id) == (LOCAL_OWNER.name, "c1")
        agents[1].may_end.set()


async def test_what_is_queued_waits_where_its_agent_is_not(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    agent = Patient()
    first = await owner(realm, stack, "a", [agent])
    second = await owner(realm, stack, "b", [Other()])
    await begin(first)
    async with asyncio.timeout(PATIENCE):
        await ask(first, "hello")
        await began(agent)
        chat = await first.core.directory.find(CHAT_ONE, CHAT)
        assert chat is not None
        message = {"text": "later", "origin": {"kind": "user"}}
        pending = {"type": "chat/pendingMessageSet", "kind": "queued", "id": "q"}
        first.core.writer.apply(chat, {**pending, "message": message})
        giving = asyncio.create_task(first.give_up(ONE, "b", wait=PATIENCE))
        agent.may_end.set()
        await giving
        await caught_up(second, realm)
        assert await second.own(ONE)
        chat = await second.core.directory.find(CHAT_ONE, CHAT)
        assert chat is not None
        assert [turn["state"] for turn in chat.state["turns"]] == ["complete"]
        assert [each["id"] for each in chat.state["queuedMessages"]] == ["q"]
        await second.give_up(ONE, "a", wait=0)
        await caught_up(first, realm)
        assert await first.own(ONE)
        turn = await last_turn(first)
    assert (turn["message"]["text"], turn["state"]) == ("later", "complete")
