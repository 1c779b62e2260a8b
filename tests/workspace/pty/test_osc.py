"""Escape sequences taken out of output: the same segments, however the output is cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.workspace.pty.osc import (
    LONGEST,
    LONGEST_TITLE,
    FolderMark,
    Mark,
    OscParser,
    Printed,
    Query,
    Segment,
    TitleMark,
    decoded,
)


def read(*pieces: str, finish: bool = True) -> list[Segment]:
    parser = OscParser(machine="here")
    segments = [segment for piece in pieces for segment in parser.feed(piece)]
    return joined([*segments, *(parser.finish() if finish else ())])


def joined(segments: Iterable[Segment]) -> list[Segment]:
    together: list[Segment] = []
    for segment in segments:
        last = together[-1] if together else None
        if isinstance(segment, Printed) and isinstance(last, Printed):
            together[-1] = Printed(last.text + segment.text)
        else:
            together.append(segment)
    return together


VECTORS: list[tuple[Sequence[str], list[Segment]]] = [
    (["a\x1b]633;", "C\x07b"], [Printed("a"), Mark("633", "C"), Printed("b")]),
    (
        ["a\x1b", "]633;D;0\x1b", "\\b"],
        [Printed("a"), Mark("633", "D", exit_code=0), Printed("b")],
    ),
    (["\x1b]0;title\x07x"], [Printed("\x1b]0;title\x07"), TitleMark("title"), Printed("x")]),
    (["\x1b]8;;http://x\x1b\\l\x1b]8;;\x1b\\"], [Printed("\x1b]8;;http://x\x1b\\l\x1b]8;;\x1b\\")]),
    (["\x1b[31mr\x1b", "[0m"], [Printed("\x1b[31mr\x1b[0m")]),
    (
        ["out\n\x1b]633;D;1\x07$ "],
        [Printed("out\n"), Mark("633", "D", exit_code=1), Printed("$ ")],
    ),
    (
        ["\x1b]633;E;echo a\\x3b b;N\x07\x1b]633;C\x07"],
        [Mark("633", "E", text="echo a; b", nonce="N"), Mark("633", "C")],
    ),
    (["\x1b]633;E;x\\\\x3by;N\x07"], [Mark("633", "E", text="x\\x3by", nonce="N")]),
    (["\x1b]633;Zzz\x07"], []),
    (["\x1b]633;D;5;N\x07"], [Mark("633", "D", exit_code=5, nonce="N")]),
    (["\x1b]633;D\x07\x1b]633;D;x\x07"], [Mark("633", "D"), Mark("633", "D")]),
    (["\x1b]633;P;Cwd=/a\\x3bb\x07"], [FolderMark("/a;b")]),
    (["\x1b]633;P;Cwd=relative\x07\x1b]633;P;Cwd=/a\\x0ab\x07"], []),
    (["\x1b]133;A;k=s\x07\x1b]133;N\x07"], [Mark("133", "F"), Mark("133", "A")]),
    (["\x1b]133;C;cmdline_url=ls%20-l\x07"], [Mark("133", "C", text="ls -l")]),
    (["\x1b]133;D;2;aid=7\x07"], [Mark("133", "D", exit_code=2)]),
    (["\x1b]7;file://HERE/a%20b\x07\x1b]7;file:///c\x07"], [FolderMark("/a b"), FolderMark("/c")]),
    (["\x1b]7;file://elsewhere/a\x07\x1b]7;file://[/a\x07\x1b]7;http:///a\x07"], []),
    (["\x1b]9;9;/w\x07\x1b]1337;CurrentDir=/i\x07"], [FolderMark("/w"), FolderMark("/i")]),
    (["\x1b]9;4;1;50\x07"], [Printed("\x1b]9;4;1;50\x07")]),
    (["a\x1b]52;c;c2VjcmV0\x07b"], [Printed("ab")]),
    (["a\x1b]052;c;c2VjcmV0\x1b\\b"], [Printed("ab")]),
    (["a\x1b]52;c;c2VjcmV0\x18b"], [Printed("ab")]),
    (["a\x1b]52;c;" + "A" * LONGEST + "\x07"], [Printed("a" + "A" * 5 + "\x07")]),
    (["a\x1b]52;c;c2Vj"], [Printed("a")]),
    (
        ["\x1b[c\x1b[0c\x1b[>", "c"],
        [Query.ATTRIBUTES, Query.ATTRIBUTES, Query.SECONDARY_ATTRIBUTES],
    ),
    (["x\x1b[6", "n\x1b[5n"], [Printed("x"), Query.CURSOR, Query.STATUS]),
    (["\x1b]10;?\x07\x1b]11;?\x1b\\"], [Query.FOREGROUND, Query.BACKGROUND]),
    (["\x1b]11;red\x07"], [Printed("\x1b]11;red\x07")]),
    # Cut off: by CAN, by another sequence, by the end.
    (["\x1b]633;C\x18a\x1b]8;x\x1ab"], [Printed("a\x1b]8;x\x1ab")]),
    (["\x1b]633;E;x\x1b]633;C\x07"], [Mark("633", "C")]),
    (["\x1b]8;x\x1b[1ma"], [Printed("\x1b]8;x\x1b[1ma")]),
    (["a\x1b]633;E;half"], [Printed("a")]),
    (["a\x1b]8;half\x1b"], [Printed("a\x1b]8;half\x1b")]),
    # Of a character that only looks like an introducer in another encoding.
    (["\x9d633;C\x9c"], [Printed("\x9d633;C\x9c")]),
]


@pytest.mark.parametrize(("pieces", "segments"), VECTORS)
def test_a_sequence_means_what_the_reference_says(
    pieces: Sequence[str], segments: list[Segment]
) -> None:
    assert read(*pieces) == segments
    whole = "".join(pieces)
    assert read(whole) == segments
    assert read(*whole) == segments


PARTS = st.sampled_from(
    [
        "a", "é\n", "\x1b", "\x1b]", "\x1b[", "[", "]", "633;", "133;", "C", "D;1", "E;x\\x3b",
        ";N", "\x07", "\x1b\\", "\\", "\x18", "0;t", "52;c;"  , "10;?", "6n", ">c",
        "7;file:///x", "m",
    ]
)  # fmt: skip


@given(st.lists(PARTS, max_size=30), st.data())
def test_however_output_is_cut_it_says_the_same(parts: list[str], data: st.DataObject) -> None:
    whole = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=5)))
    edges = [0, *cuts, len(whole)]
    pieces = [whole[a:b] for a, b in pairwise(edges)]
    assert read(*pieces) == read(whole)


def test_half_a_sequence_is_held_back_and_no_longer_than_it_may_be() -> None:
    parser = OscParser()
    assert list(parser.feed("a\x1b]8;")) == [Printed("a")]
    told = [segment for _ in range(LONGEST // 1024 + 1) for segment in parser.feed("y" * 1024)]
    text = "".join(segment.text for segment in told if isinstance(segment, Printed))
    assert text.startswith("\x1b]8;yyy")
    assert len(text) > LONGEST
    assert list(parser.feed("after")) == [Printed("after")]


def test_a_mark_that_is_too_long_is_dropped_wherever_it_is_cut() -> None:
    whole = "a\x1b]633;E;" + "x" * LONGEST + "\x07b"
    # What is beyond the longest that is held is output like any other.
    assert read(whole) == [Printed("a" + "x" * 6 + "\x07b")]
    assert read(*(whole[n : n + 5000] for n in range(0, len(whole), 5000))) == read(whole)


def test_a_title_is_short_and_has_no_control_characters() -> None:
    long = read("\x1b]2;" + "t" * 5000 + "\x07")[-1]
    assert long == TitleMark("t" * LONGEST_TITLE)
    assert read("\x1b]2; a\tb\x9f \x07")[-1] == TitleMark("a b")


def test_values_are_decoded_in_one_pass() -> None:
    assert decoded(r"a\\x3b\x3B\x0a\q\x") == "a\\x3b;\n\\q\\x"
