"""A session as one markdown document. Pure."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agenthost.cli.format.state_format import (
    answer_text,
    directory_text,
    error_text,
    only_question,
    tool_input,
    tool_line,
    tool_output,
    tool_word,
    turn_error,
    usage_line,
)
from agenthost.cli.format.terminal_text import one_line, safe_text
from agenthost.protocol.markdown import markdown_of

Json = Mapping[str, Any]

_MARKUP = re.compile(r"[\\`*_\[\]<>#]")


def session_markdown(session: Json, chats: Sequence[Json]) -> str:
    """Return a session with all of its chats as markdown.

    Args:
        session: its state, with ``resource``, ``createdAt`` and ``modifiedAt`` where known.
        chats: the states of its chats, with all turns.
    """
    blocks = [f"# {_heading(session['title'])}", "\n".join(_facts(session))]
    for chat in chats:
        if len(chats) > 1:
            blocks.append(f"## Chat: {_heading(chat['title'])}")
            blocks.append("\n".join(f"- {name}: {text}" for name, text in _chat_facts(chat)))
        for turn in chat["turns"]:
            blocks += _turn(turn, session["provider"])
        if "activeTurn" in chat:
            blocks += _turn(chat["activeTurn"], session["provider"])
        blocks += _waiting(chat)
    # Addresses and names may hold anything, too.
    return safe_text("\n\n".join(block for block in blocks if block)) + "\n"


def _facts(session: Json) -> Iterator[str]:
    yield f"- session: `{session['resource']}`"
    yield f"- agent: {one_line(session['provider'])}"
    for uri in session.get("workingDirectories") or ():
        yield f"- directory: `{directory_text(uri)}`"
    for name, key in (("created", "createdAt"), ("changed", "modifiedAt")):
        if key in session:
            yield f"- {name}: {session[key]}"


def _chat_facts(chat: Json) -> Iterator[tuple[str, str]]:
    yield "chat", f"`{chat['resource']}`"
    match chat.get("origin"):
        case {"kind": "tool", "chat": parent}:
            yield "works for", f"`{parent}`"
        case {"kind": "fork", "chat": parent}:
            yield "continues", f"`{parent}`"
        case {"kind": "sideChat", "chat": parent}:
            yield "beside", f"`{parent}`"


def _turn(turn: Json, agent: str) -> Iterator[str]:
    message = turn["message"]
    who = "You" if message["origin"]["kind"] == "user" else "Task"
    yield f"### {who}"
    yield _quoted(safe_text(message["text"]))
    for attachment in message.get("attachments") or ():
        yield f"*Attached: {_heading(attachment['label'])}*"
    yield f"### {_heading(agent)}"
    for part in turn["responseParts"]:
        yield _part(part)
    yield _ending(turn)
    if usage_line(turn.get("usage") or {}):
        yield f"*{usage_line(turn['usage'])}*"


def _part(part: Json) -> str:
    match part["kind"]:
        case "markdown":
            return safe_text(part["content"]).strip("\n")
        case "reasoning":
            return _folded("Reasoning", safe_text(part["content"]))
        case "toolCall":
            return _call(part["toolCall"])
        case "inputRequest":
            return _questions(part)
        case "systemNotification":
            return _quoted(f"**Notice:** {safe_text(markdown_of(part['content']))}")
        case "contentRef":
            return f"*Content kept elsewhere: `{part['uri']}`*"
        case "error":
            return _quoted(f"**Error:** {error_text(part.get('error'))}")
    return f"*Something that this version does not know: {one_line(str(part['kind']))}*"


def _call(call: Json) -> str:
    blocks: list[str] = []
    if given := safe_text(tool_input(call)):
        blocks += ["Input:", fence(given)]
    if shown := safe_text(tool_output(call)):
        blocks += ["Output:", fence(shown)]
    if call["status"] == "cancelled" and call.get("reasonMessage"):
        blocks.append(f"Reason: {one_line(markdown_of(call['reasonMessage']))}")
    return _folded(f"Tool: {tool_line(call)} ({tool_word(call)})", "\n\n".join(blocks))


def _questions(part: Json) -> str:
    request = part["request"]
    said = {"accept": "answered", "decline": "declined", "cancel": "dismissed"}
    outcome = said.get(part.get("response", ""), "not answered")
    asked = one_line(str(request.get("message") or ""))
    alone = only_question(request)
    if alone is not None:
        answer = one_line(answer_text(alone, (request.get("answers") or {}).get(alone["id"])))
        return f"**Question** ({outcome}): {asked} **{answer}**"
    lines = [f"**Questions** ({outcome})" + (f": {asked}" if asked else "")]
    if "url" in request:
        lines.append(f"- {request['url']}")
    answers = request.get("answers") or {}
    for question in request.get("questions") or ():
        answer = one_line(answer_text(question, answers.get(question["id"])))
        lines.append(f"- {one_line(question['message'])} **{answer}**")
    return "\n".join(lines)


def _ending(turn: Json) -> str:
    match turn.get("state"):
        case "error":
            # Why is said by its last part, unless the host did not tell.
            return "" if turn_error(turn) else _quoted(f"**Error:** {error_text(None)}")
        case "cancelled":
            return _quoted("**Cancelled**")
        case None:
            return _quoted("**Under way**")
    return ""


def _waiting(chat: Json) -> Iterator[str]:
    """Yield messages that wait to be sent: steering and queued."""
    steering = [chat["steeringMessage"]] if "steeringMessage" in chat else []
    for kind, messages in (("Steering", steering), ("Queued", chat.get("queuedMessages") or ())):
        for pending in messages:
            yield f"### {kind}"
            yield _quoted(safe_text(pending["message"]["text"]))


def _folded(summary: str, text: str) -> str:
    if not text.strip():
        return f"*{_heading(summary)}*"
    # Blank lines, because markdown inside of HTML is read only after one.
    shown = html.escape(summary, quote=False)
    return f"<details>\n<summary>{shown}</summary>\n\n{text.strip()}\n\n</details>"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip("\n").split("\n"))


def _heading(text: str) -> str:
    """Return text for a heading: on one line, markup escaped."""
    return _MARKUP.sub(r"\\\g<0>", one_line(text) or "(no title)")


def fence(text: str) -> str:
    """Return text as a fenced block; the fence is longer than any in the text."""
    runs = [len(run) for run in re.findall(r"^\s*(`{3,})", text, re.MULTILINE)]
    marks = "`" * max(3, max(runs, default=0) + 1)
    return f"{marks}\n{text.rstrip()}\n{marks}"
