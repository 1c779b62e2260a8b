"""Sessions of several owner hosts: made, taken over, handed on, refused, fenced."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import Agent, Turn
from agenthost.cluster.commits import Tell
from agenthost.cluster.owner.host import OwnerHost
from agenthost.cluster.owner.store import ELSEWHERE, OwnedElsewhere, OwnerStore
from agenthost.cluster.units import REALM
from agenthost.host.channels.automation.kinds import RUN
from agenthost.host.channels.automation.rules import is_active
from agenthost.host.channels.automation.runs import session_of_run
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.session.consequences import CustomizationToggled
from agenthost.host.channels.session.kind import SESSION, extra_of
from agenthost.host.store import Append, DropRecord, SaveSnapshot, StoreError
from agenthost.host.trust import LOCAL_OWNER, Role
from agenthost.host.trust.principals import Starter
from agenthost.host.turns.runner import RUNNING
from agenthost.protocol.session.customizations import CustomizationEnablement
from agenthost.protocol.uris import AUTOMATIONS, ROOT, default_chat_uri
from agenthost.transport import memory_pair
from tests.cluster.owner.realm_in_memory import MemoryRealm
from tests.customizations.repository import write_files
from tests.host.test_embedding import MemoryClient

ONE, TWO = "ahp-session:/1", "ahp-session:/2"
CHAT_ONE = default_chat_uri(ONE)
ME = Starter("me", client_id="c")
PATIENCE = 30.0


class Patient(Agent):
    """Says that it works, and works until it is let go on."""

    provider, display_name = "patient", "Patient"

    def __init__(self) -> None:
        self.began = threading.Event()
        self.may_end = threading.Event()

    async def run(self, turn: Turn) -> None:
        await turn.write("working")
        self.began.set()
        while not self.may_end.is_set():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


class Other(Agent):
    provider, display_name = "other", "Other"

    async def run(self, turn: Turn) -> None:
        await turn.write("done")


class Doer(Agent):
    """Runs a tool once it is approved."""

    provider, display_name = "doer", "Doer"

    def __init__(self) -> None:
        self.deeds = 0

    async def run(self, turn: Turn) -> None:
        async with turn.tool("deed") as call:
            if await call.confirm("Do it?"):
                self.deeds += 1


async def owner(
    realm: MemoryRealm, stack: AsyncExitStack, node: str, agents: Sequence[Agent]
) -> OwnerHost:
    """Start the owner host of a node, after all that the log has."""
    store = await realm.store(stack, node)
    await store.copy.reached(realm.log.last)
    return await stack.enter_async_context(OwnerHost(store, agents=agents))


async def begin(host: OwnerHost, session: str = ONE, **described: Any) -> None:
    params = {"channel": session, "_meta": {"agenthost.keep": True}, **described}
    await host.core.sessions.create(params, ME, Role.OWNER)
    await host.core.writer.ledger.settle()


async def ask(host: OwnerHost, text: str, chat: str = CHAT_ONE) -> None:
    channel = await host.core.directory.find(chat, CHAT)
    assert channel is not None
    host.core.chats.start_turn(channel, {"text": text, "origin": {"kind": "user"}}, ME)


async def last_turn(host: OwnerHost, chat: str = CHAT_ONE) -> Any:
    """Wait until no turn runs in a chat, and return the last."""
    channel = await host.core.directory.find(chat, CHAT)
    assert channel is not None
    async with asyncio.timeout(PATIENCE):
        await host.core.turns.wait_for(
            channel, lambda state: None if state.get("activeTurn") else True
        )
    return channel.state["turns"][-1]


async def began(agent: Patient) -> None:
    assert await asyncio.to_thread(agent.began.wait, PATIENCE)


async def caught_up(host: OwnerHost, realm: MemoryRealm) -> None:
    async with asyncio.timeout(PATIENCE):
        await host._owner_store.copy.reached(realm.log.last)


@asynccontextmanager
async def link(host: OwnerHost) -> AsyncIterator[MemoryClient]:
    """A front's link to an owner."""
    ours, theirs = memory_pair()
    serving = asyncio.create_task(host.serve(theirs, hears_logs_elsewhere=True))
    client = MemoryClient(ours)
    try:
        await client.request("initialize", protocolVersions=["0.7.0"], clientId="c1")
        yield client
    finally:
        await ours.close()
        await serving


