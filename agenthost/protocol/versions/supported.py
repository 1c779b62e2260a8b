"""Which protocol versions are spoken, and in which of them actions, methods and the like exist.

Owns the list of rungs, the form of a version string and the table of what each version introduced
and removed. Knows nothing of how a version differs from its neighbour; the steps do. Names that
begin with ``x-`` belong to implementations and exist in every version.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

Version = tuple[int, int, int]

# Newest first. The first is the canonical model; each other one is a rung of the ladder below it.
SUPPORTED_VERSIONS: Final[tuple[str, ...]] = (
    *("1.0.0", "0.9.0", "0.8.0", "0.7.0", "0.6.0"),
    *("0.5.2", "0.5.1", "0.5.0"),
)
NEWEST: Final = SUPPORTED_VERSIONS[0]

# What stores hold that do not say of which version their content is.
FIRST_STORED: Final = "0.7.0"

# Exactly three decimal numbers, without signs, leading zeros, spaces, or digits of other scripts.
# Large numbers are legal; the limit keeps an offer from costing more than it is worth.
_NUMBER = "(0|[1-9][0-9]{0,255})"
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}")


def parse_version(text: str) -> Version:
    """Return the three numbers of a version string; ValueError when it is not one."""
    match = _VERSION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a version of the form MAJOR.MINOR.PATCH")
    major, minor, patch = map(int, match.groups())
    return major, minor, patch


def exists_in(action_type: str, version: str) -> bool:
    """Return whether a supported version has this action; False for unknown types."""
    return action_type in _ACTIONS_OF[version] or action_type.startswith(_PRIVATE)


def tolerated_in(action_type: str, version: str) -> bool:
    """Return whether clients of a version send this action although their version lacks it."""
    return action_type in _TOLERATED.get(version, ())


def all_actions() -> Iterable[str]:
    """Return every action that any version has had."""
    return _ACTIONS


def introduced_in(action_type: str) -> str | None:
    """Return the version that introduced an action, or None when no version did."""
    return _ACTIONS.get(action_type)


def notification_exists_in(method: str, version: str) -> bool:
    """Say whether that supported version has this notification."""
    return method in _NOTIFICATIONS_OF[version] or method.startswith(_PRIVATE)


def kind_exists_in(kind: str, version: str) -> bool:
    """Say whether that supported version has channels of this kind."""
    return kind not in _MISSING_KINDS[version]


def method_exists_in(method: str, version: str) -> bool:
    """Say whether that supported version has this request; an unknown one is not ours to judge."""
    return method not in _MISSING_METHODS[version]


def _by_name(introduced: Mapping[str, str]) -> dict[str, str]:
    return {name: version for version, names in introduced.items() for name in names.split()}


_ACTIONS: Final = _by_name(
    {
        "0.1.0": """
            root/agentsChanged root/activeSessionsChanged root/terminalsChanged root/configChanged
            session/ready session/creationFailed session/titleChanged session/isReadChanged
            session/isArchivedChanged session/activityChanged session/configChanged
            session/metaChanged session/serverToolsChanged session/customizationsChanged
            session/customizationToggled session/customizationUpdated
            terminal/data terminal/input terminal/resized terminal/claimed terminal/titleChanged
            terminal/cwdChanged terminal/exited terminal/cleared
            terminal/commandDetectionAvailable terminal/commandExecuted terminal/commandFinished
        """,
        "0.2.0": """
            session/changesetsChanged session/customizationRemoved
            changeset/statusChanged changeset/fileSet changeset/fileRemoved
            changeset/operationsChanged changeset/cleared resourceWatch/changed
        """,
        "0.3.0": "session/mcpServerStateChanged changeset/operationStatusChanged",
        "0.4.0": """
            session/chatAdded session/chatRemoved session/chatUpdated session/defaultChatChanged
            chat/turnStarted chat/delta chat/responsePart chat/reasoning chat/usage
            chat/turnComplete chat/turnCancelled chat/error
            chat/toolCallStart chat/toolCallDelta chat/toolCallReady chat/toolCallConfirmed
            chat/toolCallComplete chat/toolCallResultConfirmed chat/toolCallContentChanged
            chat/truncated chat/pendingMessageSet chat/pendingMessageRemoved
            chat/queuedMessagesReordered
            chat/inputRequested chat/inputAnswerChanged chat/inputCompleted
            changeset/contentChanged
            annotations/set annotations/updated annotations/removed annotations/entrySet
            annotations/entryRemoved
        """,
        "0.5.0": """
            session/activeClientSet session/activeClientRemoved
            chat/activityChanged chat/draftChanged
        """,
        "0.5.1": "session/inputNeededSet session/inputNeededRemoved chat/turnsLoaded",
        "0.5.2": """
            session/mcpServerStartRequested session/mcpServerStopRequested
            changeset/filesReviewedChanged
        """,
        "0.6.0": """
            chat/toolCallAuthRequired chat/toolCallAuthResolved changeset/filesReviewChanged
        """,
        "0.7.0": """
            session/workingDirectorySet session/workingDirectoryRemoved
            chat/workingDirectorySet chat/workingDirectoryRemoved
        """,
        "0.8.0": "session/workingDirectoryReplaced",
        "0.9.0": """
            chat/turnResume
            automation/createRequested automation/updateRequested automation/set automation/removed
            automationRun/lifecycleChanged automationRun/sessionSet automationRun/sessionRemoved
            automationRun/primarySessionChanged automationRun/cancelRequested
        """,
        "1.0.0": """
            session/chatsReordered session/mcpServerBackgroundRequested
            chat/backgroundWorkSet chat/backgroundWorkRemoved chat/movableChanged
            chat/changesetsChanged chat/canvasesChanged chat/isReadChanged chat/isArchivedChanged
            canvas/stateChanged
        """,
    }
)

# Action -> the version that no longer has it.
_RETIRED_ACTIONS: Final = {"changeset/filesReviewedChanged": "0.6.0"}

# Version -> actions that its clients send as well. VS Code does, which announces 0.9.0 but was
# built from what became 1.0.0. Hosts of that version send none of them.
_TOLERATED: Final = {
    "0.9.0": frozenset(
        ("chat/isReadChanged", "chat/isArchivedChanged", "session/mcpServerBackgroundRequested")
    )
}

# What every version had that we speak is not listed in these two.
_KINDS: Final = _by_name({"0.9.0": "automation automationRun", "1.0.0": "canvas"})
_METHODS: Final = _by_name(
    {
        "0.9.0": "listAutomationTriggerDefinitions runAutomation fetchAutomationRuns",
        "1.0.0": "moveChat",
    }
)

_PRIVATE: Final = "x-"

_NOTIFICATIONS: Final = _by_name(
    {
        "0.1.0": """
            action root/sessionAdded root/sessionRemoved root/sessionSummaryChanged auth/required
        """,
        "0.2.0": "otlp/exportLogs otlp/exportTraces otlp/exportMetrics",
        "0.5.0": "root/progress",
    }
)


def _existing_in(
    introduced: Mapping[str, str], removed: Mapping[str, str], version: str
) -> frozenset[str]:
    at = parse_version(version)
    return frozenset(
        name
        for name, since in introduced.items()
        if parse_version(since) <= at and (name not in removed or at < parse_version(removed[name]))
    )


_ACTIONS_OF: Final = {
    version: _existing_in(_ACTIONS, _RETIRED_ACTIONS, version) for version in SUPPORTED_VERSIONS
}
_NOTIFICATIONS_OF: Final = {
    version: _existing_in(_NOTIFICATIONS, {}, version) for version in SUPPORTED_VERSIONS
}
_MISSING_KINDS: Final = {
    version: _KINDS.keys() - _existing_in(_KINDS, {}, version) for version in SUPPORTED_VERSIONS
}
_MISSING_METHODS: Final = {
    version: _METHODS.keys() - _existing_in(_METHODS, {}, version) for version in SUPPORTED_VERSIONS
}
