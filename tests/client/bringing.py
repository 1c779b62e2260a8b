"""A scripted session with every kind of customization in it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agenthost.client import Session
from tests.client.scripted import SESSION, ScriptedHost, Side, snapshot

Json = dict[str, Any]

SKILLS: Json = {
    "type": "directory",
    "id": "c-skills",
    "uri": "file:///r/.agents/skills",
    "name": "Skills",
    "contents": "skill",
    "writable": True,
    "enabled": True,
    "load": {"kind": "degraded", "message": "1 of 2 cannot be used: broken/SKILL.md: line 3"},
    "children": [
        {
            "type": "skill",
            "id": "c-tidy",
            "uri": "file:///r/.agents/skills/tidy/SKILL.md",
            "name": "tidy",
            "description": "Tidies up",
        },
        {
            "type": "skill",
            "id": "c-broken",
            "uri": "file:///r/.agents/skills/broken/SKILL.md",
            "name": "broken",
            "_meta": {"agenthost/problem": "line 3: this is no YAML"},
        },
    ],
}

PLUGIN: Json = {
    "type": "plugin",
    "id": "c-plugin",
    "uri": "file:///r/.agents/plugins/review",
    "name": "review",
    "load": {"kind": "loaded"},
    "children": [
        {
            "type": "agent",
            "id": "c-agent",
            "uri": "file:///r/.agents/plugins/review/agents/reviewer.md",
            "name": "reviewer",
        }
    ],
}

SERVER: Json = {
    "type": "mcpServer",
    "id": "c-time",
    "uri": "file:///r/.mcp.json",
    "name": "time",
    "state": {"kind": "stopped"},
}


@asynccontextmanager
async def brought(*entries: Json, **options: Any) -> AsyncIterator[tuple[Session, Side]]:
    """Follow a session with these customizations, or with one of each sort."""
    host = ScriptedHost()
    client = host.client(**options)
    side = await host.welcome(client)
    given = list(entries or (SKILLS, PLUGIN, SERVER))
    try:
        following = asyncio.create_task(client.sessions.get(SESSION))
        await side.subscribed(snapshot(SESSION, 2, customizations=given))
        yield await following, side
    finally:
        await client.aclose()
