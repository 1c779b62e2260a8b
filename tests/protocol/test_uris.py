from __future__ import annotations

import pytest

from agenthost.protocol.uris import (
    AUTOMATIONS,
    ROOT,
    annotations_uri,
    automation_run_uri,
    canonical,
    canvas_uri,
    chat_uri,
    content_name,
    content_uri,
    default_chat_uri,
    is_automation,
    is_automations,
    is_nameable,
    is_root,
    session_of_default_chat,
    worker_chat_uri,
    worker_of,
)


@pytest.mark.parametrize("spelling", ["ahp-root://", "ahp-root:", "ahp-root:/", "ahp-root:///"])
def test_every_spelling_of_the_root_means_the_root(spelling: str) -> None:
    assert is_root(spelling)
    assert canonical(spelling) == ROOT


@pytest.mark.parametrize(
    "spelling",
    ["ahp-automations://", "ahp-automations:", "ahp-automations:/", "ahp-automations://catalog"],
)
def test_every_spelling_of_the_automations_means_their_catalogue(spelling: str) -> None:
    assert is_automations(spelling)
    assert canonical(spelling) == AUTOMATIONS
    assert not is_automation(spelling)


def test_an_automation_is_told_by_its_scheme_and_its_runs_are_none() -> None:
    assert is_automation("ahp-automation:/1")
    assert not is_automation(automation_run_uri("1"))
    assert automation_run_uri("1") == "ahp-automation-run:/1"
    assert canvas_uri("1") == "ahp-canvas:/1"


@pytest.mark.parametrize(
    "uri",
    ["copilot:/1", "ahp-root://x", "ahp-session:/1", "", "ahp-automation:/1", "ahp-automationsx:/"],
)
def test_every_other_uri_is_itself(uri: str) -> None:
    assert not is_root(uri)
    assert not is_automations(uri)
    assert canonical(uri) == uri


@pytest.mark.parametrize("uri", ["", "s:/\x1b[2J", "s:/a\nb", "s:/" + "x" * 2_046])
def test_what_would_mislead_people_is_no_name_for_a_channel(uri: str) -> None:
    assert not is_nameable(uri)


@pytest.mark.parametrize("uri", ["s:/1", "s:/a b", "copilot:/ä%20?x=1#y", "s:/" + "x" * 2_045])
def test_any_other_uri_may_name_a_channel(uri: str) -> None:
    assert is_nameable(uri)


def test_annotations_live_below_their_session_whatever_its_scheme() -> None:
    assert annotations_uri("copilot:/42") == "copilot:/42/annotations"


def test_chats_are_named_after_their_session_without_anything_to_escape() -> None:
    session = "ahp-session:/ä?"
    assert chat_uri(session, "7") == "ahp-chat://7/YWhwLXNlc3Npb246L8OkPw"
    assert session_of_default_chat(default_chat_uri(session)) == session
    assert worker_of(worker_chat_uri(session, "call-1") or "") == (session, "call-1")
    for call in ("call|1", "a/b", "", "é"):
        assert worker_chat_uri(session, call) is None


@pytest.mark.parametrize(
    "uri",
    ["ahp-chat:/1", "ahp-chat://default/", "ahp-chat://default/%2F", "ahp-chat://default/_w"],
)
def test_a_name_that_is_no_default_chats_is_none(uri: str) -> None:
    assert session_of_default_chat(uri) is None


@pytest.mark.parametrize(
    "uri", ["ahp-chat://subagent/czovMQ", "ahp-chat://subagent/czovMQ/", "ahp-chat://subagent//c"]
)
def test_a_name_that_is_no_workers_is_none(uri: str) -> None:
    assert worker_of(uri) is None


@pytest.mark.parametrize(
    ("name", "uri"),
    [
        (None, "ahp-content:/7"),
        ("", "ahp-content:/7"),
        ("a.py", "ahp-content:/7/a.py"),
        # Both sides of a change have one path: editors show it, and say nothing of a renaming.
        ("/r/src/a.py", "ahp-content:/r/src/a.py?7"),
        # What would have to be escaped might come back in another spelling.
        ("/my work/a.py", "ahp-content:/7/a.py"),
        ("/r/a b.py", "ahp-content:/7"),
        ("/r/../a.py", "ahp-content:/7/a.py"),
        ("/r//a.py", "ahp-content:/7/a.py"),
        ("//evil/a.py", "ahp-content:/7/a.py"),
        ("/a.py", "ahp-content:/7/a.py"),
        ("/r/..", "ahp-content:/7"),
        ("/r/a?b", "ahp-content:/7"),
    ],
)
def test_contents_are_called_like_what_they_are_of(name: str | None, uri: str) -> None:
    assert content_uri("7", name) == uri
    # A copy is called like it.
    assert content_uri("7", content_name(uri)) == uri
