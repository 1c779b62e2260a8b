"""Terminals over the wire: real shells that several clients watch and type into."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from agenthost.host import SqliteStore
from agenthost.host.channels.terminal import terminals
from agenthost.protocol import SUPPORTED_VERSIONS
from tests.wire.client import WireClient, open_client
from tests.wire.hosting import embed
from tests.wire.on_cluster import ON_CLUSTER
from tests.wire.schemas import complaints_about, needs_schemas
from tests.wire.shells import (
    ROOT,
    TERMINAL,
    commands_of,
    create,
    finished,
    held_by,
    listed,
    run,
    shows,
    text_of,
    types,
    wait_for_state,
)
from tests.workspace.pty.running import shell

Json = dict[str, Any]


@pytest.fixture(params=["bash", "zsh"])
def shell_name(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A shell that the host starts in its terminals."""
    name: str = request.param
    monkeypatch.setenv("SHELL", shell(name))
    return name


@pytest.fixture
async def url(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[str]:
    """A host in this process whose shells are those of a user without any settings."""
    monkeypatch.setenv("HOME", str(tmp_path))
    # Without one, zsh asks a new user what is wanted.
    (tmp_path / ".zshrc").touch()
    if "shell_name" not in request.fixturenames:
        monkeypatch.setenv("SHELL", shell("bash"))
    async with embed(default_directory=tmp_path) as url:
        yield url


@pytest.fixture
async def client(url: str) -> AsyncIterator[WireClient]:
    """Somebody who has a terminal open."""
    async with open_client(url, "user") as client:
        await client.initialize(ROOT)
        await create(client)
        yield client


async def test_two_clients_watch_one_terminal_and_one_types(shell_name: str, url: str) -> None:
    async with open_client(url, "new") as new, open_client(url, "old", "0.5.0") as old:
        for client in (new, old):
            await client.initialize(ROOT)
        state = await create(new)
        assert state["lifecycle"] == {"status": "running"}
        assert (state["cols"], state["rows"], state["isPty"]) == (80, 24, True)
        assert state["claim"] == held_by(new)
        if ON_CLUSTER:
            await new.until(lambda: (new.states[ROOT]["terminals"] or [None])[0])
        # Told before the answer, by a host of one machine.
        assert [each["resource"] for each in new.states[ROOT]["terminals"]] == [TERMINAL]
        await old.subscribe(TERMINAL)
        await types(old, "echo one; (exit 7)\r")
        for client in (new, old):
            part = await finished(client, "echo one; (exit 7)")
            # Behind it zsh marks the end of its output.
            assert part["output"].startswith("one\r\n")
            assert part["exitCode"] == 7
            assert part["durationMs"] >= 0
            assert client.states[TERMINAL]["supportsCommandDetection"]
        assert not any(e["action"]["type"] == "terminal/input" for e in new.envelopes[TERMINAL])
        await types(new, "exit 3\r")
        for client in (new, old):
            await client.action(TERMINAL, "terminal/exited", exitCode=3)
        ended = {"status": "exited", "exitCode": 3}
        (told,) = await listed(new, lambda all: all[0]["lifecycle"] == ended)
        assert told["lifecycle"] == ended
        (told,) = await listed(old, lambda all: "exitCode" in all[0])
        assert told["exitCode"] == 3
        assert "has ended" in await old.rejected(TERMINAL, {"type": "terminal/input", "data": "x"})
        size = {"type": "terminal/resized", "cols": 9, "rows": 9}
        assert "nothing runs" in await old.rejected(TERMINAL, size)
        assert await old.request("disposeTerminal", channel=TERMINAL) is None
        assert await listed(new, lambda all: not all) == []
        assert (await new.refusal("subscribe", channel=TERMINAL)).code == -32008
        assert (await new.refusal("disposeTerminal", channel=TERMINAL)).code == -32008


@needs_schemas
async def test_clients_of_all_versions_hold_the_same_terminal(url: str, shell_name: str) -> None:
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(open_client(url, f"c{version}", version))
            for version in SUPPORTED_VERSIONS
        ]
        for client in clients:
            await client.initialize(ROOT)
        await create(clients[0])
        for client in clients[1:]:
            await client.subscribe(TERMINAL)
        for number, client in enumerate(clients):
            await run(client, f"echo from {number}; cd /; (exit {number})")
        await clients[-1].accepted(TERMINAL, {"type": "terminal/resized", "cols": 90, "rows": 9})
        await clients[-1].accepted(TERMINAL, {"type": "terminal/titleChanged", "title": "renamed"})
        await types(clients[0], "exit 5\r")
        for client in clients:
            await client.action(TERMINAL, "terminal/exited")
            held, fresh = await client.compared(TERMINAL)
            assert held == fresh, client.version
            assert complaints_about(client) == [], client.version
            codes = [part["exitCode"] for part in commands_of(fresh)[: len(clients)]]
            assert codes == list(range(len(clients)))
            assert (fresh["title"], fresh["cols"], fresh["cwd"]) == ("renamed", 90, "file:///")
            await client.until(
                lambda client=client: next(  # type: ignore[misc]
                    (t for t in client.states[ROOT]["terminals"] if t["title"] == "renamed"), None
                )
            )


