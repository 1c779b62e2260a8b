"""What a chat has used: the model, the tokens of its context, and how much of that is left.

Figures are what agents report, and agents may report anything: what cannot be right is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agenthost.client.client import Client
    from agenthost.client.sessions import Session
    from agenthost.protocol.root import AgentInfo

Json = Mapping[str, Any]

# Turns that are looked through for figures: of turns that failed there may be none.
_MOST_TURNS = 10


@dataclass(frozen=True, slots=True)
class ContextUse:
    """How full the context of a chat is, as far as its agent says."""

    # The id of the model that answered last; empty where that is not said.
    model: str = ""
    # Tokens that the last turn left in the context.
    tokens: int | None = None
    # Tokens that the model takes.
    window: int | None = None

    @property
    def share(self) -> float | None:
        """The part of the context that is in use, up to 1; None where nobody can say."""
        if self.tokens is None or not self.window or self.tokens > self.window:
            # More than fits was not all in it: it was counted over several requests.
            return None
        return self.tokens / self.window


def agent_of(client: Client, session: Session) -> AgentInfo | None:
    """Return what the host tells of a session's agent; None where it is not known."""
    known = client.root.state["agents"] if client.root.has_state else []
    provider = session.state["provider"]
    return next((agent for agent in known if agent["provider"] == provider), None)


def context_use(chat: Json, agent: Json | None) -> ContextUse:
    """Return how full a chat's context is, by the newest turn that says so."""
    for turn in islice(_newest_first(chat), _MOST_TURNS):
        usage: Json = turn.get("usage") or {}
        meta: Json = usage.get("_meta") or {}
        tokens = _count(meta.get("contextTokens"))
        counts = [_count(usage.get(key)) for key in ("inputTokens", "outputTokens")]
        if tokens is None and counts != [None, None]:
            tokens = sum(count or 0 for count in counts)
        if tokens is not None:
            model = usage.get("model") or (turn["message"].get("model") or {}).get("id") or ""
            window = _count(meta.get("contextWindow")) or _window(agent, str(model))
            return ContextUse(str(model), tokens, window)
    return ContextUse()


def _newest_first(chat: Json) -> Iterator[Json]:
    active = chat.get("activeTurn")
    if active is not None:
        yield active
    yield from reversed(chat["turns"])


def _window(agent: Json | None, model: str) -> int | None:
    """Return the context of a model; of an agent's only one, also where it is not named."""
    models: list[Json] = [] if agent is None else agent["models"]
    found = [item for item in models if item["id"] == model]
    if not found and not model and len(models) == 1:
        found = models
    return _count(found[0].get("maxContextWindow")) if found else None


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        return None
    return value
