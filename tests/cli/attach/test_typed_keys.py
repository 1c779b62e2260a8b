"""What is typed reaches the program; what the terminal answers to a snapshot does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.cli.attach.typed_keys import ReplyFilter, until_detach

REPLIES = (
    "\x1b[12;40R\x1b[?62;22c\x1b[>1;10;0c\x1b]11;rgb:0000/0000/0000\x1b\\"
    "\x1bP1$r0m\x1b\\\x1b[?2004;1$y\x1b]4;1;rgb:ff/0/0\x07\x1b[8;24;80t\x1b[?0u"
)


@pytest.mark.parametrize("key", ["\x1d", "\x1b[93;5u", "\x1b[93;5:1u", "\x1b[27;5;93~"])
def test_the_key_that_detaches_is_known_in_every_way_it_is_told(key: str) -> None:
    assert until_detach(f"ls{key}more") == ("ls", True)


def test_all_other_keys_are_the_programs() -> None:
    keys = "\x03\x04\x1a\x1b[A\x1bOP]\x1b\r"
    assert until_detach(keys) == (keys, False)


def test_answers_to_a_snapshot_are_left_out_and_what_is_typed_meanwhile_is_not() -> None:
    replies = ReplyFilter()
    assert replies.take(f"l{REPLIES}s\x1b[A") == "ls\x1b[A"
    assert replies.take("\x1b[0nx\x1b[5;5R") == "x\x1b[5;5R"
    assert not replies.mutes
    # From now on it is the program that asks.
    assert replies.take(REPLIES) == REPLIES


def test_what_was_held_back_is_given_out_when_no_answer_comes() -> None:
    replies = ReplyFilter()
    assert replies.take("a\x1b") == "a"
    assert replies.end() == "\x1b"
    assert replies.take("\x1b") == "\x1b"


@given(st.data())
def test_it_does_not_matter_how_answers_come_in_pieces(data: st.DataObject) -> None:
    whole = f"a{REPLIES}b\x1b[Ac\x1b[0nd"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    replies = ReplyFilter()
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert "".join(map(replies.take, pieces)) == "ab\x1b[Acd"
