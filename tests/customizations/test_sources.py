"""How it went, in a sentence."""

from __future__ import annotations

from agenthost.customizations.sources import failed, filled, source_of
from agenthost.customizations.types import FoundCustomization

SOURCE = source_of("file:///r", "a b", "directory", "Skills", "skill", "workspace")
GOOD = FoundCustomization("skill", "x", "x/SKILL.md")
BAD = FoundCustomization("skill", "x", "x/SKILL.md", problem="it is broken")


def test_a_source_is_told_from_others_by_what_it_is_and_where() -> None:
    assert SOURCE.uri == "file:///r/a%20b"
    others = [
        source_of("file:///s", "a b", "directory", "Skills", "skill", "workspace"),
        source_of("file:///r", "a b", "directory", "Skills", "rule", "workspace"),
        source_of("file:///r", "a b", "plugin", "Skills", "skill", "workspace"),
        source_of("file:///r", "a b", "directory", "Skills", "skill", "user"),
    ]
    assert len({SOURCE.key, *(other.key for other in others)}) == 5


def test_a_source_without_problems_is_loaded() -> None:
    source = filled(SOURCE, [GOOD], 10)
    assert (source.load, source.message, source.found) == ("loaded", "", (GOOD,))


def test_the_first_problem_is_told_with_how_many_there_are() -> None:
    other = FoundCustomization("skill", "y", "", problem="it is worse")
    source = filled(SOURCE, [GOOD, other, BAD], 10, "something is missing")
    assert source.load == "degraded"
    assert source.message == "1 of 2 cannot be used: y: it is worse; something is missing"


def test_of_two_that_could_not_be_told_apart_the_usable_one_is_kept() -> None:
    assert filled(SOURCE, [BAD, GOOD], 10).found == (GOOD,)
    assert filled(SOURCE, [GOOD, BAD], 10).found == (GOOD,)


def test_a_message_is_one_line_that_can_be_shown() -> None:
    bad = FoundCustomization("skill", "x", "a\nb\u202e/SKILL.md", problem="y" * 10_000)
    for source in (filled(SOURCE, [bad], 10), failed(SOURCE, "a\nb" * 10_000)):
        assert "\n" not in source.message
        assert "\u202e" not in source.message
        assert len(source.message) <= 500
