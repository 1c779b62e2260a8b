"""Earlier turns as text for an agent that does not know them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agenthost.protocol.markdown import markdown_of

# Some thirty thousand tokens; of a longer conversation the newest part is told.
MOST_CHARACTERS = 120_000
# What an agent is told that knows what it was doing when an error interrupted it.
CONTINUE = (
    "An error interrupted your answer to my last message, and it is over now. Please go on where"
    " you stopped."
)
# The outcome of one tool call is a remark, not a report.
MOST_REMARK = 200


def transcript(turns: Sequence[Mapping[str, Any]]) -> str:
    """Return the turns as an introduction to a message; nothing when there are none."""
    told: list[str] = []
    room = MOST_CHARACTERS
    for turn in reversed(turns):
        text = _turn_text(turn)
        if len(text) > room:
            told.append(f"[What came before is left out.]\n{text[len(text) - room :]}")
            break
        room -= len(text)
        told.append(text)
    if not told:
        return ""
    conversation = "\n\n".join(reversed(told))
    return (
        "For context, this is the conversation so far, which you do not remember:\n\n"
        f"{conversation}\n\nEnd of the conversation so far. What follows is the new message."
    )


def begun(parts: Sequence[Mapping[str, Any]]) -> str:
    """Return what an answer holds so far, for an agent that does not know that it began it."""
    answer = _answer_text(parts)
    if not answer:
        return ""
    return (
        "You began to answer the message above and were interrupted, which you do not remember."
        " This is what you said and did, and the user was shown it:\n\n"
        f"{answer[-MOST_CHARACTERS:]}\n\nGo on from there."
    )


def _turn_text(turn: Mapping[str, Any]) -> str:
    said = [f"User: {turn['message']['text']}"]
    answer = _answer_text(turn["responseParts"])
    if answer:
        said.append(f"Assistant: {answer}")
    if turn["state"] != "complete":
        said.append(f"[This turn ended early: {turn['state']}.]")
    return "\n\n".join(said)


def _answer_text(parts: Sequence[Mapping[str, Any]]) -> str:
    return "".join(_part(part) for part in parts).strip()


def _part(part: Mapping[str, Any]) -> str:
    match part.get("kind"):
        case "markdown":
            return str(part["content"])
        case "toolCall":
            call = part["toolCall"]
            remark = markdown_of(call.get("pastTenseMessage") or call.get("invocationMessage"))
            outcome = call["status"] if call.get("success", True) else "failed"
            return f"\n[Tool {call['displayName']}: {remark[:MOST_REMARK]} ({outcome})]\n"
        case _:
            return ""
