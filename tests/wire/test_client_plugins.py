"""Plugins that clients publish: read from them, kept by nonce, gone with them; hostile ones too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.host import Host, Limits
from agenthost.host.customizations.client_plugins import MOST_PLUGINS
from agenthost.host.store import SqliteStore
from tests.wire.bringing import SESSION, entries, serving, shown, tree, when
from tests.wire.client import WireClient, open_client

Json = dict[str, Any]
PLUGIN = "virtual://plugin"
FILES = {
    ".plugin/plugin.json": '{"name": "box", "version": "2"}',
    "skills/one/SKILL.md": "---\nname: one\ndescription: first\n---\nOne.\n",
    "skills/bad/SKILL.md": "---\nname: [x]\n---\n",
    "agents/helper.md": "---\nname: helper\n---\nHelp.\n",
    ".mcp.json": '{"mcpServers": {"run": {"command": "x"}}}',
}
SKILL = ("skill", "one")


async def publish(client: WireClient, *plugins: Json, session: str = SESSION) -> None:
    entry = {"clientId": client.client_id, "tools": [], "customizations": list(plugins)}
    await client.accepted(session, {"type": "session/activeClientSet", "activeClient": entry})


def plugin(nonce: str | None = None, on: bool = True, uri: str = PLUGIN, **more: Any) -> Json:
    """Return a plugin as a client publishes it."""
    entry = {"type": "plugin", "id": uri, "uri": uri, "name": "Box"}
    decided = [{"kind": "global", "enabled": on}]
    with_nonce = {"nonce": nonce} if nonce is not None else {}
    return {**entry, "enablement": decided, **with_nonce, **more}


@asynccontextmanager
async def following(
    folder: Path, *names: str, **options: Any
) -> AsyncIterator[tuple[Host, list[WireClient]]]:
    """Clients that follow one session; the first has made it."""
    options = {"roots": [folder], "default_directory": folder, **options}
    async with AsyncExitStack() as stack:
        host = await stack.enter_async_context(Host(**options))
        url = await host.listen(port=0)
        clients: list[WireClient] = []
        for name in names:
            client = await stack.enter_async_context(open_client(url, name))
            clients.append(client)
            await client.initialize()
            if len(clients) == 1:
                await client.ready_session(SESSION, workingDirectories=[folder.as_uri()])
            await client.subscribe(SESSION)
            await tree(client)
        yield host, clients


async def test_a_published_plugin_is_read_from_its_client_and_seen_by_all(tmp_path: Path) -> None:
    async with following(tmp_path, "one", "two") as (host, [one, two]):
        async with serving(one, PLUGIN, FILES):
            await publish(one, plugin())
            found = await when(two, lambda all: SKILL in all)
        box = found["plugin", "Box"]
        assert (box["clientId"], box["version"], box["uri"]) == ("one", "2", PLUGIN)
        assert box["load"]["kind"] == "degraded"
        assert "skills/bad/SKILL.md: `name` is no text" in box["load"]["message"]
        assert box["enablement"] == [{"kind": "global", "enabled": True}]
        assert found[SKILL]["uri"] == f"{PLUGIN}/skills/one/SKILL.md"
        assert found["mcpServer", "run"]["state"] == {"kind": "stopped"}
        states = [
            each["action"]["customization"]["load"]["kind"]
            for each in two.envelopes[SESSION]
            if each["action"]["type"] == "session/customizationUpdated"
        ]
        assert states == ["loading", "degraded"]
        session = host.core.directory.get(SESSION)
        assert session is not None
        [server] = host.core.customizations.servers(session)
        assert (server.client_id, server.origin, server.folder) == ("one", "client", str(tmp_path))


async def test_what_has_the_same_nonce_is_not_read_again(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {**FILES}
    async with following(tmp_path, "one") as (_, [one]), serving(one, PLUGIN, files) as asked:
        await publish(one, plugin("n1"))
        await when(one, lambda all: SKILL in all)
        first = len(asked)
        await publish(one, plugin("n1", on=False))
        off = await when(
            one,
            lambda all: (
                all["plugin", "Box"]["enablement"] == [{"kind": "global", "enabled": False}]
            ),
        )
        assert SKILL in off
        await publish(
            one, plugin("n1", childEnablement={"run": [{"kind": "global", "enabled": False}]})
        )
        await when(one, lambda all: "enablement" in all["mcpServer", "run"])
        assert len(asked) == first
        # Another session of the same client: what was read is known, only what was not there is
        # asked for again.
        await one.ready_session("ahp-session:/second", workingDirectories=[tmp_path.as_uri()])
        await publish(one, plugin("n1"), session="ahp-session:/second")
        await when(one, lambda all: SKILL in all, "ahp-session:/second")
        again = asked[first:]
        assert not [each for each in again if "SKILL.md" in each or each.endswith(PLUGIN)]
        files["skills/one/SKILL.md"] = "---\nname: one\ndescription: other\n---\n"
        await publish(one, plugin("n2"))
        await when(one, lambda all: all.get(SKILL, {}).get("description") == "other")
        # Without a nonce nobody knows, so it is read whenever it is published.
        files["skills/one/SKILL.md"] = "---\nname: one\ndescription: third\n---\n"
        await publish(one, plugin())
        await when(one, lambda all: all.get(SKILL, {}).get("description") == "third")


async def test_plugins_of_two_clients_stand_beside_each_other_and_go_with_their_client(
    tmp_path: Path,
) -> None:
    async with following(tmp_path, "one", "two", "three", active_grace=0.05) as (
        _,
        [one, two, three],
    ):
        async with serving(one, PLUGIN, FILES), serving(two, PLUGIN, {"skills/one/SKILL.md": "x"}):
            await publish(one, plugin("n"))
            await publish(two, plugin("n"))
            await three.until(lambda: {} if len(_boxes(three)) == 2 else None)
            await three.until(
                lambda: {} if all("children" in box for box in _boxes(three)) else None
            )
            mine, yours = _boxes(three)
            assert (mine["clientId"], yours["clientId"]) == ("one", "two")
            assert mine["id"] != yours["id"]
            assert len(mine["children"]) > len(yours["children"]) == 1
        # One says that it is no longer active, the other is simply gone.
        removed = {"type": "session/activeClientRemoved", "clientId": "one"}
        await one.accepted(SESSION, removed)
        await three.until(lambda: {} if len(_boxes(three)) == 1 else None)
        two.abort()
        await three.until(lambda: {} if not _boxes(three) else None)


def _boxes(client: WireClient) -> list[Json]:
    return [each for each in shown(client) or () if each["type"] == "plugin"]


async def test_after_a_restart_plugins_are_read_again_or_go(tmp_path: Path) -> None:
    store, folder = tmp_path / "db", tmp_path / "work"
    folder.mkdir()
    async with (
        following(folder, "stays", "goes", store=SqliteStore(store)) as (_, [stays, goes]),
        serving(stays, PLUGIN, FILES),
        serving(goes, PLUGIN, FILES),
    ):
        await publish(stays, plugin("n"))
        await publish(goes, plugin("n"))
        await stays.until(
            lambda: {} if [box for box in _boxes(stays) if "children" in box][1:] else None
        )
    options: Json = {"store": SqliteStore(store), "default_directory": folder, "active_grace": 0.3}
    async with (
        Host(**options) as host,
        open_client(await host.listen(port=0), "stays") as back,
        serving(back, PLUGIN, FILES) as asked,
    ):
        await back.resume(stays)
        await back.until(lambda: {} if _clients_read(back) == ["stays"] else None)
        assert f"resourceRead {PLUGIN}/skills/one/SKILL.md" in asked


def _clients_read(client: WireClient) -> list[str]:
    """Return whose plugins were read, if all of them were."""
    boxes = _boxes(client)
    return [box["clientId"] for box in boxes] if all("children" in box for box in boxes) else []


@pytest.mark.parametrize("how", ["refuses", "never answers", "garbage", "its own machine"])
async def test_a_client_that_does_not_serve_what_it_publishes_harms_nobody(
    tmp_path: Path, how: str
) -> None:
    # Whoever answers has all the time it takes.
    limits = Limits(reverse_call_seconds=0.1 if how == "never answers" else 60.0)
    uri = "file:///etc" if how == "its own machine" else PLUGIN
    async with following(tmp_path, "one", "two", limits=limits) as (_, [one, two]):
        answers: dict[str, Json] = {
            "refuses": {"error": {"code": -32009, "message": "not for you"}},
            "garbage": {"result": {"entries": [{"name": 7}], "data": []}},
        }

        async def answer() -> None:
            done: list[Json] = []
            while how in answers:
                done.append(await one.until(lambda: _request(one, len(done))))
                await one.send({"id": done[-1]["id"], **answers[how]})

        answering = asyncio.create_task(answer())
        await publish(one, plugin(uri=uri))
        found = await when(
            two, lambda all: all.get(("plugin", "Box"), {}).get("load", {}).get("kind") == "error"
        )
        expected = {
            "refuses": "not for you",
            "never answers": "it took too long to read",
            "garbage": "the client",
            "its own machine": "is nothing that a client serves",
        }
        assert expected[how] in found["plugin", "Box"]["load"]["message"]
        assert found["plugin", "Box"]["children"] == []
        if how == "its own machine":
            assert _request(one, 0) is None
        await two.ping()
        answering.cancel()


def _request(client: WireClient, number: int) -> Json | None:
    requests = [each for each in client.received if "method" in each and "id" in each]
    return requests[number] if len(requests) > number else None


async def test_of_too_many_plugins_the_rest_says_that_it_is_not_read(tmp_path: Path) -> None:
    async with following(tmp_path, "one") as (_, [one]), serving(one, "virtual://", {}):
        many = [plugin(uri=f"virtual://p{number}") for number in range(MOST_PLUGINS + 1)]
        await publish(one, *many)
        await one.until(
            lambda: {} if all("children" in box for box in _boxes(one)) and _boxes(one) else None
        )
        boxes = _boxes(one)
        assert len(boxes) == MOST_PLUGINS + 1
        assert boxes[-1]["load"]["message"] == "no more than 32 plugins of one client are read"


async def test_whether_a_plugin_is_on_everywhere_its_own_client_decides(tmp_path: Path) -> None:
    async with (
        following(tmp_path, "one", "two") as (_, [one, two]),
        serving(one, PLUGIN, FILES),
    ):
        await publish(one, plugin("n"))
        found = await when(two, lambda all: SKILL in all)
        toggled = {"type": "session/customizationToggled", "id": found["plugin", "Box"]["id"]}
        off: list[Json] = [{"kind": "global", "enabled": False}]
        reason = await two.rejected(SESSION, {**toggled, "enablement": off})
        assert reason == "whether Box is on everywhere, its own client decides"
        here = [{"kind": "session", "enabled": False}, {"kind": "global", "enabled": True}]
        await two.accepted(SESSION, {**toggled, "enablement": here})
        await one.accepted(SESSION, {**toggled, "enablement": off})
        # It stays so when the plugin is read again.
        await publish(one, plugin("n2", on=False))
        await when(
            two,
            lambda all: SKILL in all and all["plugin", "Box"].get("enablement") == off,
        )
        assert entries(shown(two))[SKILL]["id"] == found[SKILL]["id"]
