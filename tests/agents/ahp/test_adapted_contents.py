"""Parts of a far turn as they are shown here: what is kept elsewhere, and whose calls are whose."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.agents.ahp.adapted_contents import (
    FarSurroundings,
    checked_part,
    localized,
    references,
)
from agenthost.agents.ahp.messages import HOPS, MOST_HOPS, check_hops
from agenthost.agents.api import AgentError

Json = dict[str, Any]


def around(owner: str | None = None, *, shares_files: bool = False) -> FarSurroundings:
    return FarSurroundings("there", shares_files, lambda call: owner)


def call(status: str = "running", **fields: Any) -> Json:
    made = {
        "toolCallId": "c",
        "toolName": "t",
        "displayName": "T",
        "status": status,
        "invocationMessage": "Do",
        "confirmed": "not-needed",
        **fields,
    }
    return {"kind": "toolCall", "toolCall": made}


EDIT = {
    "type": "fileEdit",
    "before": {"uri": "file:///x", "content": {"uri": "ahp-content:/1"}},
    "after": {"uri": "file:///x", "content": {"uri": "file:///x"}},
}


def test_every_reference_in_a_call_is_fetched_but_what_all_can_read() -> None:
    part = call(
        toolInput={"uri": "ahp-content:/in"},
        content=[EDIT, {"type": "resource", "uri": "https://x/y"}],
    )
    wanted = ["ahp-content:/in", "ahp-content:/1", "file:///x"]
    assert [each["uri"] for each in references(part, around())] == wanted
    shared = references(part, around(shares_files=True))
    assert [each["uri"] for each in shared] == wanted[:2]


def test_references_become_ours_and_files_keep_their_names() -> None:
    part = checked_part(call(content=[EDIT]))
    kept = {"ahp-content:/1": {"uri": "ahp-content:/ours", "sizeHint": 3}}
    (edit,) = localized(part, kept, around())["toolCall"]["content"]
    assert edit["before"] == {
        "uri": "file:///x",
        "content": {"uri": "ahp-content:/ours", "sizeHint": 3},
    }
    assert edit["after"] == EDIT["after"]


def test_channels_of_the_far_host_are_told_in_words() -> None:
    blocks = [
        {"type": "terminal", "resource": "ahp-terminal:/1", "title": "ls"},
        {"type": "subagent", "resource": "ahp-chat:/2", "title": "Helper"},
    ]
    meta = {"toolKind": "subagent", "subagentChatUri": "ahp-chat:/2"}
    made = localized(checked_part(call(content=blocks, _meta=meta)), {}, around())["toolCall"]
    texts = [block["text"] for block in made["content"]]
    assert texts == ["Terminal at there: ls", "Worker at there: Helper"]
    assert made["_meta"] == {"toolKind": "subagent"}


def test_only_a_client_here_is_waited_for_and_only_while_there_is_something_to_do() -> None:
    theirs = {"kind": "client", "clientId": "far"}
    part = call(contributor=theirs)
    assert "contributor" not in localized(part, {}, around())["toolCall"]
    mine = localized(part, {}, around("here"))["toolCall"]["contributor"]
    assert mine == {"kind": "client", "clientId": "here"}
    over = call("completed", contributor=theirs, success=True, pastTenseMessage="Did")
    assert "contributor" not in localized(over, {}, around("here"))["toolCall"]
    mcp = {"kind": "mcp", "customizationId": "s"}
    assert localized(call(contributor=mcp), {}, around())["toolCall"]["contributor"] == mcp


def test_a_stranger_does_not_ask_people_here_to_sign_in() -> None:
    auth = {"reason": "required", "resource": {"resource": "https://evil.example"}}
    contributor = {"kind": "mcp", "customizationId": "s"}
    part = checked_part(call("auth-required", auth=auth, contributor=contributor))
    made = localized(part, {}, around())["toolCall"]
    assert made["status"] == "running"
    assert "evil" not in str(made)
    assert "sign in at there" in made["content"][0]["text"]


def test_a_message_that_comes_back_or_has_come_too_far_is_refused() -> None:
    assert check_hops({"text": "hi"}, "me", "there") == ["me"]
    assert check_hops({"_meta": {HOPS: ["a"]}}, "me", "there") == ["a", "me"]
    for hops in (["a", "me"], [str(n) for n in range(MOST_HOPS)]):
        with pytest.raises(AgentError, match=r"circles|away"):
            check_hops({"_meta": {HOPS: hops}}, "me", "there")
    # What is no list of hops is none.
    assert check_hops({"_meta": {HOPS: {"x": 1}}}, "me", "there") == ["me"]
