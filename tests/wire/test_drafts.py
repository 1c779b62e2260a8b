"""Drafts on the wire: sessions that hold nothing, made twice, left behind and collected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agenthost.host import Host, SqliteStore
from agenthost.protocol.uris import default_chat_uri
from tests.wire.agents import Puppet
from tests.wire.client import WireClient, open_client, user_message

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = "ahp-root://"
TAKEN = -32003
# Seconds: short, and longer than a step of a test takes.
SOON = 0.2
ASK: dict[str, Any] = {"config": {"mode": "ask"}}


async def sessions(client: WireClient) -> list[str]:
    return [item["resource"] for item in (await client.request("listSessions"))["items"]]


async def test_a_draft_that_nobody_follows_is_collected_with_a_notice_and_leaves_no_trace(
    tmp_path: Path,
) -> None:
    puppet = Puppet()
    store = SqliteStore(tmp_path / "host.db")
    async with Host([puppet], store=store, draft_seconds=SOON) as host:
        url = await host.listen(port=0)
        async with open_client(url, "watcher") as watcher:
            await watcher.initialize(ROOT)
            async with open_client(url, "editor") as editor:
                await editor.initialize()
                await editor.ready_session("s:/draft", **ASK)
                await editor.subscribe(default_chat_uri("s:/draft"))
                assert await sessions(watcher) == ["s:/draft"]
            await watcher.notification("root/sessionRemoved", lambda p: p["session"] == "s:/draft")
            assert await sessions(watcher) == []
            await host.core.writer.ledger.settle()
            channels = ["s:/draft", default_chat_uri("s:/draft"), "s:/draft/annotations"]
            assert await host.core.store.channel_positions(channels) == {}
            for bucket in ("drafts", "owners"):
                assert await host.core.store.records(bucket) == {}
            assert puppet.log == []


async def test_a_draft_is_kept_while_somebody_follows_it_or_its_chat() -> None:
    async with Host([Puppet()], draft_seconds=SOON) as host:
        url = await host.listen(port=0)
        async with open_client(url, "editor") as editor:
            await editor.initialize(ROOT)
            for name in ("followed", "left"):
                await editor.request("createSession", channel=f"s:/{name}", **ASK)
            await editor.subscribe(default_chat_uri("s:/followed"))
            await editor.notification("root/sessionRemoved", lambda p: p["session"] == "s:/left")
            assert await sessions(editor) == ["s:/followed"]
            await editor.send(
                {"method": "unsubscribe", "params": {"channel": default_chat_uri("s:/followed")}}
            )
            await editor.notification(
                "root/sessionRemoved", lambda p: p["session"] == "s:/followed"
            )


async def test_what_holds_something_or_was_asked_to_stay_is_not_collected(tmp_path: Path) -> None:
    path = tmp_path / "host.db"
    draft = {"type": "chat/draftChanged", "draft": user_message("not yet")}
    async with Host([Puppet()], store=SqliteStore(path), draft_seconds=None) as host:
        url = await host.listen(port=0)
        async with open_client(url, "editor") as editor:
            await editor.initialize()
            for name in ("titled", "typed", "talked", "kept", "empty"):
                meta = {"_meta": {"agenthost.keep": True}} if name == "kept" else {}
                await editor.ready_session(f"s:/{name}", **ASK, **meta)
            title = {"type": "session/titleChanged", "title": "Mine"}
            await editor.accepted("s:/titled", title)
            await editor.subscribe(default_chat_uri("s:/typed"))
            await editor.accepted(default_chat_uri("s:/typed"), draft)
            await editor.subscribe(default_chat_uri("s:/talked"))
            await editor.run_turn(default_chat_uri("s:/talked"), "t1", "hello")
    # Also after a restart, whoever was following before.
    async with Host([Puppet()], store=SqliteStore(path)) as host:
        url = await host.listen(port=0)
        async with open_client(url, "watcher") as watcher:
            await watcher.initialize(ROOT)
            soon = {"type": "root/configChanged", "config": {"draftSeconds": SOON}}
            await watcher.accepted(ROOT, soon)
            await watcher.notification("root/sessionRemoved", lambda p: p["session"] == "s:/empty")
            left = {"s:/titled", "s:/typed", "s:/talked", "s:/kept"}
            assert set(await sessions(watcher)) == left
            await host.core.sessions.collect_drafts(0)
            assert set(await sessions(watcher)) == left


async def test_creating_ones_own_draft_again_is_answered_and_makes_nothing_new() -> None:
    async with Host([Puppet()]) as host:
        url = await host.listen(port=0)
        async with (
            open_client(url, "editor") as editor,
            open_client(url, "stranger") as stranger,
        ):
            await editor.initialize(ROOT)
            await stranger.initialize()
            chat = await editor.ready_session("s:/1", **ASK)
            assert await editor.request("createSession", channel="s:/1", **ASK) is None
            assert (await stranger.refusal("createSession", channel="s:/1", **ASK)).code == TAKEN
            await editor.subscribe(chat)
            await editor.run_turn(chat, "t1", "hello")
            assert (await editor.refusal("createSession", channel="s:/1", **ASK)).code == TAKEN
            assert await sessions(editor) == ["s:/1"]
            added = [m for m in editor.received if m.get("method") == "root/sessionAdded"]
            assert len(added) == 1
