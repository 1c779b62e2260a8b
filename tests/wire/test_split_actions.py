"""Actions that an old version has no single word for, and what their senders get back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agenthost.host import Host
from agenthost.host.channels.registry import KINDS
from agenthost.host.log import writer
from agenthost.host.log.channel import AnyChannel
from agenthost.host.log.kind import AnyKind, ChannelKind
from agenthost.host.log.writer import ClientAction
from agenthost.host.store import MemoryBacking, MemoryStore
from agenthost.protocol import SUPPORTED_VERSIONS
from agenthost.protocol.reducer_registry import Kind
from tests.wire.client import WireClient, open_client, user_message
from tests.wire.mirrors import assert_ascending, assert_mirrors
from tests.wire.talking import NEWEST
from tests.wire.wording import toggled

Json = dict[str, Any]

CHAT = "ahp-chat:/split"
MCP = {"kind": "mcp", "customizationId": "m"}
AUTH = {"reason": "required", "resource": {"resource": "https://r"}}


def call(status: str, **members: Any) -> Json:
    named = {"toolCallId": "c", "toolName": "sh", "displayName": "Shell"}
    shown = {} if status == "streaming" else {"invocationMessage": "Run it"}
    return {"kind": "toolCall", "toolCall": {**named, **shown, "status": status, **members}}


def working(*parts: Json, status: int = 8) -> Json:
    turn = {"id": "t", "startedAt": "2026-01-01T00:00:00.000Z", "message": user_message("go")}
    base = {"resource": CHAT, "title": "T", "modifiedAt": "2026-01-01T00:00:00.000Z", "turns": []}
    return {**base, "status": status, "activeTurn": {**turn, "responseParts": list(parts)}}


def on_call(name: str, **members: Any) -> Json:
    return {"type": f"chat/toolCall{name}", "turnId": "t", "toolCallId": "c", **members}


WAITING = working(call("pending-confirmation", toolInput="ls", editable=True), status=24)
CHANGED = on_call("Ready", invocationMessage="Run it", toolInput="rm -rf build")
STARTED = working({"kind": "markdown", "id": "p", "content": "first"}, call("streaming"))
LATE = on_call("Ready", invocationMessage="Run it", confirmed="setting", contributor=MCP)
PAUSED = on_call("AuthRequired", auth=AUTH)
NOTE = {"type": "chat/activityChanged", "activity": "on"}

SPLIT = [(WAITING, [CHANGED, NOTE]), (STARTED, [LATE, PAUSED, NOTE])]


class Changesets(ChannelKind[Any]):
    """Changesets, which this host does not have by itself."""

    name = "changeset"

    def __init__(self, *, reviewable: bool = False) -> None:
        self._reviewable = reviewable

    def is_reviewable(self, channel: AnyChannel) -> bool:
        return self._reviewable


@asynccontextmanager
async def served(
    state: Json, kind: Kind = "chat", *, reviewable: bool = False
) -> AsyncIterator[tuple[Host, str, AnyChannel]]:
    """A host with one channel in that state, and where it listens."""
    kinds: list[AnyKind] = [*KINDS, Changesets(reviewable=reviewable)]
    async with Host(kinds=kinds) as host:
        named = {each.name: each for each in kinds}
        channel = host.core.directory.create(CHAT, named[kind], state)
        yield host, await host.listen(port=0), channel


@asynccontextmanager
async def watching(url: str, version: str, name: str = "w") -> AsyncIterator[WireClient]:
    async with open_client(url, f"{name} {version}", version) as client:
        await client.initialize()
        await client.subscribe(CHAT)
        yield client


def happen(host: Host, channel: AnyChannel, *actions: Json) -> None:
    for action in actions:
        assert host.core.writer.apply(channel, action)


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
@pytest.mark.parametrize(("state", "actions"), SPLIT, ids=["approval", "contributor"])
async def test_a_replay_tells_what_those_who_stayed_were_told(
    version: str, state: Json, actions: list[Json]
) -> None:
    async with served(state) as (host, url, channel), watching(url, version, "stays") as stays:
        async with watching(url, version) as former:
            former.abort()
        happen(host, channel, *actions)
        await stays.ping()
        async with open_client(url, f"w {version}", version) as client:
            result = await client.resume(former)
            assert result["type"] == "replay"
            assert result["actions"] == stays.envelopes[CHAT]
            for follower in (stays, client):
                assert_ascending(follower)
                await assert_mirrors(follower)


@pytest.mark.parametrize("version", ["0.5.2", "0.5.0"])
async def test_whoever_was_cut_off_between_the_two_is_sent_the_second_alone(version: str) -> None:
    async with served(WAITING) as (host, url, channel):
        async with watching(url, version) as former:
            former.drop_when = lambda message: message.get("method") == "action"
            happen(host, channel, CHANGED)
            await former.closed
        (seen,) = former.envelopes[CHAT]
        assert seen["action"]["type"] == "chat/toolCallConfirmed"
        async with open_client(url, f"w {version}", version) as client:
            result = await client.resume(former)
            assert [told["serverSeq"] for told in result["actions"]] == [seen["serverSeq"] + 1]
            await assert_mirrors(client)


@pytest.mark.parametrize("version", ["0.6.0", "0.5.2"])
async def test_a_restart_in_between_changes_no_number(version: str) -> None:
    backing = MemoryBacking()
    told: list[Json] = []
    async with Host(store=MemoryStore(backing)) as host:
        channel = host.core.directory.create(CHAT, KINDS[2], STARTED)
        url = await host.listen(port=0)
        async with watching(url, version, "stays") as stays:
            async with watching(url, version) as former:
                former.abort()
            happen(host, channel, LATE, NOTE)
            await stays.ping()
            told = stays.envelopes[CHAT]
    async with Host(store=MemoryStore(backing)) as host:
        url = await host.listen(port=0)
        async with open_client(url, f"w {version}", version) as client:
            result = await client.resume(former)
            assert result["type"] == "replay"
            assert result["actions"][: len(told)] == told
            assert_ascending(client)
            await assert_mirrors(client)


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
async def test_a_gap_over_a_snapshot_is_replayed(version: str) -> None:
    async with served(WAITING) as (host, url, channel):
        async with watching(url, version) as former:
            happen(host, channel, NOTE)
            await former.ping()
            former.abort()
        happen(host, channel, CHANGED)
        host.core.directory.save(channel)
        happen(host, channel, {**NOTE, "activity": "and on"})
        async with open_client(url, f"w {version}", version) as client:
            result = await client.resume(former)
            assert result["type"] == "replay"
            assert_ascending(client)
            await assert_mirrors(client)


async def test_a_gap_over_two_snapshots_takes_one_below_the_newest_version() -> None:
    async with served(WAITING) as (host, url, channel):
        async with watching(url, "0.5.2") as former:
            former.abort()
        for activity in ("a", "b"):
            happen(host, channel, {**NOTE, "activity": activity})
            host.core.directory.save(channel)
        async with open_client(url, "w 0.5.2", "0.5.2") as client:
            assert (await client.resume(former))["type"] == "snapshot"
            await assert_mirrors(client)


async def test_a_log_of_a_host_that_took_fewer_numbers_is_not_replayed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writer, "sequence_numbers_needed", lambda *_: 1)
    async with served(WAITING) as (host, url, channel):
        async with watching(url, "0.5.2") as former:
            former.abort()
        happen(host, channel, NOTE, CHANGED)
        async with open_client(url, "w 0.5.2", "0.5.2") as client:
            assert (await client.resume(former))["type"] == "snapshot"
            await assert_mirrors(client)


# What a sender gets back


def referenced(**members: Any) -> Json:
    waiting = call("pending-confirmation", toolInput={"uri": "res:/in"}, editable=True, **members)
    return working(waiting, status=24)


STOPPED = call("auth-required", contributor=MCP, confirmed="setting", auth=AUTH)
PLUGIN: Json = {
    "type": "plugin",
    "id": "p",
    "uri": "file:///p",
    "name": "P",
    "children": [{"type": "rule", "id": "p/rule", "uri": "file:///r", "name": "R"}],
}
SESSION = {
    "provider": "demo",
    "title": "S",
    "status": 1,
    "lifecycle": "ready",
    "activeClients": [],
    "chats": [],
    "customizations": [PLUGIN],
}
MISLEADING: list[tuple[Kind, Json, Json]] = [
    (
        "chat",
        referenced(),
        on_call("Confirmed", approved=True, confirmed="user-action", editedToolInput="mine"),
    ),
    (
        "chat",
        working(STOPPED, status=24),
        on_call(
            "Complete",
            result={"success": False, "pastTenseMessage": "Gave up"},
            requiresResultConfirmation=True,
        ),
    ),
    (
        "session",
        SESSION,
        {"type": "session/customizationToggled", "id": "p/rule"},
    ),
]


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
@pytest.mark.parametrize(("kind", "state", "action"), MISLEADING, ids=["edit", "review", "child"])
async def test_a_sender_holds_what_the_host_made_of_its_action(
    version: str, kind: Kind, state: Json, action: Json
) -> None:
    async with served(state, kind) as (_, url, _), watching(url, version) as client:
        if kind == "session":
            action = toggled(version, action["id"], False)
        envelope = await client.dispatched(CHAT, action)
        assert "rejectionReason" not in envelope
        await assert_mirrors(client)


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
async def test_words_that_tell_the_truth_come_back_as_they_were_sent(version: str) -> None:
    async with served(WAITING) as (_, url, _), watching(url, version) as client:
        action = on_call(
            "Confirmed",
            approved=True,
            confirmed="user-action",
            editedToolInput="ls -l",
            mine={"kept": None},
        )
        assert (await client.dispatched(CHAT, action))["action"] == action
        await assert_mirrors(client)


@pytest.mark.parametrize(("version", "refused"), [(NEWEST, False), ("0.5.2", True)])
async def test_what_has_an_effect_on_its_sender_alone_is_refused(
    version: str, refused: bool
) -> None:
    done = on_call("Complete", result={"success": True, "pastTenseMessage": "Done"})
    async with (
        served(working(STOPPED, status=24)) as (host, url, channel),
        watching(url, version) as client,
    ):
        (connection,) = channel.subscriptions
        assert not host.core.writer.apply(channel, done, ClientAction(connection, 1, CHAT, done))
        envelope = await client.envelope(CHAT, lambda envelope: "origin" in envelope)
        assert envelope["action"] == done
        assert ("rejectionReason" in envelope) == refused
        await assert_mirrors(client)


# Reviews


@pytest.mark.parametrize(("reviewable", "shown"), [(True, {"reviewed": False}), (False, {})])
async def test_files_say_that_nobody_has_reviewed_them_only_where_somebody_could(
    reviewable: bool, shown: Json
) -> None:
    file = {"id": "f", "edit": {}}
    state = {"status": "ready", "files": [file]}
    async with served(state, "changeset", reviewable=reviewable) as (host, url, channel):
        async with watching(url, "0.5.2") as client:
            assert client.states[CHAT]["files"] == [{**file, **shown}]
            happen(host, channel, {"type": "changeset/fileSet", "file": {**file, "id": "g"}})
            told = await client.action(CHAT, "changeset/fileSet")
            assert told["file"] == {**file, "id": "g", **shown}
            client.abort()
        happen(host, channel, {"type": "changeset/fileSet", "file": {**file, "id": "h"}})
        async with open_client(url, "w 0.5.2", "0.5.2") as again:
            await again.resume(client)
            assert again.states[CHAT]["files"][-1] == {**file, "id": "h", **shown}
