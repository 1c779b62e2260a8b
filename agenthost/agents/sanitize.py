"""Validation of what agents emit: text, data and actions.

State is trusted once it is there, and agents are other people's code: so text loses what UTF-8
cannot carry, data becomes plain JSON of its own, and what the protocol has no form for is refused
here, where the agent learns of it and the chat stays whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from agenthost.agents.api import AgentError
from agenthost.agents.turn_port import TurnPort
from agenthost.errors import InvalidParams
from agenthost.protocol.jsonrpc import dumps
from agenthost.protocol.schema.validation import state_action, validate_action

# What the encoder can write; larger numbers lose their last digits, as they would in JavaScript.
_SMALLEST, _LARGEST = -(2**63), 2**64 - 1
# Characters of text in one action. JSON takes up to six bytes for each, and some tunnels end a
# connection over a frame of a megabyte.
LONGEST_PIECE = 128 * 1024
# What the ids of the host's own questions begin with: whether servers of a folder may start.
HOST_QUESTION = "trust-"
# Bytes of JSON that an agent may keep for a session: it is in memory as long as the session is.
MOST_RESUME_STATE = 1024 * 1024


def emit(port: TurnPort, action: dict[str, Any]) -> None:
    """Check an action and emit it; AgentError if it is wrong."""
    port.emit(checked_action(action))


def checked_action(action: dict[str, Any]) -> dict[str, Any]:
    """Check an action against the protocol; AgentError if it is wrong."""
    normalized, find_unknown = _type_walks()
    made: dict[str, Any] = json_copy(action)
    try:
        # Agents write None for what they do not have, like some peers.
        checked = validate_action(normalized(made, state_action(), nulls=True))
    except InvalidParams as error:
        raise AgentError(f"the agent made a mistake: {error.message}", "badAction") from error
    problem = find_unknown(checked, state_action(), "action") or _forged(checked)
    if problem is not None:
        raise AgentError(f"the agent made a mistake: {problem}", "badAction")
    return checked


def _forged(action: dict[str, Any]) -> str | None:
    """Say what is wrong with an action that meddles with the host's own questions."""
    request = action.get("request") or (action.get("part") or {}).get("request") or {}
    id = action.get("requestId") or request.get("id")
    if isinstance(id, str) and id.startswith(HOST_QUESTION):
        return f"questions named {HOST_QUESTION}… are the host's"
    return None


@cache
def _type_walks() -> tuple[Callable[..., Any], Callable[..., str | None]]:
    """Return the walks along the wire types, which are not loaded before the first action."""
    from agenthost.protocol.schema.normalization import normalized
    from agenthost.protocol.schema.unknown_variants import find_unknown

    return normalized, find_unknown


def text_pieces(text: str) -> Iterator[str]:
    """Return valid text in pieces that every connection carries."""
    fit = valid_text(text)
    if len(fit) <= LONGEST_PIECE:
        # By far the most.
        return iter((fit,) if fit else ())
    return (fit[at : at + LONGEST_PIECE] for at in range(0, len(fit), LONGEST_PIECE))


def valid_text(text: str) -> str:
    """Return text that UTF-8 can encode; unpaired surrogates become replacement characters."""
    if not isinstance(text, str):
        raise _wrong("text", text)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def as_bytes(data: bytes | bytearray | memoryview) -> bytes:
    """Return bytes; reject text, whose encoding is the agent's choice."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise _wrong("bytes", data)
    return bytes(data)


def json_copy(value: Any) -> Any:
    """Copy a value as JSON data; NaN and infinities become null."""
    if isinstance(value, str):
        return valid_text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if _SMALLEST <= value <= _LARGEST else _rounded(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_key(key): json_copy(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [json_copy(item) for item in value]
    raise _wrong("JSON data", value)


def kept_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """Copy what an agent wants to be kept for its session; AgentError where that cannot be."""
    if not isinstance(state, Mapping):
        raise _wrong("a mapping to keep", state)
    try:
        copied: dict[str, Any] = json_copy(state)
        size = len(dumps(copied))
    except (RecursionError, TypeError) as error:
        raise AgentError("what the agent keeps is nested too deeply", "badResumeState") from error
    if size > MOST_RESUME_STATE:
        told = f"the agent keeps {size} bytes for this session; {MOST_RESUME_STATE} are the most"
        raise AgentError(told, "badResumeState")
    return copied


def _rounded(value: int) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise _wrong("the name of a field", key)
    return valid_text(key)


def _wrong(wanted: str, found: object) -> AgentError:
    kind = type(found).__name__
    return AgentError(f"the agent made a mistake: it gave {kind} for {wanted}", "badAction")
