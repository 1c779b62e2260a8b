"""Whose terminals are: who may type, claim and end, and who goes with whom."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agenthost.host import Host, Limits, Role
from agenthost.host.channels.terminal import terminals
from agenthost.host.channels.terminal.host_terminal import HostTerminal
from tests.flags import eventually
from tests.wire.client import WireClient, open_client
from tests.wire.hosting import embed
from tests.wire.people import People, peopled
from tests.wire.shells import ROOT, TERMINAL, create, held_by, listed, run, shows, types
from tests.workspace.pty.running import keepers

Json = dict[str, Any]

SESSION = "ahp-session:/s"
PATIENCE = 60.0


@pytest.fixture(autouse=True)
def plain_shells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/bin/bash")


@pytest.fixture
async def people(tmp_path: Path) -> AsyncIterator[People]:
    (tmp_path / "root").mkdir()
    root = tmp_path / "root"
    async with peopled(tmp_path / "tokens", roots=[root], default_directory=root) as people:
        yield people


def typed(text: str = "x") -> Json:
    return {"type": "terminal/input", "data": text}


def claimed(claim: Json) -> Json:
    return {"type": "terminal/claimed", "claim": claim}


async def count(client: WireClient, number: int) -> None:
    """Wait until so many terminals are listed."""
    root = client.states
    await client.until(lambda: root[ROOT] if len(root[ROOT]["terminals"]) == number else None)


async def refused(client: WireClient) -> None:
    """Check that a client can do nothing to a terminal but look at it."""
    await client.subscribe(TERMINAL)
    for action in (
        typed(),
        {"type": "terminal/resized", "cols": 50, "rows": 20},
        {"type": "terminal/titleChanged", "title": "mine now"},
        {"type": "terminal/cleared"},
        claimed(held_by(client)),
    ):
        assert await client.rejected(TERMINAL, action)
    assert (await client.refusal("disposeTerminal", channel=TERMINAL)).code == -32009


async def test_a_terminal_is_its_makers_and_the_owners(people: People) -> None:
    async with (
        people.client("ann") as ann,
        people.client("bea") as bea,
        people.client("vic", Role.VIEWER) as vic,
        people.client("owner", Role.OWNER) as owner,
    ):
        await create(ann)
        await refused(bea)
        await refused(vic)
        await owner.subscribe(TERMINAL)
        await run(owner, "echo by the owner")
        await run(ann, "echo by its maker")
        for client in (bea, vic):
            await shows(client, "by its maker\r\n")
        claim = held_by(vic)
        failure = await vic.refusal("createTerminal", channel="ahp-terminal:/2", claim=claim)
        assert failure.code == -32009
        assert len(await listed(vic, bool)) == 1


async def test_a_sessions_terminal_is_for_those_who_take_part(people: People) -> None:
    async with (
        people.client("ann") as ann,
        people.client("bea") as bea,
        people.client("cem") as cem,
    ):
        chat = await ann.ready_session(SESSION)
        claim = {"kind": "session", "session": SESSION, "chat": chat}
        failure = await bea.refusal("createTerminal", channel=TERMINAL, claim=claim)
        assert failure.code == -32009
        await create(ann, claim=claim)
        await refused(bea)
        # Whoever writes in a session takes part in it.
        await cem.subscribe(chat)
        await cem.run_turn(chat, "t1", "hello")
        await cem.subscribe(TERMINAL)
        await types(cem, "echo $((40+2))\r")
        await shows(ann, "42\r\n")
        assert await cem.request("disposeTerminal", channel=TERMINAL) is None


async def test_an_operator_starts_where_it_may_work(people: People, tmp_path: Path) -> None:
    async with people.client("ann") as ann, people.client("owner", Role.OWNER) as owner:
        await ann.ready_session(SESSION)
        (tmp_path / "root" / "sub").mkdir()
        (tmp_path / "root" / "out").symlink_to("/etc")
        root = (tmp_path / "root").as_uri()
        for cwd in ("file:///etc", f"{root}/out", f"{root}/../.."):
            failure = await ann.refusal(
                "createTerminal", channel=TERMINAL, claim=held_by(ann), cwd=cwd
            )
            assert failure.code == -32009, cwd
        assert (await create(ann, cwd=f"{root}/sub"))["cwd"] == f"{root}/sub"
        state = await create(owner, "ahp-terminal:/2", cwd="file:///etc")
        assert state["cwd"] == "file:///etc"


async def test_claims_are_changed_by_those_who_hold_them(people: People) -> None:
    async with (
        people.client("ann") as ann,
        open_client(people.url("ann"), "ann-second") as second,
    ):
        await second.initialize()
        chat = await ann.ready_session(SESSION)
        background = {"kind": "session", "session": SESSION, "chat": chat}
        await create(ann)
        await second.subscribe(TERMINAL)
        assert "another client" in await second.rejected(TERMINAL, claimed(held_by(second)))
        assert "itself only" in await ann.rejected(TERMINAL, claimed(held_by(second)))
        in_call = {**background, "turnId": "t", "toolCallId": "k"}
        assert "tool call" in await ann.rejected(TERMINAL, claimed(in_call))
        nowhere = {**background, "chat": "ahp-chat:/none"}
        assert "no chat" in await ann.rejected(TERMINAL, claimed(nowhere))
        gone = {**background, "session": "ahp-session:/none"}
        assert "no session" in await ann.rejected(TERMINAL, claimed(gone))
        await ann.accepted(TERMINAL, claimed(background))
        await second.accepted(TERMINAL, claimed(held_by(second)))
        theirs = held_by(second)
        (told,) = await listed(ann, lambda all: all and all[0]["claim"] == theirs)
        assert told["claim"] == theirs
        assert "another client" in await ann.rejected(TERMINAL, claimed(background))


async def test_who_takes_a_terminal_from_a_session_may_use_it(people: People) -> None:
    async with (
        people.client("ann") as ann,
        people.client("bea") as bea,
        people.client("cem") as cem,
    ):
        chat = await ann.ready_session(SESSION)
        background = {"kind": "session", "session": SESSION, "chat": chat}
        await create(ann, claim=background)
        for client in (bea, cem):
            await client.subscribe(chat)
            await client.run_turn(chat, f"turn of {client.client_id}", "hello")
            await client.subscribe(TERMINAL)
        await cem.accepted(TERMINAL, claimed(held_by(cem)))
        await run(cem, "echo mine")
        # It is nobody's business in the session any more, until it is given back.
        await refused(bea)
        await cem.accepted(TERMINAL, claimed(background))
        await run(bea, "echo ours")


async def test_a_command_of_a_tool_call_can_be_let_go_on(people: People, tmp_path: Path) -> None:
    async with people.client("ann") as ann, people.client("bea") as bea:
        chat = await ann.ready_session(SESSION)
        await ann.subscribe(ROOT)
        terminal = await started(people, chat, tmp_path, "echo begun; read line; echo got $line")
        for client in (ann, bea):
            await client.subscribe(terminal.uri)
        await shows(ann, "begun", terminal.uri)
        background = {"kind": "session", "session": SESSION, "chat": chat}
        assert await bea.rejected(terminal.uri, claimed(background))
        assert "in the background" in await ann.rejected(terminal.uri, claimed(held_by(ann)))
        await ann.accepted(terminal.uri, claimed(background))
        async with asyncio.timeout(PATIENCE):
            outcome = await terminal.ended()
        assert (outcome.detached, outcome.exit_code) == (True, None)
        assert outcome.output == "begun\r\n"
        states = ann.states
        await ann.until(
            lambda: states[ROOT] if states[ROOT]["terminals"][0]["claim"] == background else None
        )
        await types(ann, "this\r", terminal.uri)
        async with asyncio.timeout(PATIENCE):
            assert await terminal.exited() == 0
        assert "got this" in terminal.output()


async def started(people: People, chat: str, folder: Path, command: str) -> HostTerminal:
    return await people.host.core.terminals.run(
        chat, SESSION, command, turn_id="t", tool_call_id="k", title="it", cwd=str(folder)
    )


async def test_a_session_takes_its_terminals_along(people: People, tmp_path: Path) -> None:
    async with people.client("ann") as ann:
        chat = await ann.ready_session(SESSION)
        await ann.subscribe(ROOT)
        await create(ann, "ahp-terminal:/own")
        await create(ann, claim={"kind": "session", "session": SESSION, "chat": chat})
        called = await started(people, chat, tmp_path, "sleep 300")
        await count(ann, 3)
        await ann.request("disposeSession", channel=SESSION)
        async with asyncio.timeout(PATIENCE):
            await called.exited()
        await ann.until(
            lambda: ann.states[ROOT] if len(ann.states[ROOT]["terminals"]) == 1 else None
        )
        assert [each["resource"] for each in await listed(ann, bool)] == ["ahp-terminal:/own"]
        await people.host.core.writer.ledger.settle()
        # The session held nothing, so nothing of it is kept.
        assert await people.host.core.store.blob(called.uri) is None
        assert (await ann.refusal("subscribe", channel=called.uri)).code == -32008


async def test_a_session_with_a_terminal_is_no_draft(tmp_path: Path) -> None:
    async with (
        embed(default_directory=tmp_path, draft_seconds=0.1) as url,
        open_client(url, "watcher") as watcher,
    ):
        await watcher.initialize(ROOT)
        async with open_client(url, "leaves") as leaves:
            await leaves.initialize()
            chat = await leaves.ready_session(SESSION)
            await create(leaves, claim={"kind": "session", "session": SESSION, "chat": chat})
            await leaves.ready_session("ahp-session:/draft")
        gone = "ahp-session:/draft"
        await watcher.notification("root/sessionRemoved", lambda p: p["session"] == gone)
        assert [each["claim"]["session"] for each in await listed(watcher, bool)] == [SESSION]


async def test_the_terminals_of_a_client_that_stays_away_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("CLIENT_GRACE", "CLIENT_INTERVAL"):
        monkeypatch.setattr(terminals, name, 0.05)
    busy, idle, done = (f"ahp-terminal:/{name}" for name in ("busy", "idle", "done"))
    async with embed(default_directory=tmp_path) as url, open_client(url, "stays") as stays:
        await stays.initialize(ROOT)
        await create(stays, "ahp-terminal:/other")
        async with open_client(url, "leaves") as leaves:
            await leaves.initialize()
            for uri in (busy, idle, done):
                await create(leaves, uri)
            await types(leaves, "echo begun; sleep 300\r", busy)
            await shows(leaves, "begun\r\n", busy)
            await types(leaves, "exit\r", done)
            await leaves.action(done, "terminal/exited")
            await leaves.ping()
        await count(stays, 2)
        names = {each["resource"] for each in await listed(stays, bool)}
        assert names == {"ahp-terminal:/other", busy}
        monkeypatch.setattr(terminals, "BUSY_GRACE", 0.05)
        await count(stays, 1)


async def test_who_leaves_while_a_terminal_starts_leaves_none_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("CLIENT_GRACE", "CLIENT_INTERVAL"):
        monkeypatch.setattr(terminals, name, 0.05)
    async with Host(default_directory=tmp_path) as host:
        url = await host.listen(port=0)
        descriptors = len(os.listdir("/proc/self/fd"))
        for number in range(8):
            async with open_client(url, f"hasty{number}") as hasty:
                await hasty.initialize()
                params = {"channel": f"ahp-terminal:/{number}", "claim": held_by(hasty)}
                message = {"id": 1000, "method": "createTerminal", "params": params}
                await hasty.send(message)
                # At another moment of the start each time.
                for _ in range(number):
                    await hasty.ping()
                hasty.abort()
        await eventually(lambda: not host.connections and not keepers())
        await eventually(lambda: host.core.root.state["terminals"] == [])
        await eventually(lambda: len(os.listdir("/proc/self/fd")) <= descriptors)


async def test_nobody_has_more_than_a_few(tmp_path: Path) -> None:
    limits = Limits(max_terminals=3, max_principal_terminals=2)
    options: Json = {"roots": [tmp_path], "default_directory": tmp_path, "limits": limits}
    async with (
        peopled(tmp_path / "tokens", **options) as people,
        people.client("ann") as ann,
        people.client("bea") as bea,
    ):
        answers = await asyncio.gather(
            *(
                ann.request("createTerminal", channel=f"ahp-terminal:/{n}", claim=held_by(ann))
                for n in range(5)
            ),
            return_exceptions=True,
        )
        assert sorted(str(answer)[:6] for answer in answers) == ["-32009"] * 3 + ["None"] * 2
        await create(bea, "ahp-terminal:/bea")
        asked = {"channel": "ahp-terminal:/more", "claim": held_by(bea)}
        failure = await bea.refusal("createTerminal", **asked)
        assert (failure.code, "at most 3" in failure.message) == (-32009, True)
        await bea.request("disposeTerminal", channel="ahp-terminal:/bea")
        await create(bea, "ahp-terminal:/more")
