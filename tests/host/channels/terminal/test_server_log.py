"""The log of a program as a terminal: what is shown of any bytes, how much, and until when."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agenthost.host import Host
from agenthost.host.channels.terminal.kind import SCROLLBACK, TERMINAL
from agenthost.host.channels.terminal.server_log import LogTerminal


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    async with Host() as host:
        yield host


def open_log(host: Host) -> LogTerminal:
    core = host.core
    return LogTerminal(core.writer, core.directory, "it log", "ahp-session:/s", "ahp-chat:/c")


def state_of(host: Host, log: LogTerminal) -> Any:
    channel = host.core.directory.get(log.uri, TERMINAL)
    return None if channel is None else channel.state


def text_of(host: Host, log: LogTerminal) -> str:
    return "".join(part["value"] for part in state_of(host, log)["content"])


async def test_lines_begin_at_the_left_and_characters_may_come_in_pieces(host: Host) -> None:
    log = open_log(host)
    for piece in (b"one\ntwo\r\n", "é".encode()[:1], "é".encode()[1:], b"\xff!\n", b""):
        log.write(piece)
    assert text_of(host, log) == "one\r\ntwo\r\né\ufffd!\r\n"


async def test_a_log_is_listed_nowhere_takes_nothing_and_keeps_its_end(host: Host) -> None:
    log = open_log(host)
    assert state_of(host, log)["isPty"] is False
    assert host.core.root.state["terminals"] == []
    for number in range(200):
        log.note(f"{number:03} {'x' * 2000}\n")
    kept = text_of(host, log)
    assert len(kept) <= SCROLLBACK
    assert kept.endswith("x\r\n")
    assert "199 x" in kept
    assert "000 x" not in kept


async def test_a_log_that_is_closed_is_gone_and_writes_nothing_more(host: Host) -> None:
    log = open_log(host)
    log.note("one\n")
    log.close()
    log.note("two\n")
    log.close()
    assert state_of(host, log) is None
