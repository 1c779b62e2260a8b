"""The terminal channel's reducers."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.protocol.reducer_registry import client_may_dispatch
from agenthost.protocol.reduction import reduce_canonical

NOW = "1970-01-01T00:00:09.999Z"
RUNNING = {"status": "running"}


def reduce(state: Any, **action: Any) -> Any:
    return reduce_canonical("terminal", state, action, NOW)


def terminal(*content: Any, **members: Any) -> dict[str, Any]:
    claim = {"kind": "client", "clientId": "c1"}
    return {"title": "zsh", "content": list(content), "claim": claim, **members}


def loose(value: str) -> dict[str, Any]:
    return {"type": "unclassified", "value": value}


def command(output: str, *, complete: bool = False, **members: Any) -> dict[str, Any]:
    return {
        "type": "command",
        "commandId": "cmd-1",
        "commandLine": "ls",
        "output": output,
        "timestamp": 5,
        "isComplete": complete,
        **members,
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], [loose("new")]),
        ([loose("old ")], [loose("old new")]),
        ([command("old ")], [command("old new")]),
        ([command("old", complete=True)], [command("old", complete=True), loose("new")]),
        ([command("open"), loose("old ")], [command("open"), loose("old new")]),
        ([{"type": "fromTheFuture"}], [{"type": "fromTheFuture"}, loose("new")]),
    ],
)
def test_output_goes_to_the_last_part_that_takes_it(before: list[Any], after: list[Any]) -> None:
    state = terminal(*before)
    assert reduce(state, type="terminal/data", data="new") == terminal(*after)
    assert state == terminal(*before)


def test_output_leaves_the_other_parts_shared() -> None:
    state = terminal(command("done", complete=True), loose("a"))
    after = reduce(state, type="terminal/data", data="b")
    assert after["content"][0] is state["content"][0]
    assert after["claim"] is state["claim"]


def test_empty_output_changes_nothing_unless_it_opens_a_part() -> None:
    state = terminal(loose("a"))
    assert reduce(state, type="terminal/data", data="") is state
    running = terminal(command(""))
    assert reduce(running, type="terminal/data", data="") is running
    assert reduce(terminal(), type="terminal/data", data="") == terminal(loose(""))


def test_typing_is_no_state() -> None:
    state = terminal(loose("$ "))
    assert reduce(state, type="terminal/input", data="ls\r") is state


@pytest.mark.parametrize(
    "action",
    [
        {"type": "terminal/resized", "cols": 80, "rows": 24},
        {"type": "terminal/claimed", "claim": {"kind": "session", "session": "ahp-session:/s"}},
        {"type": "terminal/titleChanged", "title": "vim"},
        {"type": "terminal/cwdChanged", "cwd": "file:///w"},
    ],
)
def test_a_field_is_set_and_setting_it_again_changes_nothing(action: dict[str, Any]) -> None:
    state = terminal(loose("a"))
    fields = {key: value for key, value in action.items() if key != "type"}
    after = reduce(state, **action)
    assert after == {**state, **fields}
    assert reduce(after, **action) is after


def test_a_claim_is_replaced_whole() -> None:
    claim = {"kind": "session", "session": "s", "turnId": "t", "toolCallId": "c"}
    state = {**terminal(), "claim": claim}
    narrowed = {"kind": "session", "session": "s"}
    assert reduce(state, type="terminal/claimed", claim=narrowed)["claim"] == narrowed


@pytest.mark.parametrize("code", [{}, {"exitCode": 0}, {"exitCode": 3}])
def test_exiting_is_recorded_with_the_code_if_there_is_one(code: dict[str, Any]) -> None:
    exited = terminal(lifecycle={"status": "exited", **code})
    for before in (RUNNING, {"status": "exited", "exitCode": 1}):
        assert reduce(terminal(lifecycle=before), type="terminal/exited", **code) == exited
    assert reduce(exited, type="terminal/exited", **code) is exited


def test_exiting_leaves_an_open_command_open() -> None:
    state = terminal(command("x"))
    assert reduce(state, type="terminal/exited", exitCode=1)["content"] is state["content"]


def test_clearing_drops_the_output_and_keeps_the_rest() -> None:
    state = terminal(command("x"), supportsCommandDetection=True, lifecycle=RUNNING)
    after = reduce(state, type="terminal/cleared")
    assert after == terminal(supportsCommandDetection=True, lifecycle=RUNNING)
    assert reduce(after, type="terminal/cleared") is after


def test_command_detection_is_announced_once() -> None:
    after = reduce(terminal(), type="terminal/commandDetectionAvailable")
    assert after == terminal(supportsCommandDetection=True)
    assert reduce(after, type="terminal/commandDetectionAvailable") is after


def test_a_command_opens_a_part_and_implies_detection() -> None:
    state = terminal(command("still open", commandId="cmd-0"))
    after = reduce(
        state,
        type="terminal/commandExecuted",
        commandId="cmd-1",
        commandLine="ls",
        timestamp=5,
    )
    parts = [command("still open", commandId="cmd-0"), command("")]
    assert after == terminal(*parts, supportsCommandDetection=True)


def test_finishing_completes_every_part_of_that_command() -> None:
    other = command("x", commandId="cmd-2")
    state = terminal(command("a"), other, loose("b"), command("c", complete=True, exitCode=9))
    after = reduce(
        state, type="terminal/commandFinished", commandId="cmd-1", exitCode=0, durationMs=12
    )
    done: dict[str, Any] = {"complete": True, "exitCode": 0, "durationMs": 12}
    assert after == terminal(command("a", **done), other, loose("b"), command("c", **done))
    assert after["content"][1] is other
    again = reduce(
        after, type="terminal/commandFinished", commandId="cmd-1", exitCode=0, durationMs=12
    )
    assert again is after


def test_finishing_without_results_removes_earlier_ones() -> None:
    state = terminal(command("a", complete=True, exitCode=9, durationMs=1))
    after = reduce(state, type="terminal/commandFinished", commandId="cmd-1")
    assert after == terminal(command("a", complete=True))


@pytest.mark.parametrize(
    "content", [[], [loose("a")], [command("a", commandId="x")], [{"type": "fromTheFuture"}]]
)
def test_finishing_an_unknown_command_changes_nothing(content: list[Any]) -> None:
    state = terminal(*content)
    assert reduce(state, type="terminal/commandFinished", commandId="cmd-1", exitCode=0) is state


def test_clients_may_type_resize_claim_rename_and_clear() -> None:
    theirs = {"input", "resized", "claimed", "titleChanged", "cleared"}
    hosts = {"data", "cwdChanged", "exited", "commandDetectionAvailable", "commandExecuted"}
    assert all(client_may_dispatch(f"terminal/{name}") for name in theirs)
    assert not any(client_may_dispatch(f"terminal/{name}") for name in hosts | {"commandFinished"})
