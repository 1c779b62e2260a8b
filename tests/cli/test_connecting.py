from __future__ import annotations

import argparse
import io
import os
import re
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from agenthost.cli.connecting import (
    CommandFailed,
    add_connection_options,
    as_typed,
    connected,
    run_command,
    use_colour,
)
from agenthost.cli.discovery import NoHost
from agenthost.cli.main import _COMMANDS, main
from agenthost.client import (
    CannotConnect,
    ConnectionLost,
    ConnectionState,
    NotAdmitted,
    Reconnecting,
    Rejected,
)
from agenthost.errors import AgentHostError, SessionNotFound
from agenthost.host import Host


def fails_with(error: BaseException) -> Callable[[], Awaitable[int]]:
    async def work() -> int:
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyboardInterrupt(), 130),
        (CommandFailed("no"), 1),
        (CommandFailed("no", 2), 2),
        (NoHost("no"), 3),
        (CannotConnect("no"), 3),
        (NotAdmitted("no", status=401), 3),
        (ConnectionLost("no"), 3),
        (TimeoutError(), 3),
        (Rejected("no", {}), 1),
        (SessionNotFound("no"), 1),
        (AgentHostError("no"), 1),
    ],
)
def test_what_goes_wrong_is_a_sentence_and_a_code(
    error: BaseException, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(fails_with(error)) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("agenthost: ") or isinstance(error, KeyboardInterrupt)
    assert "Traceback" not in err


def test_a_hint_goes_with_what_a_person_can_do_about(capsys: pytest.CaptureFixture[str]) -> None:
    run_command(fails_with(NotAdmitted("401", status=401)))
    assert "--token" in capsys.readouterr().err
    run_command(fails_with(CannotConnect("refused")))
    assert "agenthost doctor" in capsys.readouterr().err


def test_what_a_host_says_cannot_drive_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    run_command(fails_with(AgentHostError("no\x1b]0;mine\x07\x1b[2J\x9b2J, sorry")))
    assert capsys.readouterr().err == "agenthost: no2J, sorry\n"


@pytest.mark.parametrize(
    ("text", "read"),
    [("süß", "süß"), ("s\udcc3\udcbc", "sü"), ("a\udcff", "a\ufffd"), ("\ud800!", "?!")],
)
def test_whatever_is_typed_can_be_sent(text: str, read: str) -> None:
    assert as_typed(text) == read


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
        args = argparse.Namespace(url=url, token=None, data_dir=None)
        async with connected(args, patience=0.05, tell=told.append) as client:
            await ending.aclose()
            await client.request("ping")


async def test_a_host_that_stays_away_is_given_up() -> None:
    told: list[ConnectionState] = []
    with pytest.raises(CannotConnect, match="did not come back"):
        await outlive(told)
    assert any(isinstance(state, Reconnecting) for state in told)


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
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
    known = {"--version"}
    for command in _COMMANDS:
        assert re.search(rf"^\| `{command}\b", page, re.MULTILINE), command
        with pytest.raises(SystemExit):
            main([command, "--help"])
        known |= set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out))
    assert set(re.findall(r"--[a-z][a-z-]+", page)) <= known
