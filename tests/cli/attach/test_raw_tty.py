"""The user's terminal is raw while it is used, and afterwards as it was: on a real pty."""

from __future__ import annotations

import asyncio
import fcntl
import os
import struct
import termios
from collections.abc import Iterator

import pytest

from agenthost.cli.attach.raw_tty import RawTty


@pytest.fixture
def pty() -> Iterator[tuple[int, int]]:
    """The two ends of a pty: what the user sees and types, and what a program has."""
    master, slave = os.openpty()
    yield master, slave
    for end in (master, slave):
        os.close(end)


def modes(end: int) -> list[object]:
    return termios.tcgetattr(end)


def said(master: int, end: bytes) -> bytes:
    data = b""
    while not data.endswith(end):
        data += os.read(master, 4096)
    return data


def test_it_is_given_back_as_it_was_also_after_an_exception(pty: tuple[int, int]) -> None:
    master, slave = pty
    before = modes(slave)
    tty = RawTty(slave, slave)
    tty.undo = lambda: "\x1b[?25h"
    during: list[object] = []

    def fail() -> None:
        with tty:
            during.extend(modes(slave))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    flags = during[3]
    assert isinstance(flags, int)
    assert not flags & (termios.ECHO | termios.ICANON | termios.ISIG)
    assert modes(slave) == before
    assert b"\x1b[?25h" in said(master, b"\x1b[23;0t")


def test_what_nobody_read_is_not_left_for_the_shell(pty: tuple[int, int]) -> None:
    master, slave = pty
    with RawTty(slave, slave) as tty:
        os.write(master, b"read\r")
        assert tty.read() == "read\r"
        os.write(master, b"\x1b[1;1R")
    os.set_blocking(slave, False)
    with pytest.raises(BlockingIOError):
        os.read(slave, 100)


def test_characters_may_come_in_pieces_and_bytes_that_are_none_do_no_harm(
    pty: tuple[int, int],
) -> None:
    master, slave = pty
    with RawTty(slave, slave) as tty:
        os.write(master, "ä".encode()[:1])
        assert tty.read() == ""
        os.write(master, "ä".encode()[1:] + b"\xff.")
        assert tty.read() == "ä\ufffd."


def test_its_size_is_told(pty: tuple[int, int]) -> None:
    _, slave = pty
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    assert RawTty(slave, slave).size == (100, 30)


def test_the_end_of_a_terminal_that_is_gone_is_no_error() -> None:
    master, slave = os.openpty()
    with RawTty(slave, slave) as tty:
        os.close(master)
        assert tty.read() is None
    os.close(slave)


async def test_a_terminal_that_takes_nothing_does_not_keep_anybody(pty: tuple[int, int]) -> None:
    master, slave = pty
    before = modes(slave)
    with RawTty(slave, slave) as tty:
        writing = asyncio.create_task(tty.write("x" * 1_000_000))
        # Some of it, and never the rest.
        await asyncio.to_thread(os.read, master, 1)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        # Makes room for the drain that giving back the modes waits for.
        draining = asyncio.create_task(asyncio.to_thread(said, master, b"\x1b[23;0t"))
        await asyncio.sleep(0)
    await draining
    assert modes(slave) == before
