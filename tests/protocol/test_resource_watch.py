"""The resource watch channel's reducer."""

from __future__ import annotations

from agenthost.protocol.reducer_registry import client_may_dispatch
from agenthost.protocol.reduction import reduce_canonical


def test_changes_pass_by_without_changing_the_state() -> None:
    state = {"root": "file:///w", "recursive": True, "excludes": {"items": ["*.tmp"]}}
    changes = {"items": [{"uri": "file:///w/a", "type": "added"}]}
    action = {"type": "resourceWatch/changed", "changes": changes}
    assert reduce_canonical("resourceWatch", state, action, "now") is state


def test_clients_may_not_report_changes() -> None:
    assert not client_may_dispatch("resourceWatch/changed")
