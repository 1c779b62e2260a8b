"""JSON as editors allow it, and where its entries stand."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.customizations.json_files import DEEPEST, BadJson, entry_ranges, parse_json
from agenthost.customizations.types import TextRange

WITH_COMMENTS = """{ // all
  /* of
     them */ "servers": {
    "a": {"command": "x", "args": ["//no", "/*no*/", ],},
    "𝒳é": {"url": "http://x"}, // "c": {}
    "servers": {"servers": {"inner": 1}},
  },
  "other": {"a": 2},
}
"""


def cut(text: str, where: TextRange) -> str:
    """Return what stands in a range, as an editor would select it."""
    first, begin, last, end = where
    lines = [line.encode("utf-16-le") for line in text.split("\n")]
    if first == last:
        return lines[first][2 * begin : 2 * end].decode("utf-16-le")
    parts = [lines[first][2 * begin :], *lines[first + 1 : last], lines[last][: 2 * end]]
    return "\n".join(part.decode("utf-16-le") for part in parts)


def test_comments_and_trailing_commas_are_read_over() -> None:
    assert parse_json(WITH_COMMENTS) == {
        "servers": {
            "a": {"command": "x", "args": ["//no", "/*no*/"]},
            "𝒳é": {"url": "http://x"},
            "servers": {"servers": {"inner": 1}},
        },
        "other": {"a": 2},
    }


def test_ranges_are_those_of_the_entries_of_one_object() -> None:
    ranges = entry_ranges(WITH_COMMENTS, ["servers"])
    assert {name: cut(WITH_COMMENTS, where) for name, where in ranges.items()} == {
        "a": '"a": {"command": "x", "args": ["//no", "/*no*/", ],}',
        "𝒳é": '"𝒳é": {"url": "http://x"}',
        "servers": '"servers": {"servers": {"inner": 1}}',
    }


def test_ranges_are_found_by_the_whole_path() -> None:
    assert set(entry_ranges(WITH_COMMENTS, [])) == {"servers", "other"}
    assert set(entry_ranges(WITH_COMMENTS, ["servers", "servers", "servers"])) == {"inner"}
    assert entry_ranges(WITH_COMMENTS, ["gone"]) == {}


def test_of_very_many_entries_only_the_first_have_a_range() -> None:
    text = json.dumps({"a": {str(number): number for number in range(50)}})
    assert list(entry_ranges(text, ["a"], most=3)) == ["0", "1", "2"]


BAD = {
    "nothing": ("", "no JSON"),
    "a comment alone": ("// x", "no JSON"),
    "a comment that never ends": ("{ /* x", "no JSON"),
    "a string that never ends": ('{"a": "x', "no JSON"),
    "a string over two lines": ('{"a": "x\ny"}', "line 1"),
    "commas": ('{"a": 1,,}', "no JSON"),
    "a list": ("[1]", "no JSON object"),
    "not a number": ('{"a": NaN}', "no JSON"),
    "no number": ('{"a": 1e999}', "no JSON"),
    "half a surrogate pair": ('{"a": "\ud800"}', "no JSON"),
    "the same escaped": ('{"a": "\\ud800"}', "no JSON"),
    "deep": ('{"a":' * (DEEPEST + 1), "deeper than"),
    "very deep": ("[" * 200_000, "deeper than"),
    "a wrong third line": ('{\n"a": 1,\nb\n}', "line 3"),
}


@pytest.mark.parametrize(("text", "reason"), BAD.values(), ids=BAD)
def test_bad_json_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(BadJson, match=reason) as refused:
        parse_json(text)
    assert len(str(refused.value)) < 300


# Each once took the square of its length, or would with a simpler expression: minutes.
@pytest.mark.parametrize(
    "text", ["/* " * 80_000, '"' + '\\"' * 120_000, '"a\n' * 80_000, "/" * 250_000, '"x' * 120_000]
)
def test_no_text_takes_longer_than_its_length(text: str) -> None:
    with pytest.raises(BadJson):
        parse_json(text)
    assert entry_ranges(text, ["a"]) == {}


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
_OBJECTS = st.dictionaries(st.text(), _JSON, max_size=5)


@given(_OBJECTS, st.sampled_from([None, 1, "\t"]))
def test_plain_json_is_read_as_it_is_and_each_entry_found(
    value: dict[str, object], indent: int | str | None
) -> None:
    text = json.dumps({"x": value}, indent=indent)
    assert parse_json(text) == {"x": value}
    ranges = entry_ranges(text, ["x"])
    assert set(ranges) == set(value)
    for name, where in ranges.items():
        assert json.loads("{" + cut(text, where) + "}") == {name: value[name]}


_PIECES = st.sampled_from(
    ["{", "}", "[", "]", ":", ",", '"', "\\", "//", "/*", "*/", "\n", " ", "1", "true", "a", "\x00",
     "\ud800"]
)  # fmt: skip


@given(st.lists(_PIECES).map("".join) | st.text())
def test_no_text_raises_anything_else(text: str) -> None:
    with contextlib.suppress(BadJson):
        parse_json(text)
    entry_ranges(text, ["a"])
