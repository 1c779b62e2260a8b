"""A channel's state: text is folded in lazily, turns are encoded once, and nobody can tell."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.channels.chat import encoded_turns as encoded_turns_module
from agenthost.host.channels.chat.extra import turn_sizes
from agenthost.host.channels.chat.kind import CHAT as CHATS
from agenthost.host.channels.chat.window import cursor_before
from agenthost.host.channels.registry import KINDS
from agenthost.host.channels.session.summary import aggregated_status, annotations_summary
from agenthost.host.log import channel as channel_module
from agenthost.host.log.channel import AnyChannel, LiveChannel
from agenthost.host.log.kind import AnyKind
from agenthost.protocol.jsonrpc import dumps, loads
from agenthost.protocol.versions import NEWEST, SUPPORTED_VERSIONS, reduce, translator
from tests.strategies import (
    NOW,
    History,
    chat_histories,
    root_histories,
    session_histories,
)

Json = dict[str, Any]
CHAT = "ahp-chat:/1"
CHAT_KIND: AnyKind = CHATS
MESSAGE = {"text": "Hello", "origin": {"kind": "user"}}


def turn(id: str, text: str = "") -> Json:
    parts = [{"kind": "markdown", "id": "p", "content": text}]
    return {"id": id, "message": MESSAGE, "responseParts": parts, "state": "complete"}


def chat(*turns: Json, **extra: Any) -> Json:
    return {
        "resource": CHAT,
        "title": "T",
        "status": 1,
        "modifiedAt": "2026",
        "turns": list(turns),
        **extra,
    }


def streaming() -> AnyChannel:
    parts = [
        {"kind": "markdown", "id": "p", "content": ">"},
        {"kind": "markdown", "id": "q", "content": ">"},
        {"kind": "reasoning", "id": "r", "content": ">"},
    ]
    active = {"id": "t", "startedAt": "2026", "message": MESSAGE, "responseParts": parts}
    return LiveChannel(CHAT, CHAT_KIND, chat(activeTurn=active, status=8))


def delta(content: str, part: str = "p", **extra: Any) -> Json:
    return {"type": "chat/delta", "turnId": "t", "partId": part, "content": content, **extra}


def contents(channel: AnyChannel) -> list[str]:
    return [part["content"] for part in channel.state["activeTurn"]["responseParts"]]


def shown(channel: AnyChannel, version: str = NEWEST, first_turn: int = 0) -> Any:
    return loads(b"".join(channel.snapshot_json(version, window=first_turn)))


# Applying


def test_an_action_tells_the_states_around_it() -> None:
    channel = LiveChannel(CHAT, CHAT_KIND, chat())
    before = channel.state
    change = channel.apply({"type": "chat/activityChanged", "activity": "A"}, NOW)
    assert change is not None
    assert change.states == (before, channel.state)
    assert channel.state["activity"] == "A"


def test_an_action_that_changes_nothing_tells_so() -> None:
    channel = LiveChannel(CHAT, CHAT_KIND, chat())
    before = channel.state
    assert channel.apply({"type": "chat/activityChanged"}, NOW) is None
    assert channel.apply({"type": "chat/ofTomorrow"}, NOW) is None
    assert channel.apply({"type": "session/titleChanged", "title": "x"}, NOW) is None
    assert channel.state is before


def test_a_channel_is_in_use_while_it_is_held() -> None:
    channel = LiveChannel(CHAT, CHAT_KIND, chat())
    assert not channel.in_use
    channel.holds += 1
    assert channel.in_use


# Streamed text


def test_streamed_text_is_in_the_state() -> None:
    channel = streaming()
    for text in "abc":
        assert channel.apply(delta(text), NOW) is not None
    assert contents(channel) == [">abc", ">", ">"]
    channel.apply(delta("d"), NOW)
    assert contents(channel) == [">abcd", ">", ">"]


def test_text_for_several_parts_in_turn_goes_where_it_belongs() -> None:
    channel = streaming()
    for text, part in (("a", "p"), ("b", "q"), ("c", "p"), ("d", "p"), ("e", "q")):
        channel.apply(delta(text, part), NOW)
    channel.apply({**delta("f", "r"), "type": "chat/reasoning"}, NOW)
    channel.apply({**delta("g", "r"), "type": "chat/reasoning"}, NOW)
    assert contents(channel) == [">acd", ">be", ">fg"]


def test_the_action_after_a_stream_sees_all_of_it() -> None:
    channel = streaming()
    for text in "abc":
        channel.apply(delta(text), NOW)
    change = channel.apply({"type": "chat/activityChanged", "activity": "A"}, NOW)
    assert change is not None
    assert change.states is not None
    before, after = change.states
    for state in (before, after):
        assert state["activeTurn"]["responseParts"][0]["content"] == ">abc"


def test_text_that_goes_nowhere_changes_nothing() -> None:
    channel = streaming()
    assert channel.apply(delta("x", "unknown"), NOW) is None
    assert channel.apply(delta("x", turnId="other"), NOW) is None
    # A part of another kind takes none.
    assert channel.apply(delta("x", "r"), NOW) is None
    assert contents(channel) == [">", ">", ">"]


def test_no_text_changes_nothing_in_the_middle_of_a_stream_either() -> None:
    channel = streaming()
    assert channel.apply(delta(""), NOW) is None
    assert channel.apply(delta("a"), NOW) is not None
    assert channel.apply(delta(""), NOW) is None
    assert channel.apply(delta("b"), NOW) is not None
    assert channel.apply(delta(""), NOW) is None
    assert contents(channel) == [">ab", ">", ">"]


def test_a_stream_ends_with_its_turn() -> None:
    channel = streaming()
    channel.apply(delta("a"), NOW)
    channel.apply(delta("b"), NOW)
    channel.apply({"type": "chat/turnComplete", "turnId": "t", "duration": 1}, NOW)
    assert channel.apply(delta("c"), NOW) is None
    assert channel.state["turns"][0]["responseParts"][0]["content"] == ">ab"


def test_a_long_stream_is_reduced_twice_however_long_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reduced: list[Json] = []

    def counting(kind: Any, state: Any, action: Json, now: str) -> Any:
        reduced.append(action)
        return reduce(kind, state, action, now=now)

    monkeypatch.setattr(channel_module, "reduce_canonical", counting)
    channel = streaming()
    for _ in range(500):
        channel.apply(delta("ab"), NOW)
    assert contents(channel)[0] == ">" + "ab" * 500
    assert len(reduced) == 2


@st.composite
def streams(draw: st.DrawFn) -> tuple[History, list[bool]]:
    """Draw a chat's history with runs of text in it, and after which actions somebody looks."""
    history = draw(chat_histories())
    actions: list[Json] = []
    for action in history.actions:
        actions.append(action)
        if action["type"] in ("chat/delta", "chat/reasoning"):
            texts = draw(st.lists(st.sampled_from(["", "+", "-"]), max_size=4))
            actions += [{**action, "content": text} for text in texts]
            if draw(st.booleans()):
                actions.append({**action, "content": "m", "_meta": {}})
                actions.append({**action, "content": "!"})
    looks = st.lists(st.booleans(), min_size=len(actions), max_size=len(actions))
    return History("chat", history.initial, actions), draw(looks)


