"""The terminal channel: a shell's output, its size and title, and who holds it.

State, actions and reducers. Typing reaches a terminal as an action that changes no state: what it
does is an effect, and only the output that follows is state. Processes live in the workspace.
"""

from typing import Annotated, Any, Literal, NotRequired, TypeAlias, cast

from typing_extensions import TypedDict

from agenthost.protocol.common import URI, Integer, Number, Positive
from agenthost.protocol.registry import reduces
from agenthost.protocol.structure import mirrored, updated
from agenthost.protocol.unions import Closed, Open

__all__ = [
    "TerminalAction",
    "TerminalClaim",
    "TerminalClaimedAction",
    "TerminalClearedAction",
    "TerminalClientClaim",
    "TerminalCommandDetectionAvailableAction",
    "TerminalCommandExecutedAction",
    "TerminalCommandFinishedAction",
    "TerminalCommandPart",
    "TerminalContentPart",
    "TerminalCwdChangedAction",
    "TerminalDataAction",
    "TerminalExitedAction",
    "TerminalInfo",
    "TerminalInputAction",
    "TerminalResizedAction",
    "TerminalSessionClaim",
    "TerminalState",
    "TerminalTitleChangedAction",
    "TerminalUnclassifiedPart",
    "claimed",
    "cleared",
    "command_detection_available",
    "command_executed",
    "command_finished",
    "cwd_changed",
    "data",
    "exited",
    "input_",
    "resized",
    "title_changed",
]


class TerminalClientClaim(TypedDict):
    """A user holds the terminal through a client."""

    kind: Literal["client"]
    clientId: str


class TerminalSessionClaim(TypedDict):
    """A session holds the terminal, for a running tool call or in the background."""

    kind: Literal["session"]
    session: URI
    turnId: NotRequired[str]
    toolCallId: NotRequired[str]


TerminalClaim: TypeAlias = Annotated[TerminalClientClaim | TerminalSessionClaim, Closed("kind")]


class TerminalInfo(TypedDict):
    """A terminal as the root channel lists it."""

    resource: URI
    title: str
    claim: TerminalClaim
    exitCode: NotRequired[Integer]


class TerminalUnclassifiedPart(TypedDict):
    """Output that belongs to no known command."""

    type: Literal["unclassified"]
    value: str


class TerminalCommandPart(TypedDict):
    """One command and its output; times are Unix milliseconds."""

    type: Literal["command"]
    commandId: str
    commandLine: str
    output: str
    timestamp: Number
    isComplete: bool
    exitCode: NotRequired[Integer]
    durationMs: NotRequired[Number]


TerminalContentPart: TypeAlias = Annotated[
    TerminalUnclassifiedPart | TerminalCommandPart, Open("type")
]


class TerminalState(TypedDict):
    """Everything about one terminal."""

    title: str
    cwd: NotRequired[URI]
    cols: NotRequired[Integer]
    rows: NotRequired[Integer]
    content: list[TerminalContentPart]
    exitCode: NotRequired[Integer]
    claim: TerminalClaim
    supportsCommandDetection: NotRequired[bool]
    isPty: NotRequired[bool]


class TerminalDataAction(TypedDict):
    """Output arrived."""

    type: Literal["terminal/data"]
    data: str


class TerminalInputAction(TypedDict):
    """Somebody typed."""

    type: Literal["terminal/input"]
    data: str


class TerminalResizedAction(TypedDict):
    """The terminal has another size."""

    type: Literal["terminal/resized"]
    cols: Positive
    rows: Positive


class TerminalClaimedAction(TypedDict):
    """The terminal has another holder."""

    type: Literal["terminal/claimed"]
    claim: TerminalClaim


class TerminalTitleChangedAction(TypedDict):
    """The terminal has another title."""

    type: Literal["terminal/titleChanged"]
    title: str


class TerminalCwdChangedAction(TypedDict):
    """The shell went elsewhere."""

    type: Literal["terminal/cwdChanged"]
    cwd: URI


class TerminalExitedAction(TypedDict):
    """The process ended."""

    type: Literal["terminal/exited"]
    exitCode: NotRequired[Integer]


class TerminalClearedAction(TypedDict):
    """The output was thrown away."""

    type: Literal["terminal/cleared"]


class TerminalCommandDetectionAvailableAction(TypedDict):
    """From now on commands are told apart."""

    type: Literal["terminal/commandDetectionAvailable"]


class TerminalCommandExecutedAction(TypedDict):
    """A command begins."""

    type: Literal["terminal/commandExecuted"]
    commandId: str
    commandLine: str
    timestamp: Number


class TerminalCommandFinishedAction(TypedDict):
    """A command ended."""

    type: Literal["terminal/commandFinished"]
    commandId: str
    exitCode: NotRequired[Integer]
    durationMs: NotRequired[Number]


TerminalAction: TypeAlias = Annotated[
    TerminalDataAction
    | TerminalInputAction
    | TerminalResizedAction
    | TerminalClaimedAction
    | TerminalTitleChangedAction
    | TerminalCwdChangedAction
    | TerminalExitedAction
    | TerminalClearedAction
    | TerminalCommandDetectionAvailableAction
    | TerminalCommandExecutedAction
    | TerminalCommandFinishedAction,
    Open("type"),
]


@reduces("terminal/data")
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
    return mirrored(state, action, "cols", "rows")


@reduces("terminal/claimed", client=True, touches=("claim",))
def claimed(state: TerminalState, action: TerminalClaimedAction, now: str) -> TerminalState:
    """Replace the claim whole; leaving out its tool call is how it is narrowed."""
    return mirrored(state, action, "claim")


@reduces("terminal/titleChanged", client=True, touches=("title",))
def title_changed(
    state: TerminalState, action: TerminalTitleChangedAction, now: str
) -> TerminalState:
    """Set the title."""
    return mirrored(state, action, "title")


@reduces("terminal/cwdChanged")
def cwd_changed(state: TerminalState, action: TerminalCwdChangedAction, now: str) -> TerminalState:
    """Set the working directory."""
    return mirrored(state, action, "cwd")


@reduces("terminal/exited")
def exited(state: TerminalState, action: TerminalExitedAction, now: str) -> TerminalState:
    """Set the exit code, or remove it when there is none."""
    return mirrored(state, action, "exitCode")


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
        return mirrored(complete, action, "exitCode", "durationMs")

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
