from __future__ import annotations

import pytest

from agenthost.protocol import SUPPORTED_VERSIONS
from tests.wire.client import ACTIVITY, open_client
from tests.wire.hosting import ServedHost
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
        mirrored = {**client.states[chat], "modifiedAt": ""}
        fresh = {**await client.fresh(chat), "modifiedAt": ""}
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