async def test_a_program_on_the_whole_screen(
    shell_name: str, client: WireClient, tmp_path: Path
) -> None:
    shell("vim")
    (tmp_path / "file.txt").write_text("what is in the file\n")
    await types(client, "vim -u NONE -n file.txt\r")
    await shows(client, "what is in the file")
    await types(client, "\x1b:q!\r")
    assert (await finished(client, "vim -u NONE -n file.txt"))["exitCode"] == 0
    assert (await run(client, "echo $((40+2))"))["output"].startswith("42\r\n")


async def test_a_size_reaches_the_program(shell_name: str, client: WireClient) -> None:
    assert (await run(client, "stty size"))["output"].startswith("24 80\r\n")
    size = {"type": "terminal/resized", "cols": 133, "rows": 41}
    await client.accepted(TERMINAL, size)
    assert (await run(client, "stty size; true"))["output"].startswith("41 133\r\n")
    told = await client.accepted(
        TERMINAL, {"type": "terminal/resized", "cols": 1, "rows": 1_000_000}
    )
    assert told["action"] == {"type": "terminal/resized", "cols": 2, "rows": 1000}
    for number in range(1000):
        await client.dispatch(TERMINAL, {**size, "cols": 100 + number % 7})
    await client.accepted(TERMINAL, size)
    assert (await run(client, "stty size; :"))["output"].startswith("41 133\r\n")


@pytest.mark.parametrize("line", ["kill -9 $$", "exec sh -c 'kill -9 $$'"])
async def test_a_killed_shell_has_exited(line: str, shell_name: str, client: WireClient) -> None:
    await types(client, line + "\r")
    await client.action(TERMINAL, "terminal/exited", exitCode=137)
    # The command that ran was cut off, and so is over.
    parts = commands_of(client.states[TERMINAL])
    assert [(part["isComplete"], part.get("exitCode")) for part in parts] == [(True, None)]


async def test_what_is_no_text_does_no_harm(shell_name: str, client: WireClient) -> None:
    line = "head -c 300000 /dev/urandom; echo; printf '\\033c\\033]633;'"
    await types(client, line + "\r")
    # A sequence that has begun takes what follows, up to its end.
    await types(client, "\r\recho all is $((40+2))\r")
    await shows(client, "all is 42")
    fresh = await client.fresh(TERMINAL)
    assert len(text_of(fresh)) <= 100_000


async def test_titles_and_folders_are_told(shell_name: str, client: WireClient) -> None:
    await run(client, "mkdir 'a b'; cd 'a b'")
    state = await wait_for_state(client, lambda state: state["cwd"].endswith("/a%20b"))
    assert state["cwd"].startswith("file:///")
    await types(client, "printf '\\033]2;a new title\\007'; sleep 2\r")
    await client.action(TERMINAL, "terminal/titleChanged", title="a new title")
    await client.until(
        lambda: next(
            (t for t in client.states[ROOT]["terminals"] if t["title"] == "a new title"), None
        )
    )


