"""Lines on pipes, sockets, files and terminals."""

from __future__ import annotations

import asyncio
import os
import pty
import socket
import tty
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from agenthost.host.transports import StdioTransport, open_stdio
from agenthost.transport import Encoded, Transport, TransportClosed
from tests.host.transports.pairs import GRACE


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def pipe(stack: ExitStack) -> tuple[int, int]:
    ends = os.pipe()
    for end in ends:
        stack.callback(close_quietly, end)
    return ends


def close_quietly(descriptor: int) -> None:
    try:
        os.close(descriptor)
    except OSError:
        return


async def receive_all(transport: Transport) -> tuple[list[bytes], int]:
    received = []
    while True:
        try:
            received.append(await transport.receive())
        except TransportClosed as closed:
            return received, closed.code


async def test_blank_lines_are_ignored_and_an_unended_last_line_counts(stack: ExitStack) -> None:
    (stdin, theirs), (_, stdout) = pipe(stack), pipe(stack)
    os.write(theirs, b'\n\r\n{"a":1}\r\n   \n{"b":2}')
    os.close(theirs)
    transport = await open_stdio(stdin, stdout)
    assert await receive_all(transport) == ([b'{"a":1}', b'{"b":2}'], 1000)
    await transport.close()


async def test_answers_still_leave_after_the_end_of_input(stack: ExitStack) -> None:
    (stdin, theirs), (output, stdout) = pipe(stack), pipe(stack)
    os.write(theirs, b"question\n")
    os.close(theirs)
    transport = await open_stdio(stdin, stdout)
    assert await receive_all(transport) == ([b"question"], 1000)
    assert not transport.closed
    transport.write([Encoded(b"answer")])
    await transport.close()
    assert os.read(output, 100) == b"answer\n"


async def test_a_line_that_is_too_long_closes_the_transport(stack: ExitStack) -> None:
    (stdin, theirs), (_, stdout) = pipe(stack), pipe(stack)
    transport = await open_stdio(stdin, stdout, max_message_size=10)
    os.write(theirs, b"short\n" + b"x" * 11)
    assert await receive_all(transport) == ([b"short"], 1009)
    assert transport.closed
    await transport.close()


async def test_a_peer_that_closes_its_input_ends_the_transport(stack: ExitStack) -> None:
    (stdin, _), (output, stdout) = pipe(stack), pipe(stack)
    transport = await open_stdio(stdin, stdout)
    os.close(output)
    assert await receive_all(transport) == ([], 1006)
    assert transport.closed
    transport.write([Encoded(b"late")])
    await transport.drained()
    await transport.close()


async def test_descriptors_stay_open_and_blocking_as_they_were(stack: ExitStack) -> None:
    (stdin, _), (_, stdout) = pipe(stack), pipe(stack)
    transport = await open_stdio(stdin, stdout)
    assert not os.get_blocking(stdin)
    await transport.close()
    assert os.get_blocking(stdin)
    assert os.get_blocking(stdout)


async def test_a_refused_output_leaves_the_input_as_it_was(
    stack: ExitStack, tmp_path: Path
) -> None:
    stdin, _ = pipe(stack)
    folder = os.open(tmp_path, os.O_RDONLY)
    stack.callback(os.close, folder)
    with pytest.raises(IsADirectoryError):
        await open_stdio(stdin, folder)
    assert os.get_blocking(stdin)


async def test_files_serve_as_input_and_output(stack: ExitStack, tmp_path: Path) -> None:
    lines = [b'{"n":%d}' % n for n in range(20_000)]
    (tmp_path / "in").write_bytes(b"\n".join(lines))
    stdin = stack.enter_context((tmp_path / "in").open("rb"))
    stdout = stack.enter_context((tmp_path / "out").open("wb"))
    transport = await open_stdio(stdin.fileno(), stdout.fileno())
    received, code = await receive_all(transport)
    assert (received, code) == (lines, 1000)
    transport.write([Encoded(line) for line in received])
    await transport.close()
    transport.write([Encoded(b"late")])
    assert (tmp_path / "out").read_bytes() == b"\n".join((*lines, b""))


