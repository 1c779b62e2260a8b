"""``agenthost serve`` from its command line to its exit code."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from agenthost.cli.commands.serve_messages import UpgradeNews
from agenthost.cli.main import main
from agenthost.cli.shutdown import Shutdown
from agenthost.errors import AgentHostError
from agenthost.host import Host
from agenthost.host.store.upgrade import UpgradeProgress
from agenthost.host.turns.silence import SILENCE_LIMIT
from agenthost.local_host import HOST_FILE
from agenthost.protocol import SUPPORTED_VERSIONS
from agenthost.version import __version__
from tests.wire.client import open_client
from tests.wire.hosting import PATIENCE, serve

# What the design promises to everyone who writes a unit file or a script.
OPTIONS = (
    "--host",
    "--port",
    "--data-dir",
    "--token-file",
    "--no-token",
    "--root",
    "--agent",
    "--durability",
    "--wire-log",
)

GREETER = """
from agenthost.agents import Agent

class Greeter(Agent):
    provider, display_name = "greeter", "Greeter"

    async def run(self, turn):
        await turn.write(f"Hello, {turn.text}!")

class Broken(Greeter):
    def __init__(self):
        raise RuntimeError("no licence found")

class Stranger:
    pass

class Twin(Greeter):
    pass
"""


def agenthost(*arguments: str, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "agenthost.cli.main", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": f"{Path(__file__).parents[2]}{os.pathsep}{cwd}"},
    )


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """Return the one line with which a command that cannot be ended."""
    assert done.returncode == 1, done
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("agenthost: ")
    return line.removeprefix("agenthost: ")


# Help and misuse


@pytest.mark.parametrize(
    ("arguments", "mentioned"),
    [
        (["--help"], ("serve", "token", "--version")),
        (["serve", "--help"], OPTIONS),
        (["token", "--help"], ("create", "list", "revoke")),
    ],
)
def test_help_lists_what_there_is(
    arguments: list[str], mentioned: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ending:
        main(arguments)
    assert ending.value.code == 0
    printed = capsys.readouterr().out
    assert [word for word in mentioned if word not in printed] == []


def test_the_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ending:
        main(["--version"])
    assert ending.value.code == 0
    assert capsys.readouterr().out == f"agenthost {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["serve", "nonsense"],
        ["serve", "--nonsense"],
        ["serve", "--port"],
        ["serve", "--port", "http"],
        ["serve", "--port", "65536"],
        ["serve", "--port", "-1"],
        ["serve", "--durability", "some"],
        ["serve", "--dispose", "burn"],
        ["serve", "--root", "/no/such/directory"],
        ["serve", "--config", "/no/such/file"],
        ["serve", "--prompt-timeout", "soon"],
        ["serve", "--prompt-timeout", "nan"],
        ["serve", "--silence-limit", "soon"],
        ["serve", "--no-token", "--token-file", "token"],
    ],
)
def test_misuse_ends_with_2_and_the_usage(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ending:
        main(arguments)
    assert ending.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("usage: agenthost")
    assert "invalid _" not in captured.err


def test_the_installed_command_is_this_one(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("agenthost")
    if not command.exists():
        pytest.skip("the package is not installed here, so there is no command")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, timeout=60)
    assert done.stdout == f"agenthost {__version__}\n"


# A host that cannot be


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.1", "example.org", ""])
def test_without_a_token_it_listens_nowhere_but_on_loopback(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    arguments = ["serve", "--no-token", "--host", address, "--port", "0", "--data-dir", str(data)]
    assert main(arguments) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("agenthost: refusing to listen on")
    assert "without a token" in line
    assert not data.exists()


def test_without_a_token_on_the_network_the_process_ends_with_1(tmp_path: Path) -> None:
    done = agenthost("serve", "--no-token", "--host", "0.0.0.0", "--port", "0", cwd=tmp_path)
    assert "refusing to listen on 0.0.0.0 without a token" in complaint(done)


@pytest.mark.parametrize(
    ("specs", "says"),
    [
        (["nobody"], "there is no agent 'nobody'"),
        (["no_such_module:Agent"], "no_such_module"),
        (["greeting:Nobody"], "agent greeting:Nobody"),
        (["greeting:Broken"], "no licence found"),
        (["greeting:Stranger"], "is no Agent"),
        (["greeting:Greeter", "greeting:Twin"], "two agents are called 'greeter'"),
        (["greeting:"], "greeting:"),
        ([":Greeter"], ":Greeter"),
    ],
)
def test_an_agent_that_cannot_be_had_is_named_in_a_sentence(
    specs: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "greeting.py").write_text(GREETER)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "greeting", raising=False)
    options = [option for spec in specs for option in ("--agent", spec)]
    assert main(["serve", "--port", "0", "--data-dir", str(tmp_path / "data"), *options]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("agenthost: ")
    assert says in line


def test_an_unknown_agent_ends_the_process_with_1(tmp_path: Path) -> None:
    done = agenthost("serve", "--port", "0", "--data-dir", "data", "--agent", "x", cwd=tmp_path)
    assert "there is no agent 'x'" in complaint(done)


def test_what_stands_in_the_way_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "wide open").write_text("t" * 43)
    (tmp_path / "wide open").chmod(0o644)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "agenthost.sqlite").write_bytes(b"not a database" * 1000)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for options, says in (
            (("--port", port), "in use"),
            (("--data-dir", "file"), "file"),
            (("--data-dir", "damaged"), "agenthost.sqlite"),
            (("--token-file", "wide open"), "chmod 600"),
            (("--wire-log", "."), "directory"),
            (("--allow-origin", "https://*"), "not an origin"),
            (("--host", "192.0.2.1"), "192.0.2.1"),
        ):
            done = agenthost("serve", "--port", "0", "--data-dir", "data", *options, cwd=tmp_path)
            assert says in complaint(done), options


async def test_a_second_host_on_the_same_data_is_turned_away(tmp_path: Path) -> None:
    async with serve(tmp_path / "data"):
        done = agenthost("serve", "--port", "0", "--data-dir", "data", cwd=tmp_path)
        assert "agenthost.sqlite" in complaint(done)


@pytest.mark.parametrize(
    ("options", "limit"),
    [([], SILENCE_LIMIT), (["--silence-limit", "90"], 90.0), (["--silence-limit", "0"], None)],
    ids=["as it is", "after a while", "never"],
)
def test_when_silent_turns_end_is_up_to_an_option(
    options: list[str], limit: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[float | None] = []

    async def refuse(host: Host) -> Host:
        told.append(host._settings.silence_limit)
        raise AgentHostError("seen enough")

    monkeypatch.setattr(Host, "__aenter__", refuse)
    # The signals of this process are the test runner's.
    monkeypatch.setattr(Shutdown, "listen", lambda _: None)
    monkeypatch.setattr(Shutdown, "finish", lambda _: None)
    assert main(["serve", "--port", "0", "--data-dir", str(tmp_path), *options]) == 1
    assert told == [limit]


# A host that runs


async def test_an_agent_of_one_s_own_is_offered_first_and_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "greeting.py").write_text(GREETER)
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).parents[2]}{os.pathsep}{tmp_path}")
    async with serve(tmp_path / "data", "--agent", "greeting:Greeter") as host:
        async with open_client(host.url) as client:
            await client.initialize("ahp-root://")
            agents = client.states["ahp-root://"]["agents"]
            assert [agent["provider"] for agent in agents] == ["greeter", "demo"]
            chat = await client.ready_session("ahp-session:/s1")
            await client.subscribe(chat)
            await client.run_turn(chat, "t1", "world")
            (part,) = client.states[chat]["turns"][0]["responseParts"]
            assert part["content"] == "Hello, world!"
        assert await host.stop() == 0


async def test_it_says_where_it_listens_and_ctrl_c_ends_it_cleanly(tmp_path: Path) -> None:
    async with serve(tmp_path / "data", "--root", str(tmp_path)) as host:
        for line in (
            f"http://{host.address}/#tkn={host.token}",
            f"ws://{host.address}/?tkn={host.token}",
            f'"address": "{host.address}", "connectionToken": "{host.token}"',
        ):
            assert line in host.output
        async with open_client(host.url) as client:
            result = await client.initialize()
            assert result["defaultDirectory"] == tmp_path.as_uri()
            assert await host.stop(signal.SIGINT) == 0
            code, reason = await client.closed
            assert (code, "shutting down" in reason) == (1001, True)
        assert "Traceback" not in host.output


async def test_a_host_needs_nobody_to_tell_where_it_listens(tmp_path: Path) -> None:
    command = f"exec {shlex.quote(sys.executable)} -m agenthost.cli.main serve --port 0 >&-"
    process = await asyncio.create_subprocess_shell(
        command,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "AGENTHOST_DATA_DIR": str(tmp_path / "data")},
    )
    try:
        async with asyncio.timeout(PATIENCE):
            while not (tmp_path / "data" / HOST_FILE).exists():
                assert process.returncode is None
                await asyncio.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            _, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert (process.returncode, said) == (0, b"")


async def test_a_token_file_of_one_s_own_is_used(tmp_path: Path) -> None:
    secret = "my-own-token-that-is-long-enough"
    (tmp_path / "mine").write_text(secret + "\n")
    (tmp_path / "mine").chmod(0o600)
    async with serve(tmp_path / "data", "--token-file", str(tmp_path / "mine")) as host:
        assert host.url.endswith(f"/?tkn={secret}")
        async with open_client(host.url) as client:
            await client.initialize()


def test_over_stdio_nothing_but_messages_is_printed_and_the_end_of_input_ends_it(
    tmp_path: Path,
) -> None:
    params = {"channel": "ahp-root://", "protocolVersions": [SUPPORTED_VERSIONS[0]]}
    sent = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {**params, "clientId": "c"}},
        {"jsonrpc": "2.0", "id": 2, "method": "ping", "params": {"channel": "ahp-root://"}},
    ]
    lines = "".join(json.dumps(message) + "\n" for message in sent) + "garbage\n"
    done = agenthost("serve", "--stdio", "--data-dir", "data", cwd=tmp_path, stdin=lines)
    assert (done.returncode, done.stderr) == (0, "")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [1, 2, None]
    assert answers[0]["result"]["protocolVersion"] == SUPPORTED_VERSIONS[0]
    assert answers[2]["error"]["code"] == -32700


# Data of an older agenthost


def progress(done: int, channels: int = 200) -> UpgradeProgress:
    return UpgradeProgress("0.7.0", "1.0.0", 3, done, channels)


def test_an_upgrade_that_goes_on_says_what_it_goes_on_with(
    capsys: pytest.CaptureFixture[str],
) -> None:
    news = UpgradeNews()
    for done in (56, 100):
        news.tell(progress(done))
    assert capsys.readouterr().err.splitlines() == [
        "An earlier start did not finish bringing 3 sessions of protocol 0.7.0 up to 1.0.0: "
        "going on at 28 %",
        "  50 %",
    ]


def test_an_upgrade_says_once_that_it_begins_and_promises_no_more_than_everything(
    capsys: pytest.CaptureFixture[str],
) -> None:
    news = UpgradeNews()
    for done, channels in ((0, 200), (0, 200), (201, 200), (7, 0)):
        news.tell(progress(done, channels))
    begun, *then = capsys.readouterr().err.splitlines()
    assert begun.endswith("bringing 3 sessions up to 1.0.0 …")
    assert then == ["  0 %", "  100 %", "  …"]


async def test_what_goes_on_is_logged_beside_the_data_and_shown_by_logs(tmp_path: Path) -> None:
    async with serve(tmp_path / "data", "--log-format", "json") as host:
        async with open_client(host.url, "c1") as client:
            await client.initialize()
        await host.stop()
        assert "connected from" not in host.output
    lines = (tmp_path / "data" / "logs" / "host.log").read_text().splitlines()
    assert any("connected from" in json.loads(line)["message"] for line in lines)


async def test_no_log_file_is_written_when_none_is_wanted(tmp_path: Path) -> None:
    async with serve(tmp_path / "data", "--log-file", "none") as host:
        await host.stop()
    assert not (tmp_path / "data" / "logs").exists()
