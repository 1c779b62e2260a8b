from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.agents import content
from agenthost.agents.content import changed_lines
from agenthost.line_matching import MOST_COMPARED

texts = st.lists(st.sampled_from("abc")).map("\n".join)


@pytest.mark.parametrize(
    ("before", "after", "added", "removed"),
    [
        ("", "", 0, 0),
        ("", "a\nb\n", 2, 0),
        ("a\nb\n", "", 0, 2),
        ("a\nb\nc\n", "a\nx\nc\n", 1, 1),
        ("a\n", "a\na\n", 1, 0),
        ("a\nb\nc\nd\n", "b\nx\nd\n", 1, 2),
    ],
)
def test_lines_that_come_and_go_are_counted(
    before: str, after: str, added: int, removed: int
) -> None:
    assert changed_lines(before, after) == {"added": added, "removed": removed}


@given(texts, texts)
def test_what_is_kept_and_what_comes_make_the_new_text(before: str, after: str) -> None:
    counted = changed_lines(before, after)
    kept = len(before.splitlines()) - counted["removed"]
    assert kept + counted["added"] == len(after.splitlines())
    assert min(*counted.values(), kept) >= 0


def test_one_line_of_a_long_file_is_one_line() -> None:
    lines = [str(number) for number in range(100_000)]
    after = [*lines[:5000], "new", *lines[5001:]]
    assert changed_lines("\n".join(lines), "\n".join(after)) == {"added": 1, "removed": 1}


def test_a_few_lines_all_over_a_long_file_are_a_few() -> None:
    lines = [str(number) for number in range(10_000)]
    after = ["new" if number % 200 == 0 else line for number, line in enumerate(lines)]
    assert changed_lines("\n".join(lines), "\n".join(after)) == {"added": 50, "removed": 50}


def test_what_takes_too_long_to_compare_counts_as_changed() -> None:
    # Nothing occurs only once, so all would have to be compared with all.
    count = int(MOST_COMPARED**0.5)
    before = "\n".join(["a", "same", "b"] * count)
    after = "\n".join(["c", "same", "d"] * count)
    assert changed_lines(before, after) == {"added": 3 * count, "removed": 3 * count}


def test_each_block_is_what_the_protocol_calls_it() -> None:
    assert content.text("a") == {"type": "text", "text": "a"}
    assert content.embedded(b"\x00\xff", "image/png") == {
        "type": "embeddedResource",
        "data": "AP8=",
        "contentType": "image/png",
    }
    assert content.resource({"uri": "x:/1", "sizeHint": 3}) == {
        "type": "resource",
        "uri": "x:/1",
        "sizeHint": 3,
    }
    assert content.file_edit({"after": {"uri": "file:///a"}}) == {
        "type": "fileEdit",
        "after": {"uri": "file:///a"},
    }
    assert content.subagent("c:/1", "Worker") == {
        "type": "subagent",
        "resource": "c:/1",
        "title": "Worker",
    }
