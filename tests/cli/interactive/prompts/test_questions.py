"""Questions: every kind, one after the other, and again when the host refuses."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.cli.interactive.prompts.dialogue import Act, Hint, Reply
from agenthost.cli.interactive.prompts.pending import Pending
from agenthost.cli.interactive.prompts.questions import AnswerRefused, Questions, read_answer
from agenthost.host.channels.chat.question_answers import check_answer
from agenthost.protocol.schema.validation import validate_action
from tests.cli.interactive.samples import CHAT, QUESTIONS, request, shown

Json = dict[str, Any]

BY_ID = {question["id"]: question for question in QUESTIONS}
FRUIT = BY_ID["fruit"]["options"]


def questions(**fields: Any) -> Questions:
    return Questions(Pending(CHAT, "q", "questions", request(**fields)["request"]))


def after(dialogue: Questions, *texts: str) -> Reply:
    reply: Reply = dialogue
    for text in texts:
        assert isinstance(reply, Questions)
        reply = reply.respond(text)
    return reply


def answers_of(reply: Reply) -> dict[str, Any]:
    assert isinstance(reply, Act)
    action: Any = validate_action(dict(reply.action))
    assert (action["type"], action["response"]) == ("chat/inputCompleted", "accept")
    found: dict[str, Any] = action["answers"]
    return found


@pytest.mark.parametrize(
    ("id", "text", "value"),
    [
        ("name", " Ada ", "Ada"),
        ("age", "36", 36),
        ("age", "", None),
        ("height", "1.8", 1.8),
        ("height", "1,8", 1.8),
        ("height", "2", 2),
        ("happy", "Y", True),
        ("happy", "no", False),
        ("colour", "2", "g"),
        ("colour", "Red", "r"),
        ("colour", "purple", "purple"),
        ("fruit", "1, pear", ["a", "p"]),
        ("fruit", "apple", ["a"]),
        ("fruit", "", None),
    ],
)
def test_a_text_is_read_as_what_the_question_wants(id: str, text: str, value: Any) -> None:
    assert read_answer(BY_ID[id], text) == value


@pytest.mark.parametrize(
    ("id", "text"),
    [
        ("name", ""),
        ("age", "old"),
        ("age", "1.5"),
        ("height", "nan"),
        ("height", "inf"),
        ("happy", "perhaps"),
        ("fruit", "3"),
        ("fruit", "apple, kiwi"),
    ],
)
def test_what_cannot_be_an_answer_is_asked_for_again(id: str, text: str) -> None:
    with pytest.raises(AnswerRefused):
        read_answer(BY_ID[id], text)


def test_a_question_of_an_unknown_kind_cannot_be_answered() -> None:
    with pytest.raises(AnswerRefused, match="mood"):
        read_answer({"id": "x", "kind": "mood", "message": "?"}, "fine")


def test_all_kinds_are_answered_one_after_the_other() -> None:
    answers = answers_of(after(questions(), "Ada", "36", "1.8", "no", "purple", "1,2"))
    assert {id: answer["state"] for id, answer in answers.items()} == dict.fromkeys(
        BY_ID, "submitted"
    )
    assert answers["colour"]["value"]["freeformValues"] == ["purple"]
    assert answers["fruit"]["value"]["value"] == ["a", "p"]
    question: Any
    for id, question in BY_ID.items():
        assert check_answer(question, answers[id], final=True) is None


def test_an_empty_line_passes_an_optional_question_over_or_takes_its_default() -> None:
    answers = answers_of(after(questions(), "Ada", "", "", "", "", ""))
    assert {id for id, answer in answers.items() if answer["state"] == "skipped"} == {
        "age",
        "height",
        "colour",
        "fruit",
    }
    assert answers["happy"]["value"] == {"kind": "boolean", "value": True}


def test_a_default_is_shown_as_such_and_not_as_typed_text() -> None:
    fourth = after(questions(), "Ada", "", "")
    assert isinstance(fourth, Questions)
    assert fourth.prefill == ""
    card = shown(fourth.card(80, 20))
    assert card[1] == "▌ Happy?  (yes or no)  default: yes"
    assert card[-1].startswith("▌ an empty line takes the default · /skip · /back")
    # What is typed is the answer, and not the end of the default.
    assert isinstance(fourth.respond("perhaps"), Hint)
    denied = answers_of(after(fourth, "no", "", ""))
    assert denied["happy"]["value"]["value"] is False


def test_a_question_with_a_default_can_be_passed_over_unless_it_is_required() -> None:
    fourth = after(questions(), "Ada", "", "")
    assert isinstance(fourth, Questions)
    fifth = fourth.skip()
    assert isinstance(fifth, Questions)
    assert answers_of(after(fifth, "", ""))["happy"]["state"] == "skipped"
    wanted = [{"id": "n", "kind": "integer", "message": "N?", "required": True, "defaultValue": 0}]
    needed = questions(questions=wanted)
    assert isinstance(needed.skip(), Hint)
    assert answers_of(needed.respond(""))["n"]["value"]["value"] == 0


def test_an_answer_that_is_none_stays_at_its_question() -> None:
    second = after(questions(), "Ada")
    assert isinstance(second, Questions)
    assert isinstance(second.respond("old"), Hint)
    assert second.index == 1


def test_drafts_are_filled_in() -> None:
    draft = {"age": {"state": "draft", "value": {"kind": "number", "value": 7}}}
    second = after(questions(answers=draft), "Ada")
    assert isinstance(second, Questions)
    assert second.prefill == "7"


def test_one_can_go_back_and_finds_what_was_answered() -> None:
    second = after(questions(), "Ada")
    assert isinstance(second, Questions)
    first = second.back()
    assert isinstance(first, Questions)
    assert (first.index, first.prefill) == (0, "Ada")
    assert first.back() is None


def test_a_refusal_leads_to_the_question_that_the_host_names() -> None:
    done = after(questions(), "Ada", "20", "1.8", "no", "red", "1")
    assert isinstance(done, Act)
    assert isinstance(done.asked, Questions)
    again = done.asked.refused("question age: no such age")
    assert (again.index, again.prefill, again.problem) == (1, "20", "no such age")
    assert "▌ no such age" in shown(again.card(80, 20))
    # Only that one has to be answered again.
    assert answers_of(again.respond("36"))["age"]["value"]["value"] == 36


def test_a_refusal_that_names_no_question_starts_over() -> None:
    again = questions().refused("something else")
    assert (again.index, again.problem) == (0, "something else")


def test_each_answer_is_shown_to_others_as_a_draft() -> None:
    second = after(questions(), "Ada")
    assert isinstance(second, Questions)
    draft = second.draft()
    assert draft is not None
    checked: Any = validate_action(dict(draft))
    assert checked["questionId"] == "name"
    assert checked["answer"] == {"state": "draft", "value": {"kind": "text", "value": "Ada"}}
    skipped = after(second, "")
    assert isinstance(skipped, Questions)
    assert skipped.draft() is None


def test_questions_can_be_declined_and_dismissed() -> None:
    assert questions().decline().action["response"] == "decline"
    assert questions().dismiss().action["response"] == "cancel"


def test_a_request_without_questions_wants_to_be_acknowledged() -> None:
    visit = questions(questions=[], url="https://example.org/\x1b[8msign-in")
    card = shown(visit.card(80, 20))
    assert "▌ https://example.org/\\x1b[8msign-in" in card
    reply = visit.respond("")
    assert isinstance(reply, Act)
    assert reply.action["response"] == "accept"


def test_the_card_says_what_an_answer_has_to_be_like() -> None:
    first = shown(questions().card(60, 20))
    assert first[0].startswith("▌ Some questions")
    assert first[0].endswith("1 of 6")
    assert first[1] == "▌ Name?  (1 to 9 characters)"
    last = after(questions(), "Ada", "", "", "", "")
    assert isinstance(last, Questions)
    assert shown(last.card(80, 20))[1:4] == [
        "▌ Fruit?  (numbers or names, with commas between them)",
        "▌  1  apple",
        "▌  2  pear",
    ]


@pytest.mark.parametrize(
    ("question", "text", "problem"),
    [
        ({"kind": "integer", "min": 0, "max": 150}, "151", "at most 150"),
        ({"kind": "number", "min": 0.5}, "0,4", "at least 0.5"),
        ({"kind": "multi-select", "max": 1, "options": FRUIT}, "1, pear", "at most 1 choices"),
    ],
)
def test_what_is_out_of_range_is_refused_at_once(question: Json, text: str, problem: str) -> None:
    with pytest.raises(AnswerRefused, match=problem):
        read_answer({"id": "q", **question}, text)


def test_a_question_is_not_asked_twice_in_the_same_words() -> None:
    alone = [{"id": "name", "kind": "text", "message": "Who are you?", "required": True}]
    asked = questions(message="Who are you?", questions=alone)
    assert shown(asked.card(80, 20)) == ["▌ Who are you?", "▌ /decline · /dismiss"]
    other = questions(message="Before we begin", questions=alone)
    rows = [row.rstrip() for row in shown(other.card(80, 20))]
    assert rows[:2] == ["▌ Before we begin", "▌ Who are you?"]


def test_what_can_be_done_instead_fits_a_narrow_card() -> None:
    second = after(questions(), "Ada")
    assert isinstance(second, Questions)
    assert shown(second.card(40, 6))[-1] == "▌ an empty line skips · /back · /decline"


def test_a_request_that_shrank_meanwhile_is_asked_on() -> None:
    last = after(questions(), "Ada", "", "", "", "")
    assert isinstance(last, Questions)
    fewer = request(questions=QUESTIONS[:2])["request"]
    assert last.with_pending(Pending(CHAT, "q", "questions", fewer)).index == 1


TRUST: Json = {
    "id": "servers",
    "kind": "single-select",
    "title": "Servers",
    "message": "The folder declares:\ntime: uvx mcp-server-time\nevil: sh -c '\x1b[2Jx\u202ey'",
    "options": [{"id": "yes", "label": "Start them"}, {"id": "no", "label": "Not now"}],
    "required": True,
}


def test_a_question_about_commands_keeps_its_lines_and_hides_nothing() -> None:
    asked = questions(id="trust-1", message="Start 2 MCP servers?", questions=[TRUST])
    rows = shown(asked.card(80, 30))
    assert [row.removeprefix("▌ ").rstrip() for row in rows[:5]] == [
        "Start 2 MCP servers?",
        "The folder declares:",
        "time: uvx mcp-server-time",
        "evil: sh -c '\\x1b[2Jx\\u202ey'",
        "  (number or name)",
    ]
    assert rows[5].split() == ["▌", "1", "Start", "them"]


def test_a_question_without_end_leaves_room_for_its_answers() -> None:
    long = {**TRUST, "message": "\n".join(f"server {number}" for number in range(5_000))}
    rows = shown(questions(id="trust-1", questions=[long]).card(80, 20))
    assert len(rows) <= 22
    assert any("more lines" in row for row in rows)
    assert any("Start them" in row for row in rows)


def test_who_may_only_look_sees_the_question_and_no_choices() -> None:
    options = [{"id": "a", "label": "The first"}, {"id": "b", "label": "The second"}]
    question = {"id": "q", "kind": "single-select", "message": "Which?", "options": options}
    card = shown(questions(questions=[question]).card(80, 20, read_only=True))
    assert any("Which?" in row for row in card)
    assert card[-1] == "▌ somebody else must answer"
    assert not any("The first" in row for row in card)
