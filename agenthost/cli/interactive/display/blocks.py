"""Parts of a chat as lines: messages, tool calls, questions, notices, endings.

Pure. Every function turns one piece of wire state into lines that fit a width. When something is
shown is ``printed_transcript``'s to say; what is asked of the user is ``prompts``'.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from agenthost.cli.format.customization_format import MOST_NAME, cell
from agenthost.cli.format.state_format import (
    answer_text,
    asked_lines,
    directory_text,
    error_text,
    only_question,
    shown_content,
    tool_word,
    turn_error,
)
from agenthost.cli.format.terminal_text import one_line, visible
from agenthost.cli.interactive.display.edits import (
    EditLines,
    short_edits,
    unknown_edit,
    whole_edit,
)
from agenthost.cli.interactive.display.failures import failure_lines
from agenthost.cli.interactive.display.inline_markdown import inline
from agenthost.cli.interactive.display.markdown import WIDEST, MarkdownText
from agenthost.cli.interactive.display.styled_text import (
    EMPTY,
    Fragment,
    StyledLine,
    clean,
    clip_line,
    hard_wrap,
    indented,
    line,
    text_of,
    wrap,
)
from agenthost.protocol.markdown import markdown_of

Json = Mapping[str, Any]

TerminalTail: TypeAlias = Callable[[str], str | None]
"""Returns the end of what a terminal printed, by its URI; None where that is not known."""

LIVE_TAIL = 6
"""Rows of a running tool's output."""

LIVE_OUTPUT = 4_096
"""Characters of a running tool's output that are looked at for them, with every frame."""

LIVE_TERMINAL = 10
"""Rows of what a running terminal prints."""

RESULT_HEAD, RESULT_TAIL = 4, 8
"""Rows of a finished tool's output, from its beginning and from its end."""

MOST_EDIT_ROWS = 12
"""Rows of a finished call's diffs, besides their headings."""

_MARKS: dict[str, Fragment] = {
    "streaming": ("dim", "◌"),
    "pending-confirmation": ("ask", "?"),
    "pending-result-confirmation": ("ask", "?"),
    "auth-required": ("ask", "?"),
    "running": ("busy", "●"),
    "cancelled": ("dim", "⊘"),
}


def message_lines(message: Json, width: int) -> list[StyledLine]:
    """Return a user's message as lines."""
    origin = message["origin"]["kind"]
    who = {"user": "› "}.get(origin, "» ")
    style = "user" if origin == "user" else "other"
    rows: list[StyledLine] = []
    for source in clean(message["text"]).rstrip().split("\n"):
        rows += wrap(line((style, source)), min(width, WIDEST) - 2)
    lines = indented(rows, (style, who))
    for attachment in message.get("attachments") or ():
        label = one_line(str(attachment.get("label") or attachment.get("type")))
        lines.append(clip_line(line(("dim", f"  + {label}")), width))
    return lines


def reasoning_line(content: str, width: int, *, live: bool) -> StyledLine:
    """Return reasoning folded into one line; while it is streamed, its end."""
    if not live:
        words = len(content.split())
        return clip_line(
            line(("dim", f"∴ thought, {words:,} words · /reasoning shows them")), width
        )
    tail = one_line(content[-width * 4 :])
    room = max(width - 14, 10)
    shown = tail if len(tail) <= room else "…" + tail[1 - room :]
    return clip_line(line(("dim", f"∴ thinking: {shown}")), width)


def notice_lines(part: Json, width: int) -> list[StyledLine]:
    """Return a part that is neither text, tool call nor question."""
    match part["kind"]:
        case "systemNotification":
            text = markdown_of(part["content"]).strip()
            # A plan is a list, and only as such to be read.
            rows = MarkdownText("dim").settle(text, min(width, WIDEST) - 2, whole=True)
            return indented([row for row in rows if row], ("dim", "· "))
        case "contentRef":
            return [clip_line(line(("dim", f"⇢ {_reference(part)}")), width)]
        case "error":
            return failure_lines(part.get("error"), width)
        case kind:
            return [
                clip_line(line(("dim", f"· something this version cannot show ({kind})")), width)
            ]


