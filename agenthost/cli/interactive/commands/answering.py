"""Answering questions other than by an answer: /decline, /dismiss, /back, /skip."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.cli.interactive.commands.chat_command import ChatCommand
from agenthost.cli.interactive.prompts.questions import Questions

if TYPE_CHECKING:
    from agenthost.cli.interactive.conversation import Conversation

_NONE = "there are no questions"


def _close(at: Conversation, *, decline: bool) -> None:
    dialogue = at.prompts.ask_next()
    if not isinstance(dialogue, Questions):
        at.hint(_NONE)
        return
    act = dialogue.decline() if decline else dialogue.dismiss()
    at.prompts.apply_reply(act)
    at.actions.answer(act)


def _decline(at: Conversation, _: str) -> None:
    _close(at, decline=True)


def _dismiss(at: Conversation, _: str) -> None:
    _close(at, decline=False)


def _back(at: Conversation, _: str) -> None:
    at.on_escape()


def _skip(at: Conversation, _: str) -> None:
    dialogue = at.prompts.ask_next()
    if isinstance(dialogue, Questions):
        at.follow_up(at.prompts.apply_reply(dialogue.skip()))
    else:
        at.hint(_NONE)


COMMANDS = (
    ChatCommand("decline", "", "do not answer the questions", _decline),
    ChatCommand("dismiss", "", "close the questions without a word", _dismiss),
    ChatCommand("back", "", "return to the question before", _back),
    ChatCommand("skip", "", "pass the question over, also one that has a default", _skip),
)
