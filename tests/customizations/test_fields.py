"""Values as what they are meant to be."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.customizations.fields import (
    LONGEST_NAME,
    MOST_WORDS,
    BadField,
    flag_from,
    name_from,
    plain,
    text_from,
    words_from,
)


def test_a_plain_text_is_one_line_without_what_nobody_sees() -> None:
    assert plain(" a\n\tb\x00\u202ec ", 100) == "a b c"


def test_a_plain_text_is_no_longer_than_it_may_be() -> None:
    assert plain("abcdef", 4) == "abc…"
    assert len(plain("x" * 10_000_000, 50)) == 50


def test_a_name_is_the_one_given_or_that_of_the_file() -> None:
    assert name_from({"name": " My  skill "}, "file") == "My skill"
    assert name_from({}, "file") == "file"
    assert name_from({"name": ""}, "file") == "file"


@pytest.mark.parametrize("name", [["a"], {"a": "b"}, 7, "x" * (LONGEST_NAME + 1), "\u202e"])
def test_what_can_be_no_name_is_refused(name: object) -> None:
    with pytest.raises(BadField, match="`name`"):
        name_from({"name": name}, "file")


def test_a_text_that_is_none_is_refused_by_its_name() -> None:
    assert text_from({"description": "a\nb"}, "description") == "a b"
    assert text_from({}, "description") == ""
    with pytest.raises(BadField, match="`description` is no text"):
        text_from({"description": ["a"]}, "description")


@pytest.mark.parametrize("word", ["true", "True", "yes", "on", "1", True])
def test_yes_in_all_spellings(word: object) -> None:
    assert flag_from({"x": word}, "x", False) is True


@pytest.mark.parametrize("word", ["false", "No", "off", "0", False])
def test_no_in_all_spellings(word: object) -> None:
    assert flag_from({"x": word}, "x", True) is False


def test_a_flag_that_says_neither_is_refused() -> None:
    assert flag_from({}, "x", True) is True
    assert flag_from({"x": ""}, "x", True) is True
    with pytest.raises(BadField, match="`x` is neither true nor false"):
        flag_from({"x": "maybe"}, "x", True)


@pytest.mark.parametrize(
    ("given_words", "expected"),
    [
        ("a, b", ("a", "b")),
        (["a", " b "], ("a", "b")),
        ("**/*.{ts,tsx},*.py", ("**/*.{ts,tsx}", "*.py")),
        ("Bash(git add:*, git status:*), Read", ("Bash(git add:*, git status:*)", "Read")),
        ("a), b", ("a)", "b")),
        ("", ()),
        ([], ()),
        (None, ()),
    ],
)
def test_words_are_a_list_or_stand_between_commas(
    given_words: object, expected: tuple[str, ...]
) -> None:
    assert words_from({"x": given_words}, "x") == expected


@pytest.mark.parametrize(
    "value", [{"a": "b"}, [["a"]], 7, ["x"] * (MOST_WORDS + 1), "x" * 1000, ["a\x00"]]
)
def test_what_can_be_no_words_is_refused(value: object) -> None:
    with pytest.raises(BadField, match="`x`"):
        words_from({"x": value}, "x")


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(_VALUES)
def test_no_value_raises_anything_else(value: object) -> None:
    for read in (
        lambda: name_from({"name": value}, "x"),
        lambda: text_from({"x": value}, "x"),
        lambda: flag_from({"x": value}, "x", True),
        lambda: words_from({"x": value}, "x"),
    ):
        with contextlib.suppress(BadField):
            read()
