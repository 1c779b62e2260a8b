"""Permission requests as confirmations, with the agent's own options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agenthost.protocol import SUPPORTED_VERSIONS
from tests.agents.acp.stage import (
    Json,
    Stage,
    acp_agent,
    assert_quiet,
    read_content,
    spoken,
    staged,
)
from tests.wire.client import open_client
from tests.wire.talking import Chat, call_in, calls_of, confirmed, said

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def asked(chat: Chat, turn_id: str, text: str) -> Json:
    """Start a turn and wait until it asks."""
    await chat.start(turn_id, text)
    return await call_in(chat.client, chat.uri, "pending-confirmation")


async def test_people_see_the_agents_options_and_the_edit(stage: Stage) -> None:
    chat = await stage.chat()
    (stage.folder / "a.txt").write_text("old\nkept\n")
    call = await asked(chat, "t1", "/edit a.txt new")
    assert call["toolName"] == "edit"
    assert call["confirmationTitle"] == call["invocationMessage"] == "Edit a.txt"
    assert "a.txt" in call["toolInput"]
    assert call["options"] == [
        {"id": "yes", "label": "Allow", "kind": "approve", "group": 0},
        {"id": "agent:allow-in-session", "label": "Always allow", "kind": "approve", "group": 0},
        {"id": "no", "label": "Reject", "kind": "deny", "group": 1},
        {"id": "never", "label": "Never", "kind": "deny", "group": 1},
    ]
    (edit,) = call["edits"]["items"]
    assert edit["diff"] == {"added": 1, "removed": 2}
    assert await read_content(chat.client, edit["before"]["content"]) == "old\nkept\n"
    assert await read_content(chat.client, edit["after"]["content"]) == "new\n"
    (needed,) = chat.waiting
    assert needed["kind"] == "toolConfirmation"
    await chat.answer(confirmed("t1", call, False))
    await chat.end("t1")


async def test_an_approved_edit_is_made_and_shown(stage: Stage) -> None:
    chat = await stage.chat()
    call = await asked(chat, "t1", "/edit b.txt hello there")
    assert not (stage.folder / "b.txt").exists()
    await chat.answer(confirmed("t1", call, True, selectedOptionId="yes"))
    turn = await chat.end("t1")
    assert said(turn) == "outcome yes"
    assert (stage.folder / "b.txt").read_text() == "hello there\n"
    (call,) = calls_of(turn)
    assert (call["status"], call["success"], call["confirmed"]) == (
        "completed",
        True,
        "user-action",
    )
    assert call["selectedOption"]["id"] == "yes"
    (block,) = call["content"]
    assert (block["type"], block["diff"]) == ("fileEdit", {"added": 1, "removed": 0})
    assert "before" not in block
    assert block["after"]["uri"] == (stage.folder / "b.txt").as_uri()
    path = str(stage.folder / "b.txt")
    assert call["structuredContent"] == {"kind": "edit", "locations": [{"path": path, "line": 1}]}
    await assert_quiet(chat)


@pytest.mark.parametrize(
    ("approved", "more", "outcome"),
    [
        (True, {"selectedOptionId": "agent:allow-in-session"}, "allow-in-session"),
        (True, {}, "yes"),
        (False, {"selectedOptionId": "never"}, "never"),
        (False, {}, "no"),
        (
            False,
            {"reasonMessage": "not today", "userSuggestion": {"text": "tomorrow"}},
            'no {"agenthost": {"reason": "not today", "suggestion": "tomorrow"}}',
        ),
    ],
)
async def test_the_agent_is_told_what_people_chose(
    stage: Stage, approved: bool, more: dict[str, Any], outcome: str
) -> None:
    chat = await stage.chat()
    if "userSuggestion" in more:
        suggestion = {**more["userSuggestion"], "origin": {"kind": "user"}}
        more = {**more, "userSuggestion": suggestion}
    call = await asked(chat, "t1", "/edit c.txt text")
    await chat.answer(confirmed("t1", call, approved, **more))
    turn = await chat.end("t1")
    assert said(turn) == f"outcome {outcome}"
    (call,) = calls_of(turn)
    assert call["status"] == ("completed" if approved else "cancelled")
    # What the agent's "always" means is the agent's to remember.
    again = await asked(chat, "t2", "/edit c.txt text")
    await chat.answer(confirmed("t2", again, False))
    await chat.end("t2")


async def test_an_agent_may_go_on_while_people_are_asked(stage: Stage) -> None:
    chat = await stage.chat()
    call = await asked(chat, "t1", "/ask")
    assert (call["toolName"], call["displayName"]) == ("fetch", "Fetch")
    assert call["confirmationTitle"] == "May I?"
    assert [option["id"] for option in call["options"]] == ["yes", "no"]
    await spoken(chat, "meanwhile")
    await chat.answer(confirmed("t1", call, True))
    turn = await chat.end("t1")
    assert said(turn) == "meanwhile selected"
    assert [part["kind"] for part in turn["responseParts"]] == ["toolCall", "markdown"]


async def test_an_agent_that_begins_before_the_answer_does_not_answer_for_people(
    stage: Stage,
) -> None:
    chat = await stage.chat()
    await asked(chat, "t1", "/hasty")
    await spoken(chat, "going")
    (call,) = calls_of(chat.state["activeTurn"])
    assert call["status"] == "pending-confirmation"
    assert chat.waiting
    await chat.answer(confirmed("t1", call, True))
    turn = await chat.end("t1")
    (call,) = calls_of(turn)
    assert (call["confirmed"], call["content"][0]["text"]) == ("user-action", "going")
    assert said(turn) == "going yes"


async def test_a_call_that_was_refused_may_be_asked_about_again(stage: Stage) -> None:
    chat = await stage.chat()
    refused = await asked(chat, "t1", "/insist")
    await chat.answer(confirmed("t1", refused, False))
    again = await call_in(chat.client, chat.uri, "pending-confirmation")
    assert again["toolCallId"] != refused["toolCallId"]
    await chat.answer(confirmed("t1", again, True))
    turn = await chat.end("t1")
    assert said(turn) == "no yes "
    assert [call["status"] for call in calls_of(turn)] == ["cancelled", "completed"]


@pytest.mark.parametrize("success", [True, False])
async def test_a_request_ends_with_its_call(stage: Stage, success: bool) -> None:
    chat = await stage.chat()
    turn = await chat.run("t1", "/withdraw" if success else "/withdraw badly")
    (call,) = calls_of(turn)
    assert (call["status"], call["success"]) == ("completed", success)
    assert said(turn) == "cancelled"
    await assert_quiet(chat)


async def test_what_nobody_answers_is_refused(tmp_path: Path) -> None:
    async with staged(acp_agent(), tmp_path, prompt_timeout=0.05) as stage:
        turn = await stage.default.run("t1", "/edit f.txt text")
        assert said(turn).startswith("outcome no ")
        (call,) = calls_of(turn)
        assert (call["status"], call["reason"]) == ("cancelled", "skipped")


async def test_a_client_of_the_oldest_version_may_answer(stage: Stage, tmp_path: Path) -> None:
    chat = await stage.chat()
    await chat.start("t1", "/edit d.txt text")
    url = f"ws://127.0.0.1:{chat.client.socket.remote_address[1]}"
    async with open_client(url, "old", SUPPORTED_VERSIONS[-1]) as old:
        await old.initialize(chat.uri)
        call = await call_in(old, chat.uri, "pending-confirmation")
        await old.accepted(chat.uri, confirmed("t1", call, True))
        assert said(await chat.end("t1")) == "outcome yes"


async def test_a_session_that_allows_edits_asks_about_all_else(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / ".git").mkdir(parents=True)
    async with staged(acp_agent(), folder, session={"config": {"autoApprove": "edits"}}) as stage:
        chat = stage.default
        turn = await chat.run("t1", "/edit a.txt hello")
        assert said(turn) == "outcome yes"
        assert calls_of(turn)[0]["confirmed"] == "setting"
        # Outside of the session's folders, and where git finds what it runs by itself.
        for number, place in enumerate(("../b.txt", ".git/hook")):
            call = await asked(chat, f"t2{number}", f"/edit {place} hello")
            assert call["_meta"]["agenthost/neededMode"] == "everything"
            await chat.answer(confirmed(f"t2{number}", call, False))
            await chat.end(f"t2{number}")
        # Who changes the mode answers what is asked already.
        await asked(chat, "t3", "/edit .git/hook hello")
        changed = {"type": "session/configChanged", "config": {"autoApprove": "autoApprove"}}
        await chat.client.accepted(chat.session, changed)
        assert said(await chat.end("t3")).startswith("outcome yes")


async def test_a_session_that_allows_everything_asks_nobody(tmp_path: Path) -> None:
    session = {"config": {"autoApprove": "autoApprove"}}
    async with staged(acp_agent(), tmp_path, session=session) as stage:
        chat = stage.default
        turn = await chat.run("t1", "/edit a.txt hello")
        # The agent is told yes this once, and may remember nothing.
        assert said(turn) == "outcome yes"
        (call,) = calls_of(turn)
        assert call["confirmed"] == "setting"
        assert call["_meta"] == {"autoApproveBySetting": True}
        assert (tmp_path / "a.txt").read_text() == "hello\n"
        # Also about a call that runs already, and until people say otherwise.
        assert said(await chat.run("t2", "/insist")).split() == ["yes", "yes"]
        changed = {"type": "session/configChanged", "config": {"autoApprove": "default"}}
        await chat.client.accepted(chat.session, changed)
        call = await asked(chat, "t3", "/edit a.txt again")
        await chat.answer(confirmed("t3", call, False))
        await chat.end("t3")