async def test_clearing_is_for_everybody(url: str, client: WireClient) -> None:
    async with open_client(url, "other", "0.6.0") as other:
        await other.initialize()
        await other.subscribe(TERMINAL)
        await run(client, "echo something")
        await other.accepted(TERMINAL, {"type": "terminal/cleared"})
        await client.action(TERMINAL, "terminal/cleared")
        await run(client, "echo anew")
        assert "something" not in text_of(client.states[TERMINAL])
        assert "something" not in text_of(await other.fresh(TERMINAL))


async def test_a_shell_without_integration_works(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    async with open_client(url, "user") as client:
        await client.initialize(ROOT)
        wanted = {"type": "root/configChanged", "config": {"defaultShell": shell("dash")}}
        await client.accepted(ROOT, wanted)
        state = await create(client, name="mine", cols=100, rows=30)
        assert (state["title"], state["cols"], state["rows"]) == ("mine", 100, 30)
        await types(client, "echo $((40+2)) $0; exit 4\r")
        await shows(client, "42 " + shell("dash"))
        state = await wait_for_state(client, lambda s: s["lifecycle"]["status"] == "exited")
        assert state["lifecycle"]["exitCode"] == 4
        assert not state.get("supportsCommandDetection")
        assert commands_of(state) == []


async def test_input_that_nobody_reads_is_refused_in_the_end(client: WireClient) -> None:
    await types(client, "stty raw -echo; echo ready; sleep 1000\r")
    await shows(client, "ready\n")
    too_much = {"type": "terminal/input", "data": "x" * 65_537}
    assert "65,536 characters" in await client.rejected(TERMINAL, too_much)
    for _ in range(20):
        answer = await client.dispatched(TERMINAL, {"type": "terminal/input", "data": "x" * 65_536})
        if "rejectionReason" in answer:
            break
    assert answer["rejectionReason"] == "the program does not read its input"
    # What it has not read does not keep it from ending.
    assert await client.request("disposeTerminal", channel=TERMINAL) is None


async def test_a_paste_arrives_whole(shell_name: str, client: WireClient, tmp_path: Path) -> None:
    pasted = "".join(f"line {number} of what was pasted\n" for number in range(2200))
    assert 60_000 < len(pasted) <= 65_536
    await types(client, "cat > pasted\r")
    await client.action(TERMINAL, "terminal/commandExecuted", commandLine="cat > pasted")
    await types(client, pasted)
    await types(client, "\x04")
    await finished(client, "cat > pasted")
    assert (tmp_path / "pasted").read_text() == pasted


async def test_a_flood_of_titles_is_told_now_and_then(shell_name: str, client: WireClient) -> None:
    line = "for n in $(seq 20000); do printf '\\033]2;title %s\\007' $n; done"
    await types(client, line + "; sleep 2\r")
    await client.action(TERMINAL, "terminal/titleChanged", title="title 20000")
    told = [e["action"]["type"] for e in client.envelopes[TERMINAL]]
    assert told.count("terminal/titleChanged") < 1000
    lists = [e["action"]["type"] for e in client.envelopes[ROOT]]
    assert lists.count("root/terminalsChanged") < 200


async def test_a_flood_of_folders_is_told_now_and_then(client: WireClient) -> None:
    line = "for n in $(seq 20000); do printf '\\033]633;P;Cwd=/%s\\007' $n; done"
    await types(client, line + "; sleep 2\r")
    await client.action(TERMINAL, "terminal/cwdChanged", cwd="file:///20000")
    told = [e["action"]["type"] for e in client.envelopes[TERMINAL]]
    assert told.count("terminal/cwdChanged") < 5000


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("exec vim -u NONE -n +q", 0),
        ("exec 0<&- 1>&- 2>&-; exit 9", 9),
        ("exec sh -c 'exit 11'", 11),
    ],
)
async def test_a_shell_that_becomes_something_else_ends_with_it(
    line: str, code: int, shell_name: str, client: WireClient
) -> None:
    if "vim" in line:
        shell("vim")
    await types(client, line + "\r")
    await client.action(TERMINAL, "terminal/exited", exitCode=code)


