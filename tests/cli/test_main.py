"""The command line where a locale knows few characters, and where it is interrupted early."""

from __future__ import annotations

from typing import NoReturn

import pytest

from agenthost.cli import main as module
from agenthost.cli.main import main
from tests.cli.running import Cli

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


async def test_ctrl_c_is_no_traceback_however_early_it_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(only: str | None) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "build_parser", interrupt)
    assert main(["sessions"]) == 130
