"""Of very much that is brought a session shows a part, and says so."""

from __future__ import annotations

from dataclasses import replace

from agenthost.customizations import CustomizationSource, FoundCustomization
from agenthost.customizations.sources import source_of
from agenthost.host.customizations.tree import BroughtSource
from agenthost.host.customizations.tree_bounds import bounded, cut, size_of


def skills(name: str, *found: FoundCustomization) -> CustomizationSource:
    source = source_of(f"file:///{name}", "", "directory", name, "skill", "workspace")
    return replace(source, found=found)


SMALL = FoundCustomization("skill", "small", "a/SKILL.md", "short")
LARGE = FoundCustomization("agent", "large", "b.md", tools=("x" * 500,) * 200, globs=("y",))


def test_what_has_room_is_shown_as_it_is() -> None:
    source = skills("a", SMALL, LARGE)
    assert cut(source, size_of(source)) is source
    assert size_of(source) > 100_000
    (one,) = bounded([BroughtSource(source)])
    assert one.source is source


def test_the_rest_is_left_out_and_its_source_says_so() -> None:
    first, second = skills("a", SMALL, LARGE), replace(skills("b", SMALL, SMALL), message="bad")
    last = skills("c")
    shown = list(bounded(map(BroughtSource, (first, second, last)), size_of(first) + 400))
    assert [len(each.source.found) for each in shown] == [2, 1, 0]
    assert [each.source.load for each in shown] == ["loaded", "degraded", "loaded"]
    assert shown[1].source.message == (
        "bad; only the first 1 are shown, for there is too much in this session"
    )
