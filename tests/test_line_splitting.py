"""Lines are the same however the bytes of a stream are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.line_splitting import LineSplitter, LineTooLong


@given(st.lists(st.sampled_from([b"{}", b'{"a":1}', b"", b"  "])), st.lists(st.integers(1, 9)))
def test_any_chunks_of_a_stream_give_the_same_lines(lines: list[bytes], sizes: list[int]) -> None:
    stream = b"\r\n".join(lines)
    splitter = LineSplitter(100)
    received: list[bytes] = []
    while stream:
        size = sizes.pop() if sizes else len(stream)
        received += splitter.feed(stream[:size])
        stream = stream[size:]
    last = splitter.last()
    assert [*received, *([last] if last else [])] == [line for line in lines if line.strip()]


@given(st.integers(1, 30))
def test_the_lines_before_one_that_is_too_long_are_not_lost(size: int) -> None:
    stream = b"1234\n12345\n123456\n1\n"
    splitter = LineSplitter(5)
    received: list[bytes] = []

    def feed_all() -> None:
        for start in range(0, len(stream), size):
            for line in splitter.feed(stream[start : start + size]):
                received.append(line)

    with pytest.raises(LineTooLong):
        feed_all()
    assert received == [b"1234", b"12345"]
