"""How much of a terminal's output is kept: the newest (pure)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from agenthost.protocol.common import Action, JsonObject
    from agenthost.protocol.terminal import TerminalContentPart, TerminalState

# What a command costs besides its output, so that a million commands without any are no less.
PART_LENGTH = 200
# Characters in which a line is expected to end; a longer one is cut anywhere.
LONGEST_LINE = 8_192
# A command line that is longer counts as its output does.
_OUTPUT = {"unclassified": "value", "command": "output"}


def length_of(state: TerminalState) -> int:
    """Return the characters that count."""
    return sum(map(_length, state["content"]))


def growth_by(action: Action) -> int:
    """Return by how many characters that count an action makes a state longer, at most."""
    match action["type"]:
        case "terminal/data":
            return PART_LENGTH + len(action["data"])
        case "terminal/commandExecuted":
            return PART_LENGTH + len(action["commandLine"])
    return 0


def without_oldest(state: TerminalState, most: int) -> TerminalState:
    """Return a state that has so many characters at most, without those that came first.

    Whole parts go first, then the beginning of the oldest one, behind a line's end if there is one.
    The command that runs stays, however much of its output goes.
    """
    content = list(state["content"])
    excess = length_of(state) - most
    first = 0
    while first < len(content) - 1 and excess > 0 and excess >= len(_text(content[first])):
        excess -= _length(content[first])
        first += 1
    kept = content[first:]
    if kept and excess > 0:
        kept[0] = _shortened(kept[0], excess)
    return {**state, "content": kept}


def _length(part: TerminalContentPart) -> int:
    return PART_LENGTH + len(_text(part)) + len(str(part.get("commandLine", "")))


def _text(part: TerminalContentPart) -> str:
    return str(part.get(_OUTPUT.get(part["type"], ""), ""))


def _shortened(part: TerminalContentPart, excess: int) -> TerminalContentPart:
    member = _OUTPUT.get(part["type"])
    if member is None:
        return part
    text = _text(part)
    end = text.find("\n", excess, excess + LONGEST_LINE)
    rest = text[end + 1 :] if end >= 0 else text[excess:]
    return cast("TerminalContentPart", {**cast("JsonObject", part), member: rest})
