"""Tool calls on the wire: every cell of the state-by-action table that a client can reach."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.wire.client import user_message
from tests.wire.hosting import ServedHost, serve
from tests.wire.parking import CALL, STATES
from tests.wire.talking import Chat, at_chat, call_in, calls_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]

REPOSITORY = Path(__file__).parent.parent.parent

STREAMING, PENDING, RUNNING, AUTH, REVIEW, DONE, GONE = STATES

# What a client may try, by the names of the specification's table.
TARGET = {"toolCallId": CALL}
OK: Json = {"success": True, "pastTenseMessage": "Did it", "content": [], "structuredContent": {}}
FAILED: Json = {"success": False, "pastTenseMessage": "Failed", "error": {"message": "no"}}
ACTIONS: dict[str, Json] = {
    "Confirmed yes": {"type": "chat/toolCallConfirmed", "approved": True,
                      "confirmed": "user-action", "selectedOptionId": "yes"},
    "Confirmed no": {"type": "chat/toolCallConfirmed", "approved": False, "reason": "denied",
                     "selectedOptionId": "no"},
    "Complete ok": {"type": "chat/toolCallComplete", "result": OK},
    "Complete fail": {"type": "chat/toolCallComplete", "result": FAILED},
    "Complete ok +resultConf": {"type": "chat/toolCallComplete", "result": OK,
                                "requiresResultConfirmation": True},
    "Complete fail +resultConf": {"type": "chat/toolCallComplete", "result": FAILED,
                                  "requiresResultConfirmation": True},
    "ResultConf yes": {"type": "chat/toolCallResultConfirmed", "approved": True},
    "ResultConf no": {"type": "chat/toolCallResultConfirmed", "approved": False},
    "ContentChanged": {"type": "chat/toolCallContentChanged",
                       "content": [{"type": "text", "text": "so far"}]},
}  # fmt: skip
# What only the host does.
HOST_ONLY: dict[str, Json] = {
    "Start": {"type": "chat/toolCallStart", "toolName": "tool", "displayName": "Tool"},
    "Delta": {"type": "chat/toolCallDelta", "content": "}"},
    "Ready": {"type": "chat/toolCallReady", "invocationMessage": "Use it"},
    "Ready +confirmed": {"type": "chat/toolCallReady", "invocationMessage": "Use it",
                         "confirmed": "not-needed"},
    "AuthRequired": {"type": "chat/toolCallAuthRequired", "auth": {"reason": "required",
                     "resource": {"resource": "https://example.org"}}},
    "AuthResolved": {"type": "chat/toolCallAuthResolved"},
}  # fmt: skip

# Whose call it is: run by the host, by the client that acts, or by another one.
HOST, MINE, OTHERS = "the host's", "mine", "another's"

# (status, owner) -> what is legal there, and where it leads. Everything else is refused.
LEGAL: dict[tuple[str, str], dict[str, str]] = {
    (PENDING, owner): {"Confirmed yes": RUNNING, "Confirmed no": GONE}
    for owner in (HOST, MINE, OTHERS)
}
COMPLETIONS = {
    "Complete ok": DONE,
    "Complete fail": DONE,
    "Complete ok +resultConf": REVIEW,
    "Complete fail +resultConf": REVIEW,
}
LEGAL[PENDING, MINE] |= COMPLETIONS
# The owner may say again that it goes ahead, or that it does not run it after all.
CONFIRMATIONS = {"Confirmed yes": RUNNING, "Confirmed no": DONE}
LEGAL[RUNNING, MINE] = {**COMPLETIONS, **CONFIRMATIONS, "ContentChanged": RUNNING}
# Anybody may give up on signing in; nobody can succeed without.
LEGAL[AUTH, HOST] = {"Complete fail": DONE, "Complete fail +resultConf": DONE}
for whose in (HOST, MINE, OTHERS):
    LEGAL[REVIEW, whose] = {"ResultConf yes": DONE, "ResultConf no": GONE}

CELLS = [
    (status, owner, name)
    for status, owner, name in itertools.product(STATES, (HOST, MINE, OTHERS), ACTIONS)
    # Only a server's call waits for a sign-in.
    if status != AUTH or owner == HOST
]
# Sessions and turns need names of their own.
numbers = itertools.count(1)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def parking(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Chat]:
    """A chat of the agent that parks calls, and two clients at it."""
    data = tmp_path_factory.mktemp("parking") / "data"
    async with (
        parked_host(data) as host,
        at_chat(host.url, "p", "0.8.0", provider="parker") as chat,
    ):
        yield chat


@asynccontextmanager
async def parked_host(data: Path) -> AsyncIterator[ServedHost]:
    async with serve(data, "--agent", "tests.wire.parking:Parker", cwd=REPOSITORY) as host:
        yield host


@asynccontextmanager
async def parked(chat: Chat, status: str, owner: str = HOST) -> AsyncIterator[str]:
    """Park a call, give the turn's id, and see to it that the turn ends."""
    turn_id = f"t{next(numbers)}"
    me, another = (client.client_id for client in chat.clients)
    client = {HOST: "", MINE: me, OTHERS: another}[owner]
    await chat.start(turn_id, f"{status} {client}".strip())
    await chat.client.until(lambda: chat.state if chat.state.get("activity") else None)
    try:
        assert (await call_in(chat.client, chat.uri, status))["toolCallId"] == CALL
        yield turn_id
    finally:
        # A test that fails here must not leave its turn to the tests behind it.
        await chat.cancel(turn_id)
        await chat.end(turn_id)
    await chat.assert_at_rest()


