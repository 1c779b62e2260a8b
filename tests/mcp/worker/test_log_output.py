"""A server's log on its way to the host."""

from __future__ import annotations

from agenthost.mcp.limits import MOST_LOG_RATE, TAIL
from agenthost.mcp.worker.log_output import LogOutput


async def test_what_comes_is_sent_and_what_is_too_much_is_counted() -> None:
    sent: list[bytes] = []

    async def send(data: bytes) -> None:
        sent.append(data)

    log = LogOutput(send)
    log.add(b"one\n")
    log.add(b"x" * MOST_LOG_RATE)
    log.add(b"never\n")
    await log.flush()
    await log.flush()
    assert len(sent) == 1
    assert sent[0].startswith(b"one\nxxx")
    assert sent[0].endswith(b"x\n[10 bytes came too fast and are left out]\n")
    assert len(sent[0]) < MOST_LOG_RATE + 100


async def test_the_beginning_of_a_line_waits_once_for_the_rest() -> None:
    sent: list[bytes] = []

    async def send(data: bytes) -> None:
        sent.append(data)

    log = LogOutput(send)
    log.add(b"whole\nhal")
    await log.flush()
    log.add(b"f\nprompt> ")
    await log.flush()
    await log.flush()
    await log.flush()
    assert sent == [b"whole\n", b"half\n", b"prompt> "]


async def test_the_end_of_what_may_explain_a_failure_is_remembered() -> None:
    async def send(data: bytes) -> None:
        return None

    log = LogOutput(send)
    log.add(b"a notice\n")
    assert log.tail == ""
    log.add(b"y" * 5000 + " größer\n".encode(), error=True)
    assert log.tail.endswith("y größer")
    assert len(log.tail) == TAIL + 1
