"""Paths by some of their letters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.workspace.fuzzy import FuzzyPaths


def test_the_best_comes_first() -> None:
    paths = [
        "docs/chat/deep/notes.md",
        "src/channel_at.py",
        "src/webchat.py",
        "src/deep/Chat.py",
        "chat.py",
        "unrelated.py",
    ]
    assert FuzzyPaths(paths).search("chat", 10) == [
        "chat.py",
        "src/deep/Chat.py",
        "src/webchat.py",
        "docs/chat/deep/notes.md",
        "src/channel_at.py",
    ]
    assert FuzzyPaths(paths).search("chat", 2) == ["chat.py", "src/deep/Chat.py"]
    assert FuzzyPaths(paths).search("src/dCH", 2) == ["src/deep/Chat.py"]


def test_without_letters_what_is_at_the_top_comes_first() -> None:
    assert FuzzyPaths(["b/a", "c", "a"]).search("", 2) == ["a", "c"]


@pytest.mark.parametrize("query", ["\n", "a\nb", "x" * 300])
def test_what_can_be_no_path_finds_nothing(query: str) -> None:
    assert FuzzyPaths(["a", "b" * 400, "x" * 400]).search(query, 5) == []


def contains(path: str, query: str) -> bool:
    letters = iter(path.lower())
    return all(letter in letters for letter in query.lower())


ALPHABET = "abAB^]-[\\.*/İß"


@given(
    paths=st.lists(st.text(ALPHABET + "\n", min_size=1, max_size=8), unique=True, max_size=20),
    query=st.text(ALPHABET, min_size=1, max_size=4),
)
def test_all_that_contain_the_letters_in_order_are_found(paths: list[str], query: str) -> None:
    found = FuzzyPaths(paths).search(query, 100)
    assert sorted(found) == sorted(p for p in paths if "\n" not in p and contains(p, query))


def test_among_many_the_spelling_of_each_is_kept() -> None:
    paths = [f"Src/Folder_{number % 70}/File_{number}.py" for number in range(10_000)]
    fuzzy = FuzzyPaths(paths)
    assert fuzzy.search("file_9999", 3) == ["Src/Folder_59/File_9999.py"]
    assert fuzzy.search("file_1999.py", 1) == ["Src/Folder_39/File_1999.py"]
    assert len(fuzzy.search("f", 50)) == 50
    assert fuzzy.search("zzz", 3) == []


@pytest.mark.parametrize("query", ["a" * 100, "ab" * 50, "c" * 40])
def test_no_query_takes_long(query: str) -> None:
    # A pattern that tries again would not end within the test's time limit.
    assert FuzzyPaths(["a" * 200 + "b"] * 2000).search(query + "x", 5) == []
