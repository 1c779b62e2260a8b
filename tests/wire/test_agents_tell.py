"""What agents tell of their session besides their answer, on the wire."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import Agent, Turn
from agenthost.host import Host, SqliteStore
from tests.wire.client import open_client
from tests.wire.hosting import embed
from tests.wire.talking import calls_of
from tests.wire.test_damage import damage
from tests.wire.wording import failure_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = "ahp-root://"


class Teller(Agent):
    provider, display_name = "teller", "Teller"
    models: Any = ({"id": "small", "provider": "teller", "name": "Small"},)

    async def run(self, turn: Turn) -> None:
        if turn.text == "models":
            self.models = (*self.models, {"id": "large", "provider": "teller", "name": "Large"})
            self.changed()
        elif turn.text == "work":
            async with turn.tool("task", display_name="Task") as call:
                await call.delegate(
                    "hello", title="Helper", agent_name="looker", description="Looks things up"
                )
        else:
            await turn.set_title("Named by the agent")
            await turn.set_meta("teller", {"ticket": 7})
            place = {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}}
            id = await turn.annotate("file:///a.py", "why?", range=place)
            await turn.annotate("file:///a.py", "because", id=id)
            await turn.write("told")


async def test_an_agent_names_describes_and_annotates_and_fresh_snapshots_say_so() -> None:
    async with embed(Teller()) as url, open_client(url) as client:
        await client.initialize(ROOT)
        chat = await client.ready_session("s:/1")
        await client.subscribe(chat)
        await client.subscribe("s:/1/annotations")
        await client.run_turn(chat, "t1", "tell")
        await client.ping()
        session = client.states["s:/1"]
        assert session["title"] == session["chats"][0]["title"] == "Named by the agent"
        assert session["_meta"]["teller"] == {"ticket": 7}
        (note,) = client.states["s:/1/annotations"]["annotations"]
        assert note["resource"] == "file:///a.py"
        assert note["origin"] == {"session": "s:/1", "chat": chat, "turnId": "t1"}
        assert [entry["text"] for entry in note["entries"]] == ["because"]
        # Who comes new hears what no action tells a chat or a session.
        assert (await client.fresh(chat))["title"] == "Named by the agent"
        counts = {"resource": "s:/1/annotations", "annotationCount": 1, "entryCount": 1}
        assert (await client.fresh("s:/1"))["annotations"] == counts
        renamed = {"type": "session/titleChanged", "title": "By a person"}
        await client.accepted(chat, renamed)
        assert (await client.fresh(chat))["title"] == "By a person"


async def test_what_an_agent_annotates_is_there_though_nobody_followed_the_annotations(
    tmp_path: Path,
) -> None:
    store = tmp_path / "store.sqlite"
    async with (
        Host([Teller()], store=SqliteStore(store)) as host,
        open_client(await host.listen(port=0)) as client,
    ):
        await client.initialize(ROOT)
        chat = await client.ready_session("s:/1")
    # In a host that has just started, nothing of the session is in memory.
    async with (
        Host([Teller()], store=SqliteStore(store)) as host,
        open_client(await host.listen(port=0)) as client,
    ):
        await client.initialize(ROOT)
        await client.subscribe(chat)
        await client.run_turn(chat, "t1", "tell")
        (note,) = (await client.fresh("s:/1/annotations"))["annotations"]
        assert [entry["text"] for entry in note["entries"]] == ["because"]


async def test_a_turn_ends_with_a_reason_where_what_it_would_annotate_is_damaged(
    tmp_path: Path,
) -> None:
    store = tmp_path / "agenthost.sqlite"
    for turn in ("t1", "t2"):
        async with (
            Host([Teller()], store=SqliteStore(store)) as host,
            open_client(await host.listen(port=0)) as client,
        ):
            await client.initialize(ROOT)
            if turn == "t1":
                chat = await client.ready_session("s:/1")
            await client.subscribe(chat)
            await client.run_turn(chat, turn, "tell")
            ended = client.states[chat]["turns"][-1]
        damage(tmp_path, "s:/1/annotations")
    error = failure_of(ended)
    assert error["errorType"] == "annotationsUnreadable"
    assert "s:/1/annotations is damaged" in error["message"]


async def test_models_that_change_are_told_while_the_host_runs() -> None:
    async with embed(Teller()) as url, open_client(url) as client:
        await client.initialize(ROOT)
        chat = await client.ready_session("s:/1")
        await client.subscribe(chat)
        await client.run_turn(chat, "t1", "models")
        await client.action(ROOT, "root/agentsChanged")
        (agent,) = client.states[ROOT]["agents"]
        assert [model["id"] for model in agent["models"]] == ["small", "large"]


async def test_a_worker_has_a_name_and_a_description() -> None:
    async with embed(Teller()) as url, open_client(url) as client:
        await client.initialize(ROOT)
        chat = await client.ready_session("s:/1")
        await client.subscribe(chat)
        await client.run_turn(chat, "t1", "work")
        (call,) = calls_of(client.states[chat]["turns"][0])
        block = call["content"][0]
        assert (block["agentName"], block["description"]) == ("looker", "Looks things up")
        assert call["_meta"]["subagentAgentName"] == "looker"
