"""The command line where a locale knows few characters, and where it is interrupted early."""

from __future__ import annotations

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NoReturn

import pytest

from agenthost.cli import main as module
from agenthost.cli.main import main
from tests.cli.running import Cli, Running

pytestmark = pytest.mark.asyncio(loop_scope="module")

# Python takes the C locale for UTF-8 unless it is told not to.
POSIX = {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


async def test_what_a_locale_cannot_show_is_spelled_out(cli: Cli) -> None:
    uri = await cli.new("größe ⇢ 日本")
    narrow = {"PYTHONIOENCODING": "ascii"}
    for arguments in (
        ("send", "--session", uri, "für → dich"),
        ("sessions",),
        ("sessions", "show", uri),
        ("export", uri),
        ("inspect", str(cli.wire_log)),
        ("inspect", "--help"),
    ):
        done = await cli(*arguments, **narrow)
        assert (done.code, "Traceback" in done.err) == (0, False), (arguments, done.err)
        assert "\\u" in done.out, arguments


async def test_json_is_whole_in_any_locale(cli: Cli) -> None:
    uri = await cli.new("größe")
    shown = await cli("sessions", "show", uri, "--json", PYTHONIOENCODING="ascii")
    assert shown.json["title"] == "größe"
    exported = await cli("export", uri, "--json", PYTHONIOENCODING="ascii")
    assert exported.json["session"]["title"] == "größe"


async def test_what_a_locale_cannot_read_is_read_as_utf_8(cli: Cli) -> None:
    given = await cli("send", "süß", "--json", **POSIX)
    piped = await cli("send", "--json", stdin="süß", **POSIX)
    assert given.json["text"] == piped.json["text"]
    assert "**süß**" in given.json["text"]
    again = await cli("send", "--session", given.json["session"], "x", "--json", **POSIX)
    assert again.code == 0
    renamed = await cli("sessions", "rename", given.json["session"], "größer", **POSIX)
    assert renamed.code == 0
    shown = await cli("sessions", "show", "größer", "--json", **POSIX)
    assert shown.json["title"] == "größer"


@pytest.mark.parametrize(
    "words",
    [
        ("sessions",),
        ("sessions", "show", "x"),
        ("sessions", "archive", "x"),
        ("send", "x"),
        ("export", "x"),
        ("export", "x", "--format", "json"),
        ("watch",),
        ("watch", "x"),
        ("inspect", "--live"),
        ("chat",),
    ],
)
async def test_no_host_is_an_object_for_programs(alone: Cli, words: tuple[str, ...]) -> None:
    done = await alone.main(*words, "--json")
    error = done.lines[-1]["error"]
    assert (done.code, error["kind"], error["exitCode"]) == (3, "noHost", 3)
    assert done.err == f"agenthost: {error['message']}\n"
    assert done.lines[-1].get("event") == ("error" if words[0] in ("watch", "chat") else None)


@pytest.mark.parametrize(
    ("words", "kind", "code"),
    [
        (("send", "x", "--agent", "nope"), "noAgent", 1),
        (("send", "x", "--session", "nope"), "notFound", 1),
        (("sessions", "show", "nope"), "notFound", 1),
        (("export", "ahp-session:/nope"), "notFound", 1),
        (("watch", "nope"), "notFound", 1),
        (("chat", "nope"), "notFound", 1),
        (("sessions", "--token", "w" * 43), "refused", 3),
        (("send", "x", "--url", "127.0.0.1:1"), "unreachable", 3),
        (("send", "x", "--approve", "perhaps"), "usage", 2),
        (("sessions", "--limit", "0"), "usage", 2),
        (("watch", "--nonsense"), "usage", 2),
        (("inspect",), "usage", 2),
        (("inspect", "no such file"), "failed", 1),
        (("token", "revoke", "nope"), "failed", 1),
    ],
)
async def test_every_failure_is_an_object_for_programs(
    cli: Cli, words: tuple[str, ...], kind: str, code: int
) -> None:
    done = await cli.main(*words, "--json")
    error = done.lines[-1]["error"]
    assert (done.code, error["kind"], error["exitCode"]) == (code, kind, code)
    assert error["message"] in done.err


async def test_ctrl_c_is_no_traceback_however_early_it_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(only: str | None) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "build_parser", interrupt)
    assert main(["sessions"]) == 130


@asynccontextmanager
async def in_the_background(cli: Cli, *arguments: str) -> AsyncIterator[Running]:
    """Run a command as a script does with ``&``: SIGINT is ignored, and stays so in a child."""
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        async with cli.running(*arguments) as running:
            signal.signal(signal.SIGINT, handler)
            yield running
    finally:
        signal.signal(signal.SIGINT, handler)


@pytest.mark.parametrize(
    ("words", "sign"),
    [
        (("inspect", "LOG", "--follow"), "initialize"),
        (("inspect", "--live", "--json"), "initialize"),
        (("watch", "--json"), "present"),
        (("chat", "--json"), "attached"),
    ],
)
async def test_sigint_ends_a_command_that_was_started_ignoring_it(
    cli: Cli, words: tuple[str, ...], sign: str
) -> None:
    await cli.new("something to see")
    words = tuple(str(cli.wire_log) if word == "LOG" else word for word in words)
    async with in_the_background(cli, *words) as running:
        await running.until(sign)
        done = await running.end(signal.SIGINT)
    assert (done.code, done.err) == (130, "")


@pytest.mark.parametrize("word", ["--version", "token", "serve"])
async def test_a_command_loads_nothing_that_it_does_not_need(word: str) -> None:
    code = f"""
import sys
from agenthost.cli.main import build_parser
build_parser({word!r})
slow = "agenthost.client", "agenthost.host", "websockets", "pydantic", "importlib.metadata"
print([name for name in slow if name in sys.modules])
"""
    started = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=PIPE)
    printed, _ = await asyncio.wait_for(started.communicate(), 60)
    assert printed == b"[]\n"
