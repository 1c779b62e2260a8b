from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import re
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from agenthost.cli.connection.host_connection import (
    PATIENCE,
    HostWentAway,
    add_connection_options,
    connected,
    decode_argument,
    explain_reason,
    run_command,
    use_colour,
)
from agenthost.cli.exit_codes import CommandFailed
from agenthost.cli.main import _COMMANDS, build_parser, main
from agenthost.client import (
    CannotConnect,
    ConnectionLost,
    ConnectionState,
    NoCommonVersion,
    NotAdmitted,
    Reconnecting,
    Rejected,
)
from agenthost.errors import (
    AgentHostError,
    NotFound,
    PermissionDenied,
    ProviderNotFound,
    SessionNotFound,
)
from agenthost.host import Host
from agenthost.local_host import NoHost
from tests.cli.leaving import leaving

REJECTED: Any = {}


def run_and_fail(error: BaseException, **options: bool) -> int:
    async def work(_: argparse.Namespace) -> int:
        raise error

    which = {"url": None, "token": None, "data_dir": None}
    return run_command(argparse.Namespace(**{**which, **options}), work)


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (CommandFailed("no"), "failed", 1),
        (CommandFailed("no", 2), "usage", 2),
        (CommandFailed("no", kind="ambiguous"), "ambiguous", 1),
        (NoHost("no"), "noHost", 3),
        (CannotConnect("no"), "unreachable", 3),
        (NotAdmitted("no", status=401), "refused", 3),
        (NoCommonVersion(["1"], ["2"]), "noCommonVersion", 3),
        (ConnectionLost("no"), "wentAway", 3),
        (HostWentAway("no"), "wentAway", 3),
        (TimeoutError(), "timeout", 3),
        (Rejected("no", REJECTED), "failed", 1),
        (SessionNotFound("no"), "notFound", 1),
        (NotFound("no"), "notFound", 1),
        (ProviderNotFound("no"), "noAgent", 1),
        (PermissionDenied("no"), "denied", 1),
        (AgentHostError("no"), "failed", 1),
    ],
)
def test_what_goes_wrong_is_a_sentence_a_code_and_an_object(
    error: BaseException, kind: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_and_fail(error) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("agenthost: ")
    assert "Traceback" not in err
    assert run_and_fail(error, json=True) == code
    out, again = capsys.readouterr()
    assert again == err
    said = err.removeprefix("agenthost: ").rstrip("\n")
    assert json.loads(out) == {"error": {"kind": kind, "message": said, "exitCode": code}}
    run_and_fail(error, json=True, json_event=True)
    assert json.loads(capsys.readouterr().out)["event"] == "error"


def test_ctrl_c_is_a_code_and_nothing_to_say(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_and_fail(KeyboardInterrupt(), json=True) == 130
    assert capsys.readouterr() == ("", "")


def test_a_hint_goes_with_what_a_person_can_do_about(capsys: pytest.CaptureFixture[str]) -> None:
    run_and_fail(NotAdmitted("401", status=401))
    assert "--token" in capsys.readouterr().err
    run_and_fail(CannotConnect("refused"))
    assert "agenthost doctor" in capsys.readouterr().err


def test_what_a_host_says_cannot_drive_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    run_and_fail(AgentHostError("no\x1b]0;mine\x07\x1b[2J\x9b2J, sorry"))
    assert capsys.readouterr().err == "agenthost: no2J, sorry\n"


@pytest.mark.parametrize(
    ("text", "read"),
    [("süß", "süß"), ("s\udcc3\udcbc", "sü"), ("a\udcff", "a\ufffd"), ("\ud800!", "?!")],
)
def test_whatever_is_typed_can_be_sent(text: str, read: str) -> None:
    assert decode_argument(text) == read


def test_what_is_said_before_a_verb_counts_unless_it_is_said_again() -> None:
    parser = argparse.ArgumentParser()
    add_connection_options(parser)
    verb = parser.add_subparsers().add_parser("verb")
    add_connection_options(verb, inherited=True)
    assert parser.parse_args(["--url", "a", "verb"]).url == "a"
    assert parser.parse_args(["--url", "a", "verb", "--url", "b"]).url == "b"
    assert parser.parse_args(["verb"]).url is None


def test_a_variable_that_is_empty_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTHOST_URL", "")
    monkeypatch.setenv("AGENTHOST_TOKEN", "")
    parser = argparse.ArgumentParser()
    add_connection_options(parser)
    args = parser.parse_args([])
    assert (args.url, args.token) == (None, None)


def test_colours_are_for_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.openpty()
    monkeypatch.delenv("NO_COLOR", raising=False)
    with open(theirs, "w") as terminal:
        assert use_colour(terminal)
        assert not use_colour(io.StringIO())
        monkeypatch.setenv("NO_COLOR", "1")
        assert not use_colour(terminal)
    os.close(ours)


async def outlive(told: list[ConnectionState]) -> None:
    """Connect to a host, and want something of it when it has ended."""
    async with AsyncExitStack() as ending:
        host = await ending.enter_async_context(Host())
        url = await host.listen(port=0)
        args = argparse.Namespace(url=url, token=None, data_dir=None, tls_ca=None, patience=0.05)
        async with connected(args, tell=told.append) as client:
            await ending.aclose()
            await client.request("ping")


async def test_a_host_that_stays_away_is_given_up() -> None:
    told: list[ConnectionState] = []
    with pytest.raises(HostWentAway, match="did not come back"):
        await outlive(told)
    assert any(isinstance(state, Reconnecting) for state in told)


@pytest.mark.parametrize(
    ("words", "patience"),
    [
        (("sessions",), PATIENCE),
        (("sessions", "show", "x"), PATIENCE),
        (("sessions", "archive", "x"), PATIENCE),
        (("export", "x"), PATIENCE),
        (("send", "x"), 120.0),
        (("watch",), None),
        (("chat",), None),
        (("inspect", "--live"), None),
    ],
)
def test_commands_wait_as_long_as_what_they_do_is_worth(
    words: tuple[str, ...], patience: float | None
) -> None:
    assert build_parser().parse_args(words).patience == patience


@pytest.mark.parametrize(
    ("words", "at"),
    [
        (("sessions",), "listSessions"),
        (("sessions", "--json"), "listSessions"),
        (("sessions", "show", "T"), "subscribe"),
        (("sessions", "archive", "T"), "subscribe"),
        (("sessions", "rename", "T", "U", "--json"), "subscribe"),
        (("export", "T"), "subscribe"),
        (("send", "hi", "--session", "T"), "subscribe"),
        (("watch", "T"), "subscribe"),
        (("inspect", "--live", "T"), "subscribe"),
        (("chat", "T", "--json"), "subscribe"),
    ],
)
async def test_no_command_waits_for_ever_or_in_silence(
    words: tuple[str, ...], at: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with leaving(at) as url:
        args = build_parser().parse_args([*words, "--url", url])
        args.patience = 0.1
        assert await asyncio.to_thread(args.run, args) == 3
    out, err = capsys.readouterr()
    assert "connection lost (" in err
    assert "the host went away and did not come back" in err
    if words[1:] == ("--json",):
        assert json.loads(out)["error"]["kind"] == "wentAway"
    if "rename" in words:
        (outcome,) = json.loads(out)
        assert (outcome["done"], "did not come back" in outcome["error"]) == (False, True)


def test_why_nobody_can_be_reached_is_said_in_words() -> None:
    assert explain_reason("ws://box cannot be reached: TimeoutError").endswith(
        ": no answer in time"
    )
    assert "InvalidMessage" not in explain_reason("ws://box cannot be reached: InvalidMessage")
    assert explain_reason("box: Connection refused") == "box: Connection refused"


async def test_an_address_that_is_none_is_misuse() -> None:
    args = argparse.Namespace(url="ftp://box", token=None, data_dir=None)
    with pytest.raises(CommandFailed) as failed:
        await connected(args).__aenter__()
    assert failed.value.code == 2


def test_every_command_explains_itself_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("sessions", "send", "watch", "export", "inspect", "doctor"):
        with pytest.raises(SystemExit) as ended:
            main([command, "--help"])
        assert ended.value.code == 0
        shown = capsys.readouterr().out
        assert f"examples:\n  agenthost {'serve' if command == 'inspect' else command}" in shown
        assert "--json" in shown
        assert "--url" in shown


def test_the_page_about_the_command_line_names_what_there_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = (Path(__file__).parents[3] / "docs" / "command-line.md").read_text()
    known = {"--version"}
    verbs = [("sessions", "move"), ("sessions", "read"), ("automations", "add")]
    verbs += [("terminal", "new"), ("files", "put"), ("files", "rm"), ("files", "watch")]
    for command in [*((name,) for name in _COMMANDS), *verbs]:
        assert re.search(rf"^\| `{command[0]}\b", page, re.MULTILINE), command
        with pytest.raises(SystemExit):
            main([*command, "--help"])
        known |= set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out))
    assert set(re.findall(r"--[a-z][a-z-]+", page)) <= known
