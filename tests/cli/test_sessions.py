"""``agenthost sessions`` against a real host."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import shlex
import termios
from datetime import UTC, datetime
from functools import partial
from typing import Any
from unittest import mock

import pytest

from agenthost.cli.commands.sessions import session_table
from agenthost.cli.format.state_format import session_id, short_id
from agenthost.cli.format.terminal_text import columns, safe_text
from agenthost.client import connect
from agenthost.client.sessions import Sessions
from agenthost.protocol import SUPPORTED_VERSIONS
from tests.cli.running import Cli

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def listed(cli: Cli, *options: str) -> list[Any]:
    done = await cli.main("sessions", "--json", *options)
    assert done.code == 0
    sessions: list[Any] = done.json
    return sessions


async def titles(cli: Cli, *options: str) -> list[str]:
    return [session["title"] for session in await listed(cli, *options)]


async def test_a_list_shows_what_there_is_newest_first(cli: Cli) -> None:
    await cli.new("an older one")
    await cli.new("/fail in a newer one")
    done = await cli.main("sessions")
    head, newer, older, *_ = done.out.splitlines()
    assert head.split() == ["ID", "TITLE", "STATUS", "AGENT", "CHANGED"]
    assert re.fullmatch(r"\w{8}  /fail in a newer one +error, unread +demo +just now", newer)
    assert re.fullmatch(r"\w{8}  an older one +idle, unread +demo +just now", older)
    assert "\x1b" not in done.out


def a_summary(title: str, **fields: Any) -> Any:
    made = {"resource": "ahp-session:/1", "title": title, "status": 1, "provider": "demo"}
    return {**made, "modifiedAt": "2026-01-01T00:00:00Z", **fields}


@pytest.mark.parametrize(("width", "shown"), [(None, True), (90, True), (60, False)])
async def test_how_many_lines_changed_is_told_where_it_fits(width: int | None, shown: bool) -> None:
    changed = a_summary("x" * 100, changes={"additions": 12, "deletions": 3, "files": 2})
    now = datetime(2026, 1, 1, 1, tzinfo=UTC)
    head, row, _ = session_table([changed, a_summary("none")], now, width, False)
    assert head.endswith("LINES") == shown
    assert row.endswith("+12 −3") == shown
    unknown = session_table([a_summary("none")], now, width, False)
    assert "LINES" not in unknown[0]


@pytest.mark.parametrize(
    ("width", "names"),
    [
        (40, ["ID", "TITLE", "STATUS"]),
        (48, ["ID", "TITLE", "STATUS", "CHANGED"]),
        (60, ["ID", "TITLE", "STATUS", "AGENT", "CHANGED"]),
    ],
)
async def test_a_narrow_list_leaves_out_columns_and_breaks_no_row(
    width: int, names: list[str]
) -> None:
    of = a_summary("x" * 100, resource="ahp-session:/12345678-1", changes={"additions": 12})
    now = datetime(2026, 1, 1, 0, 11, tzinfo=UTC)
    lines = session_table([of, a_summary("none")], now, width, False)
    assert lines[0].split() == names
    assert max(map(columns, lines)) <= width
    assert ("11 min ago" in lines[1]) == ("CHANGED" in names)


async def test_a_list_is_narrowed_by_words_and_numbers(cli: Cli) -> None:
    await cli.new("needle")
    await cli.new("hay")
    assert await titles(cli, "--filter", "NEEDLE") == ["needle"]
    assert await titles(cli, "--limit", "1") == ["hay"]
    assert "hay" not in await titles(cli, "--filter", "error")
    nothing = await cli.main("sessions", "--filter", "there is no such thing")
    assert (nothing.code, nothing.out) == (0, "")
    assert "no sessions like that" in nothing.err


async def test_archived_sessions_are_out_of_the_way(cli: Cli) -> None:
    uri = await cli.new("to be archived")
    done = await cli.main("sessions", "archive", session_id(uri)[:13])
    assert (done.code, done.out) == (0, f"archived  {uri}\n")
    normal, archived = await titles(cli), await titles(cli, "--archived")
    both = await titles(cli, "--all")
    assert "to be archived" not in normal
    assert "to be archived" in archived
    assert "to be archived" in both
    assert len(both) == len(normal) + len(archived)
    assert (await cli.main("sessions", "unarchive", uri)).code == 0
    assert "to be archived" in await titles(cli, "list")


async def test_a_session_is_renamed_and_found_by_its_new_title(cli: Cli) -> None:
    uri = await cli.new("before")
    assert (await cli.main("sessions", "rename", uri, "A better name")).code == 0
    done = await cli.main("sessions", "show", "better NAME", "--json")
    assert done.json["session"] == uri
    assert done.json["title"] == "A better name"


async def test_read_takes_the_mark_off(cli: Cli) -> None:
    uri = await cli.new("unread")
    assert (await cli.main("sessions", "read", uri)).code == 0
    (session,) = await listed(cli, "--filter", session_id(uri))
    assert session["unread"] is False


async def test_a_session_is_disposed_of(cli: Cli) -> None:
    async with cli.client() as client:
        empty = (await client.sessions.create()).uri
    done = await cli.main("sessions", "dispose", empty, "--json")
    assert (done.code, done.json) == (0, [{"session": empty, "done": True, "outcome": "removed"}])
    assert empty not in [session["session"] for session in await listed(cli, "--all")]


async def test_disposing_of_sessions_says_what_became_of_each(cli: Cli) -> None:
    async with cli.client() as client:
        empty = (await client.sessions.create()).uri
    full = await cli.new("holds a turn")
    done = await cli.main("sessions", "dispose", empty, full)
    assert done.code == 0
    removed, kept, undo = done.out.splitlines()
    assert (removed, kept) == (f"removed  {empty}", f"in the trash  {full}")
    assert f"sessions restore {short_id(full)}" in undo
    assert full not in [item["session"] for item in await listed(cli, "--all")]


async def test_a_disposed_session_is_found_in_the_trash_restored_and_purged(cli: Cli) -> None:
    uri = await cli.new("thrown away by mistake")
    done = await cli.main("sessions", "dispose", uri)
    # What is printed to be typed works.
    words = shlex.split(done.out.partition("`")[2].partition("`")[0])
    shown = await cli.main("sessions", "trash")
    assert "thrown away by mistake" in shown.out
    restored = await cli.main(*words[1:])
    assert (restored.code, restored.out) == (0, f"restored  {uri}\n")
    assert uri in [item["session"] for item in await listed(cli)]
    deleted = await cli.main("sessions", "delete", uri, "--json")
    assert deleted.json == [{"session": uri, "done": True, "outcome": "in the trash"}]
    purged = await cli.main("sessions", "purge", "by mistake", "--json")
    assert (purged.code, purged.json) == (0, [{"session": uri, "done": True}])
    again = await cli.main("sessions", "restore", uri)
    assert again.code == 1
    assert "in the trash" in again.err
    kept = await cli.main("sessions", "trash", "--json")
    assert uri not in [entry["session"] for entry in kept.json]


async def test_a_host_that_archives_what_it_is_to_dispose_of_is_told_from_others(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def archive(sessions: Sessions, uri: str) -> None:
        await sessions.archive(uri)

    monkeypatch.setattr(Sessions, "dispose", archive)
    uri = await cli.new("archived instead")
    done = await cli.main("sessions", "dispose", uri)
    kept, undo = done.out.splitlines()
    assert kept == f"archived  {uri}"
    # What is printed to be typed works.
    words = shlex.split(undo.partition("`")[2].partition("`")[0])
    assert (await cli.main(*words[1:])).code == 0
    assert uri in [item["session"] for item in await listed(cli)]


async def test_one_failure_among_several_is_told_and_the_rest_is_done(cli: Cli) -> None:
    uri = await cli.new("one of two")
    done = await cli.main("sessions", "archive", "ahp-session:/nope", uri, "--json")
    assert done.code == 1
    failed, archived = done.json
    assert failed["done"] is False
    assert "there is no session" in failed["error"]
    assert archived == {"session": uri, "done": True}


async def test_a_name_that_means_no_session_is_one_failure_among_several(cli: Cli) -> None:
    uri = await cli.new("meant")
    done = await cli.main("sessions", "archive", uri, "no such name", "meant", "--json")
    assert done.code == 1
    archived, failed = done.json
    assert archived == {"session": uri, "done": True}
    assert (failed["session"], failed["done"]) == ("no such name", False)
    assert "no session matches" in failed["error"]
    assert "no session matches" in done.err


async def test_one_session_is_shown_with_its_chats(cli: Cli) -> None:
    uri = await cli.new("/subagent hello")
    text = await cli("sessions", "show", uri)
    document = await cli.main("sessions", "show", uri, "--json")
    assert text.code == document.code == 0
    lines = text.out.splitlines()
    assert lines[0] == "/subagent hello"
    assert f"  session    {uri}" in lines
    assert f"  directory  {cli.cwd}" in lines
    assert [chat["title"] for chat in document.json["chats"]] == ["/subagent hello", "Worker"]
    assert document.json["lifecycle"] == "ready"
    assert document.json["defaultChat"] == document.json["chats"][0]["chat"]


async def test_a_session_that_waits_says_for_what(cli: Cli) -> None:
    async with cli.client() as client:
        session = await client.sessions.create()
        chat = await session.chat()
        chat.send("/run ls")
        await session.channel.until(lambda state: state.get("inputNeeded"))
        done = await cli.main("sessions", "show", session.uri)
        row = await listed(cli, "--filter", "needs input")
        chat.cancel()
    assert "Waits for\n  approval of Shell: Run ls" in done.out
    assert [item["session"] for item in row] == [session.uri]


async def test_what_a_session_of_an_old_host_waits_for_is_in_its_chats(cli: Cli) -> None:
    old = partial(connect, versions=SUPPORTED_VERSIONS[-1:])
    async with cli.client() as client:
        session = await client.sessions.create()
        chat = await session.chat()
        chat.send("/run ls")
        await session.channel.until(lambda state: state.get("inputNeeded"))
        with mock.patch("agenthost.cli.connection.host_connection.connect", old):
            text = await cli.main("sessions", "show", session.uri)
            document = await cli.main("sessions", "show", session.uri, "--json")
        chat.cancel()
    assert "Waits for\n  approval of Shell: Run ls" in text.out
    assert [need["kind"] for need in document.json["inputNeeded"]] == ["toolConfirmation"]


async def test_a_text_that_means_several_sessions_is_refused_with_their_names(cli: Cli) -> None:
    first, second = await cli.new("twin one"), await cli.new("twin two")
    done = await cli.main("sessions", "show", "twin")
    assert (done.code, done.out) == (1, "")
    assert session_id(first) in done.err
    assert session_id(second) in done.err
    none = await cli.main("sessions", "show", "no such twin")
    assert (none.code, none.out) == (1, "")
    assert "agenthost sessions --all" in none.err


# Terminals, pipes and misuse


async def on_terminal(cli: Cli, width: int, *arguments: str, **environ: str) -> str:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, width))
    code, _ = await cli.with_output(theirs, *arguments, **environ)
    assert code == 0
    text = b""
    try:
        while data := os.read(ours, 65536):
            text += data
    except OSError:
        # Linux says so when the other side is closed.
        pass
    finally:
        os.close(ours)
    return text.decode().replace("\r\n", "\n")


async def test_a_terminal_gets_colours_and_lines_that_fit_it(cli: Cli) -> None:
    await cli.new("a title that is much too long for a narrow terminal to show it whole")
    shown = await on_terminal(cli, 60, "sessions")
    assert "\x1b[" in shown
    assert max(columns(safe_text(line)) for line in shown.splitlines()) <= 60
    assert "…" in shown
    colourless = await on_terminal(cli, 60, "sessions", NO_COLOR="1")
    assert "\x1b[" not in colourless


async def test_a_reader_that_has_enough_is_no_error_to_shout_about(cli: Cli) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    assert await cli.with_output(writing, "sessions", "--all") == (141, "")


async def test_misuse_ends_with_2(alone: Cli) -> None:
    misuse = (["burn"], ["--limit", "0"], ["--all", "--archived"], ["rename", "x"])
    for words in misuse:
        done = await alone.main("sessions", *words)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("usage: agenthost sessions")


async def test_no_host_or_a_dead_one_ends_with_3(alone: Cli) -> None:
    none, closed = await asyncio.gather(
        alone("sessions"), alone("sessions", "--url", "127.0.0.1:1", "list")
    )
    assert (none.code, none.out) == (closed.code, closed.out) == (3, "")
    assert "agenthost serve" in none.err
    assert "cannot be reached" in closed.err
    assert "agenthost doctor" in closed.err
