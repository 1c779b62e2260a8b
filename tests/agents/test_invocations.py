"""Messages that name a skill or a prompt."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.agents.invocations import invoked, read_invocation
from agenthost.agents.turn_customizations import Prompt
from tests.agents.brought import BroughtCustomizations, a_skill
from tests.agents.fakes import FakePort, make_turn

REVIEW = Prompt("c-p", "review", "", "file:///r/review.prompt.md")


def turn_with(text: str, body: str = "Look at $ARGUMENTS.", **message: Any) -> Any:
    port = FakePort(text)
    port.state["activeTurn"]["message"].update(message)
    skills = [a_skill("brew"), a_skill("kit:brew"), a_skill("make good tea")]
    texts = {"review": body, "brew": "Boil.", "kit:brew": "Boil it twice."}
    port.customizations = BroughtCustomizations(skills=skills, prompts=[REVIEW], texts=texts)
    return make_turn(port)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/review it all", ("review", "it all")),
        ("  /review  ", ("review", "")),
        ("/kit:brew now", ("kit:brew", "now")),
        ("/make-good-tea now", ("make good tea", "now")),
        ("/brew\nfor two\nplease", ("brew", "for two\nplease")),
        ("review it", None),
        ("/reviews", None),
        ("/", None),
        ("", None),
    ],
)
def test_a_message_names_what_it_begins_with(text: str, found: tuple[str, str] | None) -> None:
    named = invoked(turn_with(text))
    assert (None if named is None else (named[0].name, named[1])) == found


async def test_an_attachment_of_a_completion_names_it_too() -> None:
    other = {"type": "simple", "label": "notes"}
    chosen = {"type": "simple", "label": "x", "_meta": {"agenthost/customization": "c-p"}}
    turn = turn_with("the parser", attachments=[other, chosen])
    read = await read_invocation(turn)
    assert read is not None
    assert read.message["text"] == "Look at the parser."
    assert read.message["attachments"] == [other]


async def test_what_people_say_is_put_in_as_it_is() -> None:
    read = await read_invocation(turn_with(r"/review \1 $ARGUMENTS ${input}"))
    assert read is not None
    assert read.message["text"] == r"Look at \1 $ARGUMENTS ${input}."


async def test_a_very_long_text_is_cut() -> None:
    read = await read_invocation(turn_with("/review x", "y" * 1_000_000))
    assert read is not None
    assert len(read.message["text"]) < 101_000


@given(st.text(max_size=60), st.text(max_size=60))
async def test_no_message_and_no_text_is_too_odd(text: str, body: str) -> None:
    for said in (text, f"/review {text}"):
        read = await read_invocation(turn_with(said, body))
        assert read is None or isinstance(read.message["text"], str)
