"""The changeset channel's reducers."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.protocol.reducer_registry import client_may_dispatch
from agenthost.protocol.reduction import reduce_canonical

NOW = "1970-01-01T00:00:09.999Z"
ERROR = {"errorType": "git", "message": "no repository"}


def reduce(state: Any, **action: Any) -> Any:
    return reduce_canonical("changeset", state, action, NOW)


def file(id: str, **members: Any) -> dict[str, Any]:
    return {"id": id, "edit": {"diff": {"added": 1}}, **members}


def operation(id: str, status: str = "idle", **members: Any) -> dict[str, Any]:
    return {"id": id, "label": id, "scopes": ["changeset"], "status": status, **members}


def changeset(*files: Any, **members: Any) -> dict[str, Any]:
    return {"status": "ready", "files": list(files), **members}


def test_a_failure_brings_its_error_and_recovery_removes_it() -> None:
    failed = reduce(changeset(), type="changeset/statusChanged", status="error", error=ERROR)
    assert failed == {**changeset(), "status": "error", "error": ERROR}
    ready = reduce(failed, type="changeset/statusChanged", status="ready")
    assert ready == changeset()
    assert "error" not in ready


def test_a_failure_without_an_error_has_none() -> None:
    state = changeset(error=ERROR)
    after = reduce(state, type="changeset/statusChanged", status="error")
    assert after == {**changeset(), "status": "error"}


def test_an_error_beside_another_status_is_ignored() -> None:
    state = changeset()
    assert reduce(state, type="changeset/statusChanged", status="ready", error=ERROR) is state


def test_the_same_status_changes_nothing() -> None:
    state = {**changeset(), "status": "error", "error": ERROR}
    again = dict(ERROR)
    assert reduce(state, type="changeset/statusChanged", status="error", error=again) is state


def test_a_new_file_is_appended_and_a_known_one_replaced_in_place() -> None:
    state = changeset(file("a", reviewed=True), file("b"))
    assert reduce(state, type="changeset/fileSet", file=file("c"))["files"] == [
        file("a", reviewed=True),
        file("b"),
        file("c"),
    ]
    replaced = reduce(state, type="changeset/fileSet", file=file("a"))
    assert replaced["files"] == [file("a"), file("b")]
    assert replaced["files"][1] is state["files"][1]
    assert reduce(state, type="changeset/fileSet", file=file("b")) is state


def test_a_removed_file_is_gone_and_an_unknown_one_no_matter() -> None:
    state = changeset(file("a"), file("b"))
    assert reduce(state, type="changeset/fileRemoved", fileId="a") == changeset(file("b"))
    assert reduce(state, type="changeset/fileRemoved", fileId="z") is state


def test_a_review_marks_the_listed_files_that_exist() -> None:
    state = changeset(file("a"), file("b", reviewed=True), file("c"))
    after = reduce(state, type="changeset/filesReviewChanged", files=["a", "b", "z"], reviewed=True)
    assert after == changeset(file("a", reviewed=True), file("b", reviewed=True), file("c"))
    assert after["files"][1] is state["files"][1]


def test_unmarking_an_unmarked_file_says_so_explicitly_once() -> None:
    state = changeset(file("a"))
    after = reduce(state, type="changeset/filesReviewChanged", files=["a"], reviewed=False)
    assert after == changeset(file("a", reviewed=False))
    again = reduce(after, type="changeset/filesReviewChanged", files=["a"], reviewed=False)
    assert again is after


@pytest.mark.parametrize("files", [[], ["z"]])
def test_a_review_of_nothing_known_changes_nothing(files: list[str]) -> None:
    state = changeset(file("a"))
    assert reduce(state, type="changeset/filesReviewChanged", files=files, reviewed=True) is state


def test_new_content_keeps_operations_that_it_does_not_name_and_the_error() -> None:
    state = changeset(file("a"), operations=[operation("o")], error=ERROR)
    after = reduce(state, type="changeset/contentChanged", files=[file("b")])
    assert after == changeset(file("b"), operations=[operation("o")], error=ERROR)
    assert after["operations"] is state["operations"]


def test_new_content_brings_its_operations() -> None:
    state = changeset(operations=[operation("o")])
    after = reduce(state, type="changeset/contentChanged", files=[], operations=[])
    assert after == changeset(operations=[])
    again = reduce(after, type="changeset/contentChanged", files=[], operations=[])
    assert again is after


@pytest.mark.parametrize("status", ["computing", "recomputing", "ready", "of the future"])
def test_an_error_goes_with_any_other_status_even_an_unknown_one(status: str) -> None:
    state = {**changeset(file("a")), "status": "error", "error": ERROR}
    after = reduce(state, type="changeset/statusChanged", status=status)
    assert after == {**changeset(file("a")), "status": status}


def test_operations_are_replaced_emptied_or_removed() -> None:
    state = changeset(operations=[operation("o")])
    one = [operation("p")]
    assert reduce(state, type="changeset/operationsChanged", operations=one)["operations"] is one
    emptied = reduce(state, type="changeset/operationsChanged", operations=[])
    assert emptied == changeset(operations=[])
    removed = reduce(state, type="changeset/operationsChanged")
    assert removed == changeset()
    assert "operations" not in removed
    assert reduce(removed, type="changeset/operationsChanged") is removed


def test_null_operations_are_kept_as_the_reference_keeps_them() -> None:
    state = reduce(changeset(), type="changeset/operationsChanged", operations=None)
    assert state == changeset(operations=None)
    started = reduce(
        state, type="changeset/operationStatusChanged", operationId="o", status="running"
    )
    assert started is state


def test_an_operation_runs_fails_and_recovers() -> None:
    state = changeset(operations=[operation("o"), operation("p")])

    def turned(state: Any, status: str, **error: Any) -> Any:
        return reduce(
            state,
            type="changeset/operationStatusChanged",
            operationId="o",
            status=status,
            **error,
        )

    running = turned(state, "running")
    assert running["operations"] == [operation("o", "running"), operation("p")]
    assert running["operations"][1] is state["operations"][1]
    failed = turned(running, "error", error=ERROR)
    assert failed["operations"][0] == operation("o", "error", error=ERROR)
    assert turned(failed, "error", error=ERROR) is failed
    assert turned(failed, "idle") == state


@pytest.mark.parametrize("members", [{}, {"operations": []}, {"operations": [operation("p")]}])
def test_an_unknown_operation_changes_nothing(members: dict[str, Any]) -> None:
    state = changeset(**members)
    after = reduce(
        state, type="changeset/operationStatusChanged", operationId="o", status="running"
    )
    assert after is state


def test_clearing_drops_the_files_only() -> None:
    state = changeset(file("a"), operations=[operation("o")], error=ERROR)
    after = reduce(state, type="changeset/cleared")
    assert after == changeset(operations=[operation("o")], error=ERROR)
    assert reduce(after, type="changeset/cleared") is after


def test_clients_may_review_and_nothing_else() -> None:
    assert client_may_dispatch("changeset/filesReviewChanged")
    for name in ("statusChanged", "fileSet", "fileRemoved", "contentChanged", "cleared"):
        assert not client_may_dispatch(f"changeset/{name}")