def unknown_terminal(uri: str) -> str | None:
    """Return None: what terminals print is not known."""
    return None


def call_lines(
    call: Json,
    width: int,
    *,
    live: bool,
    edit_lines: EditLines = unknown_edit,
    terminal_tail: TerminalTail = unknown_terminal,
) -> list[StyledLine]:
    """Return a tool call as lines: its name and status, then its output and what it changed."""
    lines = [_call_head(call, width)]
    shown_input = _unsaid_input(call)
    if shown_input and not call["status"].startswith("pending-c"):
        lines.append(clip_line(line(("dim", f"  {shown_input}")), width))
    for note in _call_notes(call):
        lines += indented(wrap(line(*note), min(width, WIDEST) - 2), ("", "  "))
    above = 0
    if live:
        call, above = _newest_output(call)
    rows = _output_rows(call, width - 4)
    most = (0, LIVE_TAIL) if live else (RESULT_HEAD, RESULT_TAIL)
    if live and (printed := _live_rows(call, width - 4, terminal_tail)):
        rows, most = [*rows, *printed], (0, LIVE_TERMINAL)
    edits = [block for block in call.get("content") or () if block["type"] == "fileEdit"]
    changed = short_edits(edits, width - 4, edit_lines, LIVE_TAIL if live else MOST_EDIT_ROWS)
    shown = [*_shortened(rows, *most, above), *changed]
    return lines + indented(shown, ("dim", "  │ "), ("dim", "  │ "))


def call_in_full(
    call: Json,
    width: int,
    edit_lines: EditLines = unknown_edit,
    kept_input: Sequence[StyledLine] | None = None,
) -> Iterator[StyledLine]:
    """Yield the lines of a tool call with its whole input, output and edits.

    ``kept_input`` is the input where it is kept elsewhere. Lines are made as they are taken: a
    pager shows the first screen of a long diff at once.
    """
    yield _call_head(call, width)
    if kept_input is not None:
        yield from indented(kept_input, ("", "  "), ("", "  "))
    for source in visible(input_text(call) or "").split("\n") if kept_input is None else ():
        yield from indented(hard_wrap(line(("code", source)), width - 2), ("", "  "))
    rail = ("dim", "  │ ")
    for row in _output_rows(call, width - 4):
        yield (rail, *row)
    edits = [block for block in call.get("content") or () if block["type"] == "fileEdit"]
    # It is asked about, or was denied: what it would have changed.
    for edit in edits or (call.get("edits") or {}).get("items") or ():
        for row in whole_edit(edit, width - 4, edit_lines):
            yield (rail, *row)


def request_lines(part: Json, width: int) -> list[StyledLine]:
    """Return answered questions with their answers."""
    request, response = part["request"], part.get("response")
    title = one_line(request.get("message") or "Questions")
    alone = only_question(request)
    outcome = {
        "accept": "",
        "decline": "  declined",
        "cancel": "  dismissed",
        None: "  not answered",
    }.get(response, f"  {response}")
    answers = request.get("answers") or {}
    if alone is not None and response == "accept":
        said = one_line(answer_text(alone, answers.get(alone["id"])))
        rows = wrap(line(("bold", title), f"  {said}"), min(width, WIDEST) - 2)
        return indented(rows, ("ask", "? "), ("", "  "))
    lines = [clip_line(line(("ask", "? "), ("bold", title), ("dim", outcome)), width)]
    for question in (request.get("questions") or ()) if response == "accept" else ():
        answer = answers.get(question["id"])
        skipped = answer is None or answer["state"] == "skipped"
        *asked, last = asked_lines(question["message"])
        given = ("dim", "—") if skipped else ("", one_line(answer_text(question, answer)))
        rows = [line(("dim", row)) for row in asked]
        # Below what takes several lines; else behind it.
        rows += [line(("dim", last)), line(given)] if asked else [line(("dim", f"{last} "), given)]
        for row in rows:
            lines += indented(wrap(row, min(width, WIDEST) - 2), ("", "  "))
    return lines


