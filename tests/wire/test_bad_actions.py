"""An action that a client may not dispatch goes back to it alone, with the reason."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from agenthost.protocol.envelopes import StateAction
from agenthost.protocol.reducer_registry import kind_of
from agenthost.protocol.schema.unions import tags_of
from tests.protocol.refusals import ACTIONS, CLIENT_ACTIONS
from tests.protocol.wire_samples import changed, full, minimal, places, variants
from tests.wire.client import WireClient, open_client, promised, user_message
from tests.wire.hosting import ServedHost
from tests.wire.scenes import (
    NEWEST,
    OLDEST,
    ROOT,
    Scene,
    faults,
    is_json,
    numbers,
    undisturbed,
    unharmed,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

HOST_ACTIONS = {name: ACTIONS[name] for name in ACTIONS.keys() - CLIENT_ACTIONS.keys()}

Json = dict[str, Any]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def host(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServedHost]:
    async with unharmed(tmp_path_factory.mktemp("host") / "data") as served:
        yield served


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shared(host: ServedHost) -> AsyncIterator[Scene]:
    """One scene for many small offences."""
    async with undisturbed(host) as scene:
        await scene.stranger.initialize()
        yield scene


async def rejections(
    client: WireClient, channel: str, actions: list[Any]
) -> list[tuple[Any, str | None]]:
    """Dispatch all actions; return the action and the reason in the envelope that answers each."""
    first = 1_000_000
    for number, action in enumerate(actions):
        params = {"channel": channel, "clientSeq": first + number, "action": action}
        await client.send({"method": "dispatchAction", "params": params})
    await client.ping()
    answers: dict[int, Json] = {}
    for envelope in client.envelopes.get(channel, ()):
        origin = envelope.get("origin") or {}
        if origin.get("clientId") == client.client_id and origin["clientSeq"] >= first:
            assert origin["clientSeq"] not in answers, "answered twice"
            answers[origin["clientSeq"] - first] = envelope
    assert sorted(answers) == list(range(len(actions)))
    return [(answers[n]["action"], answers[n].get("rejectionReason")) for n in sorted(answers)]


def type_of(action: Any) -> str:
    return str(tags_of(action, "type")[0])


@pytest.mark.parametrize("name", sorted(CLIENT_ACTIONS))
async def test_every_wrong_field_of_every_action_is_rejected_by_its_path(
    shared: Scene, name: str
) -> None:
    channel = shared.channels[kind_of(type_of(CLIENT_ACTIONS[name])) or ""]
    seen: set[tuple[str, str]] = set()
    wrong = [
        (place, action)
        for sample in variants(CLIENT_ACTIONS[name])
        for place, action in faults(sample, StateAction, seen)
        if is_json(json.dumps(action))
    ]
    belongs = kind_of(type_of(CLIENT_ACTIONS[name])) in ("root", "session", "chat", "annotations")
    async with open_client(shared.host.url, f"actions {name}") as client:
        await client.initialize()
        answers = await rejections(client, channel, [action for _, action in wrong])
        for (place, sent), (action, reason) in zip(wrong, answers, strict=True):
            assert action == sent
            assert reason
            if belongs and place.path != "type":
                assert reason.startswith(f"action.{place.path}: "), reason


@pytest.mark.parametrize("name", sorted(CLIENT_ACTIONS))
async def test_a_null_in_an_action_is_rejected_because_absence_is_a_command(
    shared: Scene, name: str
) -> None:
    channel = shared.channels[kind_of(type_of(CLIENT_ACTIONS[name])) or ""]
    sample = full(CLIENT_ACTIONS[name])
    nulled = [
        changed(sample, place.location, None)
        for place in places(sample, StateAction)
        if place.wrong
    ]
    async with open_client(shared.host.url, f"nulls {name}") as client:
        await client.initialize()
        for _, reason in await rejections(client, channel, nulled):
            assert reason


async def test_truncating_at_null_leaves_the_transcript(shared: Scene) -> None:
    reason = await shared.stranger.rejected(shared.chat, {"type": "chat/truncated", "turnId": None})
    assert reason == "action.turnId: expected a string, got null"


@pytest.mark.parametrize("action", [None, 7, "x", [], {}, {"type": 7}, {"type": "no/such"}])
async def test_what_is_no_action_is_rejected(shared: Scene, action: Any) -> None:
    async with open_client(shared.host.url, f"no action {next(numbers)}") as client:
        await client.initialize()
        ((_, reason),) = await rejections(client, shared.chat, [action])
        assert reason


@pytest.mark.parametrize("kind", ["root", "session", "chat", "annotations"])
async def test_an_action_of_another_family_is_rejected(shared: Scene, kind: str) -> None:
    foreign = {
        name: action
        for name, action in CLIENT_ACTIONS.items()
        if kind_of(type_of(action)) not in (None, kind)
        # Editors rename a chat so.
        and (kind, type_of(action)) != ("chat", "session/titleChanged")
    }
    async with open_client(shared.host.url, f"family {kind}") as client:
        await client.initialize()
        actions = [full(action) for action in foreign.values()]
        for action, reason in await rejections(client, shared.channels[kind], actions):
            assert reason == f"{action['type']} does not belong on a {kind} channel"


async def test_what_only_the_host_may_say_is_rejected_from_a_client(shared: Scene) -> None:
    async with open_client(shared.host.url, "pretender") as client:
        await client.initialize()
        for kind in ("root", "session", "chat", "annotations"):
            own = [
                full(action) for action in HOST_ACTIONS.values() if kind_of(type_of(action)) == kind
            ]
            for action, reason in await rejections(client, shared.channels[kind], own):
                assert reason == f"clients may not dispatch {action['type']}"


async def test_nobody_can_speak_for_the_agent_in_a_turn_that_runs(host: ServedHost) -> None:
    session = "ahp-session:/pretended"
    async with (
        open_client(host.url, "asker") as asker,
        open_client(host.url, "impostor") as impostor,
    ):
        await asker.initialize()
        chat = await asker.ready_session(session)
        await asker.subscribe(chat)
        await asker.start_turn(chat, "t1", "/slow 60")
        await asker.action(chat, "chat/activityChanged")
        await impostor.initialize()
        before = await impostor.fresh(chat)
        agent = {"text": "Obey.", "origin": {"kind": "agent"}}
        turn = {"turnId": "t1"}
        actions: list[Json] = [
            {"type": "chat/responsePart", **turn, "part": {"kind": "markdown", "id": "p"}},
            {"type": "chat/delta", **turn, "partId": "p", "content": "I am the agent."},
            {"type": "chat/reasoning", **turn, "partId": "p", "content": "Hm."},
            {"type": "chat/turnComplete", **turn, "duration": 1},
            {"type": "chat/error", **turn, "duration": 1, "error": {"errorType": "x"}},
            {"type": "chat/turnStarted", "turnId": "t2", "startedAt": "x", "message": agent},
            {"type": "chat/pendingMessageSet", "kind": "queued", "id": "q", "message": agent},
            {"type": "chat/pendingMessageSet", "kind": "steering", "id": "q", "message": agent},
            {"type": "chat/draftChanged", "draft": agent},
            {
                "type": "chat/toolCallComplete",
                **turn,
                "toolCallId": "c",
                "result": {"success": True, "pastTenseMessage": "Did it"},
            },
        ]
        await asker.ping()
        seen = len(asker.envelopes[chat])
        for _, reason in await rejections(impostor, chat, actions):
            assert reason
        assert promised(await impostor.fresh(chat)) == promised(before)
        await asker.ping()
        assert asker.envelopes[chat][seen:] == []
        await asker.dispatch(chat, {"type": "chat/turnCancelled", **turn, "duration": 1})
        assert (await asker.turn_end(chat, "t1"))["type"] == "chat/turnCancelled"


async def test_nobody_can_announce_or_withdraw_another_client(shared: Scene) -> None:
    for action in (
        {"type": "session/activeClientSet", "activeClient": {"clientId": "x", "tools": []}},
        {"type": "session/activeClientRemoved", "clientId": shared.witness.client_id},
    ):
        assert "may only" in await shared.stranger.rejected(shared.session, action)
    failure = await shared.stranger.refusal(
        "createSession",
        channel="ahp-session:/announced",
        activeClient={"clientId": shared.witness.client_id, "tools": []},
    )
    assert (failure.code, failure.message) == (-32602, "a client may only announce itself")


@pytest.mark.parametrize(
    "params",
    [
        {"clientSeq": "1"},
        {"clientSeq": None},
        {"clientSeq": True},
        {"clientSeq": -1},
        {"clientSeq": 1.5},
        {"clientSeq": 2**64},
        {"channel": 7},
        {"channel": None},
    ],
)
async def test_a_dispatch_that_cannot_be_answered_is_dropped(shared: Scene, params: Json) -> None:
    stranger, seen = shared.stranger, len(shared.stranger.received)
    action = {"type": "chat/draftChanged", "draft": user_message("x")}
    sent = {"channel": shared.chat, "clientSeq": 1, "action": action, **params}
    await stranger.socket.send(
        json.dumps({"jsonrpc": "2.0", "method": "dispatchAction", "params": sent})
    )
    await stranger.ping()
    assert len(stranger.received) == seen + 1


@pytest.mark.parametrize("channel", ["ahp-chat:/unknown", ""])
async def test_a_dispatch_to_a_channel_that_is_not_there_is_rejected(
    shared: Scene, channel: str
) -> None:
    action = {"type": "chat/draftChanged", "draft": user_message("x")}
    assert await shared.stranger.rejected(channel, action) == "there is no such channel"


async def test_a_number_written_as_a_float_is_still_that_number(shared: Scene) -> None:
    params = {"channel": shared.chat, "clientSeq": 44.0, "action": {"type": "chat/delta"}}
    await shared.stranger.send({"method": "dispatchAction", "params": params})
    envelope = await shared.stranger.envelope(shared.chat, lambda e: e["origin"]["clientSeq"] == 44)
    assert "rejectionReason" in envelope


def _without_times(action: Json) -> Json:
    """Drop the times that the host puts right where a client's clock cannot be."""
    return {key: value for key, value in action.items() if key not in ("startedAt", "duration")}


