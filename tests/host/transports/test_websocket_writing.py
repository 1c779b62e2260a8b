"""What waits for a socket: every byte once and in order, shared, and kept no longer than needed."""

from __future__ import annotations

import weakref

from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.transports.websocket_writing import Unsent


class Owner:
    """Something that can be seen to be gone."""


@given(st.lists(st.lists(st.binary(max_size=30), max_size=5), max_size=8), st.integers(1, 40))
def test_whatever_pieces_go_in_their_bytes_come_out_in_order(
    messages: list[list[bytes]], most: int
) -> None:
    unsent = Unsent()
    for pieces in messages:
        unsent.put(pieces)
    whole = b"".join(piece for pieces in messages for piece in pieces)
    assert unsent.size == len(whole)
    taken = b""
    while unsent:
        portion = unsent.take(most)
        assert 0 < len(portion) <= most
        taken += portion
        assert unsent.size == len(whole) - len(taken)
    assert taken == whole


def test_a_large_piece_is_not_copied() -> None:
    large = bytes(1000)
    unsent = Unsent()
    unsent.put((b"head", large))
    assert unsent.take(100) == b"head"
    portion = unsent.take(100)
    assert isinstance(portion, memoryview)
    assert portion.obj is large


def test_an_owner_is_kept_until_its_last_byte_is_taken() -> None:
    owner, unsent = Owner(), Unsent()
    seen = weakref.ref(owner)
    unsent.put((b"abc", b"d" * 10), owner)
    del owner
    unsent.take(9)
    assert seen() is not None
    unsent.take(9)
    assert seen() is not None
    unsent.take(9)
    assert seen() is None


def test_what_is_forgotten_keeps_nothing() -> None:
    owner, unsent = Owner(), Unsent()
    seen = weakref.ref(owner)
    unsent.put((b"abc",), owner)
    del owner
    unsent.clear()
    assert (unsent.size, bool(unsent), seen()) == (0, False, None)
