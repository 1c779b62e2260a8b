"""Byte streams for the event loop over any descriptor: pipe, socket, terminal or file.

Owns the differences between them, and leaves shared descriptors as it found them. Knows nothing
of what is read or written.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
from typing import IO

from agenthost.transport.lines import ByteReader

# Bytes buffered ahead of the reader, twice at most.
_READ_AHEAD = 64 * 1024


async def open_streams(
    stdin: int, stdout: int, cleanup: contextlib.ExitStack
) -> tuple[ByteReader, asyncio.StreamWriter]:
    """Return a reader and a writer over two descriptors, which stay the caller's.

    ``cleanup`` collects what must be undone after the writer is closed, and is closed at once
    where opening fails.
    """
    with contextlib.ExitStack() as undo:
        undo.push(cleanup)
        for descriptor in (stdin, stdout):
            _restore_blocking(descriptor, cleanup)
        streams: tuple[ByteReader, asyncio.StreamWriter]
        if _same_socket(stdin, stdout):
            # As two pipes, what comes in would pass for the end of what goes out.
            sock = socket.socket(fileno=os.dup(stdin))
            streams = await asyncio.open_connection(sock=sock, limit=_READ_AHEAD)
        else:
            streams = await _open_reader(stdin, cleanup), await _open_writer(stdout)
        undo.pop_all()
        return streams


def _restore_blocking(descriptor: int, cleanup: contextlib.ExitStack) -> None:
    """Undo at the end what the event loop does to a descriptor that other processes may share."""
    kept = os.dup(descriptor)
    cleanup.callback(os.close, kept)
    cleanup.callback(os.set_blocking, kept, os.get_blocking(kept))


def _same_socket(first: int, second: int) -> bool:
    one, other = os.fstat(first), os.fstat(second)
    return stat.S_ISSOCK(one.st_mode) and os.path.samestat(one, other)


async def _open_reader(descriptor: int, cleanup: contextlib.ExitStack) -> ByteReader:
    if not _can_poll(descriptor):
        return _FileReader(descriptor)
    reader = asyncio.StreamReader(limit=_READ_AHEAD)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), _duplicate(descriptor, "rb")
    )
    cleanup.callback(transport.close)
    return reader


async def _open_writer(descriptor: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    # Only for its flow control: nothing is read from an output.
    protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())
    transport: asyncio.WriteTransport
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        transport = _FileWriter(descriptor, protocol)
    else:
        pipe = _duplicate(descriptor, "wb")
        transport, _ = await loop.connect_write_pipe(lambda: protocol, pipe)
    return asyncio.StreamWriter(transport, protocol, None, loop)


def _duplicate(descriptor: int, mode: str) -> IO[bytes]:
    """Return a file over a copy of the descriptor, for a pipe transport to own and close."""
    copy = os.dup(descriptor)
    try:
        return os.fdopen(copy, mode, buffering=0)
    except OSError:
        os.close(copy)
        raise


def _can_poll(descriptor: int) -> bool:
    """Whether the event loop can wait for this descriptor; not for files and /dev/null."""
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return False
    loop = asyncio.get_running_loop()
    probe = os.dup(descriptor)
    try:
        loop.add_reader(probe, lambda: None)
    except PermissionError:
        return False
    else:
        loop.remove_reader(probe)
        return True
    finally:
        os.close(probe)


class _FileReader:
    """Reads what cannot be waited for, in a thread; such a read is slow at worst, never stuck."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def read(self, n: int) -> bytes:
        """Return the next bytes of the file."""
        return await asyncio.to_thread(os.read, self._descriptor, n)


class _FileWriter(asyncio.WriteTransport):
    """Writes to a regular file, which the operating system accepts at once."""

    def __init__(self, descriptor: int, protocol: asyncio.BaseProtocol) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._protocol = protocol
        self._closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Append to the file; a failure ends the transport."""
        rest = memoryview(data)
        try:
            while rest and not self._closing:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            self._end(error)

    def get_write_buffer_size(self) -> int:
        """Nothing waits."""
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Nothing waits, so there is nothing to limit."""

    def is_closing(self) -> bool:
        """Whether no more can be written."""
        return self._closing

    def close(self) -> None:
        """End the transport; the file stays open."""
        self._end(None)

    def abort(self) -> None:
        """End the transport; the file stays open."""
        self._end(None)

    def _end(self, error: Exception | None) -> None:
        if not self._closing:
            self._closing = True
            loop = asyncio.get_running_loop()
            loop.call_soon(self._protocol.connection_lost, error)
