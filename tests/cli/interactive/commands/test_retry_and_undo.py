"""Trying again and doing without, in a conversation with a real host: /retry, /undo, /fork."""

from __future__ import annotations

import asyncio
import functools
from pathlib import Path

from agenthost.agents import Agent, AgentError
from agenthost.agents.turn import Turn
from agenthost.cli.interactive.outcome import SwitchTo
from tests.cli.interactive.test_conversation import PATIENCE, POLL, Stumbler, Talk, talking


class Counter(Agent):
    """Counts its turns aloud, and fails if it is told to."""

    provider, display_name = "counter", "Counter"

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    async def run(self, turn: Turn) -> None:
        """Answer."""
        self.count += 1
        if turn.text == "fail":
            raise AgentError("out of order")
        labels = [attached.get("label") for attached in turn.attachments]
        await turn.write(f"Answer {self.count} by {turn.model} with {labels}.")


async def shown(talk: Talk, *texts: str) -> None:
    await talk.until(lambda: all(text in talk.text for text in texts))


async def hinted(talk: Talk, command: str, text: str) -> None:
    """Give a command until its hint is there, which the end of a turn takes away once drawn."""
    async with asyncio.timeout(PATIENCE):
        while text not in talk.at.hinted:
            talk.at.on_submit(command)
            await asyncio.sleep(POLL)


async def say(talk: Talk, *texts: str) -> None:
    """Say something, and wait for the end of the turn."""
    for text in texts:
        expected = [*messages(talk), text]
        talk.at.on_submit(text)
        await talk.until(functools.partial(_said, talk, expected))


def _said(talk: Talk, expected: list[str]) -> bool:
    return messages(talk) == expected


def messages(talk: Talk) -> list[str]:
    """Return what was said in the turns that are over."""
    return [turn["message"]["text"] for turn in talk.at.chat.channel.confirmed["turns"]]


async def test_undo_asks_first_and_gives_the_message_back() -> None:
    async with talking(Counter()) as talk:
        await hinted(talk, "/undo", "there is nothing to undo")
        await say(talk, "one", "two", "three")
        await hinted(talk, "/undo 4", "there are only 3 turns")
        talk.at.on_submit("/undo 2")
        await shown(talk, "the last 2 turns, from “two” on", "Files stay as they are")
        assert messages(talk) == ["one", "two", "three"]
        assert talk.at.screen.text == "/undo 2 yes"
        talk.at.on_submit(talk.at.screen.text)
        talk.at.screen.text = ""
        await talk.until(lambda: messages(talk) == ["one"])
        await talk.until(lambda: talk.at.screen.text == "two")


async def test_a_yes_is_for_what_was_asked_about() -> None:
    async with talking(Counter()) as talk:
        await say(talk, "one")
        # Nobody has asked so far.
        talk.at.on_submit("/undo yes")
        await shown(talk, "from “one” on")
        talk.at.screen.text = ""
        await say(talk, "two")
        talk.at.on_submit("/undo 1 yes")
        await shown(talk, "from “two” on")
        assert messages(talk) == ["one", "two"]
        talk.at.screen.text = ""
        talk.at.on_submit("/undo 1 yes")
        await talk.until(lambda: messages(talk) == ["one"])


async def test_undo_names_the_files_that_stay_as_they_are(tmp_path: Path) -> None:
    async with talking(folder=tmp_path) as talk:
        talk.at.on_submit("//edit notes.txt text")
        await talk.until(lambda: talk.at.prompts.dialogue is not None)
        talk.at.on_submit("1")
        await talk.until(lambda: len(messages(talk)) == 1)
        talk.at.on_submit("/undo")
        await shown(talk, "those that it changed too: notes.txt (/diff)")


async def test_nothing_is_undone_while_a_turn_runs() -> None:
    async with talking() as talk:
        talk.at.on_submit("//slow 60")
        await talk.until(lambda: talk.at.chat.active_turn)
        for command in ("/undo", "/retry"):
            await hinted(talk, command, "a turn is running; /cancel stops it")
        await hinted(talk, "/fork", "there is no turn so far")


async def test_retry_goes_on_where_that_can_be() -> None:
    async with talking(Stumbler()) as talk:
        await say(talk, "go")
        talk.at.on_submit("/retry")
        await shown(talk, "Here I am again.")


async def test_retry_sends_the_message_again_after_a_yes_by_the_model_that_was_chosen() -> None:
    async with talking(Counter()) as talk:
        await hinted(talk, "/retry", "no message of yours to send again")
        attached = {"type": "simple", "label": "a label", "modelRepresentation": "x"}
        await talk.at.chat.send("one", attachments=[attached]).text()
        talk.at.actions.model = "better"
        talk.at.on_submit("/retry")
        await shown(talk, "drops the last answer and sends “one” again")
        talk.at.on_submit(talk.at.screen.text)
        await shown(talk, "Answer 2 by better with ['a label'].")
        await talk.until(lambda: messages(talk) == ["one"])


async def test_a_fork_goes_on_in_a_session_of_its_own_without_the_last_turns() -> None:
    async with talking(Counter()) as talk:
        await say(talk, "one", "two")
        await hinted(talk, "/fork 2", "nothing would be left to go on from")
        for text in ("-1", "9" * 30, "x"):
            await hinted(talk, f"/fork {text}", "how many of the last turns are to be left out")
            talk.at.hint("")
        talk.at.on_submit("/fork 1")
        left = await talk.end()
        assert isinstance(left, SwitchTo)
        assert left.session != talk.at.session.uri
        async with await talk.client.sessions.get(left.session) as session:
            chat = await session.chat()
            assert [turn["message"]["text"] for turn in chat.state["turns"]] == ["one"]
        assert messages(talk) == ["one", "two"]


async def test_a_chat_that_is_not_the_default_one_is_forked_within_its_session() -> None:
    async with talking() as talk:
        other = await talk.at.session.create_chat("hello")
        await talk.until(lambda: len(other.channel.confirmed["turns"]) == 1)
        talk.at.chat = other
        talk.at.on_submit("/fork")
        left = await talk.end()
        assert isinstance(left, SwitchTo)
        assert left.session == talk.at.session.uri
        assert left.chat not in (None, other.uri)
