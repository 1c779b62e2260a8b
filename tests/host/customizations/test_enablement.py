"""Decisions about customizations: which counts, and what another one leaves of those before."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.customizations.enablement import (
    MOST_DECIDED,
    SCOPES,
    SessionDecisions,
    by_scope,
    decision_key,
    global_decision,
    is_on,
    with_decision,
)

FOLDER = "file:///r"
KEY = decision_key("plugin", "file:///r/p", "p")

Json = dict[str, Any]


def decision(scope: str, on: bool) -> Json:
    where = {"uri": FOLDER} if scope == "workspace" else {}
    return {"kind": scope, "enabled": on, **where}


@st.composite
def lists(draw: st.DrawFn) -> Any:
    """Decisions as a client gives them: each scope at most once, what counts first before."""
    return [decision(scope, draw(st.booleans())) for scope in SCOPES if draw(st.booleans())]


EMPTY = SessionDecisions(workspace_uri=FOLDER)


@given(lists(), lists())
def test_where_scopes_are_told_the_last_list_is_all_that_counts(first: Any, last: Any) -> None:
    decisions = EMPTY.decided(KEY, first, shown=[])
    decisions = decisions.decided(KEY, last, shown=first)
    assert decisions.of(KEY) == last
    assert decisions.of("plugin file:///other") == []


@given(lists(), lists(), lists())
def test_what_a_client_only_repeats_does_not_undo_what_others_decided_since(
    old: Any, since: Any, last: Any
) -> None:
    decisions = EMPTY.decided(KEY, since, shown=[]).decided(KEY, last, shown=old)
    for scope in SCOPES:
        said, seen, kept, now = (
            by_scope(each).get(scope) for each in (last, old, since, decisions.of(KEY))
        )
        assert now is (kept if said is seen else said)


@given(st.lists(lists(), max_size=5), lists())
def test_where_only_a_flag_is_told_the_last_list_decides_what_it_is(
    earlier: list[Any], last: Any
) -> None:
    """A client that sees nothing but the flag finds it as its own list says."""
    decisions = EMPTY
    for each in earlier:
        decisions = decisions.decided(KEY, each, shown=None)
    before = decisions.of(KEY)
    decisions = decisions.decided(KEY, last, shown=None)
    assert is_on(decisions.of(KEY)) is is_on(last)
    if last:
        # What is wider than all that it names stays decided.
        named = {each["kind"] for each in last}
        wider = SCOPES[max(map(SCOPES.index, named)) + 1 :]
        stayed = [each for each in before if each["kind"] in wider]
        assert [each for each in decisions.of(KEY) if each["kind"] in wider] == stayed
    else:
        assert decisions.of(KEY) == []


def test_what_its_client_decides_everywhere_counts_more_than_what_was_kept() -> None:
    decisions = EMPTY.decided(KEY, [decision("global", False)], shown=[])  # type: ignore[list-item]
    assert decisions.of(KEY, True) == [decision("global", True)]
    assert global_decision(None) is None
    told: Any = [decision("session", True), decision("global", False)]
    assert global_decision(told) is False


def test_servers_of_one_file_and_directories_of_one_folder_are_told_apart() -> None:
    assert decision_key("mcpServer", "u", "a") != decision_key("mcpServer", "u", "b")
    assert decision_key("directory", "u", "n", "rule") != decision_key(
        "directory", "u", "n", "hook"
    )
    # A skill that is renamed in its file is the same.
    assert decision_key("skill", "u", "a") == decision_key("skill", "u", "b")


def test_the_oldest_decisions_are_forgotten_before_there_are_too_many() -> None:
    decided: Any = {}
    for number in range(MOST_DECIDED + 5):
        decided = with_decision(decided, str(number), False)
    assert len(decided) == MOST_DECIDED
    assert "4" not in decided
    assert "5" in decided
    assert with_decision(decided, "5", False) is decided