async def assert_refused(chat: Chat, action: Json) -> str:
    """Try an action that must be refused with a reason and change nothing for anybody."""
    me, witness = chat.clients
    await witness.ping()
    heard, before = len(witness.received), await witness.fresh(chat.uri)
    reason = await me.rejected(chat.uri, action)
    assert reason
    assert await witness.fresh(chat.uri) == before
    await witness.ping()
    news = [message["params"] for message in witness.received[heard:] if "method" in message]
    # What the host finds in the session's folder it tells at any time.
    of_calls = [each for each in news if "action" in each and is_of_calls(each["action"])]
    assert of_calls == []
    return reason


def is_of_calls(action: Json) -> bool:
    """Say whether an action is of a chat, or of what people must see to in one."""
    return bool(action["type"].startswith(("chat/", "session/inputNeeded")))


@pytest.mark.parametrize(("status", "owner", "name"), CELLS)
async def test_a_legal_step_acts_once_and_any_other_is_refused(
    parking: Chat, status: str, owner: str, name: str
) -> None:
    leads_to = LEGAL.get((status, owner), {}).get(name)
    async with parked(parking, status, owner) as turn_id:
        action = {**ACTIONS[name], "turnId": turn_id, **TARGET}
        if leads_to is None:
            await assert_refused(parking, action)
            return
        await parking.answer(action)
        witness = parking.clients[1]
        if name == "ContentChanged":
            # Content may be shown again and again.
            await call_in(witness, parking.uri, leads_to, content=action["content"])
            await parking.answer({**action, "content": []})
            await call_in(witness, parking.uri, leads_to, content=[])
        else:
            await call_in(witness, parking.uri, leads_to)
            if (owner, name) == (MINE, "Confirmed yes"):
                await parking.answer(action)
                await call_in(witness, parking.uri, RUNNING)
            else:
                await assert_refused(parking, action)


@pytest.mark.parametrize(
    ("status", "owner", "name", "reason"),
    [
        (STREAMING, MINE, "Complete ok", "cannot be completed: it is streaming"),
        (STREAMING, HOST, "Confirmed yes", "does not wait for confirmation: it is streaming"),
        (PENDING, HOST, "Complete ok", "is run by the host"),
        (PENDING, OTHERS, "Complete fail", "belongs to another client"),
        (RUNNING, HOST, "Confirmed no", "does not wait for confirmation: it is running"),
        (RUNNING, OTHERS, "Complete ok", "belongs to another client"),
        (RUNNING, OTHERS, "ContentChanged", "belongs to another client"),
        (RUNNING, HOST, "ContentChanged", "is run by the host"),
        (AUTH, HOST, "Complete ok", "waits for authentication cannot succeed"),
        (REVIEW, MINE, "Complete ok", "cannot be completed: it is pending-result-confirmation"),
        (DONE, MINE, "ContentChanged", "is not running: it is completed"),
        (GONE, HOST, "ResultConf yes", "does not wait for confirmation: it is cancelled"),
    ],
)
async def test_a_refusal_says_what_stands_in_the_way(
    parking: Chat, status: str, owner: str, name: str, reason: str
) -> None:
    async with parked(parking, status, owner) as turn_id:
        told = await assert_refused(parking, {**ACTIONS[name], "turnId": turn_id, **TARGET})
        assert reason in told


@pytest.mark.parametrize("status", STATES)
@pytest.mark.parametrize("name", HOST_ONLY)
async def test_no_client_takes_a_step_that_is_the_hosts(
    parking: Chat, status: str, name: str
) -> None:
    async with parked(parking, status) as turn_id:
        await assert_refused(parking, {**HOST_ONLY[name], "turnId": turn_id, **TARGET})


@pytest.mark.parametrize("name", ACTIONS)
async def test_a_step_must_name_a_call_of_the_running_turn(parking: Chat, name: str) -> None:
    async with parked(parking, RUNNING, MINE) as turn_id:
        action = ACTIONS[name]
        for target in (
            {"turnId": turn_id, "toolCallId": "call-2"},
            {"turnId": "before", **TARGET},
        ):
            await assert_refused(parking, {**action, **target})
    assert "no turn" in await assert_refused(parking, {**action, "turnId": turn_id, **TARGET})


@pytest.mark.parametrize(
    ("status", "after"),
    [
        *((status, GONE) for status in (STREAMING, PENDING, RUNNING, AUTH, REVIEW, GONE)),
        (DONE, DONE),
    ],
)
async def test_the_end_of_the_turn_skips_what_is_not_finished(
    parking: Chat, status: str, after: str
) -> None:
    async with parked(parking, status):
        pass
    (call,) = calls_of(parking.state["turns"][-1])
    assert call["status"] == after
    if status not in (DONE, GONE):
        assert call["reason"] == "skipped"


