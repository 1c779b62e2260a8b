from __future__ import annotations

from typing import Any

import pytest

from agenthost.agents import Agent, Turn
from agenthost.protocol import SUPPORTED_VERSIONS
from tests.wire.client import ACTIVITY, open_client
from tests.wire.hosting import ServedHost, embed
from tests.wire.talking import (
    ERROR,
    IDLE,
    IN_PROGRESS,
    INPUT_NEEDED,
    at_chat,
    input_completed,
    request_in,
)


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
async def test_a_turn_runs_to_its_end_and_the_mirror_equals_a_fresh_snapshot(
    host: ServedHost, version: str
) -> None:
    async with open_client(host.url, version=version) as client:
        result = await client.initialize("ahp-root://")
        assert result["protocolVersion"] == version
        chat = await client.ready_session("ahp-session:/s1")
        await client.subscribe(chat)
        await client.run_turn(chat, "t1", "hello")
        mirrored, fresh = await client.compared(chat)
        assert mirrored == fresh
        assert fresh["turns"][0]["state"] == "complete"
        assert fresh["turns"][0]["responseParts"][0]["content"].startswith("You said **hello**")


async def test_whoever_opens_a_session_is_told_what_it_is_doing(shared_host: ServedHost) -> None:
    async with at_chat(shared_host.url, "doing") as chat:
        client = chat.client

        async def told() -> int:
            return int((await client.fresh(chat.session))["status"]) & ACTIVITY

        assert await told() == IDLE
        await chat.start("t1", "/slow 60")
        assert await told() == IN_PROGRESS
        await chat.cancel("t1")
        await chat.end("t1")
        await chat.start("t2", "/ask")
        request = await request_in(client, chat.uri)
        assert await told() == INPUT_NEEDED
        await chat.answer(input_completed(request, response="decline"))
        await chat.end("t2")
        await client.ping()
        assert await told() == IDLE
        await chat.run("t3", "/fail")
        await client.ping()
        assert await told() == ERROR


async def test_a_model_that_is_not_offered_is_refused_and_so_are_options_that_do_not_fit() -> None:
    async with embed(Choosy()) as url, open_client(url) as client:
        await client.initialize()
        chat = await client.ready_session("s:/1")
        await client.subscribe(chat)

        def asking(model: dict[str, Any]) -> dict[str, Any]:
            action = client.turn_started("t1", "hello")
            return {**action, "message": {**action["message"], "model": model}}

        for model, reason in (
            ({"id": "nope"}, "there is no model nope; there is small, large"),
            ({"id": "small", "config": {"effort": "huge"}}, "model small: effort must be one of"),
            ({"id": "small", "config": {"x": 1}}, "model small: there is no setting x"),
            ({"id": "large", "config": {"x": 1}}, "model large: there is no setting x"),
        ):
            assert (await client.rejected(chat, asking(model))).startswith(reason)
            message = asking(model)["message"]
            queued = {"type": "chat/pendingMessageSet", "kind": "queued", "id": "q"}
            told = await client.rejected(chat, {**queued, "message": message})
            assert told.startswith(reason)
        await client.accepted(chat, asking({"id": "small", "config": {"effort": "low"}}))
        await client.turn_end(chat, "t1")


class Choosy(Agent):
    provider, display_name = "choosy", "Choosy"
    effort = {"type": "string", "title": "Effort", "enum": ["low", "high"]}  # noqa: RUF012
    models = (
        {
            "id": "small",
            "provider": "choosy",
            "name": "Small",
            "configSchema": {"type": "object", "properties": {"effort": effort}},
        },
        {"id": "large", "provider": "choosy", "name": "Large"},
    )

    async def run(self, turn: Turn) -> None:
        await turn.write("yes")
