"""A host inside a FastAPI application: its routes talk to agents, and so do all other clients."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException

from agenthost.agents import Agent, Turn
from agenthost.client import Client, TurnFailed, connect
from agenthost.host import Host


class Shouter(Agent):
    """Says everything once more, louder."""

    provider, display_name = "shouter", "Shouter"

    async def run(self, turn: Turn) -> None:
        """Answer one message."""
        if not turn.text.strip():
            await turn.write("…")
        await turn.write(turn.text.upper())


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Start the host with the application, on a port of its own, and stop it with that."""
    async with Host([Shouter()]) as host:
        # Loopback only. For others: a Gate with tokens, as `agenthost serve` has.
        app.state.host_url = await host.listen(port=0)
        async with connect(app.state.host_url) as client:
            app.state.client = client
            yield


app = FastAPI(lifespan=lifespan)


@app.get("/host")
async def address() -> dict[str, str]:
    """Say where clients of the host connect."""
    return {"url": app.state.host_url}


@app.post("/ask")
async def ask(text: str) -> dict[str, str]:
    """Ask the agent something in a session of its own; it can be looked at by other clients."""
    client: Client = app.state.client
    session = await client.sessions.create("shouter")
    chat = await session.chat()
    try:
        return {"session": session.uri, "answer": await chat.ask(text)}
    except TurnFailed as error:
        raise HTTPException(502, str(error)) from error
