"""What tools say that they edited, put together per file."""

from __future__ import annotations

from typing import Any

from agenthost.host.channels.changeset.tool_edits import edited_files, mark_of


def side(name: str, version: int) -> dict[str, Any]:
    return {"uri": f"file:///{name}", "content": {"uri": f"ahp-content:/{name}{version}"}}


def turn(*edits: dict[str, Any], success: bool = True, status: str = "completed") -> Any:
    content = [{"type": "text", "text": "x"}, *({"type": "fileEdit", **edit} for edit in edits)]
    call = {"status": status, "success": success, "content": content}
    return {"responseParts": [{"kind": "toolCall", "toolCall": call}]}


def test_several_edits_of_a_file_are_one_from_the_first_to_the_last() -> None:
    first = {"before": side("a", 1), "after": side("a", 2), "diff": {"added": 1, "removed": 0}}
    (file,) = edited_files([turn(first)])
    assert file == {"id": "file:///a", "edit": first}
    second = {"before": side("a", 2), "after": side("a", 3), "diff": {"added": 0, "removed": 1}}
    (file,) = edited_files([turn(first), turn(second)])
    # How many lines differ in the end nobody has said.
    assert file == {"id": "file:///a", "edit": {"before": side("a", 1), "after": side("a", 3)}}


def test_what_was_made_and_removed_again_is_no_change() -> None:
    made, gone = {"after": side("a", 1)}, {"before": side("a", 1)}
    assert edited_files([turn(made, gone)]) == []
    (file,) = edited_files([turn({"before": side("a", 0), "after": side("a", 1)}, gone)])
    assert file["edit"] == {"before": side("a", 0)}
    assert mark_of(file).startswith("gone ")


def test_a_renamed_file_keeps_what_was_done_to_it() -> None:
    edit = {"before": side("a", 1), "after": side("a", 2)}
    rename = {"before": side("a", 2), "after": side("b", 2)}
    (file,) = edited_files([turn(edit), turn(rename)])
    assert file == {"id": "file:///b", "edit": {"before": side("a", 1), "after": side("b", 2)}}


def test_calls_that_failed_or_are_not_over_changed_nothing() -> None:
    edit = {"before": side("a", 1), "after": side("a", 2)}
    assert edited_files([turn(edit, success=False), turn(edit, status="running"), turn({})]) == []
