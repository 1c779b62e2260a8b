"""Hooks are listed, with the moments they are for."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.customizations.hooks import hook_customization
from agenthost.customizations.reading import ReadFile


def test_a_file_of_hooks_is_one_entry_that_tells_the_moments_and_no_commands() -> None:
    hooks = {"preToolUse": [{"command": "rm -rf /"}], "stop": []}
    found = hook_customization(ReadFile("a/lint.json", json.dumps({"hooks": hooks})))
    assert found is not None
    assert (found.kind, found.name, found.path) == ("hook", "lint", "a/lint.json")
    assert found.description == "for preToolUse, stop"
    assert "rm -rf" not in repr(found)


def test_very_many_moments_are_cut_off() -> None:
    hooks: dict[str, list[object]] = {f"event{number}" + "x" * 1000: [] for number in range(100)}
    found = hook_customization(ReadFile("a.json", json.dumps({"hooks": hooks})))
    assert found is not None
    assert len(found.description) < 1_500
    assert found.description.endswith("…")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"hooks": []}', '{"hooks": "x"}', "{}"])
def test_what_are_no_hooks_is_a_problem(text: str) -> None:
    found = hook_customization(ReadFile("a.json", text))
    assert found is not None
    assert found.problem


def test_a_file_for_other_things_needs_no_hooks_but_has_to_be_read() -> None:
    assert hook_customization(ReadFile("a.json", "{}"), optional=True) is None
    broken = hook_customization(ReadFile("a.json", "{"), optional=True)
    assert broken is not None
    assert broken.problem


@given(
    st.text()
    | st.dictionaries(st.just("hooks"), st.dictionaries(st.text(), st.text())).map(json.dumps)
)
def test_no_file_raises(text: str) -> None:
    found = hook_customization(ReadFile("a.json", text))
    assert found is not None
    assert found.name == "a"