async def test_a_shell_that_does_not_come_up_keeps_nobody_waiting(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminals, "PROMPT_SECONDS", 0.1)
    monkeypatch.setenv("SHELL", shell("bash"))
    (tmp_path / ".bashrc").write_text("sleep 300\n")
    async with open_client(url, "user") as client:
        await client.initialize(ROOT)
        assert (await create(client))["content"] == []
        await client.request("disposeTerminal", channel=TERMINAL)
        assert await listed(client, lambda all: not all) == []


ASK = r"""stty raw -echo; printf '\033[6n'; read -r -d R answer; stty sane; echo "${answer#?}R" """


async def test_a_program_hears_once_where_the_cursor_is(url: str, client: WireClient) -> None:
    async with open_client(url, "other") as other:
        await other.initialize()
        await other.subscribe(TERMINAL)
        await types(client, f"{ASK}; cat > answers\r")
        await shows(client, "\x1b[6n")
        for each in (client, other):
            await types(each, "\x1b[7;9R")
        await shows(client, "[7;9R")
        await types(client, "typed\r\x04")
        await client.action(TERMINAL, "terminal/commandFinished")
        assert (await run(client, "cat answers"))["output"] == "typed\r\n"


async def test_a_program_hears_where_the_cursor_is_although_nobody_answers(
    client: WireClient,
) -> None:
    await types(client, ASK + "\r")
    await shows(client, "[1;1R")


async def test_a_stopped_shell_can_be_disposed_of(shell_name: str, client: WireClient) -> None:
    await types(client, "echo ready; kill -STOP $$\r")
    await shows(client, "ready\r\n")
    assert await client.request("disposeTerminal", channel=TERMINAL) is None
    assert await listed(client, lambda all: not all) == []


SECRET = "correct-horse-battery"


async def test_a_password_is_nowhere_but_in_the_program(
    shell_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".zshrc").touch()
    caplog.set_level("DEBUG")
    data = tmp_path / "data"
    data.mkdir()
    options: Json = {"wire_log": data / "wire.jsonl", "default_directory": tmp_path}
    async with (
        embed(store=SqliteStore(data / "store.db"), **options) as url,
        open_client(url, "one") as one,
        open_client(url, "two", "0.7.0") as two,
    ):
        for client in (one, two):
            await client.initialize(ROOT)
        await create(one)
        await two.subscribe(TERMINAL)
        await types(one, "stty -echo; echo type; read p; stty echo; echo got ${#p}\r")
        # Nothing is echoed from here on.
        await shows(one, "type\r\n")
        await types(one, SECRET + "\r")
        for client in (one, two):
            await shows(client, f"got {len(SECRET)}")
        assert SECRET not in str(two.received)
    texts = [path.read_bytes() for path in data.rglob("*") if path.is_file()]
    assert len(texts) > 1
    assert not any(SECRET.encode() in text for text in texts)
    assert f"[{len(SECRET) + 1} characters]" in (data / "wire.jsonl").read_text()
    assert SECRET not in caplog.text


async def test_who_was_away_goes_on_with_a_snapshot(url: str, client: WireClient) -> None:
    async with open_client(url, "away", "0.9.0") as former:
        await former.initialize(ROOT)
        await former.subscribe(TERMINAL)
        former.abort()
    await run(client, "echo meanwhile")
    async with open_client(url, "away", "0.9.0") as again:
        again.inherit(former)
        result = await again.reconnect(former.last_seen, ROOT, TERMINAL)
        assert result["type"] == "snapshot"
        assert "meanwhile" in text_of(again.states[TERMINAL])
        await run(client, "echo later")
        await shows(again, "later\r\n")


