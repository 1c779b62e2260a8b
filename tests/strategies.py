"""Hypothesis strategies shared by the property tests: histories of whole channels.

A history is a channel's first state and the actions that follow, each of them legal where it
stands, in the newest version's form. It follows from a seed, so what shrinks is its length: a
failure shows the shortest beginning that fails. How it is made is in ``tests.simulation``.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import strategies as st

from agenthost.protocol.reducer_registry import Kind
from tests.simulation.chat import NOW, ChatSimulation
from tests.simulation.others import CHANNELS, ROOT, Channel
from tests.simulation.session import SessionSimulation

__all__ = [
    "NOW",
    "History",
    "chat_histories",
    "histories",
    "json_values",
    "other_histories",
    "root_histories",
    "session_histories",
]


@dataclass(frozen=True)
class History:
    """A channel's first state and what happened to it."""

    kind: Kind
    initial: dict[str, Any]
    actions: list[dict[str, Any]]


SEEDS = st.integers(0, 2**32 - 1)


def _lengths(longest: int) -> st.SearchStrategy[int]:
    # Half of them as long as may be: left alone, most would be short.
    return st.integers(1, longest) | st.just(longest)


def chat_histories(max_length: int = 40) -> st.SearchStrategy[History]:
    """Build histories of a chat: turns, tool calls in every state, prompts, pending messages."""

    def simulate(seed: int, length: int) -> History:
        simulation = ChatSimulation(Random(seed))
        initial = simulation.state
        return History("chat", initial, list(simulation.run(length)))

    return st.builds(simulate, SEEDS, _lengths(max_length))


def session_histories(max_length: int = 20) -> st.SearchStrategy[History]:
    """Build histories of a session: chats, clients, customizations, prompts, directories."""

    def simulate(seed: int, length: int) -> History:
        simulation = SessionSimulation(Random(seed))
        initial = simulation.state
        return History("session", initial, list(simulation.run(length)))

    return st.builds(simulate, SEEDS, _lengths(max_length))


def root_histories() -> st.SearchStrategy[History]:
    """Build histories of the root channel."""
    return _histories_of(ROOT)


def other_histories() -> st.SearchStrategy[History]:
    """Build histories of the channels that are neither chats nor sessions."""
    return st.one_of(*map(_histories_of, CHANNELS))


def _histories_of(channel: Channel) -> st.SearchStrategy[History]:
    def simulate(seed: int, length: int) -> History:
        random = Random(seed)
        actions = [channel.action(random) for _ in range(length)]
        return History(channel.kind, channel.initial, actions)

    return st.builds(simulate, SEEDS, _lengths(channel.longest))


def histories() -> st.SearchStrategy[History]:
    """Build histories of any channel."""
    return st.one_of(chat_histories(), session_histories(), other_histories())


def json_values() -> st.SearchStrategy[Any]:
    """Build any JSON value."""
    leaves = st.one_of(
        st.none(), st.booleans(), st.integers(-9, 9), st.sampled_from(["", "chat", "simple"])
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=4),
        ),
        max_leaves=12,
    )


# Names that translations look for, so that arbitrary values reach them.
MEMBERS = (
    *("type", "kind", "id", "_meta", "message", "attachments", "part", "toolCall", "content"),
    *("result", "turns", "activeTurn", "responseParts", "inputRequests", "status", "source"),
    *("workingDirectory", "workingDirectories", "customizations", "children", "files", "edit"),
    *("changes", "summary", "items", "request", "draft", "userSuggestion", "before", "after"),
    *("agenthost/chatAttachment", "resource", "turnId", "toolCallId", "activeClient", "cursor"),
    *("error", "origin", "lifecycle", "claim", "enablement", "enabled", "chats", "terminals"),
    *("automation", "entries", "definition", "session", "annotations", "annotation", "config"),
)
