"""Everything that a client was sent, held against the published schemas of its version."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.protocol.versions.published import SCHEMAS
from tests.protocol.versions.schemas import STATES, complaints, complaints_about_action
from tests.wire.client import WireClient

__all__ = ["complaints_about", "needs_schemas"]

Json = dict[str, Any]

needs_schemas = pytest.mark.skipif(
    not SCHEMAS.is_dir(), reason=f"no schemas at {SCHEMAS}; set AGENTHOST_SHARED"
)

RESULTS = {
    "initialize": "InitializeResult",
    "subscribe": "SubscribeResult",
    "listSessions": "ListSessionsResult",
    "fetchTurns": "FetchTurnsResult",
    "moveChat": "MoveChatResult",
    "invokeChangesetOperation": "InvokeChangesetOperationResult",
    "resourceRead": "ResourceReadResult",
    "resourceResolve": "ResourceResolveResult",
    "completions": "CompletionsResult",
    "resolveSessionConfig": "ResolveSessionConfigResult",
    "sessionConfigCompletions": "SessionConfigCompletionsResult",
    "runAutomation": "RunAutomationResult",
    "fetchAutomationRuns": "FetchAutomationRunsResult",
    "listAutomationTriggerDefinitions": "ListAutomationTriggerDefinitionsResult",
}
# Their result is null.
SILENT = {
    "ping", "createSession", "disposeSession", "createChat", "disposeChat", "createTerminal",
    "disposeTerminal",
}  # fmt: skip
NOTIFICATIONS = {
    "root/sessionAdded": "SessionAddedParams",
    "root/sessionRemoved": "SessionRemovedParams",
    "root/sessionSummaryChanged": "SessionSummaryChangedParams",
    "root/progress": "ProgressParams",
}
# Which definition describes the answer to a reconnect, by its type.
RECONNECTED = {"replay": "ReconnectReplayResult", "snapshot": "ReconnectSnapshotResult"}


def complaints_about(client: WireClient, first: int = 0) -> list[str]:
    """Return what is wrong, in the client's version, with everything it was ever sent.

    ``first`` is how many of its messages were looked at before.
    """
    return [
        f"{complaint} in {json.dumps(message)[:600]}"
        for message in client.received[first:]
        for complaint in _about_message(client, message)
    ]


def _about_message(client: WireClient, message: Json) -> Iterator[str]:
    method, params = message.get("method"), message.get("params")
    if method == "action":
        yield from _about_envelope(client, params)
    elif method is not None:
        yield from complaints(client.version, NOTIFICATIONS[method], params)
    elif "result" in message:
        yield from _about_result(client, client.asked[message["id"]], message["result"])


def _about_result(client: WireClient, method: str, result: Any) -> Iterator[str]:
    if method in SILENT:
        if result is not None:
            yield f"{method} answers {result!r} instead of null"
        return
    name = RECONNECTED[result["type"]] if method == "reconnect" else RESULTS[method]
    yield from complaints(client.version, name, result)
    for envelope in result.get("actions", ()):
        yield from _about_envelope(client, envelope)
    snapshots = [*result.get("snapshots", ()), *filter(None, [result.get("snapshot")])]
    for snapshot in snapshots:
        kind = client.kinds[snapshot["resource"]]
        yield from complaints(client.version, STATES[kind], snapshot["state"])


def _about_envelope(client: WireClient, envelope: Any) -> Iterator[str]:
    yield from complaints(client.version, "ActionEnvelope", envelope)
    if "rejectionReason" in envelope:
        # It comes back as it was sent, whatever that was.
        return
    wrong = complaints_about_action(client.version, envelope["action"])
    if wrong:
        yield "; ".join(wrong)