async def test_what_is_not_finished_is_mirrored_on_the_session_while_it_blocks(
    parking: Chat,
) -> None:
    for status, owner, kind in (
        (STREAMING, MINE, None),
        (PENDING, HOST, "toolConfirmation"),
        (PENDING, MINE, "toolConfirmation"),
        (RUNNING, HOST, None),
        (RUNNING, MINE, "toolClientExecution"),
        (AUTH, HOST, "toolAuthentication"),
        (REVIEW, HOST, "toolConfirmation"),
        (DONE, MINE, None),
        (GONE, MINE, None),
    ):
        async with parked(parking, status, owner) as turn_id:
            await parking.client.ping()
            assert [needed["kind"] for needed in parking.waiting] == ([kind] if kind else [])
            for needed in parking.waiting:
                assert (needed["turnId"], needed["chat"]) == (turn_id, parking.uri)
                assert needed["toolCall"]["status"] == status


async def test_a_result_that_is_approved_keeps_what_it_said(parking: Chat) -> None:
    async with parked(parking, RUNNING, MINE) as turn_id:
        content = [{"type": "text", "text": "the result"}]
        done = {**ACTIONS["Complete ok +resultConf"], "turnId": turn_id, **TARGET}
        await parking.answer({**done, "result": {**OK, "content": content}})
        approve = {**ACTIONS["ResultConf yes"], "turnId": turn_id, **TARGET}
        await parking.answer(approve, parking.clients[1])
        call = await call_in(parking.client, parking.uri, DONE)
        assert call["content"] == content


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (
            {"type": "embeddedResource", "contentType": "image/png", "data": "&&&&"},
            "the data of the embedded resource is not valid base64",
        ),
        (
            {"type": "subagent", "resource": "ahp-chat:/nowhere", "title": "Helper"},
            "the chat ahp-chat:/nowhere is no worker of this tool call",
        ),
    ],
)
async def test_an_owner_shows_only_what_can_be_looked_at(
    parking: Chat, block: Json, reason: str
) -> None:
    async with parked(parking, RUNNING, MINE) as turn_id:
        target = {"turnId": turn_id, **TARGET}
        content = [{"type": "text", "text": "look"}, block]
        changed = {"type": "chat/toolCallContentChanged", **target, "content": content}
        assert await assert_refused(parking, changed) == reason
        for result in (OK, FAILED):
            shown = {**result, "content": content}
            done = {"type": "chat/toolCallComplete", **target, "result": shown}
            assert await assert_refused(parking, done) == reason


async def test_who_gives_up_on_signing_in_is_held_to_the_same(parking: Chat) -> None:
    async with parked(parking, AUTH) as turn_id:
        block = {"type": "subagent", "resource": parking.uri, "title": "Helper"}
        done = {**ACTIONS["Complete fail"], "turnId": turn_id, **TARGET}
        done["result"] = {**FAILED, "content": [block]}
        assert "is no worker of this tool call" in await assert_refused(parking, done)


async def test_the_input_of_a_call_that_runs_is_not_edited(parking: Chat) -> None:
    async with parked(parking, RUNNING, MINE) as turn_id:
        approve = {"type": "chat/toolCallConfirmed", "approved": True, "confirmed": "user-action"}
        approve |= {"turnId": turn_id, **TARGET}
        reason = await assert_refused(parking, {**approve, "editedToolInput": "out"})
        assert reason == "the tool call runs already: its input cannot be edited any more"
        # Saying again what it runs with changes nothing.
        await parking.answer({**approve, "editedToolInput": "in"})


async def test_only_a_user_suggests_something_else(parking: Chat) -> None:
    async with parked(parking, PENDING) as turn_id:
        deny = {**ACTIONS["Confirmed no"], "turnId": turn_id, **TARGET}
        for kind in ("agent", "tool", "systemNotification"):
            suggestion = {"text": "instead", "origin": {"kind": kind}}
            reason = await assert_refused(parking, {**deny, "userSuggestion": suggestion})
            assert reason == "a suggestion is of origin user"
        attachments = [{"type": "chat", "label": "there", "resource": "ahp-chat:/nowhere"}]
        suggestion = user_message("instead", attachments=attachments)
        reason = await assert_refused(parking, {**deny, "userSuggestion": suggestion})
        assert reason == "the attached chat ahp-chat:/nowhere does not exist"
        attachments[0]["resource"] = parking.uri
        await parking.answer({**deny, "userSuggestion": suggestion})


async def test_an_edited_input_replaces_the_one_that_was_shown(parking: Chat) -> None:
    async with parked(parking, PENDING) as turn_id:
        yes = {**ACTIONS["Confirmed yes"], "turnId": turn_id, **TARGET}
        await parking.answer({**yes, "editedToolInput": "out"})
        call = await call_in(parking.client, parking.uri, RUNNING)
        assert call["toolInput"] == "out"
        assert call["selectedOption"]["id"] == "yes"