def ending_lines(turn: Json, width: int) -> list[StyledLine]:
    """Return the lines at the end of a turn; often none."""
    if turn["state"] == "cancelled":
        return [line(("dim", "■ cancelled"))]
    if turn["state"] == "error":
        # Why is said by its last part, unless the host did not tell.
        return [] if turn_error(turn) else [EMPTY, *failure_lines(None, width)]
    told = list(_figures(turn))
    return [clip_line(line(("dim", " · ".join(told))), width)] if told else []


def input_text(call: Json) -> str | None:
    """Return a tool call's input as text; None if there is none or it is a reference."""
    given = call.get("toolInput")
    return given if isinstance(given, str) else None


def _call_head(call: Json, width: int) -> StyledLine:
    status = call["status"]
    mark: Fragment = _MARKS.get(status, ("dim", "·"))
    if status == "completed":
        mark = ("good", "✓") if call["success"] else ("bad", "✗")
    name, said = one_line(call["displayName"] or call["toolName"]), _said(call)
    about = [("dim", " · "), *inline(said)] if said not in ("", name) else []
    return clip_line(line(mark, " ", ("bold", name), *about, *_outcome(call)), width)


def _said(call: Json) -> str:
    """Return a call's message: what it does or did."""
    done = call["status"] in ("completed", "pending-result-confirmation")
    return one_line(markdown_of(call.get("pastTenseMessage" if done else "invocationMessage")))


def _outcome(call: Json) -> Iterator[Fragment]:
    """Yield a call's outcome, for the end of its line."""
    chosen = (call.get("selectedOption") or {}).get("label")
    match call["status"]:
        case "cancelled":
            word = tool_word(call)
            yield ("dim", f" — {'result refused' if word == 'result denied' else word}")
        case "completed" | "running" if chosen:
            yield ("dim", f"  ({one_line(chosen)})")


def _call_notes(call: Json) -> Iterator[list[Fragment]]:
    """Yield further notes on a call."""
    status = call["status"]
    if status == "streaming" and call.get("partialInput"):
        yield [("dim", one_line(call["partialInput"][-400:]))]
    if (error := call.get("error")) is not None:
        yield [("bad", error_text(error))]
    if status == "auth-required":
        resource = call["auth"].get("resource") or {}
        name = resource.get("resource_name") or resource.get("resource") or "its server"
        yield [("ask", f"waits for somebody to sign in to {one_line(str(name))}")]
        server = (call.get("_meta") or {}).get("mcpServerName")
        if isinstance(server, str):
            command = shlex.join(["agenthost", "mcp", "login", cell(server, MOST_NAME)])
            yield [("dim", f"`{command}` hands over a token")]
    if status == "cancelled":
        if call.get("reasonMessage"):
            yield [("dim", "because: "), ("", one_line(markdown_of(call["reasonMessage"])))]
        if call.get("userSuggestion"):
            yield [("dim", "instead: "), ("", one_line(call["userSuggestion"]["text"]))]


def _unsaid_input(call: Json) -> str:
    """Return a call's input unless the line above shows it already."""
    given = one_line(visible(input_text(call) or ""))
    return "" if given in _said(call) else given


def _output_rows(call: Json, width: int) -> list[StyledLine]:
    """Return a tool's output as lines, without the edits."""
    said = {one_line(input_text(call) or ""), _said(call)}
    if call.get("error") is not None:
        said.add(error_text(call["error"]))
    return [
        row
        for block in shown_content(call)
        if block["type"] != "fileEdit"
        for row in (
            _terminal(block, width, said) if block["type"] == "terminal" else _block(block, width)
        )
    ]


