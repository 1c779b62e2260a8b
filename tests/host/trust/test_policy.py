from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from agenthost.errors import PermissionDenied
from agenthost.host.trust import Policy, PolicyContext, Principal, Role, RolePolicy
from agenthost.protocol.methods import METHODS, Access, Direction
from agenthost.protocol.own_members import FORK

OWNER = Principal("owner", Role.OWNER)
OPERATOR = Principal("ann", Role.OPERATOR)
VIEWER = Principal("bob", Role.VIEWER)
NO_CONTEXT = PolicyContext()
CONTEXT = PolicyContext(
    resource_roots=lambda _: ("/srv/app",),
    is_content=lambda uri: uri.startswith("agenthost-content:/"),
)
POLICY: Policy = RolePolicy()

RESOURCES = {
    "resourceRead", "resourceWrite", "resourceList", "resourceCopy", "resourceMove",
    "resourceDelete", "resourceResolve", "resourceMkdir", "resourceRequest", "createResourceWatch",
}  # fmt: skip
SEEING = {
    "initialize", "ping", "reconnect", "subscribe", "unsubscribe", "listSessions", "fetchTurns",
    "resolveSessionConfig", "sessionConfigCompletions", "fetchAutomationRuns",
    "listAutomationTriggerDefinitions",
}  # fmt: skip
# What is everybody's own: who they are here, and their browsers' notifications.
TELLING = {
    "agenthost/about", "agenthost/subscribePush", "agenthost/unsubscribePush", "agenthost/visible",
}  # fmt: skip
DOING = {
    "createSession", "disposeSession", "createChat", "disposeChat", "createTerminal",
    "disposeTerminal", "completions", "authenticate", "invokeChangesetOperation",
    "moveChat", "runAutomation",
}  # fmt: skip

SHARED = Path(os.environ.get("AGENTHOST_SHARED", Path(__file__).parents[4] / "shared"))
# What the protocol has in 0.7.0, and what it got until 1.0.0.
DIGEST, LATER = SHARED / "spec" / "wire.md", SHARED / "spec" / "towards-1.0.md"
SINCE = {"moveChat", "runAutomation", "fetchAutomationRuns", "listAutomationTriggerDefinitions"}
OWNING = {
    "agenthost/listTrash", "agenthost/restoreSession", "agenthost/purgeSession",
    "agenthost/createToken", "agenthost/listTokens", "agenthost/revokeToken",
    "agenthost/callMcpTool", "agenthost/trustFolder", "agenthost/forgetTrust",
    "agenthost/listTrust",
}  # fmt: skip
# What operators may besides, of what this product adds.
WORKING = {"agenthost/mcpLog", "agenthost/listNodes", "agenthost/moveSession"}
ACCESS = {
    name: method.access
    for name, method in METHODS.items()
    if Direction.TO_HOST in method.directions
}


def may(principal: Principal, method: str, context: PolicyContext = CONTEXT, **params: Any) -> bool:
    try:
        POLICY.command(principal, method, {"channel": "ahp-root://", **params}, context)
    except PermissionDenied as denied:
        message = denied.message
    else:
        return True
    assert principal.role.value in message
    assert method in message
    return False


def test_every_method_a_client_may_send_is_classified_and_none_besides() -> None:
    assert set(ACCESS) == (
        RESOURCES | SEEING | DOING | {"dispatchAction"} | OWNING | TELLING | WORKING
    )
    assert len(ACCESS) == 31 + 2 + 17


@pytest.mark.skipif(not DIGEST.exists(), reason="the protocol digest is not next to the repository")
def test_the_classified_methods_are_those_of_the_protocols_own_catalogue() -> None:
    text = DIGEST.read_text()
    requests = text.split("### 5.1 ")[1].split("\nNotes")[0]
    named = set(re.findall(r"^\| `(\w+)` \|", requests, re.MULTILINE)) | {"createResourceWatch"}
    named |= set(re.findall(r"^\| `(resource\w+)` \|", text.split("## 16. ")[1], re.MULTILINE))
    assert len(named) == 27
    ours = OWNING | TELLING | WORKING
    assert named | SINCE | {"unsubscribe", "dispatchAction"} | ours == set(ACCESS)
    assert all(method in LATER.read_text() for method in SINCE)


@pytest.mark.parametrize("method", [*sorted(ACCESS), "somethingNew"])
def test_an_owner_may_do_everything(method: str) -> None:
    assert may(OWNER, method, NO_CONTEXT, uri="file:///etc/passwd")


@pytest.mark.parametrize("method", sorted(SEEING | TELLING | {"dispatchAction"}))
def test_everyone_may_look(method: str) -> None:
    assert may(VIEWER, method, NO_CONTEXT)
    assert may(OPERATOR, method, NO_CONTEXT)


