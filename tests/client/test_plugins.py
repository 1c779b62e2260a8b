"""A plugin that a client brings: announced, read by the host, announced again, taken back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agenthost.client import Rejected
from agenthost.client.plugins import plugin_entry, plugin_resources
from tests.client.scripted import SESSION, ScriptedHost, Side, snapshot

Json = dict[str, Any]

FILES: dict[str, str | bytes] = {
    "skills/tidy/SKILL.md": "---\nname: tidy\n---\nTidy up.\n",
    "logo.png": b"\x89PNG",
}
URI = "agenthost-plugin://me/my%20tools"


async def announced(side: Side, seq: int, reason: str | None = None) -> Json:
    """Answer the next announcement, and return what it says of the client."""
    sent = await side.next("dispatchAction")
    side.echo(sent, seq, "me", reason)
    client: Json = sent["params"]["action"]["activeClient"]
    return client


async def read(side: Side, method: str, uri: str) -> Json:
    """Let the host ask for one of the client's resources; return the answer."""
    side.send({"id": 7, "method": method, "params": {"channel": "ahp-root://", "uri": uri}})
    return await side.reply()


async def test_a_plugin_is_announced_read_and_taken_back() -> None:
    host = ScriptedHost()
    client = host.client()
    side = await host.welcome(client)
    try:
        publishing = asyncio.create_task(client.publish(SESSION, "my tools", FILES, version="1.2"))
        await side.subscribed(snapshot(SESSION, 2))
        (plugin,) = (await announced(side, 3))["customizations"]
        assert (plugin["uri"], plugin["name"], plugin["version"]) == (URI, "my tools", "1.2")
        take_back = await publishing

        listed = await read(side, "resourceList", URI)
        assert [entry["name"] for entry in listed["result"]["entries"]] == ["skills", "logo.png"]
        got = await read(side, "resourceRead", f"{URI}/skills/tidy/SKILL.md")
        assert got["result"]["data"] == FILES["skills/tidy/SKILL.md"]

        publishing = asyncio.create_task(client.publish(SESSION, "my tools", {"a.md": "new"}))
        (again,) = (await announced(side, 4))["customizations"]
        assert again["nonce"] != plugin["nonce"]
        take_back_again = await publishing
        got = await read(side, "resourceRead", f"{URI}/a.md")
        assert got["result"]["data"] == "new"

        take_back()
        take_back_again()
        assert "customizations" not in await announced(side, 5)
        assert "error" in await read(side, "resourceRead", f"{URI}/a.md")
    finally:
        await client.aclose()


async def test_a_plugin_that_the_host_refuses_is_not_served() -> None:
    host = ScriptedHost()
    client = host.client()
    side = await host.welcome(client)
    try:
        publishing = asyncio.create_task(client.publish(SESSION, "my tools", FILES))
        await side.subscribed(snapshot(SESSION, 2))
        await announced(side, 3, reason="viewers bring nothing")
        with pytest.raises(Rejected, match="viewers bring nothing"):
            await publishing
        assert "error" in await read(side, "resourceList", URI)
    finally:
        await client.aclose()


async def test_a_host_that_forgot_the_client_is_told_of_the_plugin_again() -> None:
    host = ScriptedHost()
    client = host.client()
    side = await host.welcome(client)
    try:
        publishing = asyncio.create_task(client.publish(SESSION, "my tools", FILES))
        await side.subscribed(snapshot(SESSION, 2))
        await announced(side, 3)
        await publishing
        side.action(SESSION, 4, {"type": "session/activeClientRemoved", "clientId": "me"})
        (plugin,) = (await announced(side, 5))["customizations"]
        assert plugin["uri"] == URI
    finally:
        await client.aclose()


def test_equal_files_have_an_equal_nonce_and_others_another() -> None:
    def nonce(files: dict[str, str | bytes]) -> str:
        return str(plugin_entry(URI, "n", files, None)["nonce"])

    assert nonce({"a": "1", "b": "2"}) == nonce({"b": b"2", "a": "1"})
    assert nonce({"a": "1b2"}) != nonce({"a": "1", "b": "2"})


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../up", "a/../../b", "a//b", "./a"])
def test_a_path_that_leads_out_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="no path inside of a plugin"):
        plugin_resources(URI, {path: "text"})
