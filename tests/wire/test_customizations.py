"""What people keep in folders is seen in the sessions that work there, and reaches turns."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import Agent, Turn
from agenthost.agents.turn_customizations import GlobRule, Prompt, Skill, TurnCustomizations
from agenthost.host import Host
from agenthost.host.store import SqliteStore
from agenthost.protocol import SUPPORTED_VERSIONS
from tests.customizations.repository import SECRET, make_repository, write_files
from tests.wire.bringing import SESSION, entries, shown, tree, when, working_in
from tests.wire.client import WireClient, open_client, user_message
from tests.wire.schemas import complaints_about, needs_schemas
from tests.wire.wording import since

Json = dict[str, Any]

PROBLEMS = {
    ("skill", "bomb"): "anchors",
    ("agent", "leads-out"): "it leads out",
    ("rule", "pipe"): "no regular file",
}
SKILL = ".agents/skills/review/SKILL.md"
AGENT = "---\ndescription: plans\nmodel: opus\ntools: read\n---\nYou plan.\n"


def told(client: WireClient) -> list[Json]:
    """Return the actions about customizations that a client was told."""
    actions = [each["action"] for each in client.envelopes[SESSION]]
    return [each for each in actions if each["type"].startswith("session/customization")]


def with_agent(uri: str) -> Json:
    return {**user_message("hello"), "agent": {"uri": uri}}


@needs_schemas
async def test_all_that_is_told_of_customizations_is_valid_in_each_version(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "work")
    async with working_in(folder, *SUPPORTED_VERSIONS) as (_, clients, _):
        newest = clients[0]
        found = entries(await tree(newest))
        off = [{"kind": "session", "enabled": False}, {"kind": "global", "enabled": True}]
        for key in (("skill", "review"), ("plugin", "tool-box"), ("mcpServer", "time")):
            toggled = {"type": "session/customizationToggled", "id": found[key]["id"]}
            await newest.accepted(SESSION, {**toggled, "enablement": off})
        (folder / "CLAUDE.md").unlink(missing_ok=True)
        (folder / ".agents/skills/newest").mkdir(parents=True)
        (folder / ".agents/skills/newest/SKILL.md").write_text("---\nname: newest\n---\n")
        for client in clients:
            await when(client, lambda all: ("skill", "newest") in all)
            assert complaints_about(client) == [], client.version


async def test_each_version_sees_every_kind_of_file_whatever_is_broken_beside_it(
    tmp_path: Path,
) -> None:
    folder = make_repository(tmp_path / "work")
    async with working_in(folder, *SUPPORTED_VERSIONS) as (_, clients, _):
        ids = {each["id"] for each in entries(await tree(clients[0])).values()}
        for client in clients:
            found = entries(await tree(client))
            assert {each["id"] for each in found.values()} == ids
            assert found["skill", "review"]["description"] == "Reviews"
            if since(client.version, "0.5.1"):
                assert found["agent", "planner"]["tools"] == ["read", "search"]
            assert found["rule", "AGENTS.md"]["alwaysApply"] is True
            assert found["rule", "web/AGENTS.md"]["globs"] == ["web/**"]
            assert (
                found["prompt", "plan"]["uri"]
                == f"{folder.as_uri()}/.github/prompts/plan.prompt.md"
            )
            assert ("hook", "lint") in found
            assert found["mcpServer", "time"]["state"] == {"kind": "stopped"}
            # What is broken says so where it stands, and what it stands in says that it is.
            assert found["mcpServer", "asks"]["state"]["kind"] == "error"
            assert found["plugin", "broken"]["load"]["kind"] == "error"
            assert found["plugin", "leaving"]["load"]["kind"] == "degraded"
            if since(client.version, "0.5.2"):
                source = found["mcpServer", "box"]["_meta"]["agentHost.mcpServerSource"]
                assert source == "plugin"
                for key, problem in PROBLEMS.items():
                    assert problem in found[key]["_meta"]["agenthost/problem"]
            has_scopes = since(client.version, "0.8.0")
            for entry in (found["plugin", "tool-box"], found["mcpServer", "time"]):
                assert entry.get("enabled") is (None if has_scopes else True)
                assert "enablement" not in entry
            mirrored, fresh = await client.compared(SESSION)
            assert mirrored == fresh
        assert SECRET not in json.dumps([client.received for client in clients])


async def test_what_changes_in_the_folder_is_seen_at_once_and_nothing_else_is_told(
    tmp_path: Path,
) -> None:
    folder = make_repository(tmp_path / "work")
    async with working_in(folder, "1.0.0", "0.7.0") as (_, (new, old), _):
        before = entries(await tree(new))
        await tree(old)
        (folder / SKILL).write_text("---\nname: review\ndescription: Reviews twice\n---\nLook.\n")
        for client in (new, old):
            await when(
                client, lambda all: all["skill", "review"].get("description") == "Reviews twice"
            )
        [whole, update] = told(new)
        assert whole["type"] == "session/customizationsChanged"
        assert update["type"] == "session/customizationUpdated"
        assert update["customization"]["uri"] == f"{folder.as_uri()}/.agents/skills"
        after = entries(shown(new))
        assert after["skill", "review"]["id"] == before["skill", "review"]["id"]

        (folder / SKILL).unlink()
        write_files(folder, {".claude/agents/new.md": AGENT, ".mcp.json": "{}"})
        found = await when(
            new,
            lambda all: (
                ("skill", "review") not in all
                and ("agent", "new") in all
                and ("mcpServer", "time") not in all
            ),
        )
        assert found["agent", "new"]["model"] == "opus"


async def test_a_place_for_skills_is_shown_before_it_is_there_and_filled_when_it_is(
    tmp_path: Path,
) -> None:
    async with working_in(tmp_path) as (_, [client], _):
        [offered] = await tree(client)
        assert (offered["contents"], offered["writable"], offered["children"]) == (
            "skill",
            True,
            [],
        )
        write_files(tmp_path, {SKILL: "---\nname: review\ndescription: d\n---\nLook.\n"})
        found = await when(client, lambda all: ("skill", "review") in all)
        assert found["directory", "Skills"]["id"] == offered["id"]


async def test_an_agent_that_is_not_there_is_refused_with_the_list_of_those_that_are(
    tmp_path: Path,
) -> None:
    write_files(
        tmp_path,
        {
            ".claude/agents/planner.md": AGENT,
            ".claude/agents/secret.md": "---\nuser-invocable: false\n---\nHidden.\n",
            ".claude/agents/broken.md": "---\nname: [a]\n---\n",
        },
    )
    planner = f"{tmp_path.as_uri()}/.claude/agents/planner.md"
    async with working_in(tmp_path) as (_, [client], chat):
        await client.subscribe(chat)
        start = client.turn_started("t1", "hello")
        # At once: the agents of a session that was just opened are waited for.
        for name in ("nobody", "secret", "broken"):
            uri = f"{tmp_path.as_uri()}/.claude/agents/{name}.md"
            reason = await client.rejected(chat, {**start, "message": with_agent(uri)})
            assert reason == (
                f"there is no agent {uri} in this session; there is planner ({planner})"
            )
        queued = {"type": "chat/pendingMessageSet", "kind": "queued", "id": "q"}
        reason = await client.rejected(chat, {**queued, "message": with_agent("file:///x")})
        assert "there is planner" in reason
        found = entries(await tree(client))
        off = {"type": "session/customizationToggled", "id": found["agent", "planner"]["id"]}
        await client.accepted(
            SESSION, {**off, "enablement": [{"kind": "session", "enabled": False}]}
        )
        reason = await client.rejected(chat, {**start, "message": with_agent(planner)})
        assert reason.endswith("; there is none to choose")
        await client.accepted(SESSION, {**off, "enablement": []})
        await client.accepted(chat, {**start, "message": with_agent(planner)})
        await client.turn_end(chat, "t1")


class Curious(Agent):
    """Keeps what its turns were given, and reads all of it."""

    provider = "curious"
    display_name = "Curious"
    description = "Reads"
    customizations: Sequence[Json] = (
        {
            "type": "plugin",
            "id": "own",
            "uri": "builtin:own",
            "name": "own",
            "children": [
                {"type": "skill", "id": "a", "uri": "builtin:own/a", "name": "a"},
            ],
        },
    )

    def __init__(self) -> None:
        super().__init__()
        self.given: list[TurnCustomizations] = []
        self.read: list[str] = []

    async def run(self, turn: Turn) -> None:
        given = turn.customizations
        self.given.append(given)
        listed: list[Skill | Prompt | GlobRule] = [*given.skills, *given.prompts, *given.rules]
        for item in listed:
            self.read.append(await given.load(item))


async def test_a_turn_looks_again_where_its_agent_brings_others_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Curious()
    async with working_in(tmp_path, agents=[agent], user_folders=[]) as (host, [client], chat):
        await client.subscribe(chat)
        assert ("plugin", "own") in entries(await tree(client))
        looks: list[object] = []
        look = host.core.customizations._look
        monkeypatch.setattr(
            host.core.customizations, "_look", lambda session: looks.append(look(session))
        )
        await client.run_turn(chat, "t1", "hello")
        assert looks == []
        other = {"type": "prompt", "id": "b", "uri": "builtin:b", "name": "other"}
        agent.customizations = (other,)
        await client.run_turn(chat, "t2", "hello")
        assert len(looks) == 1
        found = await when(client, lambda now: ("prompt", "other") in now)
        assert ("plugin", "own") not in found


async def test_a_turn_sees_what_its_agent_has_added_to_its_own_list(tmp_path: Path) -> None:
    agent = Curious()
    brings: list[Json] = list(agent.customizations)
    agent.customizations = brings
    async with working_in(tmp_path, agents=[agent], user_folders=[]) as (_, [client], chat):
        await client.subscribe(chat)
        assert ("prompt", "other") not in entries(await tree(client))
        brings.append({"type": "prompt", "id": "b", "uri": "builtin:b", "name": "other"})
        await client.run_turn(chat, "t1", "hello")
        await when(client, lambda now: ("prompt", "other") in now)


async def test_a_turn_is_given_what_is_on_and_can_be_used(tmp_path: Path) -> None:
    folder, user = tmp_path / "work", tmp_path / "user"
    write_files(
        folder,
        {
            "AGENTS.md": "Use tabs.\n",
            "CLAUDE.md": "Use tabs.\n",
            "web/AGENTS.md": "Use React.\n",
            ".claude/agents/planner.md": AGENT,
            SKILL: "---\nname: review\ndescription: Reviews\n---\nLook twice.\n",
            ".agents/skills/bad/SKILL.md": "---\nname: [x]\n---\n",
            ".github/prompts/plan.prompt.md": "Make a plan.\n",
            ".agents/plugins/box/skills/one/SKILL.md": "---\ndescription: d\n---\nOne.\n",
        },
    )
    write_files(user, {"AGENTS.md": "Be kind.\n"})
    agent = Curious()
    options = {"agents": [agent], "user_folders": [user]}
    async with working_in(folder, **options) as (_, [client], chat):
        await client.subscribe(chat)
        found = entries(await tree(client))
        assert {("skill", "a"), ("plugin", "own")} <= found.keys()
        start = client.turn_started("t1", "hello")
        message = with_agent(found["agent", "planner"]["uri"])
        await client.accepted(chat, {**start, "message": message})
        await client.turn_end(chat, "t1")
        [given] = agent.given
        assert given.instructions == (
            f"# {user}/AGENTS.md\n\nBe kind.\n\n# {folder}/AGENTS.md\n\nUse tabs."
        )
        assert [each.name for each in given.skills] == ["review", "box:one"]
        assert [each.name for each in given.prompts] == ["plan"]
        assert [each.globs for each in given.rules] == [("web/**",)]
        assert given.agent is not None
        assert (given.agent.instructions, given.agent.model) == ("You plan.\n", "opus")
        assert given.agent.tools == ("read",)
        assert [text.strip() for text in agent.read] == [
            "Look twice.",
            "One.",
            "Make a plan.",
            "Use React.",
        ]
        off = {
            "type": "session/customizationToggled",
            "enablement": [{"kind": "session", "enabled": False}],
        }
        [instructions] = [e for e in shown(client) or () if e["uri"] == folder.as_uri()]
        for entry in (found["skill", "review"], instructions):
            await client.accepted(SESSION, {**off, "id": entry["id"]})
        await client.run_turn(chat, "t2", "again")
        assert [each.name for each in agent.given[-1].skills] == ["box:one"]
        assert agent.given[-1].instructions == f"# {user}/AGENTS.md\n\nBe kind."
        assert agent.given[-1].agent is None


async def test_skills_and_prompts_complete_behind_a_slash(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        {
            SKILL: "---\nname: reread\ndescription: Reads\n---\n",
            ".claude/skills/hidden/SKILL.md": "---\nname: renew\nuser-invocable: no\n---\n",
            ".github/prompts/report.prompt.md": "Report.\n",
            ".agents/plugins/box/skills/redo/SKILL.md": "---\nname: redo\ndescription: d\n---\n",
            ".agents/skills/bad/SKILL.md": "---\nname: rebroken\ndescription: [a]\n---\n",
        },
    )
    async with working_in(tmp_path) as (_, [client], chat):
        found = entries(await tree(client))
        items = (
            await client.request(
                "completions", channel=chat, kind="userMessage", text="/re", offset=3
            )
        )["items"]
        assert [item["insertText"] for item in items] == [
            "/review ",
            "/reread ",
            "/report ",
            "/box:redo ",
        ]
        skill = items[1]["attachment"]
        assert skill["_meta"]["agenthost/customization"] == found["skill", "reread"]["id"]
        assert skill["_meta"]["description"] == "Reads"
        assert (items[1]["rangeStart"], items[1]["rangeEnd"]) == (0, 3)


async def test_a_host_that_comes_back_shows_the_same_under_the_same_ids(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    write_files(folder, {SKILL: "---\nname: review\ndescription: d\n---\n", ".mcp.json": SERVERS})
    store = tmp_path / "store.db"
    async with working_in(folder, store=SqliteStore(store)) as (host, [client], _):
        before = entries(await tree(client))
        session = host.core.directory.get(SESSION)
        assert session is not None
        host.core.customizations.set_server_state(
            session, before["mcpServer", "time"]["id"], {"kind": "ready"}
        )
        await when(client, lambda all: all["mcpServer", "time"]["state"]["kind"] == "ready")
    write_files(folder, {".claude/agents/new.md": AGENT})
    async with (
        Host(store=SqliteStore(store), default_directory=folder) as host,
        open_client(await host.listen(port=0), "later") as client,
    ):
        await client.initialize(SESSION)
        after = await when(client, lambda all: ("agent", "new") in all)
        assert after["skill", "review"] == before["skill", "review"]
        # Nothing runs any more.
        assert after["mcpServer", "time"]["state"] == {"kind": "stopped"}


SERVERS = json.dumps({"mcpServers": {"time": {"command": "time-server"}}})


def starts_behind(entry: Json, character: int) -> bool:
    return bool(entry["range"]["start"]["character"] > character)


async def test_the_state_of_a_server_is_kept_when_its_file_is_read_again(tmp_path: Path) -> None:
    write_files(tmp_path, {".mcp.json": SERVERS})
    async with working_in(tmp_path) as (host, [client], _):
        id = entries(await tree(client))["mcpServer", "time"]["id"]
        session = host.core.directory.get(SESSION)
        assert session is not None
        service = host.core.customizations
        # Whoever runs servers knows nothing of this one.
        service.on_servers_changed = lambda session: None
        service.set_server_state(
            session, id, {"kind": "ready"}, channel="mcp:/x", log="ahp-terminal:/l"
        )
        more = {"mcpServers": {"a": {"command": "b"}, "time": {"command": "time-server"}}}
        write_files(tmp_path, {".mcp.json": json.dumps(more)})
        await when(client, lambda all: ("mcpServer", "a") in all)
        # Where it is now is told by itself.
        found = await when(client, lambda all: starts_behind(all["mcpServer", "time"], 30))
        time = found["mcpServer", "time"]
        assert (time["id"], time["state"], time["channel"]) == (id, {"kind": "ready"}, "mcp:/x")
        assert time["_meta"]["agenthost/log"] == "ahp-terminal:/l"
        assert [each.declaration.name for each in service.servers(session)] == ["a", "time"]
        assert {each.folder for each in service.servers(session)} == {str(tmp_path)}


async def test_the_switch_of_the_host_takes_everything_away_and_brings_it_back(
    tmp_path: Path,
) -> None:
    write_files(tmp_path, {SKILL: "---\nname: review\ndescription: d\n---\n"})
    async with working_in(tmp_path) as (_, [client], _):
        await client.subscribe("ahp-root://")
        await tree(client)
        for on in (False, True):
            config = {"customizations.enabled": on}
            await client.accepted("ahp-root://", {"type": "root/configChanged", "config": config})
            if on:
                await when(client, lambda all: ("skill", "review") in all)
            else:
                await when(client, lambda all: not all)


@pytest.mark.parametrize("shape", ["many", "circle", "pipes"])
async def test_hostile_folders_hold_nobody_up(tmp_path: Path, shape: str) -> None:
    folder = tmp_path / "work"
    write_files(folder, {SKILL: "---\nname: review\ndescription: d\n---\n"})
    if shape == "many":
        rules = folder / ".claude/rules"
        rules.mkdir(parents=True)
        for number in range(10_000):
            (rules / f"{number}.md").touch()
    elif shape == "circle":
        for place in (".claude/skills", ".github/instructions", ".agents/plugins"):
            (folder / place).mkdir(parents=True)
            os.symlink(folder, folder / place / "loop")
            os.symlink("self", folder / place / "self")
    else:
        for place in (".claude/skills/pipe", ".agents/plugins/p/skills/pipe"):
            (folder / place).mkdir(parents=True)
            os.mkfifo(folder / place / "SKILL.md")
        os.mkfifo(folder / ".mcp.json")
    async with working_in(folder) as (_, [client], chat):
        await client.subscribe(chat)
        await client.run_turn(chat, "t1", "hello")
        found = await when(client, lambda all: ("skill", "review") in all)
        problems = [
            each for each in found.values() if (each.get("load") or {}).get("kind") == "degraded"
        ]
        if shape == "many":
            [rules_entry] = [each for each in (shown(client) or ()) if each["name"] == "Rules"]
            assert len(rules_entry["children"]) == 1_000
            assert "only the first 1000" in rules_entry["load"]["message"]
        elif shape == "pipes":
            assert "no regular file" in json.dumps(problems)
            assert "no regular file" in found["mcpServer", ".mcp.json"]["state"]["error"]["message"]


async def test_of_a_storm_of_changes_the_end_is_told_and_little_else(tmp_path: Path) -> None:
    write_files(tmp_path, {SKILL: "---\nname: review\ndescription: d\n---\n"})
    async with working_in(tmp_path) as (_, [client], _):
        await tree(client)

        def write() -> None:
            for number in range(500):
                (tmp_path / SKILL).write_text(f"---\nname: review\ndescription: d{number}\n---\n")

        storm = asyncio.create_task(asyncio.to_thread(write))
        while not storm.done():
            await client.ping()
        await when(client, lambda all: all["skill", "review"].get("description") == "d499")
        assert len(told(client)) < 30
