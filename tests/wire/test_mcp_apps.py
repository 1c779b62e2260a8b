"""The side channel to a running server, for clients that show the pages of its apps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agenthost.tokens import Role
from tests.wire.client import WireClient, open_client
from tests.wire.people import peopled
from tests.wire.serving_tools import declare, entry_of, listed, program, state_of, told_to
from tests.wire.talking import Chat

Json = dict[str, Any]

SERVER = program(
    """
tools = [
    {"name": "page", "inputSchema": {"type": "object"}, "_meta": {"ui": {"visibility": ["app"]}}},
    {"name": "model", "inputSchema": {"type": "object"}},
]
"""
)


async def come(client: WireClient, *channels: str, apps: bool = True) -> None:
    capabilities: Json = {"mcpApps": {}} if apps else {}
    await client.initialize(*channels, capabilities=capabilities)


async def test_pages_reach_the_tools_that_are_meant_for_them(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    declare(folder, it=SERVER)
    session = "ahp-session:/apps"
    async with (
        peopled(tmp_path / "tokens", roots=[tmp_path], default_directory=tmp_path) as people,
        open_client(people.url("owner"), "plain", "1.0.0") as plain,
        open_client(people.url("owner"), "showing", "1.0.0") as showing,
        open_client(people.url("vic", Role.VIEWER), "vic", "1.0.0") as viewer,
        open_client(people.url("eve"), "eve", "1.0.0") as stranger,
    ):
        await come(plain, apps=False)
        uri = await plain.ready_session(session, workingDirectories=[folder.as_uri()])
        chat = Chat(uri, session, [plain])
        id = (await listed(plain, chat.session, "it"))["id"]
        await plain.request("agenthost/trustFolder", channel=chat.session, ids=[id])
        # Without anybody who could show a page there is no channel.
        await told_to(chat, "it", "Start")
        assert "channel" not in await state_of(plain, chat.session, "it", "ready")

        await come(showing, chat.session)
        shown = await showing.until(
            lambda: e if "channel" in (e := entry_of(showing, chat.session, "it")) else None
        )
        channel = shown["channel"]
        assert channel.startswith("mcp://")
        assert shown["mcpApp"] == {"capabilities": {"serverTools": {}}}
        tools = await showing.request("tools/list", channel=channel)
        assert [tool["name"] for tool in tools["tools"]] == ["page", "model"]
        arguments = {"a": 1}
        result = await showing.request(
            "tools/call", channel=channel, name="page", arguments=arguments
        )
        assert result["content"][0]["text"] == '{"a": 1}'

        for method, params in (
            ("tools/call", {"name": "model", "arguments": {}}),
            ("tools/call", {}),
            ("resources/list", {}),
            ("sampling/createMessage", {}),
        ):
            assert (await showing.refusal(method, channel=channel, **params)).code == -32601, method
        for other in (viewer, stranger):
            await come(other)
            failure = await other.refusal("tools/list", channel=channel)
            assert failure.code == -32008
            await other.subscribe(chat.session)
            failure = await other.refusal("tools/list", channel=channel)
            assert failure.code == -32009
        failure = await showing.refusal("tools/list", channel="mcp://somewhere")
        assert failure.code == -32008
        await told_to(chat, "it", "Stop")
        await state_of(showing, chat.session, "it", "stopped")
        assert "channel" not in entry_of(showing, chat.session, "it")
        assert (await showing.refusal("tools/list", channel=channel)).code == -32008
        await showing.until(
            lambda: e if "mcpApp" not in (e := entry_of(showing, chat.session, "it")) else None
        )
