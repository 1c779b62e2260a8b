"""What an ACP agent says, as people see it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.agents.acp.stage import EXAMPLE, Json, Stage, acp_agent, spoken, staged, tell
from tests.agents.failures import failure
from tests.wire.client import user_message
from tests.wire.talking import call_in, confirmed, said

pytestmark = pytest.mark.asyncio(loop_scope="package")


def notices(turn: Json) -> list[str]:
    return [p["content"] for p in turn["responseParts"] if p["kind"] == "systemNotification"]


async def test_the_official_example_agent_answers(tmp_path: Path) -> None:
    async with staged(acp_agent(EXAMPLE), tmp_path) as stage:
        turn = await stage.default.run("t1", "hello")
        assert turn["state"] == "complete"
        assert said(turn) == "Client sent:hello"
        await stage.default.assert_at_rest()


async def test_text_arrives_in_order_and_messages_are_kept_apart(stage: Stage) -> None:
    chat = await stage.chat()
    turn = await chat.run("t1", "/think")
    reasoning, markdown = turn["responseParts"]
    assert (reasoning["kind"], reasoning["content"]) == ("reasoning", "Let me see. Yes.")
    assert markdown["content"] == "I have thought.\n\nAnd again."


async def test_a_flood_of_text_is_complete_and_in_order(stage: Stage) -> None:
    chat = await stage.chat()
    turn = await chat.run("t1", "/many 1000")
    assert said(turn).split() == [str(number) for number in range(1000)]


async def test_data_in_an_answer_becomes_a_reference(stage: Stage) -> None:
    chat = await stage.chat()
    (part,) = (await chat.run("t1", "/image"))["responseParts"]
    assert (part["kind"], part["contentType"]) == ("contentRef", "image/png")
    read = await chat.client.request("resourceRead", uri=part["uri"])
    assert read["data"] == "image"


async def test_a_plan_is_shown_when_it_is_made_and_when_it_is_over(stage: Stage) -> None:
    chat = await stage.chat()
    turn = await chat.run("t1", "/plan")
    assert notices(turn) == [
        "Plan\n\n- [ ] step 1 (in progress)\n- [ ] step 2",
        "Plan\n\n- [x] step 1\n- [ ] step 2 (in progress)",
    ]
    activities = [
        envelope["action"].get("activity")
        for envelope in chat.client.envelopes[chat.uri]
        if envelope["action"]["type"] == "chat/activityChanged"
    ]
    assert activities[:2] == ["step 1 (0 of 2 done)", "step 2 (1 of 2 done)"]
    assert "activity" not in chat.state


async def test_usage_is_reported_with_what_ahp_has_no_field_for(stage: Stage) -> None:
    chat = await stage.chat()
    usage = (await chat.run("t1", "/usage"))["usage"]
    assert (usage["inputTokens"], usage["outputTokens"], usage["cacheReadTokens"]) == (9, 3, 2)
    assert usage["model"] == "small"
    meta = usage["_meta"]
    total = {"model": "small", "inputTokens": 9, "cachedTokens": 2, "outputTokens": 3}
    assert meta["turnTokenTotals"] == [total]
    assert (meta["contextTokens"], meta["contextWindow"]) == (10, 100)
    assert meta["cost"] == {"amount": 0.5, "currency": "EUR"}


@pytest.mark.parametrize("reason", ["max_tokens", "max_turn_requests"])
async def test_an_agent_that_reaches_a_limit_says_so(stage: Stage, reason: str) -> None:
    chat = await stage.chat()
    turn = await chat.run("t1", f"/stop {reason}")
    assert turn["state"] == "complete"
    (notice,) = notices(turn)
    assert "reached its limit" in notice
    assert notice.endswith("is cut off here.")


@pytest.mark.parametrize(
    ("reason", "error_type"), [("refusal", "refusal"), ("cancelled", "cancelled")]
)
async def test_an_agent_that_gives_up_ends_the_turn_with_an_error(
    stage: Stage, reason: str, error_type: str
) -> None:
    chat = await stage.chat()
    turn = await chat.run("t1", f"/stop {reason}")
    assert (turn["state"], failure(turn)["errorType"]) == ("error", error_type)


async def test_an_error_of_the_agent_is_told_without_its_secrets(stage: Stage) -> None:
    chat = await stage.chat()
    turn = await chat.run("t1", "/error")
    assert failure(turn)["errorType"] == "agentRefused"
    message = failure(turn)["message"]
    assert message == "Tester answered with an error: It cannot be done: api_key=***"
    assert said(await chat.run("t2", "hello")) == "You said: hello"


async def test_what_the_agent_wrote_to_stderr_is_told_with_its_error(stage: Stage) -> None:
    chat = await stage.chat()
    turn = await chat.run("t1", "/error model not found: api_key=hunter2hunter2")
    message = failure(turn)["message"].splitlines()
    assert message[0].startswith("Tester answered with an error: It cannot be done")
    assert message[0].endswith("; it last said:")
    assert message[1:] == ["model not found: api_key=***"]
    # Only what it said since: the next error is another one.
    turn = await chat.run("t2", "/error")
    assert "it last said" not in failure(turn)["message"]


async def test_what_is_no_message_or_of_a_later_protocol_is_skipped(stage: Stage) -> None:
    chat = await stage.chat()
    assert said(await chat.run("t1", "/noise")) == "and on"


async def test_a_mode_that_the_agent_takes_by_itself_is_noted(stage: Stage) -> None:
    chat = await stage.chat()
    assert notices(await chat.run("t1", "/switch code")) == [
        "The agent switched to the mode Write code."
    ]
    assert notices(await chat.run("t2", "/switch code")) == []


async def test_what_people_say_meanwhile_is_the_next_prompt_of_the_same_turn(stage: Stage) -> None:
    chat = await stage.chat()
    await chat.start("t1", "/ask")
    await spoken(chat, "meanwhile")
    steer = {"type": "chat/pendingMessageSet", "kind": "steering", "id": "s1"}
    hint = {"type": "simple", "label": "hint", "modelRepresentation": "it is near"}
    message = user_message("to the left", attachments=[hint])
    await chat.answer({**steer, "message": message})
    await chat.client.action(chat.uri, "chat/pendingMessageRemoved", id="s1")
    call = await call_in(chat.client, chat.uri, "pending-confirmation")
    await chat.answer(confirmed("t1", call, True))
    # It repeats the last block of a prompt.
    assert said(await chat.end("t1")) == "meanwhile selectedYou said: hint:\nit is near"
    recalled = json.loads(said(await chat.run("t2", "/recall")))
    assert recalled[-1] == "to the left\nhint:\nit is near"


async def test_attachments_reach_the_agent_in_the_form_that_it_takes(stage: Stage) -> None:
    chat = await stage.chat()
    file = (stage.folder / "notes.txt").as_uri()
    picture = {"type": "embeddedResource", "label": "p", "data": "eA==", "contentType": "image/png"}
    text = {"type": "embeddedResource", "label": "t", "data": "eA==", "contentType": "text/plain"}
    link = {"type": "resource", "label": "notes.txt", "uri": file}
    other = {"type": "chat", "label": "elsewhere", "resource": chat.uri}
    simple = {"type": "simple", "label": "hint", "modelRepresentation": "look left"}
    await tell(chat, "t1", "see", attachments=[picture, text, link, other, simple])
    told = said(await chat.run("t2", "/recall"))
    assert json.loads(told) == [
        # The other chat is this one, in which nothing has been said yet.
        "see\n<image>\n<resource>\n<resource_link>\nelsewhere:\n\nhint:\nlook left"
    ]