@given(streams())
def test_folding_is_the_same_as_reducing_one_by_one(stream: tuple[History, list[bool]]) -> None:
    history, looks = stream
    channel, state = LiveChannel(CHAT, CHAT_KIND, history.initial), history.initial
    for action, look in zip(history.actions, looks, strict=True):
        after = reduce("chat", state, action, now=NOW)
        change = channel.apply(action, NOW)
        assert (change is None) == (after is state)
        if change is not None and change.states is not None:
            assert change.states == (state, after)
        state = after
        if look:
            assert channel.state == state
    assert channel.state == state


# Snapshots


def expected(state: Json, version: str, first_turn: int = 0) -> Any:
    """Say what a snapshot must hold, translating the whole state at once."""
    if first_turn:
        cursor = cursor_before(state["turns"], first_turn)
        turns = state["turns"][first_turn:]
        state = {**state, "turns": turns, "turnsNextCursor": cursor}
    return loads(dumps(translator(version).state_down("chat", state)))


@given(chat_histories(), st.data())
def test_a_snapshot_equals_the_state_in_every_version_whenever_it_is_taken(
    history: History, data: st.DataObject
) -> None:
    channel = LiveChannel(CHAT, CHAT_KIND, history.initial)
    version = data.draw(st.sampled_from(SUPPORTED_VERSIONS))
    for action in history.actions:
        channel.apply(action, NOW)
        if data.draw(st.booleans()):
            assert shown(channel, version) == expected(channel.state, version)
    for each in SUPPORTED_VERSIONS:
        assert shown(channel, each) == expected(channel.state, each)


turn_lists = st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=6)


@given(turn_lists, st.sampled_from(SUPPORTED_VERSIONS), st.integers(1, 400))
def test_encoded_turns_follow_additions_and_truncations(
    changes: list[tuple[int, bool]], version: str, block: int
) -> None:
    # Small blocks, so that few turns make several.
    original = encoded_turns_module.BLOCK_BYTES
    encoded_turns_module.BLOCK_BYTES = block
    try:
        channel, count = LiveChannel(CHAT, CHAT_KIND, chat()), 0
        for amount, cut in changes:
            turns = channel.state["turns"]
            if cut and turns:
                keep = turns[amount % len(turns)]["id"]
                channel.apply({"type": "chat/truncated", "turnId": keep}, NOW)
            for _ in range(amount):
                count += 1
                add_turn(channel, f"t{count}", "x" * (count % 7))
            state = channel.state
            for first in range(len(state["turns"]) + 1):
                assert shown(channel, version, first) == expected(state, version, first)
            # A separator counts as part of the turn it stands before.
            sizes = [len(dumps(item)) + 1 for item in state["turns"]]
            assert turn_sizes(channel) == sizes
        channel.apply({"type": "chat/truncated"}, NOW)
        assert shown(channel, version)["turns"] == []
        assert turn_sizes(channel) == []
    finally:
        encoded_turns_module.BLOCK_BYTES = original