@pytest.mark.parametrize("method", sorted(DOING | WORKING))
def test_operators_may_work_and_viewers_may_not(method: str) -> None:
    assert may(OPERATOR, method, NO_CONTEXT)
    assert not may(VIEWER, method)


@pytest.mark.parametrize("method", sorted(RESOURCES))
def test_operators_reach_files_inside_their_sessions_folders_only(method: str) -> None:
    both = method in ("resourceCopy", "resourceMove")
    inside: dict[str, Any] = {"source": "file:///srv/app/a", "destination": "file:///srv/app/b"}
    outside = {**inside, "destination": "file:///etc/cron.d/x"}
    if not both:
        inside, outside = {"uri": "file:///srv/app/a"}, {"uri": "file:///srv/other"}
    assert may(OPERATOR, method, **inside)
    assert not may(OPERATOR, method, **outside)
    assert not may(OPERATOR, method, NO_CONTEXT, **inside)
    assert not may(OPERATOR, method)
    assert not may(VIEWER, method, **inside)


@pytest.mark.parametrize("method", ["resourceCopy", "resourceMove"])
def test_a_copy_needs_both_ends_inside(method: str) -> None:
    ends = {"source": "file:///etc/passwd", "destination": "file:///srv/app/b"}
    assert not may(OPERATOR, method, CONTEXT, **ends)


@pytest.mark.parametrize(
    "uri",
    [
        "file:///srv/app",
        "file:///srv/app/",
        "file:///srv/app/deep/er",
        "file://localhost/srv/app/a",
        "file:///srv/app/with%20space",
        "FILE:///srv/app/a",
    ],
)
def test_a_uri_inside_is_recognised_in_every_spelling(uri: str) -> None:
    assert may(OPERATOR, "resourceRead", uri=uri)


@pytest.mark.parametrize(
    "uri",
    [
        "file:///srv/app/../secret",
        "file:///srv/app/%2e%2e/secret",
        "file:///srv/app/..%2f..%2fetc/passwd",
        "file:///srv/application",
        "file:///work",
        "file:///",
        "file://server/srv/app/a",
        "file:work/app/a",
        "/srv/app/a",
        "file://[",
        "",
        None,
        7,
        ["file:///srv/app/a"],
    ],
)
def test_a_uri_outside_is_recognised_in_every_disguise(uri: Any) -> None:
    assert not may(OPERATOR, "resourceRead", uri=uri)
    assert not may(VIEWER, "resourceRead", uri=uri)


@pytest.mark.parametrize("uri", ["virtual:///srv/app/a", "http://srv/app/a", "vscode-vfs:x"])
def test_what_is_a_clients_own_is_left_to_whoever_asks_that_client(uri: str) -> None:
    assert may(OPERATOR, "resourceRead", uri=uri)
    assert not may(VIEWER, "resourceRead", uri=uri)
    assert not may(OPERATOR, "resourceCopy", source=uri, destination="file:///etc/x")


