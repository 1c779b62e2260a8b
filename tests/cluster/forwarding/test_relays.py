"""What owners keep in memory alone is seen and used through a front."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from agenthost.cluster.front import relays
from agenthost.host.channels.terminal.server_log import LogTerminal
from agenthost.host.trust import Limits
from agenthost.transport import CloseCode
from tests.cluster.forwarding.bed import bed, until
from tests.wire.client import ROOT
from tests.wire.shells import TERMINAL, create, shows, types

SESSION = "ahp-session:/s"


async def test_a_terminal_is_used_from_two_clients_of_a_front(tmp_path: Path) -> None:
    async with bed(tmp_path) as realm, realm.client("ann", ROOT) as ann:
        await create(ann)
        await types(ann, 'echo wor""ked\r')
        await shows(ann, "worked")
        async with realm.client("bob", ROOT) as bob:
            await bob.subscribe(TERMINAL)
            await shows(bob, "worked")
            resized = {"type": "terminal/resized", "cols": 100, "rows": 30}
            await ann.accepted(TERMINAL, resized)
            await bob.action(TERMINAL, "terminal/resized", cols=100)
            # Too small: the owner makes something else of it, and its sender is told.
            seq = await ann.dispatch(TERMINAL, {**resized, "cols": 0, "rows": 0})
            told = await ann.envelope(
                TERMINAL, lambda each: (each.get("origin") or {}).get("clientSeq") == seq
            )
            assert told["action"].get("cols", 1) > 0 or "rejectionReason" in told
            assert len(realm.forwarding.pending) == 0
        await ann.request("disposeTerminal", channel=TERMINAL)
        assert (await ann.refusal("subscribe", channel=TERMINAL)).code == -32008


async def test_a_log_that_is_in_no_list_is_found_and_read(tmp_path: Path) -> None:
    async with bed(tmp_path) as realm, realm.client("ann", ROOT) as ann:
        chat = await ann.ready_session(SESSION)
        core = realm.owner.core
        kept = LogTerminal(core.writer, core.directory, "a log", SESSION, chat)
        kept.note("before")
        await ann.subscribe(kept.uri)
        kept.note(" and after")
        await shows(ann, "before and after", kept.uri)
        typed = {"type": "terminal/input", "data": "x"}
        assert "takes no input" in await ann.rejected(kept.uri, typed)
        assert "a log" in (await ann.refusal("disposeTerminal", channel=kept.uri)).message
        nowhere = await ann.refusal("subscribe", channel="ahp-terminal:/nowhere")
        assert nowhere.code == -32008


async def test_each_client_of_a_front_follows_as_many_as_it_may(tmp_path: Path) -> None:
    limits = Limits(max_subscriptions=2)
    async with bed(tmp_path, limits=limits) as realm, AsyncExitStack() as stack:
        for number in range(3):
            client = await stack.enter_async_context(realm.client(f"c{number}", ROOT))
            await create(client, f"{TERMINAL}-{number}")
        refused = await client.refusal("subscribe", channel=f"{TERMINAL}-0")
        assert "2 channels" in refused.message


async def test_a_relay_ends_when_nobody_follows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relays, "LINGER_SECONDS", 0.05)
    async with bed(tmp_path) as realm, realm.client("ann", ROOT) as ann:
        await create(ann)
        await ann.send({"method": "unsubscribe", "params": {"channel": TERMINAL}})
        channel = realm.owner.core.directory.get(TERMINAL)
        assert channel is not None
        await until(lambda: not len(realm.forwarding.relays) and not channel.subscriptions)
        assert realm.front.core.directory.get(TERMINAL) is None
        await ann.subscribe(TERMINAL)


async def test_who_follows_it_over_a_link_that_breaks_reconnects_and_sees_it_anew(
    tmp_path: Path,
) -> None:
    async with bed(tmp_path) as realm, realm.client("ann", ROOT) as ann:
        await create(ann)
        await realm.break_links()
        code, reason = await ann.end()
        assert code == CloseCode.TRY_AGAIN_LATER
        assert "reconnect" in reason
        async with realm.client("ann", ROOT) as again:
            await again.subscribe(TERMINAL)
            await types(again, 'echo st""ill\r')
            await shows(again, "still")


async def test_a_changeset_is_shown_and_asked_for_once(tmp_path: Path) -> None:
    async with bed(tmp_path) as realm, realm.client("ann", ROOT) as ann:
        await ann.ready_session(SESSION)
        uri = f"{SESSION}/changeset/session"
        state = await ann.subscribe(uri)
        async with realm.client("bob", ROOT) as bob:
            await bob.subscribe(uri)
            channel = realm.owner.core.directory.get(uri)
            assert channel is not None
            assert len(channel.subscriptions) == 1
        assert state is not None
        failure = await ann.refusal("subscribe", channel=f"{SESSION}/changeset/nonsense")
        assert failure.code == -32008