async def plugin(host: OwnerHost, session: str) -> Any:
    """Return the plugin that a session shows, once it was looked for."""
    channel = await host.core.directory.find(session, SESSION)
    assert channel is not None
    async with asyncio.timeout(PATIENCE):
        await extra_of(channel).customizations_read.wait()
    shown = channel.state.get("customizations", ())
    return next(each for each in shown if each["type"] == "plugin")


async def rejection(client: MemoryClient) -> str:
    while True:
        message = await client.receive()
        if message.get("method") == "action" and "rejectionReason" in message["params"]:
            return str(message["params"]["rejectionReason"])


async def test_a_session_lives_in_its_unit_with_what_is_told_of_it(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    host = await owner(realm, stack, "a", [Other()])
    await begin(host)
    await ask(host, "hello")
    assert (await last_turn(host))["state"] == "complete"
    await host.core.writer.ledger.settle()
    assert host.owned == {ONE}
    writes = [write for commit in realm.commits(ONE) for write in commit.writes]
    told = [write.method for write in writes if isinstance(write, Tell)]
    assert told[0] == "root/sessionAdded"
    assert "root/sessionSummaryChanged" in told
    # The root channel of a node is its own affair.
    everything = [write for commit in realm.commits() for write in commit.writes]
    touched = {write.channel for write in everything if isinstance(write, Append | SaveSnapshot)}
    assert ROOT not in touched
    assert AUTOMATIONS not in touched


async def test_an_agent_starts_when_its_turn_is_in_the_log(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    agent = Patient()
    host = await owner(realm, stack, "a", [agent])
    await begin(host)
    realm.gate.clear()
    await ask(host, "hello")
    # Whatever could run without the log has run by then.
    for _ in range(100):
        await asyncio.sleep(0)
    await asyncio.to_thread(agent.began.wait, 0.2)
    assert not agent.began.is_set()
    realm.open()
    await began(agent)
    agent.may_end.set()
    assert (await last_turn(host))["state"] == "complete"


async def test_an_agent_waits_while_the_feed_is_silent(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    agent = Patient()
    host = await owner(realm, stack, "a", [agent])
    await begin(host)
    realm.log.silence = 100
    await ask(host, "hello")
    await host.core.writer.ledger.settle()
    await asyncio.to_thread(agent.began.wait, 0.2)
    assert not agent.began.is_set()
    realm.log.silence = 0
    await began(agent)
    agent.may_end.set()
    await last_turn(host)


@pytest.mark.parametrize("is_known_to_run", [True, False])
async def test_who_takes_over_ends_the_turns_that_were_interrupted(
    realm: MemoryRealm, stack: AsyncExitStack, is_known_to_run: bool
) -> None:
    agent = Patient()
    dead = await owner(realm, stack, "a", [agent])
    await begin(dead)
    await ask(dead, "hello")
    await began(agent)
    await dead.core.writer.ledger.settle()
    if not is_known_to_run:
        await dead._owner_store.write_to(ONE, DropRecord(RUNNING, CHAT_ONE))
    agent.may_end.set()
    # As if it had been killed: nothing more of it reaches the log.
    dead._owner_store.fail(StoreError("killed"))
    host = await owner(realm, stack, "b", [Other()])
    assert host.owned == frozenset()
    with pytest.raises(Exception, match=ELSEWHERE):
        await host.core.directory.find(CHAT_ONE)
    assert all(await asyncio.gather(host.own(ONE), host.own(ONE)))
    turn = await last_turn(host)
    assert turn["state"] == "error"
    assert turn["responseParts"][-1]["error"]["errorType"] == "hostRestarted"
    owners = [commit.node for commit in realm.commits(ONE)]
    assert owners.index("b") > 0
    assert set(owners[owners.index("b") :]) == {"b"}


async def test_a_host_that_was_fenced_fails_and_leaves_quietly(realm: MemoryRealm) -> None:
    async with AsyncExitStack() as stack:
        zombie = await owner(realm, stack, "a", [Other()])
        await begin(zombie)
        await begin(zombie, TWO)
        host = await owner(realm, stack, "b", [Other()])
        assert await host.own(ONE)
        await ask(zombie, "hello")
        with pytest.raises(StoreError, match="another node owns"):
            async with asyncio.timeout(PATIENCE):
                await zombie.serve_forever()
        before = len(realm.commits())
        with pytest.raises(StoreError):
            await zombie.own(TWO + "0")
        assert len(realm.commits()) == before
    # Neither of them raised when it was left, and the second goes on with the session.
    assert "hello" not in str(realm.commits(ONE))


async def test_owner_hosts_that_were_made_anew_leave_nothing_behind(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    copy = await realm.copy(stack, "a")
    tellers = len(copy._tellers)
    left: list[weakref.ref[OwnerHost]] = []
    for _ in range(10):
        async with OwnerHost(OwnerStore(copy, realm, "a"), agents=[Other()]) as host:
            assert await host.own(REALM)
            await host.lead()
            assert len(copy._tellers) == tellers + 1
            left.append(weakref.ref(host))
        del host
    assert len(copy._tellers) == tellers
    gc.collect()
    assert [each for each in left if each() is not None] == []


async def test_an_owner_that_is_cut_off_does_not_run_what_was_approved(realm: MemoryRealm) -> None:
    zombies, heirs = Doer(), Doer()
    async with AsyncExitStack() as stack:
        zombie = await owner(realm, stack, "a", [zombies])
        await begin(zombie)
        await ask(zombie, "hello")
        chat = await zombie.core.directory.find(CHAT_ONE, CHAT)
        assert chat is not None
        await zombie.core.turns.wait_for(chat, _asks)
        await zombie.core.writer.ledger.settle()
        realm.cut_off["a"] = asyncio.Event()
        _approve(zombie, chat)
        assert _call(chat.state)["status"] == "running"
        # Nobody heard of that, so it is not what counts.
        host = await owner(realm, stack, "b", [heirs])
        assert await host.own(ONE)
        assert "pending-confirmation" not in str(await last_turn(host))
        realm.cut_off["a"].set()
        with pytest.raises(StoreError, match="another node owns"):
            async with asyncio.timeout(PATIENCE):
                await zombie.serve_forever()
    assert zombies.deeds == heirs.deeds == 0
    assert "chat/toolCallConfirmed" not in str([c for c in realm.commits(ONE) if c.node == "a"])


async def test_what_was_approved_runs_once_that_is_in_the_log(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    agent = Doer()
    host = await owner(realm, stack, "a", [agent])
    await begin(host)
    await ask(host, "hello")
    chat = await host.core.directory.find(CHAT_ONE, CHAT)
    assert chat is not None
    await host.core.turns.wait_for(chat, _asks)
    _approve(host, chat)
    await last_turn(host)
    assert agent.deeds == 1


def _call(state: Any) -> Any:
    return state["activeTurn"]["responseParts"][-1]["toolCall"]


def _asks(state: Any) -> bool | None:
    parts = (state.get("activeTurn") or {}).get("responseParts")
    return True if parts and _call(state)["status"] == "pending-confirmation" else None


def _approve(host: OwnerHost, chat: Any) -> None:
    turn, call = chat.state["activeTurn"]["id"], _call(chat.state)["toolCallId"]
    approved = {"approved": True, "confirmed": "user-action"}
    action = {"type": "chat/toolCallConfirmed", "turnId": turn, "toolCallId": call, **approved}
    host.core.writer.apply(chat, action)


async def test_a_session_is_handed_on_with_its_running_turn_ended(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    agent = Patient()
    first = await owner(realm, stack, "a", [agent])
    second = await owner(realm, stack, "b", [Patient()])
    await begin(first)
    await ask(first, "hello")
    await began(agent)
    async with asyncio.timeout(PATIENCE):
        await first.give_up(ONE, "b", wait=0.05, reason="the machine a is going down")
    assert first.owned == frozenset()
    assert first.core.directory.get(ONE) is None
    assert first.core.directory.get(CHAT_ONE) is None
    await caught_up(second, realm)
    assert second._owner_store.copy.owner_of(ONE) == "b"
    assert await second.own(ONE)
    turn = await last_turn(second)
    assert turn["responseParts"][-1]["error"]["message"] == "the machine a is going down"
    agent.may_end.set()
    # And back again.
    await second.give_up(ONE, "a", wait=0)
    await caught_up(first, realm)
    assert await first.own(ONE)
    session = await first.core.directory.find(ONE, SESSION)
    assert session is not None
    assert first._failed is not None
    assert not first._failed.done()


async def test_a_handover_waits_for_turns_that_end(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    agent = Patient()
    host = await owner(realm, stack, "a", [agent])
    await begin(host)
    await ask(host, "hello")
    await began(agent)
    giving = asyncio.create_task(host.give_up(ONE, None, wait=PATIENCE))
    agent.may_end.set()
    async with asyncio.timeout(PATIENCE):
        await giving
    text = str(realm.commits(ONE))
    assert "chat/turnComplete" in text
    assert "hostStopped" not in text


async def test_a_session_without_its_agent_is_kept_but_takes_no_turns(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    first = await owner(realm, stack, "a", [Other()])
    await begin(first)
    await first.give_up(ONE, None, wait=0)
    host = await owner(realm, stack, "b", [Patient()])
    assert await host.own(ONE)
    async with link(host) as client:
        client.start_turn(CHAT_ONE, "hello")
        assert "no machine with the agent other is up" in await rejection(client)
    session = await host.core.directory.find(ONE, SESSION)
    assert session is not None
    host.core.writer.apply(session, {"type": "session/titleChanged", "title": "still mine"})
    await host.core.writer.ledger.settle()
    assert "still mine" in str(realm.commits(ONE))


async def test_what_is_asked_of_the_wrong_owner_is_refused_with_a_name(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    first = await owner(realm, stack, "a", [Other()])
    await begin(first)
    host = await owner(realm, stack, "b", [Other()])
    async with link(host) as client:
        client.start_turn(CHAT_ONE, "hello")
        assert (await rejection(client)).endswith(ELSEWHERE)
    with pytest.raises(OwnedElsewhere):
        await begin(host)
    assert host.owned == frozenset()


async def test_one_leads_and_its_settings_are_everybodys(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    leader = await owner(realm, stack, "a", [Other()])
    follower = await owner(realm, stack, "b", [Other()])
    assert await leader.own(REALM)
    await leader.lead()
    assert leader.core.directory.get(AUTOMATIONS) is not None
    assert follower.core.directory.get(AUTOMATIONS) is None
    changed = {"type": "root/configChanged", "config": {"promptTimeout": 7}}
    leader.core.writer.apply(leader.core.root, changed)
    await leader.core.writer.ledger.settle()
    await caught_up(follower, realm)
    assert follower.core.config.seconds("promptTimeout") == 7
    await leader.give_up(REALM, None, wait=0)
    await caught_up(follower, realm)
    assert await follower.own(REALM)
    await follower.lead()
    assert follower.core.directory.get(AUTOMATIONS) is not None
    assert leader.core.directory.get(AUTOMATIONS) is None


async def test_a_run_finds_the_session_that_was_made_for_it_before_its_owner_died(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    async with AsyncExitStack() as first:
        host = await owner(realm, first, "a", [Other()])
        assert await host.own(REALM)
        await host.lead()
        run = host.core.automations._runs.claim("ahp-automation:/gone", {"kind": "manual"})
        session = session_of_run(run.uri)
        origin: Any = {"kind": "automation", "automation": "ahp-automation:/gone", "run": run.uri}
        await host.core.sessions.create({"channel": session}, ME, Role.OWNER, origin=origin)
        await host.core.writer.ledger.settle()
    host = await owner(realm, stack, "a", [Other()])
    assert await host.own(REALM)
    await host.lead()
    again = await host.core.directory.find(run.uri, RUN)
    assert again is not None
    async with asyncio.timeout(PATIENCE):
        while is_active(again.state["lifecycle"]):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert again.state.get("primarySession") == session


async def test_what_one_owner_trusts_others_hear_of(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    first = await owner(realm, stack, "a", [Other()])
    second = await owner(realm, stack, "b", [Other()])
    servers = {"digest": "server"}
    first.core.folder_trust.trust("/work", servers, by=LOCAL_OWNER, session=ONE)
    async with asyncio.timeout(PATIENCE):
        while not second.core.folder_trust.is_trusted("/work", "digest", TWO):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    first.core.folder_trust.forget("/work")
    async with asyncio.timeout(PATIENCE):
        while second.core.folder_trust.is_trusted("/work", "digest", TWO):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_what_one_owner_switches_off_everywhere_others_show(
    realm: MemoryRealm, stack: AsyncExitStack, tmp_path: Path
) -> None:
    write_files(tmp_path, {".agents/plugins/box/skills/one/SKILL.md": "---\nname: one\n---\n"})
    first = await owner(realm, stack, "a", [Other()])
    second = await owner(realm, stack, "b", [Other()])
    for host, name in ((first, ONE), (second, TWO)):
        await begin(host, name, workingDirectories=[tmp_path.as_uri()])
    entry = await plugin(first, ONE)
    assert "enablement" not in await plugin(second, TWO)
    session = await first.core.directory.find(ONE, SESSION)
    assert session is not None
    off: CustomizationEnablement = {"kind": "global", "enabled": False}
    first.core.effects.carry_out(CustomizationToggled(session, entry, None, (off,)))
    for host, name in ((first, ONE), (second, TWO)):
        async with asyncio.timeout(PATIENCE):
            while (await plugin(host, name)).get("enablement") != [off]:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