async def test_a_file_that_cannot_be_written_ends_the_transport(
    stack: ExitStack, tmp_path: Path
) -> None:
    stdin, _ = pipe(stack)
    (tmp_path / "out").touch()
    stdout = stack.enter_context((tmp_path / "out").open("rb"))
    transport = await open_stdio(stdin, stdout.fileno())
    transport.write([Encoded(b"1")])
    assert await receive_all(transport) == ([], 1006)
    await transport.close()


async def test_the_null_device_serves_as_input_and_output(stack: ExitStack) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    stack.callback(os.close, null)
    transport = await open_stdio(null, null)
    assert await receive_all(transport) == ([], 1000)
    transport.write([Encoded(b"into the void")])
    await transport.close()


async def test_a_terminal_serves_as_input_and_output(stack: ExitStack) -> None:
    controller, terminal = pty.openpty()
    stack.callback(os.close, controller)
    stack.callback(os.close, terminal)
    tty.setraw(terminal)
    transport = await open_stdio(terminal, terminal)
    os.write(controller, b'{"typed":true}\n')
    assert await transport.receive() == b'{"typed":true}'
    transport.write([Encoded(b'{"shown":true}')])
    await transport.close()
    assert os.read(controller, 100) == b'{"shown":true}\n'
    assert os.get_blocking(terminal)


async def test_a_terminal_that_hangs_up_ends_the_transport(stack: ExitStack) -> None:
    controller, terminal = pty.openpty()
    stack.callback(os.close, terminal)
    _, stdout = pipe(stack)
    transport = await open_stdio(terminal, stdout)
    os.close(controller)
    _, code = await receive_all(transport)
    assert code in (1000, 1006)
    await transport.close()


async def test_one_socket_serves_as_input_and_output(stack: ExitStack) -> None:
    ours, theirs = socket.socketpair()
    stack.enter_context(ours)
    stack.enter_context(theirs)
    transport = await open_stdio(ours.fileno(), ours.fileno())
    for n in range(3):
        theirs.sendall(b"question %d\n" % n)
        assert await transport.receive() == b"question %d" % n
        transport.write([Encoded(b"answer %d" % n)])
        assert theirs.recv(100) == b"answer %d\n" % n
    theirs.shutdown(socket.SHUT_WR)
    assert await receive_all(transport) == ([], 1000)
    await transport.close()


async def test_two_sockets_serve_as_input_and_output(stack: ExitStack) -> None:
    (stdin, questions), (stdout, answers) = socket.socketpair(), socket.socketpair()
    for sock in (stdin, questions, stdout, answers):
        stack.enter_context(sock)
    transport = await open_stdio(stdin.fileno(), stdout.fileno())
    questions.sendall(b"question\n")
    assert await transport.receive() == b"question"
    transport.write([Encoded(b"answer")])
    assert answers.recv(100) == b"answer\n"
    await transport.close()


async def test_streams_of_a_child_process_serve_as_well() -> None:
    process = await asyncio.create_subprocess_exec(
        "cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    transport = StdioTransport(process.stdout, process.stdin, peer="cat", close_grace=GRACE)
    transport.write([Encoded(b'{"echo":true}')])
    assert await transport.receive() == b'{"echo":true}'
    assert transport.peer == "cat"
    await transport.close()
    assert await process.wait() == 0


async def test_reading_pauses_while_lines_wait(stack: ExitStack) -> None:
    (stdin, theirs), (_, stdout) = pipe(stack), pipe(stack)
    os.set_blocking(theirs, False)
    transport = await open_stdio(stdin, stdout)
    sent = 0

    async def send_without_end() -> None:
        nonlocal sent
        while sent < 100_000_000:
            sent += os.write(theirs, b"x" * 4095 + b"\n")
            await asyncio.sleep(0)

    # That is how the kernel says that nobody reads any more.
    with pytest.raises(BlockingIOError):
        await send_without_end()
    for _ in range(sent // 4096):
        assert len(await transport.receive()) == 4095
    await transport.close()