def _newest_output(call: Json) -> tuple[Json, int]:
    """Return a running call with the end of its output, and how many rows stand above that."""
    blocks: list[Json] = list(call.get("content") or ())
    above = 0
    for index, block in enumerate(blocks):
        text = block.get("text")
        if block["type"] == "text" and isinstance(text, str) and len(text) > LIVE_OUTPUT:
            above += text.count("\n", 0, -LIVE_OUTPUT)
            blocks[index] = {**block, "text": text[-LIVE_OUTPUT:]}
    return ({**call, "content": blocks}, above) if above else (call, 0)


def _live_rows(call: Json, width: int, terminal_tail: TerminalTail) -> list[StyledLine]:
    """Return what the terminals of a running call have printed so far, as far as it is known."""
    blocks = [block for block in call.get("content") or () if block["type"] == "terminal"]
    printed = [terminal_tail(block["resource"]) for block in blocks if "result" not in block]
    rows = [row for text in printed for row in clean(text or "").rstrip().split("\n")]
    return [part for row in rows if rows != [""] for part in hard_wrap(line(row), width)]


def _block(block: Json, width: int) -> list[StyledLine]:
    """Return one block of a tool's output as lines."""
    match block["type"]:
        case "text":
            sources = clean(block["text"]).rstrip("\n").split("\n") if block["text"] else []
            return [row for source in sources for row in hard_wrap(line(source), width)]
        case "subagent":
            about = f"↳ {one_line(block['title'])}, in a chat of its own · /chats"
            return [clip_line(line(("dim", about)), width)]
        case "resource":
            return [clip_line(line(("dim", f"⇢ {_reference(block)}")), width)]
        case "embeddedResource":
            size = len(block["data"]) * 3 // 4
            return [clip_line(line(("dim", f"[{block['contentType']}, {size:,} bytes]")), width)]
        case kind:
            return [clip_line(line(("dim", f"[{kind}]")), width)]


def _terminal(block: Json, width: int, said: Collection[str]) -> list[StyledLine]:
    """Return a terminal as lines: what it printed, then its title and how it ended, unless said."""
    result = block.get("result") or {}
    preview = clean(result.get("preview") or "").rstrip("\n")
    rows = [row for source in preview.split("\n") for row in hard_wrap(line(source), width)]
    title = one_line(block["title"])
    told = [title]
    if "exitCode" in result:
        told.append(f"exit code {result['exitCode']}")
    # A title may be the beginning of a long command.
    told = [text for text in told if not any(s.startswith(text.removesuffix("…")) for s in said)]
    ending = [clip_line(line(("dim", " · ".join(told))), width)] if told else []
    return [*(rows if preview else []), *ending]


def _reference(ref: Json) -> str:
    size = f" ({ref['sizeHint']:,} bytes)" if "sizeHint" in ref else ""
    return one_line(f"{directory_text(ref['uri'])}{size}")


def _shortened(
    rows: Sequence[StyledLine], head: int, tail: int, above: int = 0
) -> list[StyledLine]:
    # An empty row says nothing at the end of an output that is still coming.
    kept = list(rows)
    while kept and not text_of(kept[-1]).strip():
        kept.pop()
    # To hide a single row would save nothing.
    if not above and len(kept) <= head + tail + 1:
        return kept
    hidden = len(kept) - head - tail + above
    hint = " · /show" if head else ""
    return [*kept[:head], line(("dim", f"… {hidden:,} more rows{hint}")), *kept[-tail:]]


def _figures(turn: Json) -> Iterator[str]:
    seconds = (turn.get("duration") or 0) / 1000
    if seconds >= 1:
        yield (
            f"{seconds:.1f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
        )
    usage = turn.get("usage") or {}
    for key, what in (("inputTokens", "in"), ("outputTokens", "out")):
        if key in usage:
            yield f"{usage[key]:,} tokens {what}"
    if usage.get("model"):
        yield one_line(usage["model"])
