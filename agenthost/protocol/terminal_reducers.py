"""Reducers of terminals; the types are in ``terminal``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from agenthost.protocol.json_edits import carry_given, copied_members, updated
from agenthost.protocol.reducer_registry import reduces

if TYPE_CHECKING:
    from agenthost.protocol.terminal import (
        TerminalClaimedAction,
        TerminalClearedAction,
        TerminalCommandDetectionAvailableAction,
        TerminalCommandExecutedAction,
        TerminalCommandFinishedAction,
        TerminalCommandPart,
        TerminalContentPart,
        TerminalCwdChangedAction,
        TerminalDataAction,
        TerminalExitedAction,
        TerminalInputAction,
        TerminalResizedAction,
        TerminalState,
        TerminalTitleChangedAction,
        TerminalUnclassifiedPart,
    )


@reduces("terminal/data", appends="data")
def data(state: TerminalState, action: TerminalDataAction, now: str) -> TerminalState:
    """Append output to the command that runs, or to what belongs to none."""
    content = state["content"]
    grown = _grown(content[-1], action["data"]) if content else None
    if grown is None:
        fresh: TerminalUnclassifiedPart = {"type": "unclassified", "value": action["data"]}
        return {**state, "content": [*content, fresh]}
    # Nothing printed onto a part that takes it changes nothing.
    return {**state, "content": [*content[:-1], grown]} if action["data"] else state


@reduces("terminal/input", client=True, touches=())
def input_(state: TerminalState, action: TerminalInputAction, now: str) -> TerminalState:
    """Change nothing: only what the shell prints in answer is state."""
    return state


@reduces("terminal/resized", client=True, touches=("cols", "rows"))
def resized(state: TerminalState, action: TerminalResizedAction, now: str) -> TerminalState:
    """Set the size."""
    return copied_members(state, action, "cols", "rows")


@reduces("terminal/claimed", client=True, touches=("claim",))
def claimed(state: TerminalState, action: TerminalClaimedAction, now: str) -> TerminalState:
    """Replace the claim whole; leaving out its tool call is how it is narrowed."""
    return copied_members(state, action, "claim")


@reduces("terminal/titleChanged", client=True, touches=("title",))
def title_changed(
    state: TerminalState, action: TerminalTitleChangedAction, now: str
) -> TerminalState:
    """Set the title."""
    return copied_members(state, action, "title")


@reduces("terminal/cwdChanged")
def cwd_changed(state: TerminalState, action: TerminalCwdChangedAction, now: str) -> TerminalState:
    """Set the working directory."""
    return copied_members(state, action, "cwd")


@reduces("terminal/exited")
def exited(state: TerminalState, action: TerminalExitedAction, now: str) -> TerminalState:
    """Record that the process ended, and how if that is known."""
    return updated(state, lifecycle={"status": "exited", **carry_given(action, "exitCode")})


@reduces("terminal/cleared", client=True, touches=("content",))
def cleared(state: TerminalState, action: TerminalClearedAction, now: str) -> TerminalState:
    """Drop all output, an open command's too."""
    return {**state, "content": []} if state["content"] else state


@reduces("terminal/commandDetectionAvailable")
def command_detection_available(
    state: TerminalState, action: TerminalCommandDetectionAvailableAction, now: str
) -> TerminalState:
    """Say that commands are told apart."""
    return updated(state, supportsCommandDetection=True)


@reduces("terminal/commandExecuted")
def command_executed(
    state: TerminalState, action: TerminalCommandExecutedAction, now: str
) -> TerminalState:
    """Open a part for the command's output; an earlier one that is open stays so."""
    part: TerminalCommandPart = {
        "type": "command",
        "commandId": action["commandId"],
        "commandLine": action["commandLine"],
        "output": "",
        "timestamp": action["timestamp"],
        "isComplete": False,
    }
    return {**state, "content": [*state["content"], part], "supportsCommandDetection": True}


@reduces("terminal/commandFinished")
def command_finished(
    state: TerminalState, action: TerminalCommandFinishedAction, now: str
) -> TerminalState:
    """Complete every part of that command; results that are not given are removed."""

    def finished(part: TerminalContentPart) -> TerminalContentPart:
        if part["type"] != "command" or part["commandId"] != action["commandId"]:
            return part
        complete: TerminalCommandPart = {**part, "isComplete": True}
        return copied_members(complete, action, "exitCode", "durationMs")

    return updated(state, content=[finished(part) for part in state["content"]])


# Where the parts that take output keep it; parts of another type take none.
_OUTPUT = {"unclassified": "value", "command": "output"}


def _grown(part: TerminalContentPart, printed: str) -> TerminalContentPart | None:
    """Return the part with output appended, or None when it takes none."""
    member = _OUTPUT.get(part["type"])
    if member is None or (part["type"] == "command" and part["isComplete"]):
        return None
    members = cast("dict[str, Any]", part)
    return cast("TerminalContentPart", {**members, member: members[member] + printed})
