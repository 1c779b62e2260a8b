"""What is switched off stays off: for a session, a workspace or everywhere, over a crash too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agenthost.tokens import Role
from tests.customizations.repository import write_files
from tests.wire.bringing import SESSION, entries, tree, when, working_in
from tests.wire.client import WireClient, open_client
from tests.wire.hosting import serve
from tests.wire.people import peopled

Json = dict[str, Any]
FILES = {
    ".mcp.json": json.dumps({"mcpServers": {"time": {"command": "a"}, "docs": {"command": "b"}}}),
    ".agents/skills/review/SKILL.md": "---\nname: review\ndescription: d\n---\n",
    ".agents/skills/release/SKILL.md": "---\nname: release\ndescription: d\n---\n",
    ".agents/plugins/box/skills/one/SKILL.md": "---\nname: one\ndescription: d\n---\n",
}
OTHER = "ahp-session:/other"
ELSEWHERE = "ahp-session:/elsewhere"


def session(on: bool) -> Json:
    return {"kind": "session", "enabled": on}


def workspace(folder: Path, on: bool) -> Json:
    return {"kind": "workspace", "uri": folder.as_uri(), "enabled": on}


def everywhere(on: bool) -> Json:
    return {"kind": "global", "enabled": on}


async def decide(client: WireClient, name: tuple[str, str], *decisions: Json) -> Json:
    entry = entries(await tree(client))[name]
    toggled = {"type": "session/customizationToggled", "id": entry["id"]}
    return await client.dispatched(SESSION, {**toggled, "enablement": list(decisions)})


async def follow(client: WireClient, folder: Path, other: Path) -> None:
    """Follow three sessions: two in one folder, one in another."""
    for name, place in ((SESSION, folder), (OTHER, folder), (ELSEWHERE, other)):
        await client.request("createSession", channel=name, workingDirectories=[place.as_uri()])
        await client.subscribe(name)
        await tree(client, name)


async def test_decisions_hold_in_their_scope_over_a_crash_and_for_old_clients(
    tmp_path: Path,
) -> None:
    folder, other = tmp_path / "work", tmp_path / "other"
    for place in (folder, other):
        write_files(place, FILES)
    # The same plugin for both folders: what is decided everywhere is decided about it.
    shared = tmp_path / "shared"
    write_files(shared, {"skills/all/SKILL.md": "---\nname: all\ndescription: d\n---\n"})
    plugin, server, docs = ("plugin", "shared"), ("mcpServer", "time"), ("mcpServer", "docs")
    skill, release = ("skill", "review"), ("skill", "release")
    async with serve(tmp_path / "data", "--root", str(tmp_path)) as host:
        async with (
            open_client(host.url, "new") as new,
            open_client(host.url, "old", "0.7.0") as old,
        ):
            await new.initialize("ahp-root://")
            config = {"plugins": [str(shared)]}
            await new.accepted("ahp-root://", {"type": "root/configChanged", "config": config})
            await follow(new, folder, other)
            await old.initialize(SESSION)

            await decide(new, skill, session(False))
            await decide(new, server, workspace(folder, False))
            await decide(new, plugin, everywhere(False))
            # An old client decides for the session, and takes no other decision back.
            found = entries(await tree(old))
            assert found[server]["enabled"] is False
            on = {
                "type": "session/customizationToggled",
                "id": found[server]["id"],
                "enabled": True,
            }
            await old.accepted(SESSION, on)
            off = {
                "type": "session/customizationToggled",
                "id": found[docs]["id"],
                "enabled": False,
            }
            await old.accepted(SESSION, off)
            gone = {**off, "id": found[release]["id"]}
            await old.accepted(SESSION, gone)
            await when(new, lambda all: all[release].get("enabled") is False)
            # Other sessions are told as far as it concerns them.
            await when(new, lambda all: "enablement" in all[plugin], ELSEWHERE)
            await when(new, lambda all: "enablement" in all[server], OTHER)
            expected = await _seen(new)
            assert expected == {
                SESSION: {
                    server: [session(True), workspace(folder, False)],
                    docs: [session(False)],
                    plugin: [everywhere(False)],
                    skill: False,
                    release: False,
                },
                OTHER: {server: [workspace(folder, False)], plugin: [everywhere(False)]},
                ELSEWHERE: {plugin: [everywhere(False)]},
            }
        await host.kill()
        await host.start()
        async with (
            open_client(host.url, "later") as later,
            open_client(host.url, "older", "0.7.0") as older,
        ):
            await later.initialize(SESSION, OTHER, ELSEWHERE)
            assert await _seen(later) == expected
            # What comes back is what it was.
            (folder / ".mcp.json").unlink()
            for each in (SESSION, OTHER):
                await when(later, lambda all: server not in all, each)
            write_files(folder, FILES)
            for each in (SESSION, OTHER):
                await when(later, lambda all: docs in all and server in all, each)
            assert await _seen(later) == expected
            await older.initialize(SESSION)
            found = entries(await tree(older))
            flags = [found[key].get("enabled") for key in (server, docs, plugin, skill, release)]
            assert flags == [True, False, False, False, False]
            # A new session in the folder has what was decided for the folder and everywhere.
            fresh = "ahp-session:/fresh"
            where = [folder.as_uri()]
            await later.request("createSession", channel=fresh, workingDirectories=where)
            await later.subscribe(fresh)
            assert _decided(entries(await tree(later, fresh))) == expected[OTHER]


async def _seen(client: WireClient) -> dict[str, dict[tuple[str, str], Any]]:
    return {
        name: _decided(entries(await tree(client, name))) for name in (SESSION, OTHER, ELSEWHERE)
    }


def _decided(found: dict[tuple[str, str], Json]) -> dict[tuple[str, str], Any]:
    """Return what was decided about the entries of a tree, where anything was."""
    decided: dict[tuple[str, str], Any] = {}
    for key, each in found.items():
        if "enablement" in each:
            decided[key] = each["enablement"]
        elif each.get("enabled") is False:
            decided[key] = False
    return decided


async def test_a_decision_that_cannot_hold_is_refused(tmp_path: Path) -> None:
    write_files(tmp_path, FILES)
    async with working_in(tmp_path) as (_, [client], _):
        found = entries(await tree(client))
        toggled = {"type": "session/customizationToggled", "id": found["plugin", "box"]["id"]}
        refused = {
            "there are two decisions for the session scope": [session(True), session(False)],
            f"file:///x is not where this session works: the workspace of this session is "
            f"{tmp_path.as_uri()}": [{"kind": "workspace", "uri": "file:///x", "enabled": True}],
        }
        for reason, decisions in refused.items():
            said = await client.rejected(SESSION, {**toggled, "enablement": decisions})
            assert said == reason
        nobody = {**toggled, "id": "c-0", "enablement": []}
        assert await client.rejected(SESSION, nobody) == "there is no customization c-0"
        # In whatever order they are given, the narrowest counts and stands first.
        both = [everywhere(True), session(False)]
        await client.dispatch(SESSION, {**toggled, "enablement": both})
        await when(
            client, lambda all: all["plugin", "box"].get("enablement") == list(reversed(both))
        )


async def test_only_owners_decide_for_other_sessions(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    write_files(folder, FILES)
    options = {"roots": [folder], "default_directory": folder}
    async with (
        peopled(tmp_path / "data", **options) as people,
        people.client("owner") as owner,
        people.client("op") as operator,
        people.client("guest", Role.VIEWER) as viewer,
    ):
        await operator.ready_session(SESSION, workingDirectories=[folder.as_uri()])
        for client in (owner, operator, viewer):
            await client.subscribe(SESSION)
            await tree(client)
        plugin = ("plugin", "box")
        assert "rejectionReason" not in await decide(owner, plugin, everywhere(False))
        await when(operator, lambda all: "enablement" in all[plugin])
        for decisions in ([], [session(True)], [session(True), everywhere(True)]):
            answer = await decide(operator, plugin, *decisions)
            assert "only an owner decides" in answer["rejectionReason"]
        answer = await decide(operator, ("skill", "review"), workspace(folder, False))
        assert "only an owner decides" in answer["rejectionReason"]
        # Where only a flag is shown, nothing at all would take back what others have decided.
        skill = ("skill", "release")
        assert "rejectionReason" not in await decide(owner, skill, everywhere(False))
        await when(operator, lambda all: all[skill].get("enabled") is False)
        answer = await decide(operator, skill)
        assert "only an owner takes back" in answer["rejectionReason"]
        assert "rejectionReason" in await decide(viewer, plugin, session(True))
        mine = await decide(operator, plugin, session(True), everywhere(False))
        assert "rejectionReason" not in mine
        await when(
            owner, lambda all: all[plugin].get("enablement") == [session(True), everywhere(False)]
        )


async def test_what_was_decided_in_a_session_goes_where_the_session_goes(tmp_path: Path) -> None:
    """Into its fork, and into the trash and back."""
    # Without servers: whoever takes a turn would be asked for trust.
    write_files(tmp_path, {name: text for name, text in FILES.items() if name != ".mcp.json"})
    async with working_in(tmp_path) as (_, [client], chat):
        await client.subscribe(chat)
        await client.run_turn(chat, "t1", "hello")
        await tree(client)
        skill, plugin = ("skill", "review"), ("plugin", "box")
        await decide(client, skill, session(False))
        await decide(client, plugin, session(False))
        expected = {skill: False, plugin: [session(False)]}
        fork = {"agenthost/fork": {"session": SESSION, "turnId": "t1"}}
        await client.request("createSession", channel=OTHER, _meta=fork)
        await client.subscribe(OTHER)
        assert _decided(entries(await tree(client, OTHER))) == expected
        # From then on each has its own.
        found = entries(await tree(client, OTHER))
        back = {"type": "session/customizationToggled", "id": found[skill]["id"]}
        await client.accepted(OTHER, {**back, "enablement": [session(True)]})

        await client.request("disposeSession", channel=SESSION)
        (tmp_path / ".agents/skills/release/SKILL.md").unlink()
        await client.request("agenthost/restoreSession", channel=SESSION)
        await client.subscribe(SESSION)
        # What there is is looked for again: nobody has to start a turn for that.
        now = await when(client, lambda all: skill in all and ("skill", "release") not in all)
        assert _decided(now) == expected