def add_turn(channel: AnyChannel, id: str, text: str) -> None:
    started = {"type": "chat/turnStarted", "turnId": id, "startedAt": "2026", "message": MESSAGE}
    channel.apply(started, NOW)
    part = {"kind": "markdown", "id": "p", "content": text}
    channel.apply({"type": "chat/responsePart", "turnId": id, "part": part}, NOW)
    channel.apply({"type": "chat/turnComplete", "turnId": id, "duration": 1}, NOW)


def test_a_turn_that_was_replaced_under_the_same_id_is_encoded_anew() -> None:
    channel = LiveChannel(CHAT, CHAT_KIND, chat(turn("a"), turn("b", "old"), turn("c")))
    shown(channel)
    channel.apply({"type": "chat/truncated", "turnId": "a"}, NOW)
    add_turn(channel, "b", "new")
    assert [item["id"] for item in shown(channel)["turns"]] == ["a", "b"]
    assert shown(channel)["turns"][1]["responseParts"][0]["content"] == "new"


def test_turns_are_encoded_once_per_version(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []

    def counting(value: Any) -> bytes:
        if "state" in value:
            encoded.append(value["id"])
        return dumps(value)

    monkeypatch.setattr(encoded_turns_module, "dumps", counting)
    channel = LiveChannel(CHAT, CHAT_KIND, chat(turn("a"), turn("b")))
    for _ in range(3):
        shown(channel)
    add_turn(channel, "c", "")
    shown(channel)
    shown(channel, first_turn=1)
    turn_sizes(channel)
    assert encoded == ["a", "b", "c"]
    oldest = SUPPORTED_VERSIONS[-1]
    shown(channel, oldest)
    shown(channel, oldest)
    assert encoded == ["a", "b", "c"] * 2


def test_a_snapshot_of_the_newest_turns_has_a_cursor_to_the_older_ones() -> None:
    channel = LiveChannel(CHAT, CHAT_KIND, chat(turn("a"), turn("b"), turn("c")))
    whole = shown(channel)
    assert "turnsNextCursor" not in whole
    assert [item["id"] for item in whole["turns"]] == ["a", "b", "c"]
    window = shown(channel, first_turn=2)
    assert [item["id"] for item in window["turns"]] == ["c"]
    assert window["turnsNextCursor"] == cursor_before(channel.state["turns"], 2)
    none = shown(channel, first_turn=3)
    assert none["turns"] == []
    assert none["turnsNextCursor"] == cursor_before(channel.state["turns"], 3)
    # It belongs to the one who asked, not to the channel.
    assert "turnsNextCursor" not in channel.state


def test_a_snapshot_has_text_that_is_still_being_streamed() -> None:
    channel = streaming()
    for text in "ab":
        channel.apply(delta(text), NOW)
    assert shown(channel)["activeTurn"]["responseParts"][0]["content"] == ">ab"


@given(st.one_of(session_histories(), root_histories()), st.sampled_from(SUPPORTED_VERSIONS))
def test_other_channels_are_encoded_as_they_are(history: History, version: str) -> None:
    kinds = {kind.name: kind for kind in KINDS}
    channel = LiveChannel("ahp-session:/s", kinds[history.kind], history.initial)
    for action in history.actions:
        channel.apply(action, NOW)
    state = channel.state
    assert b"".join(channel.stored_json()) == dumps(state)
    if history.kind == "session":
        noted = annotations_summary("ahp-session:/s", None)
        state = {**state, "annotations": noted, "status": aggregated_status(state)}
    down = translator(version).state_down(history.kind, state)
    assert b"".join(channel.snapshot_json(version)) == dumps(down)


def test_all_who_come_between_two_changes_share_the_same_bytes() -> None:
    channel = streaming()
    channel.apply(delta("x" * 10_000), NOW)
    first = channel.snapshot_json()
    assert channel.snapshot_json() is first
    assert channel.snapshot_json("0.6.0") is channel.snapshot_json("0.6.0")
    channel.apply(delta("more"), NOW)
    assert shown(channel)["activeTurn"]["responseParts"][0]["content"].endswith("more")
    channel.apply({"type": "chat/activityChanged", "activity": "A"}, NOW)
    assert shown(channel)["activity"] == "A"


def test_what_a_change_leaves_alone_stays_shared() -> None:
    channel = LiveChannel(CHAT, CHAT_KIND, chat(*(turn(str(n), "x" * 100_000) for n in range(5))))
    before = channel.snapshot_json()
    channel.apply({"type": "chat/activityChanged", "activity": "A"}, NOW)
    after = channel.snapshot_json()
    large = [piece for piece in before if len(piece) > 1000]
    assert sum(map(len, large)) > 500_000
    assert all(any(piece is other for other in after) for piece in large)
