"""Messages that begin with the name of a skill or a prompt: ``/review the parser``.

The text of what was named stands in for its name; what is said behind it fills the places that the
text has for that, or follows it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from agenthost.agents.turn import Turn
from agenthost.agents.turn_customizations import Prompt, Skill

# Under this key the attachment of a completion says which customization it is.
CUSTOMIZATION: Final = "agenthost/customization"
# Where a text takes what was said behind its name.
_PLACES: Final = re.compile(r"\$ARGUMENTS\b|\$\{input(?::[^}\n]{0,200})?\}")
# Characters of a text that go into a message: some twenty-five thousand tokens.
MOST_TEXT: Final = 100_000


@dataclass(frozen=True, slots=True)
class Invocation:
    """A message that names a skill or a prompt, as an agent is to read it."""

    item: Skill | Prompt
    # The message with the text of what it names.
    message: Mapping[str, Any]


def invoked(turn: Turn) -> tuple[Skill | Prompt, str] | None:
    """Return what a message names, and what it says behind that; None if it names nothing."""
    given = turn.customizations
    items: list[Skill | Prompt] = [*given.prompts, *(s for s in given.skills if s.user_may_invoke)]
    text = turn.text.strip()
    word, _, rest = text.partition(" ") if text.startswith("/") else ("", "", text)
    word, newline, more = word.partition("\n")
    if newline:
        rest = f"{more} {rest}"
    attached = _attached(turn.message)
    for item in items:
        # Completions write a name as one word.
        if word in (f"/{item.name}", f"/{'-'.join(item.name.split())}"):
            return item, rest.strip()
    for item in items:
        if item.id in attached:
            return item, text
    return None


async def read_invocation(turn: Turn) -> Invocation | None:
    """Read what a message names; None if it names nothing.

    Raises:
        AgentError: what it names cannot be read.
    """
    found = invoked(turn)
    if found is None:
        return None
    item, rest = found
    body = (await turn.customizations.load(item)).strip()
    if len(body) > MOST_TEXT:
        left_out = len(body) - MOST_TEXT
        body = f"{body[:MOST_TEXT]}\n… ({left_out} characters left out)"
    filled, places = _PLACES.subn(lambda _: rest, body)
    text = filled if places or not rest else f"{filled}\n\n{rest}"
    return Invocation(item, {**turn.message, "text": text, **_other_attachments(turn.message)})


def _attached(message: Mapping[str, Any]) -> set[str]:
    attachments = message.get("attachments") or ()
    ids = ((each.get("_meta") or {}).get(CUSTOMIZATION) for each in attachments)
    return {id for id in ids if isinstance(id, str)}


def _other_attachments(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attachments that are not the name of something, if there are any."""
    if "attachments" not in message:
        return {}
    kept = [a for a in message["attachments"] if CUSTOMIZATION not in (a.get("_meta") or {})]
    return {"attachments": kept}
