"""How full the context of a chat is."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.client.usage import ContextUse, context_use

AGENT = {"models": [{"id": "big", "maxContextWindow": 1000}, {"id": "small"}]}


def chat(*usages: Any, active: Any = None) -> dict[str, Any]:
    turns = [{"message": {"text": ""}, **({"usage": usage} if usage else {})} for usage in usages]
    running = {"message": {"text": "", "model": {"id": "big"}}, "usage": active}
    return {"turns": turns, **({"activeTurn": running} if active is not None else {})}


def test_the_last_turn_that_says_something_counts() -> None:
    used = {"inputTokens": 200, "outputTokens": 110, "model": "big"}
    assert context_use(chat({"inputTokens": 1}, used, None), AGENT) == ContextUse("big", 310, 1000)
    assert context_use(chat(used), AGENT).share == 0.31
    assert context_use(chat(used, active={"inputTokens": 500}), AGENT).share == 0.5
    assert context_use(chat(), AGENT) == ContextUse()


def test_what_an_agent_says_of_its_context_comes_first() -> None:
    meta = {"contextTokens": 50, "contextWindow": 200}
    used = {"inputTokens": 9000, "outputTokens": 1, "model": "small", "_meta": meta}
    assert context_use(chat(used), AGENT) == ContextUse("small", 50, 200)


@pytest.mark.parametrize(
    "used",
    [
        {"inputTokens": 5000, "model": "big"},
        {"inputTokens": 10, "model": "small"},
        {"inputTokens": 10, "model": "unheard of"},
        {"inputTokens": 10},
    ],
)
def test_where_nobody_can_say_how_full_it_is_nothing_is_said(used: Any) -> None:
    assert context_use(chat(used), AGENT).share is None
    assert context_use(chat(used), None).share is None


@pytest.mark.parametrize("value", [-1, True, 2**60, "12", None, 1.5])
def test_figures_that_are_none_are_let_be(value: Any) -> None:
    assert context_use(chat({"inputTokens": value}), AGENT) == ContextUse()
