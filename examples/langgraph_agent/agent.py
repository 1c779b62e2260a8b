"""A LangGraph graph as an agent: its nodes are shown as tool calls, its tokens as the answer."""

from __future__ import annotations

from typing import Any, TypedDict

from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph

from agenthost.agents import Agent, Turn, content


class Draft(TypedDict, total=False):
    """What the nodes hand on."""

    topic: str
    outline: list[str]


async def outline(state: Draft) -> Draft:
    """Find the points to make."""
    return {"outline": [f"what {state['topic']} is", f"why {state['topic']} matters"]}


async def write(state: Draft) -> Draft:
    """Write them out, piece by piece, as a model would."""
    say = get_stream_writer()
    for point in state["outline"]:
        say(f"- {point}\n")
    return {}


def build() -> Any:
    """Return the compiled graph; yours has models in its nodes."""
    graph = StateGraph(Draft)
    graph.add_node("outline", outline)
    graph.add_node("write", write)
    graph.add_edge(START, "outline")
    graph.add_edge("outline", "write")
    graph.add_edge("write", END)
    return graph.compile()


class Writer(Agent):
    """Runs the graph for each message."""

    provider, display_name = "writer", "Writer"
    description = "Outlines a topic, then writes about it"

    def __init__(self) -> None:
        self._graph = build()

    async def run(self, turn: Turn) -> None:
        """Stream what the graph says, and show each node that is done."""
        events = self._graph.astream({"topic": turn.text}, stream_mode=["updates", "custom"])
        async for mode, event in events:
            if mode == "custom":
                await turn.write(event)
                continue
            for node, update in event.items():
                async with turn.tool(node, display_name=node.capitalize()) as call:
                    await call.complete(f"Did {node}", [content.text(str(update or "done"))])
