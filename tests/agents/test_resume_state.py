"""What an agent keeps for its session: plain data of a bounded size, live in every chat of it."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.agents import Agent, AgentError, Turn
from agenthost.agents.sanitize import MOST_RESUME_STATE
from agenthost.host import SqliteStore
from agenthost.testing import talk
from tests.agents.fakes import FakePort, make_turn
from tests.agents.llm.talking import SESSION, Talk, talk_to, text_of

Json = dict[str, Any]


def cyclic() -> Json:
    state: Json = {}
    state["self"] = state
    return state


def deep(levels: int) -> Json:
    state: Json = {}
    for _ in range(levels):
        state = {"in": state}
    return state


def test_what_is_kept_is_read_again_as_a_copy() -> None:
    turn = make_turn(FakePort())
    state = {"cursor": [1, 2], "half": "\ud800", "wild": float("nan")}
    turn.keep(state)
    state["cursor"] = "changed"
    kept: Any = turn.resume_state
    assert kept == {"cursor": [1, 2], "half": "\ufffd", "wild": None}
    turn.keep(None)
    assert turn.resume_state is None


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ([1], "it gave list for a mapping to keep"),
        ("text", "it gave str for a mapping to keep"),
        ({"when": object()}, "it gave object for JSON data"),
        ({1: 2}, "it gave int for the name of a field"),
        ({"bytes": b"x"}, "it gave bytes for JSON data"),
        (cyclic(), "nested too deeply"),
        (deep(500), "nested too deeply"),
        ({"much": "x" * MOST_RESUME_STATE}, f"{MOST_RESUME_STATE} are the most"),
    ],
)
def test_what_cannot_be_kept_is_refused_in_words_and_what_was_kept_stays(
    state: Any, words: str
) -> None:
    turn = make_turn(FakePort())
    turn.keep({"before": 1})
    with pytest.raises(AgentError, match=words):
        turn.keep(state)
    assert turn.resume_state == {"before": 1}


class Keeper(Agent):
    """Keeps what its message says, and says what it finds."""

    provider = display_name = "keeper"

    async def run(self, turn: Turn) -> None:
        word, _, rest = turn.text.partition(" ")
        if word == "keep":
            turn.keep({"said": rest})
            assert turn.resume_state == {"said": rest}
        elif word == "flood":
            for number in range(2000):
                turn.keep({"number": number, "load": "x" * 10_000})
        elif word == "much":
            turn.keep({"load": "x" * 100_000_000})
        elif word == "forget":
            turn.keep(None)
        found = turn.resume_state or {}
        await turn.write(str(found.get("said", found.get("number"))))


async def test_what_is_kept_in_one_chat_is_found_in_the_next_and_after_a_restart(
    tmp_path: Any,
) -> None:
    def store() -> SqliteStore:
        return SqliteStore(tmp_path / "db")

    async with talk_to(Keeper(), tmp_path, store=store()) as talk:
        await talk.say("t1", "keep something")
        other = "ahp-chat:/other"
        await talk.client.request("createChat", channel=SESSION, chat=other)
        await talk.client.subscribe(other)
        assert text_of(await Talk(talk.client, other).say("o1", "look")) == "something"
        # Nobody but the agent sees it.
        assert "resume" not in str(talk.client.received)
        seen = [text for text in str(talk.client.received).split() if "said" in text]
        assert seen == []
        chat = talk.chat
    async with talk_to(Keeper(), tmp_path, store=store(), session="ahp-session:/s2") as talk:
        assert text_of(await talk.say("n1", "look")) == "None"
        await talk.client.subscribe(chat)
        assert text_of(await Talk(talk.client, chat).say("t2", "look")) == "something"
        assert text_of(await Talk(talk.client, chat).say("t3", "forget")) == "None"
    async with talk_to(Keeper(), tmp_path, store=store(), session="ahp-session:/s3") as talk:
        await talk.client.subscribe(chat)
        assert text_of(await Talk(talk.client, chat).say("t4", "look")) == "None"


async def test_of_a_flood_the_last_is_kept_and_too_much_fails_its_turn_alone() -> None:
    async with talk(Keeper()) as chat:
        assert (await chat.say("flood")).text == "1999"
        failed = await chat.say("much")
        assert failed.error_type == "badResumeState"
        assert "1048576 are the most" in (failed.error or "")
        assert (await chat.say("look")).text == "1999"