async def test_what_is_typed_again_after_a_lost_connection_is_typed_once(
    url: str, client: WireClient
) -> None:
    await run(client, "n=0")
    async with open_client(url, "away") as former:
        await former.initialize(ROOT)
        await former.subscribe(TERMINAL)
        before = former.last_seen
        typed: Json = {"type": "terminal/input", "data": "n=$((n+1)); echo once\r"}
        seq = await former.dispatch(TERMINAL, typed)
        await finished(former, "n=$((n+1)); echo once")
        former.abort()
    async with open_client(url, "away") as again:
        again.inherit(former)
        await again.reconnect(before, ROOT, TERMINAL)
        params = {"channel": TERMINAL, "clientSeq": seq, "action": typed}
        await again.send({"method": "dispatchAction", "params": params})
        origin = {"clientId": "away", "clientSeq": seq}
        answer = await again.envelope(TERMINAL, lambda e: e.get("origin") == origin)
        assert "rejectionReason" not in answer
    assert (await run(client, "echo $n"))["output"].startswith("1\r\n")


@pytest.mark.parametrize("version", ["1.0.0", "0.8.0", "0.5.0"])
async def test_a_session_may_hold_a_terminal(version: str, url: str, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    async with open_client(url, "user", version) as client:
        await client.initialize(ROOT)
        work = (tmp_path / "work").as_uri()
        chat = await client.ready_session("ahp-session:/s", workingDirectories=[work])
        claim: Json = {"kind": "session", "session": "ahp-session:/s"}
        if version == "1.0.0":
            claim["chat"] = chat
        state = await create(client, claim=claim)
        assert (state["claim"], state["cwd"]) == (claim, work)
        async with open_client(url, "newest") as newest:
            await newest.initialize()
            seen = await newest.subscribe(TERMINAL)
            assert seen["claim"] == {**claim, "chat": chat}
            await newest.accepted(TERMINAL, {"type": "terminal/claimed", "claim": held_by(newest)})
            changed = {"type": "terminal/claimed", "claim": claim}
            assert "another client" in await client.rejected(TERMINAL, changed)
        none: Json = {**claim, "session": "ahp-session:/none"}
        failure = await client.refusal("createTerminal", channel="ahp-terminal:/2", claim=none)
        # What has no chat cannot be said in newer words.
        assert failure.code == (-32001 if version == "1.0.0" else -32602)


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"claim": {"kind": "client", "clientId": "other"}}, -32602),
        ({"claim": {"kind": "nobody"}}, -32602),
        ({"channel": "a\x07b"}, -32602),
        ({"channel": ROOT}, -32010),
        ({"channel": TERMINAL}, -32010),
        ({"cols": 0}, -32602),
        ({"cols": "80"}, -32602),
    ],
)
async def test_bad_requests_start_nothing(params: Json, code: int, client: WireClient) -> None:
    asked: Json = {"channel": "ahp-terminal:/2", "claim": held_by(client), **params}
    assert (await client.refusal("createTerminal", **asked)).code == code
    assert [each["resource"] for each in await listed(client, bool)] == [TERMINAL]


async def test_one_name_is_given_once(client: WireClient) -> None:
    asked: Json = {"channel": "ahp-terminal:/2", "claim": held_by(client)}
    answers = await asyncio.gather(
        *(client.request("createTerminal", **asked) for _ in range(4)), return_exceptions=True
    )
    assert sorted(str(answer)[:6] for answer in answers) == ["-32010"] * 3 + ["None"]


@pytest.mark.parametrize(
    "cwd", ["file:///no/such/folder", "http://example.org", "file:///etc/passwd"]
)
async def test_a_folder_that_is_none_is_the_hosts_own(
    cwd: str, client: WireClient, tmp_path: Path
) -> None:
    state = await create(client, "ahp-terminal:/2", cwd=cwd)
    assert state["cwd"] == tmp_path.as_uri()