def test_a_link_is_followed_before_going_up(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "away" / "deep"
    for folder in (root / "inner", outside):
        folder.mkdir(parents=True)
    (root / "link").symlink_to(outside)
    (root / "loop").symlink_to("loop")
    context = PolicyContext(resource_roots=lambda _: (str(root),), host_roots=(str(root),))
    inside = ["", "/inner", "/inner/..", "/inner/../new/file", "/inner%2f..", "/link/../../root/x"]
    leaving = ["/link", "/link/..", "/link%2f..", "/link/../../root/../x", "/loop", "/loop/x"]
    # Whoever makes this folder later decides where its parent is.
    leaving += ["/missing/..", "/missing/../inner", "/" + "x/" * 4000, "/inner%00"]
    for tail in (*inside, *leaving):
        uri = root.as_uri() + tail
        assert may(OPERATOR, "resourceRead", context, uri=uri) == (tail in inside), tail
        added = {"type": "session/workingDirectorySet", "directory": uri}
        refusal = POLICY.dispatch(OPERATOR, "session", added, context)
        assert (refusal is None) == (tail in inside), tail


def test_a_session_in_the_root_folder_reaches_everything_by_its_own_choice() -> None:
    assert may(
        OPERATOR,
        "resourceRead",
        PolicyContext(resource_roots=lambda _: ("/",)),
        uri="file:///etc/hosts",
    )


def test_content_of_sessions_is_readable_by_everyone_and_writable_by_nobody_else() -> None:
    content: dict[str, Any] = {"uri": "agenthost-content:/abc"}
    assert may(VIEWER, "resourceRead", **content)
    assert may(OPERATOR, "resourceRead", **content)
    assert not may(VIEWER, "resourceRead", NO_CONTEXT, **content)
    assert may(VIEWER, "resourceResolve", **content)
    for method in sorted(RESOURCES - {"resourceRead", "resourceResolve"}):
        assert not may(VIEWER, method, **content)
        assert not may(OPERATOR, method, **content)


@pytest.mark.parametrize("principal", [OPERATOR, VIEWER])
def test_a_method_nobody_classified_is_the_owners_alone(principal: Principal) -> None:
    assert not may(principal, "somethingNew")


def test_a_refusal_offers_no_request_that_could_not_help() -> None:
    with pytest.raises(PermissionDenied) as caught:
        POLICY.command(VIEWER, "resourceWrite", {"uri": "file:///srv/app/a"}, CONTEXT)
    assert caught.value.to_wire() == {
        "code": -32009,
        "message": "the role viewer may not call resourceWrite",
        "data": {},
    }


def test_every_access_has_a_method() -> None:
    assert set(ACCESS.values()) == set(Access)


# --- dispatch


def reason(principal: Principal, kind: str, action_type: Any) -> str | None:
    return POLICY.dispatch(principal, kind, {"type": action_type}, NO_CONTEXT)


ACTIONS = [
    ("root", "root/configChanged"),
    ("session", "session/titleChanged"),
    ("session", "session/isArchivedChanged"),
    ("chat", "chat/turnStarted"),
    ("chat", "chat/toolCallConfirmed"),
    ("terminal", "terminal/input"),
    ("annotations", "annotations/set"),
    ("changeset", "changeset/filesReviewChanged"),
]


@pytest.mark.parametrize(("kind", "action"), ACTIONS)
def test_an_owner_may_dispatch_anything(kind: str, action: str) -> None:
    assert reason(OWNER, kind, action) is None


@pytest.mark.parametrize(("kind", "action"), ACTIONS)
def test_an_operator_may_dispatch_all_but_host_configuration(kind: str, action: str) -> None:
    refused = reason(OPERATOR, kind, action)
    assert (refused is not None) == (kind == "root")


def test_the_hosts_configuration_is_recognised_by_channel_and_by_action() -> None:
    expected = "operators may not change the host's configuration"
    assert reason(OPERATOR, "root", "root/configChanged") == expected
    assert reason(OPERATOR, "session", "root/configChanged") == expected
    assert reason(OPERATOR, "root", "anything") == expected


@pytest.mark.parametrize(("kind", "action"), ACTIONS)
def test_a_viewer_may_not_dispatch(kind: str, action: str) -> None:
    assert reason(VIEWER, kind, action) == f"the role viewer may not dispatch {action}"


def test_a_viewer_may_mark_a_session_and_a_chat_as_read() -> None:
    for kind in ("session", "chat"):
        assert reason(VIEWER, kind, f"{kind}/isReadChanged") is None
        assert reason(VIEWER, kind, f"{kind}/isArchivedChanged") is not None
    assert reason(VIEWER, "chat", "session/isReadChanged") is not None
    assert reason(VIEWER, "session", "chat/isReadChanged") is not None


@pytest.mark.parametrize("kind", [None, 7, ["session/isReadChanged"], "x" * 10_000])
def test_an_action_of_a_senseless_type_is_refused_briefly(kind: Any) -> None:
    refused = reason(VIEWER, "session", kind)
    assert refused is not None
    assert len(refused) < 200
    assert POLICY.dispatch(VIEWER, "session", {}, NO_CONTEXT) is not None


@pytest.mark.parametrize(
    ("directory", "allowed"),
    [
        ("file:///srv", True),
        ("file:///srv/app", True),
        ("file:///srv/../etc", False),
        ("file:///srvx", False),
        ("virtual:///srv", False),
        (None, False),
    ],
)
def test_an_operator_works_inside_the_hosts_roots_only(directory: Any, allowed: bool) -> None:
    context = PolicyContext(host_roots=("/srv",))
    added = {"type": "session/workingDirectorySet", "directory": directory}
    assert (POLICY.dispatch(OPERATOR, "session", added, context) is None) == allowed
    assert POLICY.dispatch(OWNER, "session", added, context) is None
    replaced = {"type": "session/workingDirectoryReplaced", "directory": "file:///elsewhere"}
    replaced |= {"replacement": directory}
    assert (POLICY.dispatch(OPERATOR, "session", replaced, context) is None) == allowed
    removed = {**added, "type": "session/workingDirectoryRemoved"}
    assert POLICY.dispatch(OPERATOR, "session", removed, context) is None
    params: dict[str, Any] = {"channel": "s:/1", "workingDirectories": ["file:///srv", directory]}
    POLICY.command(OWNER, "createSession", params, context)
    # What a fork asks for is ignored.
    POLICY.command(OPERATOR, "createSession", {**params, "_meta": {FORK: {}}}, context)
    if allowed:
        POLICY.command(OPERATOR, "createSession", params, context)
    else:
        with pytest.raises(PermissionDenied, match="inside the host's roots only"):
            POLICY.command(OPERATOR, "createSession", params, context)
