"""The terminal channel: a shell's output, its size and title, and who holds it.

State and actions; the reducers are in ``terminal_reducers``. Typing reaches a terminal as an action
that changes no state: what it does is an effect, and only the output that follows is state.
Processes live in the workspace.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.schema.scalars import URI, Integer, Number, Positive
from agenthost.protocol.schema.unions import Closed, Open


class TerminalClientClaim(TypedDict):
    """A user holds the terminal through a client."""

    kind: Literal["client"]
    clientId: str


class TerminalSessionClaim(TypedDict):
    """A chat of a session holds the terminal, for a running tool call or in the background."""

    kind: Literal["session"]
    session: URI
    chat: URI
    turnId: NotRequired[str]
    toolCallId: NotRequired[str]


TerminalClaim: TypeAlias = Annotated[TerminalClientClaim | TerminalSessionClaim, Closed("kind")]


class TerminalRunningLifecycleState(TypedDict):
    """The process runs."""

    status: Literal["running"]


class TerminalExitedLifecycleState(TypedDict):
    """The process ended; without ``exitCode`` nobody knows how."""

    status: Literal["exited"]
    exitCode: NotRequired[Integer]


TerminalLifecycleState: TypeAlias = Annotated[
    TerminalRunningLifecycleState | TerminalExitedLifecycleState, Open("status")
]


class TerminalInfo(TypedDict):
    """A terminal as the root channel lists it."""

    resource: URI
    title: str
    claim: TerminalClaim
    lifecycle: TerminalLifecycleState


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
    lifecycle: TerminalLifecycleState
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
