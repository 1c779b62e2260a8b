"""The host's own settings: changed by clients, checked, and kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agenthost.protocol import SUPPORTED_VERSIONS
from tests.wire.client import WireClient, open_client
from tests.wire.hosting import ServedHost, serve

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = "ahp-root://"

Json = dict[str, Any]


def changed(config: Any, **more: Any) -> Json:
    return {"type": "root/configChanged", "config": config, **more}


def values(client: WireClient) -> Json:
    """Return the values that are not as they are by default."""
    config: Json = client.states[ROOT]["config"]
    properties = config["schema"]["properties"]
    return {
        key: value
        for key, value in config["values"].items()
        if value != properties.get(key, {}).get("default")
    }


async def test_a_change_reaches_clients_of_every_version(own_host: ServedHost) -> None:
    async with (
        open_client(own_host.url, "changes") as client,
        open_client(own_host.url, "follows", SUPPORTED_VERSIONS[-1]) as follower,
    ):
        for each in (client, follower):
            await each.initialize(ROOT)
            assert values(each) == {}
            assert "welcome" in each.states[ROOT]["config"]["schema"]["properties"]
        await client.accepted(ROOT, changed({"welcome": "hello"}))
        await follower.action(ROOT, "root/configChanged")
        await follower.accepted(ROOT, changed({"welcome": "hello again"}, replace=True))
        await client.ping()
        for each in (client, follower):
            assert values(each) == {"welcome": "hello again"}
            mirrored, fresh = await each.compared(ROOT)
            assert mirrored == fresh


async def test_what_does_not_fit_is_refused_as_a_whole(
    own_host: ServedHost,
) -> None:
    async with (
        open_client(own_host.url, "tries") as client,
        open_client(own_host.url, "hears nothing") as follower,
    ):
        for each in (client, follower):
            await each.initialize(ROOT)
        for action in (
            changed({"welcome": 7}),
            changed({"welcome": 7, "unknown": 1}),
            changed({"unknown": "x" * 300_000}),
            changed({"welcome": None}),
            changed("welcome"),
            changed(None),
            {"type": "root/configChanged"},
            {"type": "root/activeSessionsChanged", "activeSessions": 7},
            {"type": "root/agentsChanged", "agents": []},
        ):
            assert await client.rejected(ROOT, action), action
        await follower.ping()
        assert follower.envelopes[ROOT] == []
        assert values(client) == {}
        mirrored, fresh = await client.compared(ROOT)
        assert mirrored == fresh


async def test_a_change_to_what_already_is_goes_back_to_its_sender_alone(
    own_host: ServedHost,
) -> None:
    async with (
        open_client(own_host.url, "insists") as client,
        open_client(own_host.url, "is left alone") as follower,
    ):
        for each in (client, follower):
            await each.initialize(ROOT)
        await client.accepted(ROOT, changed({"welcome": "hello"}))
        for _ in range(10):
            await client.accepted(ROOT, changed({"welcome": "hello"}))
        await client.accepted(ROOT, changed({}))
        await follower.ping()
        assert len(follower.envelopes[ROOT]) == 1
        assert values(follower) == {"welcome": "hello"}


@pytest.mark.parametrize("ending", ["stop", "kill"])
async def test_a_change_survives_a_restart(tmp_path: Path, ending: str) -> None:
    async with serve(tmp_path / "data") as host:
        async with open_client(host.url, "changes") as client:
            await client.initialize(ROOT)
            await client.accepted(ROOT, changed({"welcome": "still here"}))
        await (host.stop() if ending == "stop" else host.kill())
        await host.start()
        async with open_client(host.url, "changes") as client:
            await client.initialize(ROOT)
            assert values(client) == {"welcome": "still here"}
