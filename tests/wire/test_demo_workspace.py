"""The demo agent's commands and edits end to end, as clients of two versions see them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.protocol import NEWEST
from tests.children import gone, is_alive
from tests.wire.client import WireClient, open_client
from tests.wire.demonstrating import asked, demo
from tests.wire.hosting import ServedHost, serve
from tests.wire.on_cluster import ON_CLUSTER
from tests.wire.talking import Chat, calls_of, confirmed, said
from tests.wire.terminal_blocks import (
    blocks_of,
    numbers_printed,
    opened,
    printed,
    text_in,
    until_printed,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]
ROOT = "ahp-root://"
# A version that knows terminals, and not how they end.
OLDER = "0.5.0"


@asynccontextmanager
async def two_clients(host: ServedHost, folder: Path) -> AsyncIterator[Chat]:
    """Two clients of different versions at one chat, who follow the root channel as well."""
    async with demo(host, folder, OLDER) as chat:
        for client in chat.clients:
            await client.subscribe(ROOT)
        yield chat


async def allow(chat: Chat, turn_id: str, text: str, **more: Any) -> None:
    """Start a turn whose tool call asks first, and approve of it."""
    call = await asked(chat, turn_id, text)
    await chat.answer(confirmed(turn_id, call, True, **more))


async def agree(client: WireClient) -> None:
    """Check that a client holds what a fresh snapshot of the same moment would give it."""
    for channel in list(client.states):
        mirrored, fresh = await client.compared(channel)
        assert mirrored == fresh, channel


def told(client: WireClient, *channels: str) -> list[str]:
    """Return the types of the actions that a client was told on channels, in order."""
    actions = (m["params"] for m in client.received if m.get("method") == "action")
    return [each["action"]["type"] for each in actions if each["channel"] in channels]


async def until_listed_last(client: WireClient, terminal: str) -> None:
    """Wait until a terminal is the last that the host lists."""

    def last() -> Any:
        listed = client.states[ROOT].get("terminals") or [{}]
        return listed[-1] if listed[-1].get("resource") == terminal else None

    await client.until(last)


async def test_a_command_runs_in_a_terminal_that_everybody_can_open(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    async with two_clients(shared_host, tmp_path) as chat:
        await allow(chat, "t1", "/run echo ready; read answer; echo got $answer; exit 3")
        terminals = [await opened(client, chat.uri) for client in chat.clients]
        assert terminals[0] == terminals[1]
        for client in chat.clients:
            await until_printed(client, terminals[0], "ready")
            await until_listed_last(client, terminals[0])
        # The older one types; both see what comes of it.
        await chat.clients[1].dispatch(
            terminals[0], {"type": "terminal/input", "data": "forty-two\r"}
        )
        for client in chat.clients:
            await until_printed(client, terminals[0], "got forty-two")
        turn = await chat.end("t1")
        assert said(turn) == "The command ended with exit code 3."
        (call,) = calls_of(turn)
        (block,) = blocks_of(call)
        assert (call["success"], call["_meta"]["toolKind"]) == (False, "terminal")
        assert block["resource"] == terminals[0]
        assert block["result"]["exitCode"] == 3
        assert "got forty-two\r\n" in block["result"]["preview"]
        for client in chat.clients:
            await client.ping()
            await agree(client)
        newest, older = (client.states[terminals[0]] for client in chat.clients)
        assert newest["lifecycle"] == {"status": "exited", "exitCode": 3}
        assert older["exitCode"] == 3
        assert newest["claim"] == {"kind": "session", "session": chat.session, "chat": chat.uri}
        assert printed(chat.clients[0], terminals[0]) == printed(chat.clients[1], terminals[0])


async def test_what_is_told_of_a_command_is_told_in_order(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    async with two_clients(shared_host, tmp_path) as chat:
        client = chat.client
        await allow(chat, "t1", "/run read go; echo went")
        terminal = await opened(client, chat.uri)
        await client.dispatch(terminal, {"type": "terminal/input", "data": "\r"})
        await chat.end("t1")
        await client.ping()
    order = told(client, chat.uri, ROOT, terminal)
    milestones = [
        "chat/toolCallReady",
        "chat/toolCallConfirmed",
        "root/terminalsChanged",
        "chat/toolCallContentChanged",
        "terminal/data",
        "terminal/commandFinished",
        "terminal/exited",
        "terminal/claimed",
        "chat/toolCallComplete",
        "chat/turnComplete",
    ]
    places = [order.index(milestone) for milestone in milestones]
    if ON_CLUSTER:
        # Terminals do not go through the log, and one machine lists those of all: each in order.
        for kind in ("chat/", "terminal/"):
            of_kind = [each for each in milestones if each.startswith(kind)]
            assert of_kind == sorted(of_kind, key=order.index), order
    else:
        assert places == sorted(places), order


async def test_an_edit_is_seen_as_a_change_of_a_file(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    async with two_clients(shared_host, tmp_path) as chat:
        (tmp_path / "a.txt").write_text("before\n")
        await allow(chat, "t1", "/edit a.txt after")
        (call,) = calls_of(await chat.end("t1"))
        assert (tmp_path / "a.txt").read_text() == "after\n"
        (edit,) = [block for block in call["content"] if block["type"] == "fileEdit"]
        assert edit["before"]["uri"] == edit["after"]["uri"] == (tmp_path / "a.txt").as_uri()
        assert edit["diff"] == {"added": 1, "removed": 1}
        for client in chat.clients:
            sides = [edit[side]["content"]["uri"] for side in ("before", "after")]
            assert {uri.partition("?")[0] for uri in sides} == {f"ahp-content:{tmp_path}/a.txt"}
            texts = [(await client.request("resourceRead", uri=uri))["data"] for uri in sides]
            assert texts == ["before\n", "after\n"]
            await agree(client)


async def test_a_command_that_somebody_lets_go_on_is_work_in_the_background(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    async with two_clients(shared_host, tmp_path) as chat:
        await allow(chat, "t1", "/run echo $$; read line; echo over")
        (pid,) = await numbers_printed(chat.client, chat.uri, 1)
        terminal = await opened(chat.client, chat.uri)
        claim = {"kind": "session", "session": chat.session, "chat": chat.uri}
        await chat.client.accepted(terminal, {"type": "terminal/claimed", "claim": claim})
        turn = await chat.end("t1")
        assert said(turn) == "The command runs in the background now."
        (block,) = blocks_of(calls_of(turn)[0])
        assert "result" not in block
        (work,) = chat.state["backgroundWork"]
        assert (work["kind"], work["terminal"]) == ("shell", terminal)
        assert work["command"] == "echo $$; read line; echo over"
        assert is_alive(pid)
        # It does not end with the turns that follow, either.
        await chat.run("t2", "hello")
        assert is_alive(pid)
        await chat.client.dispatch(terminal, {"type": "terminal/input", "data": "\r"})
        await chat.client.action(chat.uri, "chat/backgroundWorkRemoved", id=work["id"])
        assert "over" in printed(chat.client, terminal)
        await gone(pid)
        await chat.assert_at_rest()


async def test_a_terminal_of_an_old_result_opens_after_a_restart(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    async with serve(tmp_path / "data") as host:
        async with demo(host, folder) as chat:
            await allow(chat, "t1", "/run echo kept")
            (block,) = blocks_of(calls_of(await chat.end("t1"))[0])
        await host.kill()
        await host.start()
        async with open_client(host.url, "late", NEWEST) as client:
            await client.initialize()
            shown = await client.subscribe(block["resource"])
            assert "kept" in text_in(shown)
            assert shown["lifecycle"]["status"] == "exited"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_a_host_that_ends_during_a_command_leaves_no_child(
    tmp_path: Path, number: signal.Signals
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    command = "echo $$; setsid sh -c 'trap \"\" HUP TERM; echo $$; sleep 600' & sleep 600"
    async with serve(tmp_path / "data") as host, demo(host, folder) as chat:
        await allow(chat, "t1", f"/run {command}")
        pids = await numbers_printed(chat.client, chat.uri, 2)
        assert all(map(is_alive, pids))
        await host.stop(number)
        async with asyncio.timeout(60):
            await gone(*pids)
