"""Approvals: choosing, editing, denying with a reason."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.cli.interactive.display.styled_text import line
from agenthost.cli.interactive.prompts.approvals import Approval
from agenthost.cli.interactive.prompts.dialogue import Act, Hint, Reply
from agenthost.cli.interactive.prompts.pending import Pending
from agenthost.protocol.schema.validation import validate_action
from tests.cli.interactive.samples import CHAT, OPTIONS, call, pending_call, shown

TARGET = {"turnId": "1", "toolCallId": "t"}


def approval(item: dict[str, Any] | None = None, kind: Any = "call", **fields: Any) -> Approval:
    return Approval(Pending(CHAT, "t", kind, item or pending_call(), "1", **fields))


def action_of(reply: Reply) -> dict[str, Any]:
    assert isinstance(reply, Act)
    checked: dict[str, Any] = validate_action(dict(reply.action))
    return checked


def after(dialogue: Approval, *texts: str) -> Reply:
    reply: Reply = dialogue
    for text in texts:
        assert isinstance(reply, Approval)
        reply = reply.respond(text)
    return reply


@pytest.mark.parametrize(
    ("text", "option", "approved"),
    [
        ("1", "allow-once", True),
        (" 2 ", "allow-in-session", True),
        ("allow once", "allow-once", True),
        ("y", "allow-once", True),
        ("3", "deny", False),
        ("no", "deny", False),
    ],
)
def test_a_choice_is_made_by_number_or_name(text: str, option: str, approved: bool) -> None:
    action = action_of(approval().respond(text))
    assert action["type"] == "chat/toolCallConfirmed"
    assert (action["selectedOptionId"], action["approved"]) == (option, approved)
    assert action.items() >= TARGET.items()


def test_the_input_can_be_edited_before_it_runs() -> None:
    editing = approval().respond("e")
    assert isinstance(editing, Approval)
    assert (editing.prefill, editing.is_literal) == ("ls", True)
    action = action_of(editing.respond("ls -l"))
    assert action["editedToolInput"] == "ls -l"
    assert action["selectedOptionId"] == "allow-once"


def test_an_input_that_was_left_as_it_is_counts_as_not_edited() -> None:
    assert "editedToolInput" not in action_of(after(approval(), "e", "ls"))


@pytest.mark.parametrize(
    ("first", "option"), [("d", "deny-with-reason"), ("4", "deny-with-reason")]
)
def test_a_denial_can_say_why_and_what_instead(first: str, option: str) -> None:
    action = action_of(after(approval(), first, " too risky ", "use find"))
    assert action["approved"] is False
    assert action["reason"] == "denied"
    assert action["reasonMessage"] == "too risky"
    assert action["userSuggestion"]["text"] == "use find"
    assert action["selectedOptionId"] == option


def test_neither_has_to_be_said() -> None:
    action = action_of(after(approval(), "d", "", ""))
    assert action.keys().isdisjoint({"reasonMessage", "userSuggestion"})


def test_a_reason_may_look_like_a_command() -> None:
    assert action_of(after(approval(), "d", "/help", ""))["reasonMessage"] == "/help"


@pytest.mark.parametrize("text", ["", "0", "5", "please do", "²"])
def test_anything_else_is_no_answer(text: str) -> None:
    assert isinstance(approval().respond(text), Hint)


@pytest.mark.parametrize(
    ("text", "kind"), [("y", "deny"), ("yes", "deny"), ("n", "approve"), ("no", "approve")]
)
def test_a_yes_or_no_that_is_not_offered_chooses_nothing(text: str, kind: str) -> None:
    offered = [option for option in OPTIONS if option["kind"] == kind]
    assert approval(pending_call(options=offered)).respond(text) == Hint(
        "there is no such choice here"
    )


def test_what_nobody_may_allow_is_not_offered_for_editing() -> None:
    offered = [option for option in OPTIONS if option["kind"] == "deny"]
    dialogue = approval(pending_call(options=offered))
    assert isinstance(dialogue.respond("e"), Hint)
    # The choices may change while somebody edits.
    editing = approval().respond("e")
    assert isinstance(editing, Approval)
    assert isinstance(editing.with_pending(dialogue.pending).respond("ls -l"), Hint)


def test_what_may_not_be_edited_is_not_offered_for_editing() -> None:
    plain = approval(pending_call(editable=False))
    assert isinstance(plain.respond("e"), Hint)
    assert "edits" not in shown(plain.card(80, 20))[-1]


def test_without_options_it_is_allow_or_deny() -> None:
    item = pending_call()
    del item["options"]
    assert "selectedOptionId" not in action_of(approval(item).respond("1"))
    assert action_of(approval(item).respond("2"))["approved"] is False


@pytest.mark.parametrize(("text", "approved"), [("1", True), ("2", False)])
def test_a_result_can_be_accepted_or_refused(text: str, approved: bool) -> None:
    item = call("pending-result-confirmation", success=True, pastTenseMessage="Wrote it")
    dialogue = approval(item, "result")
    action = action_of(dialogue.respond(text))
    assert action == {"type": "chat/toolCallResultConfirmed", **TARGET, "approved": approved}
    assert isinstance(dialogue.respond("d"), Hint)


def test_escape_leads_back_to_the_choice() -> None:
    for word in "e", "d":
        step = approval().respond(word)
        assert isinstance(step, Approval)
        assert step.back() == approval()
    assert approval().back() is None


def test_the_card_shows_the_input_and_the_options_in_their_order() -> None:
    assert shown(approval().card(80, 20)) == [
        "▌ Shell · Run this?",
        "▌   ls",
        "▌  1  Allow once",
        "▌  2  Allow in this session",
        "▌ ──",
        "▌  3  Deny",
        "▌  4  Deny with a reason",
        "▌ type a number · e edits it first · d denies and says why · v shows it all",
    ]


def test_the_card_hides_nothing_of_a_tricky_input() -> None:
    card = "\n".join(shown(approval(pending_call(toolInput="ls \u202e; rm\x1b[8m")).card(80, 20)))
    assert "ls \\u202e; rm\\x1b[8m" in card


def test_a_long_input_leaves_room_for_the_options() -> None:
    item = pending_call(toolInput="\n".join(f"echo {n}" for n in range(50)))
    card = shown(approval(item).card(60, 18))
    assert len(card) <= 18
    assert any("more rows · v" in row for row in card)
    assert any("Deny with a reason" in row for row in card)


def test_on_a_small_screen_what_is_asked_is_still_there() -> None:
    item = pending_call(toolInput="\n".join(f"echo {n}" for n in range(50)))
    card = shown(approval(item).card(40, 6))
    # Twelve rows, less the line to type into, the bar below it and an empty row.
    assert len(card) <= 9
    assert card[:2] == ["▌ Shell · Run this?", "▌   echo 0"]
    assert card[-1] == "▌ number · e edits · d denies · v views"


def test_the_card_shows_edits_risk_and_where_it_comes_from() -> None:
    item = pending_call(
        edits={"items": [{"after": {"uri": "file:///tmp/a%20b", "content": {"uri": "x"}}}]},
        riskAssessment={"kind": "judge", "status": "complete", "reason": "writes", "safety": 0.25},
    )
    card = shown(approval(item, place="Worker").card(80, 20))
    assert card[0].endswith("in Worker")
    assert "▌   /tmp/a b" in card
    assert "▌ judged 25% safe: writes" in card
    assert "▌ +new" in shown(approval(item).card(80, 20, [line("+new")]))


def test_who_may_only_look_sees_what_is_asked_and_no_choices() -> None:
    card = shown(approval().card(80, 20, read_only=True))
    assert card == [
        "▌ Shell · Run this?",
        "▌   ls",
        "▌ somebody else must answer · v shows it all",
    ]


def test_all_of_it_is_a_key_away_only_while_keys_are_no_words() -> None:
    asked = approval()
    assert asked.is_viewable
    why = asked.respond("d")
    assert isinstance(why, Approval)
    assert not why.is_viewable
