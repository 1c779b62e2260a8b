"""The channels whose actions need no state to be legal: any of them may follow any other."""

from __future__ import annotations

from dataclasses import dataclass

from agenthost.protocol.reducer_registry import Kind
from tests.simulation import nodes
from tests.simulation.generate import Gen, Json, few, node, one_of


@dataclass(frozen=True)
class Channel:
    """A channel's first state, what may happen to it, and how long that stays interesting."""

    kind: Kind
    initial: Json
    action: Gen
    longest: int


def changeset_actions() -> Gen:
    """Build actions on a changeset."""
    files = few(nodes.CHANGED_FILE, 3)
    operations = few(nodes.OPERATION, unique_by="id")
    reviewed = {"files": few(nodes.NAMES), "reviewed": nodes.FLAG}
    statuses = one_of("computing", "recomputing", "ready")
    return one_of(
        node({"type": "changeset/statusChanged", "status": "error"}, error=nodes.ERROR),
        node({"type": "changeset/statusChanged", "status": statuses}),
        node({"type": "changeset/fileSet", "file": nodes.CHANGED_FILE}),
        node({"type": "changeset/fileRemoved", "fileId": nodes.NAMES}),
        node({"type": "changeset/filesReviewChanged", **reviewed}),
        node({"type": "changeset/contentChanged", "files": files}, operations=operations),
        node({"type": "changeset/operationsChanged"}, operations=operations),
        node(
            {"type": "changeset/operationStatusChanged", "operationId": nodes.NAMES}
            | {"status": one_of("running", "error")},
            error=nodes.ERROR,
        ),
        node({"type": "changeset/cleared"}),
    )


def root_actions() -> Gen:
    """Build actions on the root."""
    return one_of(
        node({"type": "root/agentsChanged", "agents": few(nodes.AGENT)}),
        node({"type": "root/activeSessionsChanged", "activeSessions": 2}),
        node({"type": "root/terminalsChanged", "terminals": few(nodes.TERMINAL_INFO)}),
        node({"type": "root/configChanged", "config": {"a": 1}}, replace=nodes.FLAG),
    )


def terminal_actions() -> Gen:
    """Build actions on a terminal."""
    command = {"commandId": nodes.NAMES}
    return one_of(
        node({"type": "terminal/data", "data": nodes.TEXT}),
        node({"type": "terminal/input", "data": nodes.TEXT}),
        node({"type": "terminal/resized", "cols": 80, "rows": one_of(24, 25)}),
        node({"type": "terminal/claimed", "claim": nodes.CLAIM}),
        node({"type": "terminal/titleChanged", "title": nodes.TEXT}),
        node({"type": "terminal/cwdChanged", "cwd": nodes.DIRECTORY}),
        node({"type": "terminal/exited"}, exitCode=one_of(0, 1)),
        node({"type": "terminal/cleared"}),
        node({"type": "terminal/commandDetectionAvailable"}),
        node({"type": "terminal/commandExecuted", **command, "commandLine": "ls", "timestamp": 1}),
        node({"type": "terminal/commandFinished", **command}, exitCode=one_of(0, 1), durationMs=2),
    )


def annotations_actions() -> Gen:
    """Build actions on a session's annotations."""
    annotation = {"annotationId": nodes.NAMES}
    return one_of(
        node({"type": "annotations/set", "annotation": nodes.ANNOTATION}),
        node(
            {"type": "annotations/updated", **annotation},
            origin=nodes.ANNOTATION_ORIGIN,
            resource="file:///g",
            resolved=nodes.FLAG,
        ),
        node({"type": "annotations/removed", **annotation}),
        node({"type": "annotations/entrySet", **annotation, "entry": nodes.ANNOTATION_ENTRY}),
        node({"type": "annotations/entryRemoved", **annotation, "entryId": nodes.NAMES}),
    )


def automation_actions() -> Gen:
    """Build actions on the catalogue of automations."""
    resource = {"resource": one_of("ahp-automation:/1", "ahp-automation:/2")}
    asked = {**resource, "definition": nodes.DEFINITION}
    changes = {**resource, "changes": nodes.DEFINITION_PATCH}
    return one_of(
        node({"type": "automation/createRequested", **asked}),
        node({"type": "automation/updateRequested", **changes}),
        node({"type": "automation/set", "automation": nodes.AUTOMATION}),
        node({"type": "automation/removed", **resource}),
    )


def automation_run_actions() -> Gen:
    """Build actions on one run of an automation."""
    session = {"session": one_of("ahp-session:/1", "ahp-session:/2")}
    return one_of(
        node({"type": "automationRun/lifecycleChanged", "lifecycle": nodes.RUN_LIFECYCLE}),
        node({"type": "automationRun/sessionSet", **session}),
        node({"type": "automationRun/sessionRemoved", **session}),
        node({"type": "automationRun/primarySessionChanged"}, primarySession=session["session"]),
        node({"type": "automationRun/cancelRequested"}),
    )


ROOT = Channel(
    "root",
    {"agents": [], "config": {"schema": {"type": "object", "properties": {}}, "values": {}}},
    root_actions(),
    5,
)
CHANNELS = (
    ROOT,
    Channel("changeset", {"status": "computing", "files": []}, changeset_actions(), 12),
    Channel(
        "terminal",
        {
            "title": "sh",
            "content": [],
            "claim": {"kind": "client", "clientId": "c1"},
            "lifecycle": {"status": "running"},
        },
        terminal_actions(),
        12,
    ),
    Channel("annotations", {"annotations": []}, annotations_actions(), 12),
    Channel("automation", {"entries": []}, automation_actions(), 5),
    Channel(
        "automationRun",
        {
            "resource": "ahp-automation-run:/1",
            "automation": "ahp-automation:/1",
            "sessions": [],
            "origin": {"kind": "manual"},
            "lifecycle": {"status": "pending", "createdAt": "2026-01-01"},
        },
        automation_run_actions(),
        8,
    ),
)
