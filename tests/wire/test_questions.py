"""Questions to people on the wire: shared drafts, checked answers, and every way to end them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agenthost.agents import Agent, Turn
from tests.wire.client import open_client
from tests.wire.hosting import ServedHost, embed
from tests.wire.talking import (
    INPUT_NEEDED,
    NEWEST,
    OLDEST,
    Chat,
    at_chat,
    input_completed,
    parts_of,
    request_in,
    said,
    submitted,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]

NAME = {"name": submitted("text", "Ann")}
EVERYTHING = {
    **NAME,
    "age": submitted("number", 42),
    "height": submitted("number", 1.75),
    "happy": submitted("boolean", False),
    "colour": submitted("selected", "green"),
    "fruit": submitted("selected-many", ["apple", "plum"]),
}


@asynccontextmanager
async def asked(host: ServedHost | str, name: str) -> AsyncIterator[tuple[Chat, Json]]:
    """Two clients of different versions at a turn that has asked a question of every kind."""
    url = host if isinstance(host, str) else host.url
    async with at_chat(url, name, OLDEST) as chat:
        await chat.start("t1", "/ask")
        for client in chat.clients:
            request = await request_in(client, chat.uri)
        yield chat, request


def drafted(request: Json, question: str, answer: Json | None) -> Json:
    action = {"type": "chat/inputAnswerChanged", "requestId": request["id"], "questionId": question}
    return action if answer is None else {**action, "answer": answer}


def draft(kind: str, value: Any) -> Json:
    return {"state": "draft", "value": {"kind": kind, "value": value}}


async def test_everybody_sees_one_question_of_every_kind(shared_host: ServedHost) -> None:
    async with asked(shared_host, "kinds") as (chat, request):
        assert request["message"] == "A few questions"
        kinds = {question["id"]: question["kind"] for question in request["questions"]}
        assert kinds == {
            "name": "text",
            "age": "integer",
            "height": "number",
            "happy": "boolean",
            "colour": "single-select",
            "fruit": "multi-select",
        }
        assert await request_in(chat.client, chat.uri) == request
        await chat.client.ping()
        (needed,) = chat.waiting
        assert (needed["kind"], needed["chat"]) == ("chatInput", chat.uri)
        assert needed["request"] == request
        assert chat.state["status"] & 31 == await chat.status() == INPUT_NEEDED
        await chat.answer(input_completed(request, response="cancel"))
        await chat.end("t1")
        await chat.assert_at_rest()


@pytest.mark.parametrize("answerer", [0, 1], ids=[NEWEST, OLDEST])
async def test_either_client_may_answer_and_the_other_sees_it_at_once(
    shared_host: ServedHost, answerer: int
) -> None:
    async with asked(shared_host, f"either {answerer}") as (chat, request):
        one, other = chat.clients[answerer], chat.clients[1 - answerer]
        envelope = await chat.answer(input_completed(request, EVERYTHING), one)
        seen = await other.envelope(
            chat.uri, lambda e: e["action"]["type"] == "chat/inputCompleted"
        )
        assert seen["serverSeq"] == envelope["serverSeq"]
        assert seen["origin"]["clientId"] == one.client_id
        turn = await chat.end("t1")
        assert said(turn).splitlines() == [
            '- name: "Ann"',
            "- age: 42",
            "- height: 1.75",
            "- happy: false",
            '- colour: "green"',
            '- fruit: ["apple", "plum"]',
        ]
        assert turn["responseParts"][0]["response"] == "accept"
        await chat.assert_at_rest()


@pytest.mark.parametrize("answerer", [0, 1], ids=[NEWEST, OLDEST])
@pytest.mark.parametrize("response", ["decline", "cancel"])
async def test_nobody_has_to_answer(shared_host: ServedHost, answerer: int, response: str) -> None:
    async with asked(shared_host, f"{response} {answerer}") as (chat, request):
        await chat.answer(input_completed(request, response=response), chat.clients[answerer])
        turn = await chat.end("t1")
        assert (turn["state"], said(turn)) == ("complete", f"You chose to {response}.")
        assert turn["responseParts"][0]["response"] == response
        await chat.assert_at_rest()


async def test_a_question_that_nobody_answers_is_given_up_and_the_turn_goes_on() -> None:
    async with embed(prompt_timeout=0.2) as url, at_chat(url, "nobody", OLDEST) as chat:
        turn = await chat.run("t1", "/ask")
        assert (turn["state"], said(turn)) == ("complete", "You chose to cancel.")
        assert turn["responseParts"][0]["response"] == "cancel"
        shown = await chat.client.action(chat.session, "session/inputNeededSet")
        assert shown["request"]["kind"] == "chatInput"
        await chat.assert_at_rest()


async def test_of_two_answers_the_first_counts_and_the_second_is_refused(
    shared_host: ServedHost,
) -> None:
    async with asked(shared_host, "first") as (chat, request):
        accept, decline = input_completed(request, NAME), input_completed(request, None, "decline")
        envelopes = await asyncio.gather(
            chat.clients[0].dispatched(chat.uri, accept),
            chat.clients[1].dispatched(chat.uri, decline),
        )
        refused = [envelope for envelope in envelopes if "rejectionReason" in envelope]
        assert len(refused) == 1
        assert "there is no open request" in refused[0]["rejectionReason"]
        turn = await chat.end("t1")
        accepted = refused[0]["action"] == decline
        assert turn["responseParts"][0]["response"] == ("accept" if accepted else "decline")
        await chat.assert_at_rest()


async def test_drafts_are_shared_and_count_where_nothing_else_is_given(
    shared_host: ServedHost,
) -> None:
    async with asked(shared_host, "drafts") as (chat, request):
        new, old = chat.clients
        await chat.answer(drafted(request, "name", draft("text", "An")), new)
        await chat.answer(drafted(request, "age", draft("number", 41)), old)
        await chat.answer(drafted(request, "happy", draft("boolean", True)), old)
        await chat.answer(drafted(request, "happy", None), new)
        expected = {"name": draft("text", "An"), "age": draft("number", 41)}
        for client in chat.clients:
            await client.ping()
            assert (await request_in(client, chat.uri))["answers"] == expected
        # The session's copy follows, for those who watch nothing else.
        assert chat.waiting[0]["request"]["answers"] == expected
        await chat.answer(input_completed(request, NAME), old)
        turn = await chat.end("t1")
        assert said(turn).splitlines() == ['- name: "Ann"', "- age: 41"]
        await chat.assert_at_rest()


async def test_a_draft_does_not_answer_what_must_be_answered(shared_host: ServedHost) -> None:
    async with asked(shared_host, "required") as (chat, request):
        for answer in (None, draft("text", "Ann"), {"state": "skipped"}):
            await chat.answer(drafted(request, "name", answer))
            reason = await chat.client.rejected(chat.uri, input_completed(request))
            assert reason == "question name must be answered"
        for answers in ({}, {"name": {"state": "skipped"}}, {"age": submitted("number", 1)}):
            reason = await chat.client.rejected(chat.uri, input_completed(request, answers))
            assert reason == "question name must be answered"
        await chat.answer(drafted(request, "name", submitted("text", "Ann")))
        await chat.answer(input_completed(request))
        assert said(await chat.end("t1")) == '- name: "Ann"\n'
        await chat.assert_at_rest()


BROKEN = {
    "too short": ("name", submitted("text", ""), "question name: at least 1 characters"),
    "too long": ("name", submitted("text", "x" * 41), "question name: at most 40 characters"),
    "too small": ("age", submitted("number", -1), "question age: at least 0"),
    "too large": ("age", submitted("number", 151), "question age: at most 150"),
    "not whole": ("age", submitted("number", 1.5), "question age: the number must be whole"),
    "out of range": ("height", submitted("number", 0.2), "question height: at least 0.3"),
    "unknown option": (
        "colour",
        submitted("selected", "mauve"),
        "question colour: there is no option 'mauve'",
    ),
    "one unknown option": (
        "fruit",
        submitted("selected-many", ["plum", "fig"]),
        "question fruit: there is no option 'fig'",
    ),
    "too many": (
        "fruit",
        submitted("selected-many", ["apple", "pear", "plum"]),
        "question fruit: at most 2 choices",
    ),
    "twice": (
        "fruit",
        submitted("selected-many", ["plum", "plum"]),
        "question fruit: an option is chosen twice",
    ),
    "free words": (
        "fruit",
        submitted("selected-many", [], freeformValues=["fig"]),
        "question fruit: only the listed options are allowed",
    ),
    "text for a number": (
        "age",
        submitted("text", "forty-two"),
        "question age takes a number answer, not text",
    ),
    "number for text": (
        "name",
        submitted("number", 1),
        "question name takes a text answer, not number",
    ),
    "one for many": (
        "fruit",
        submitted("selected", "plum"),
        "question fruit takes a selected-many answer, not selected",
    ),
    "boolean for a choice": (
        "colour",
        submitted("boolean", True),
        "question colour takes a selected answer, not boolean",
    ),
    "no such question": ("shoes", submitted("number", 1), "the request has no question shoes"),
}


@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.parametrize("answerer", [0, 1], ids=[NEWEST, OLDEST])
async def test_an_answer_that_breaks_a_rule_is_refused_with_the_rule_and_the_request_stays_open(
    shared_host: ServedHost, what: str, answerer: int
) -> None:
    question, answer, reason = BROKEN[what]
    async with asked(shared_host, f"{what} {answerer}") as (chat, request):
        accept = input_completed(request, {**NAME, question: answer})
        client = chat.clients[answerer]
        before = client.states[chat.uri]
        assert await client.rejected(chat.uri, accept) == reason
        for other in chat.clients:
            await other.ping()
            assert await request_in(other, chat.uri) == request
        assert client.states[chat.uri] is before
        assert len(chat.waiting) == 1
        # What is right afterwards is accepted as if nothing had been.
        await chat.answer(input_completed(request, NAME), client)
        assert said(await chat.end("t1")) == '- name: "Ann"\n'


@pytest.mark.parametrize("what", BROKEN)
async def test_a_draft_may_be_out_of_bounds_but_not_of_another_kind(
    shared_host: ServedHost, what: str
) -> None:
    question, answer, reason = BROKEN[what]
    async with asked(shared_host, f"draft {what}") as (chat, request):
        action = drafted(request, question, {**answer, "state": "draft"})
        if "takes a" in reason or "no question" in reason:
            assert await chat.client.rejected(chat.uri, action) == reason
        else:
            await chat.answer(action)
            # It counts once somebody accepts, so it is held to the rule then.
            given = {} if question == "name" else NAME
            told = await chat.client.rejected(chat.uri, input_completed(request, given))
            assert told in (reason, "question name must be answered")
        await chat.answer(input_completed(request, response="decline"))
        await chat.end("t1")
        await chat.assert_at_rest()


@pytest.mark.parametrize(
    "answer",
    [
        {"state": "submitted"},
        {"state": "draft"},
        {"state": "submitted", "value": {"kind": "text", "value": 1}},
        {"state": "submitted", "value": {"kind": "number", "value": "1"}},
        {"state": "submitted", "value": {"kind": "selected-many", "value": "red"}},
        {"state": "perhaps", "value": {"kind": "text", "value": "Ann"}},
        "Ann",
    ],
)
async def test_an_answer_that_is_none_is_refused(shared_host: ServedHost, answer: Any) -> None:
    name = f"malformed {abs(hash(str(answer)))}"
    async with asked(shared_host, name) as (chat, request):
        assert await chat.client.rejected(chat.uri, input_completed(request, {"name": answer}))
        assert await chat.client.rejected(chat.uri, drafted(request, "name", answer))
        assert await request_in(chat.client, chat.uri) == request


async def test_free_words_count_where_they_are_welcome(shared_host: ServedHost) -> None:
    async with asked(shared_host, "free") as (chat, request):
        colour = submitted("selected", "", freeformValues=["mauve"])
        await chat.answer(input_completed(request, {**NAME, "colour": colour}))
        assert said(await chat.end("t1")).splitlines() == ['- name: "Ann"', '- colour: "mauve"']


async def test_answers_to_other_requests_are_refused(shared_host: ServedHost) -> None:
    async with asked(shared_host, "others") as (chat, request):
        unknown = {"id": "input-0"}
        for action in (input_completed(unknown), drafted(unknown, "name", draft("text", "x"))):
            assert "no open request input-0" in await chat.client.rejected(chat.uri, action)
        await chat.answer(input_completed(request, response="decline"))
        await chat.end("t1")
        for action in (input_completed(request), drafted(request, "name", None)):
            assert "no open request" in await chat.client.rejected(chat.uri, action)


async def test_somebody_who_was_away_finds_the_question_and_its_drafts(
    shared_host: ServedHost,
) -> None:
    async with asked(shared_host, "away") as (chat, request):
        first = chat.client
        await chat.answer(drafted(request, "name", draft("text", "An")), chat.clients[1])
        first.abort()
        await first.closed
        await chat.answer(drafted(request, "name", draft("text", "Ann")), chat.clients[1])
        async with open_client(shared_host.url, first.client_id) as again:
            await again.resume(first)
            chat.clients[0] = again
            found = await request_in(again, chat.uri)
            assert found["answers"] == {"name": draft("text", "Ann")}
            await chat.answer(input_completed(request, NAME), again)
            assert said(await chat.end("t1")) == '- name: "Ann"\n'
            await chat.assert_at_rest()


class Asker(Agent):
    """Asks in every other way there is."""

    provider, display_name = "asker", "Asker"

    async def run(self, turn: Turn) -> None:
        match turn.text:
            case "one":
                name = await turn.ask("Who are you?", default="nobody")
                await turn.write(f"You are {name}.")
            case "url":
                answers = await turn.ask_all(message="Sign in", url="https://example.org/in")
                await turn.write(answers.response)
            case "at once":
                both = await asyncio.gather(turn.ask("First?"), turn.ask("Second?"))
                await turn.write(" and ".join(map(str, both)))
            case "impatient":
                try:
                    async with asyncio.timeout(0.1):
                        await turn.ask("Quick?")
                except TimeoutError:
                    await turn.write("Too late.")


@asynccontextmanager
async def asker(name: str, text: str) -> AsyncIterator[Chat]:
    async with embed(Asker()) as url, at_chat(url, name, OLDEST) as chat:
        await chat.start("t1", text)
        yield chat


@pytest.mark.parametrize(
    ("response", "answer"), [("accept", "Ann"), ("decline", None), ("cancel", None)]
)
async def test_a_single_question_gives_its_answer_or_none(
    response: str, answer: str | None
) -> None:
    async with asker(response, "one") as chat:
        request = await request_in(chat.clients[1], chat.uri)
        (question,) = request["questions"]
        assert (question["kind"], question["defaultValue"]) == ("text", "nobody")
        answers = {"answer": submitted("text", "Ann")} if answer else None
        await chat.answer(input_completed(request, answers, response))
        assert said(await chat.end("t1")) == f"You are {answer}."
        await chat.assert_at_rest()


@pytest.mark.parametrize("response", ["accept", "decline", "cancel"])
async def test_people_can_be_sent_to_a_page(response: str) -> None:
    async with asker(response, "url") as chat:
        for client in chat.clients:
            request = await request_in(client, chat.uri)
        assert request["url"] == "https://example.org/in"
        assert "questions" not in request
        await chat.answer(input_completed(request, response=response))
        assert said(await chat.end("t1")) == response
        await chat.assert_at_rest()


async def test_two_questions_at_once_are_answered_each_for_itself() -> None:
    async with asker("both", "at once") as chat:
        await chat.client.until(
            lambda: chat.state if len(parts_of(chat.state, "inputRequest")) == 2 else None
        )
        first, second = (part["request"] for part in parts_of(chat.state, "inputRequest"))
        await chat.client.ping()
        assert len(chat.waiting) == 2
        await chat.answer(input_completed(second, {"answer": submitted("text", "two")}))
        await chat.client.ping()
        assert [needed["request"]["id"] for needed in chat.waiting] == [first["id"]]
        await chat.answer(input_completed(first, {"answer": submitted("text", "one")}))
        assert said(await chat.end("t1")) == "one and two"
        await chat.assert_at_rest()


async def test_a_question_that_its_agent_no_longer_asks_is_closed() -> None:
    async with asker("impatient", "impatient") as chat:
        turn = await chat.end("t1")
        assert said(turn) == "Too late."
        assert turn["responseParts"][0]["response"] == "cancel"
        await chat.assert_at_rest()
