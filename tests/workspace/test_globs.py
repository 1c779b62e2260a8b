"""Globs on relative paths, also against a slow matcher that cannot be wrong."""

from __future__ import annotations

import fnmatch
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.workspace.globs import BadGlob, Globs


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("node_modules", "node_modules", True),
        ("node_modules", "node_modules/a/b", True),
        ("node_modules", "src/node_modules", False),
        ("node_modules", "node_modules2", False),
        ("**/node_modules/**", "node_modules", True),
        ("**/node_modules/**", "a/b/node_modules/c", True),
        ("**/node_modules", "a/node_modules", True),
        ("*.py", "a.py", True),
        ("*.py", "d/a.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "d/e/a.py", True),
        ("**/*.py", "d/a.pyc", False),
        ("src/**/test_*.py", "src/test_a.py", True),
        ("src/**/test_*.py", "src/a/b/test_a.py", True),
        ("src/**/test_*.py", "other/test_a.py", False),
        ("src/", "src/a", True),
        ("./src", "src", True),
        ("**", "a/b", True),
        ("**/*", "a", True),
        ("*", "a/b", True),
        ("*.{ts,js}", "a.js", True),
        ("*.{ts,js}", "a.jsx", False),
        ("{a,b/{c,d}}/*", "b/d/x", True),
        ("{a", "{a", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[a-c]x", "bx", True),
        ("[!a-c]x", "bx", False),
        ("[!a]x", "/x", False),
        ("[]]x", "]x", True),
        ("[x", "[x", True),
        ("[^a-c]", "d", True),
        ("[z-a]", "b", False),
        ("a.b", "axb", False),
        ("a\nb*", "a\nbc", True),
        ("", "a", False),
        ("../x", "x", False),
        ("**/a/**/b", "x/a/y/a/z/b/c", True),
        ("**/a/*/b", "a/a/x/b", True),
        ("*a*b", "aXbXb", True),
        (".git/objects", ".git/objects/ab/cdef", True),
        (".git/objects", ".git/index", False),
    ],
)
def test_a_pattern_matches_what_editors_say_it_does(pattern: str, path: str, matches: bool) -> None:
    assert Globs([pattern]).match(path) is matches


def test_several_patterns_match_what_one_of_them_does() -> None:
    globs = Globs(["a", "**/b"])
    assert [globs.match(path) for path in ("a", "x/b", "c")] == [True, True, False]
    assert not Globs([]).match("a")


def names_match(parts: list[str], names: list[str]) -> bool:
    """Match name by name, trying everything."""
    if not parts:
        return not names
    if parts[0] == "**":
        return any(names_match(parts[1:], names[skip:]) for skip in range(len(names) + 1))
    return (
        bool(names)
        and fnmatch.fnmatchcase(names[0], parts[0])
        and names_match(parts[1:], names[1:])
    )


@given(
    parts=st.lists(st.sampled_from(["**", "a", "b", "*", "a*", "*b", "a*b", "*a*", "?", "[ab]"])),
    names=st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=6),
)
def test_no_shortcut_changes_what_matches(parts: list[str], names: list[str]) -> None:
    prefixes = list(itertools.accumulate(([name] for name in names), lambda a, b: a + b))
    expected = bool(parts) and any(names_match(parts, prefix) for prefix in prefixes)
    assert Globs(["/".join(parts)]).match("/".join(names)) is expected


@given(pattern=st.text("ab*?[]{},!^-/.\\\n", max_size=30), path=st.text("ab/[]{}.-", max_size=20))
def test_any_text_is_a_pattern(pattern: str, path: str) -> None:
    try:
        Globs([pattern]).match(path)
    except BadGlob:
        assert "{" in pattern


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 400 + "b", "a" * 255),
        ("**/a/" * 100 + "b", "a/" * 1000),
        ("**/*a*a*a*a*a*a/" * 30 + "b", ("a" * 50 + "/") * 60),
        ("**/" * 300 + "x", "a/" * 1000),
    ],
)  # fmt: skip
def test_hostile_patterns_end(pattern: str, path: str) -> None:
    # They would take years if anything was tried again; the test's time limit is what fails.
    assert not Globs([pattern]).match(path)


def test_what_is_too_much_is_refused() -> None:
    for patterns in (
        ["a" * 1001],
        ["{a,b}" * 7],
        ["{" * 400 + "}" * 400 + "{a,b}" * 40],
        ["a"] * 201,
    ):
        with pytest.raises(BadGlob):
            Globs(patterns)


def test_patterns_that_are_too_much_together_are_refused() -> None:
    many = "{" + ",".join(f"a{number}" for number in range(90)) + "}"
    assert Globs([many] * 5).match("a1")
    for patterns in ([many] * 6, ["x" * 900] * 30):
        with pytest.raises(BadGlob):
            Globs(patterns)