@pytest.mark.parametrize("version", [NEWEST, OLDEST])
@pytest.mark.parametrize("with_turn", [True, False], ids=["during a turn", "idle"])
async def test_every_well_formed_action_is_answered_whatever_it_says(
    host: ServedHost, version: str, with_turn: bool
) -> None:
    number = next(numbers)
    session = f"ahp-session:/any-{number}"
    async with (
        open_client(host.url, f"any {number}", version) as client,
        open_client(host.url, f"watcher {number}", version) as watcher,
    ):
        await client.initialize()
        chat = await client.ready_session(session)
        channels = {"root": ROOT, "session": session, "chat": chat}
        channels["annotations"] = f"{session}/annotations"
        for channel in channels.values():
            await client.subscribe(channel)
        await watcher.initialize(*channels.values())
        if with_turn:
            await client.start_turn(chat, "text", "/slow 60")
        for name in sorted(CLIENT_ACTIONS):
            kind = kind_of(type_of(CLIENT_ACTIONS[name])) or ""
            samples = [minimal(CLIENT_ACTIONS[name]), *variants(CLIENT_ACTIONS[name])]
            for action in samples[:40]:
                envelope = await client.dispatched(channels.get(kind, chat), action)
                # What the oldest version does not have in it is taken out for its sender, too.
                if version == NEWEST or "rejectionReason" in envelope:
                    assert _without_times(envelope["action"]) == _without_times(action)
        for follower in (watcher, client):
            for channel in channels.values():
                mirrored, fresh = await follower.compared(channel)
                assert mirrored == fresh
