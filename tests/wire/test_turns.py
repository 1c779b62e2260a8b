from __future__ import annotations

import pytest

from agenthost.protocol import SUPPORTED_VERSIONS
from tests.wire.client import open_client
from tests.wire.hosting import ServedHost


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
