"""The ladder as a whole: identity, laziness, sharing, and what peers may throw at it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import pytest
from hypothesis import example, given

from agenthost.protocol.chat.tool_state import ToolCallState
from agenthost.protocol.versions import NEWEST, SUPPORTED_VERSIONS, Untranslatable, translator
from agenthost.protocol.versions.ladder import Translator
from agenthost.protocol.versions.node_edits import find_call
from agenthost.protocol.versions.rewriter import Rewriter
from agenthost.protocol.versions.step import (
    NOWHERE,
    DownContext,
    Sender,
    Step,
    UpContext,
    Whereabouts,
)
from agenthost.protocol.versions.steps import steps_to
from agenthost.protocol.versions.supported import introduced_in
from tests.protocol.versions.samples import (
    NOW,
    Json,
    chat,
    message,
    on_call,
    sent,
    session,
    tool_part,
)
from tests.protocol.wire_samples import variants
from tests.strategies import json_values
from tests.thoroughness import examples

OLDER = SUPPORTED_VERSIONS[1:]


class Untouchable(dict[str, Any]):
    """A state that nobody may look at."""

    def _refuse(self, *arguments: object) -> NoReturn:
        raise AssertionError("the state was looked at")

    __getitem__ = __contains__ = __len__ = get = keys = items = values = _refuse

    def __iter__(self) -> Iterator[str]:
        self._refuse()


class Untouched(list[Any]):
    """Completed turns that nobody may look at, though one may ask whether there are any."""

    def _refuse(self, *arguments: object) -> NoReturn:
        raise AssertionError("completed turns were looked at")

    __getitem__ = __contains__ = _refuse

    def __iter__(self) -> Iterator[Any]:
        self._refuse()


def test_the_newest_version_gives_back_the_very_objects() -> None:
    newest = translator(NEWEST)
    thing: Json = {"type": "chat/delta", "anything": [1]}
    assert newest.is_identity
    assert newest.state_down("chat", thing) is thing
    assert newest.state_up("chat", thing) is thing
    assert newest.turn_down(thing) is thing
    assert newest.turn_up(thing) is thing
    assert newest.action_up("chat", thing, None, now=NOW) is thing
    (climbed,) = newest.actions_up("chat", thing, None, now=NOW)
    assert climbed is thing
    assert newest.params_down("createChat", thing) is thing
    assert newest.params_up("createChat", thing) is thing
    assert newest.result_down("listSessions", {}, thing) is thing
    assert newest.result_up("listSessions", {}, thing) is thing
    assert newest.notification_down("root/sessionAdded", thing) is thing
    assert newest.notification_up("root/sessionAdded", thing) is thing
    (told,) = newest.action_down("chat", Untouchable(), thing, Untouchable())
    assert told is thing


def test_a_version_that_we_do_not_speak_has_no_translator() -> None:
    for version in ("0.4.0", "0.7.1", ""):
        with pytest.raises(ValueError, match="version"):
            translator(version)


def test_a_translator_knows_its_version() -> None:
    for version in SUPPORTED_VERSIONS:
        assert translator(version).version == version
        assert translator(version).is_identity is (version == NEWEST)
        assert translator(version) is translator(version)


STREAMED: list[Json] = [
    {"type": "chat/delta", "turnId": "t", "partId": "p", "content": "x"},
    {"type": "chat/reasoning", "turnId": "t", "partId": "p", "content": "x"},
    {"type": "terminal/data", "data": "x"},
    {"type": "chat/usage", "turnId": "t", "usage": {}},
    {"type": "chat/activityChanged", "activity": "x"},
    {"type": "chat/toolCallDelta", "turnId": "t", "toolCallId": "c", "content": "x"},
]


@pytest.mark.parametrize("version", OLDER)
@pytest.mark.parametrize("action", STREAMED, ids=lambda action: str(action["type"]))
def test_streaming_costs_no_look_at_a_state_and_no_copy(version: str, action: Json) -> None:
    kind = action["type"].partition("/")[0]
    (told,) = translator(version).action_down(kind, Untouchable(), action, Untouchable())
    assert told is action


@pytest.mark.parametrize("version", OLDER)
@pytest.mark.parametrize("action", STREAMED, ids=lambda action: str(action["type"]))
def test_climbing_with_streamed_text_looks_at_no_state(version: str, action: Json) -> None:
    kind = action["type"].partition("/")[0]
    climbed = translator(version).action_up(kind, action, Untouchable(), now=NOW, sender="host")
    assert climbed is action
    (climbed,) = translator(version).actions_up(kind, action, Untouchable(), now=NOW)
    assert climbed is action


class Touchy(Rewriter):
    """Rewrites messages."""

    def message(self, message: Json) -> Json:
        """Mark a message."""
        return {**message, "seen": True}


class Bystander(Step):
    """Has nothing to do with what carries no message, and says when it is asked about it."""

    newer, older = "0.7.0", "0.6.0"
    nodes_down = Touchy()

    def rewritten_down(self, action: Json, *, reviewable: bool = True) -> list[Json]:
        """Complain."""
        raise AssertionError("what says nothing to it was translated")


def test_an_action_climbs_no_step_that_has_nothing_to_say_about_it() -> None:
    ladder = Translator("0.6.0", (Bystander(),))
    part = {"type": "chat/toolCallReady", "turnId": "t", "toolCallId": "c", "edits": {"items": []}}
    for action in (STREAMED[0], part):
        assert ladder.action_down("chat", Untouchable(), action, Untouchable()) == [action]
    with pytest.raises(AssertionError, match="translated"):
        ladder.action_down("chat", {}, {"type": "chat/draftChanged"}, {"turns": []})


class Asks(Step):
    """Looks for the call that an action names, in both ways."""

    newer, older = "0.5.0", "0.4.0"

    def action_down(self, action: Json, context: DownContext) -> list[Json]:
        """Say what the call was and is, alone and in its chat."""
        forms = (context.before, context.after)
        return [
            {"type": "", "alone": form.call(action), "told": find_call(form(), action)}
            for form in forms
        ]


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
def test_a_call_alone_is_translated_as_in_its_chat(version: str) -> None:
    calls = variants(ToolCallState)
    ladder = Translator(version, (*steps_to(version), Asks()))
    for number, call in enumerate(calls):
        parts = [
            {"kind": "toolCall", "toolCall": {**each, "toolCallId": f"c{index}"}}
            for index, each in enumerate(calls)
        ]
        before, after = chat(*parts), chat(*parts[number:], *parts[:number])
        for named in (f"c{number}", "none"):
            action = {"type": "chat/usage", "turnId": "t", "toolCallId": named}
            for said in ladder.action_down("chat", before, action, after):
                assert said["alone"] == said["told"]
                assert (said["alone"] or call)["status"] in _shown_as(call["status"])


def _shown_as(status: str) -> tuple[str, ...]:
    return (status, "running") if status == "auth-required" else (status,)


@pytest.mark.parametrize("version", OLDER)
@pytest.mark.parametrize(
    "action",
    [
        on_call("Ready", invocationMessage="m"),
        on_call("Confirmed", approved=True, confirmed="setting", editedToolInput="x"),
        on_call("Complete", result={"success": True, "pastTenseMessage": ""}),
        {"type": "chat/turnComplete", "turnId": "t", "duration": 1},
        {"type": "chat/draftChanged"},
    ],
    ids=lambda action: str(action["type"]),
)
def test_translating_an_action_looks_at_no_completed_turn(version: str, action: Json) -> None:
    history = Untouched([{"id": "u"}])
    before = chat(tool_part("running"), turns=history)
    after = chat(tool_part("completed"), turns=history)
    assert len(translator(version).action_down("chat", before, action, after)) <= 1


@pytest.mark.parametrize("version", OLDER)
def test_an_action_that_changed_nothing_is_not_sent(version: str) -> None:
    state = chat()
    for action in (on_call("ContentChanged", content=[]), {"type": "chat/draftChanged"}):
        assert translator(version).action_down("chat", state, action, state) == []


@pytest.mark.parametrize("version", OLDER)
@pytest.mark.parametrize(
    ("kind", "action"),
    [
        ("resourceWatch", {"type": "resourceWatch/changed", "changes": {"items": []}}),
        ("terminal", {"type": "terminal/input", "data": "x"}),
    ],
)
def test_news_that_changes_no_state_is_sent_all_the_same(
    version: str, kind: str, action: Json
) -> None:
    state: Json = {}
    assert translator(version).action_down(kind, state, action, state) == [action]


@pytest.mark.parametrize("version", OLDER)
def test_what_needs_no_translation_keeps_its_identity(version: str) -> None:
    parts = [{"kind": "markdown", "id": "p", "content": "x"}, tool_part("running")]
    turn = {"id": "u", "message": message(), "responseParts": parts, "state": "complete"}
    state = chat(active=False, turns=[turn, {**turn, "id": "v"}], draft=message())
    old = translator(version)
    assert old.state_down("chat", state) is state
    assert old.turn_down(turn) is turn
    assert old.state_down("session", session()) == session()
    mixed = {**state, "workingDirectories": ["file:///a"]}
    translated = old.state_down("chat", mixed)
    assert translated["turns"] is state["turns"]


@pytest.mark.parametrize("version", ["0.6.0", "0.5.2", "0.5.1", "0.5.0"])
def test_parts_that_need_no_translation_keep_their_identity_beside_those_that_do(
    version: str,
) -> None:
    plain = tool_part("running")
    turn = {"id": "u", "message": message(), "state": "complete"}
    newer = tool_part("completed", toolInput={"uri": "res:/in"})
    translated = translator(version).turn_down({**turn, "responseParts": [plain, newer]})
    assert translated["responseParts"][0] is plain
    assert translated["responseParts"][1] != newer


def test_steps_compose() -> None:
    attached = {"type": "chat", "label": "L", "resource": "ahp-chat:/o"}
    started = {
        "type": "chat/turnStarted",
        "turnId": "t",
        "startedAt": NOW,
        "message": message(attached),
    }
    (told,) = sent("0.5.0", "chat", chat(active=False), started)
    assert "startedAt" not in told
    assert told["message"]["attachments"][0]["type"] == "simple"
    climbed = translator("0.5.0").action_up("chat", told, chat(active=False), now=NOW)
    assert climbed == started


class Twice(Step):
    """Says a new title in two steps."""

    newer, older = "0.7.0", "0.6.0"

    def action_down(self, action: Json, context: DownContext) -> list[Json]:
        """Clear the title first."""
        return [{**action, "title": ""}, action]


class Compares(Step):
    """Says which title became which."""

    newer, older = "0.6.0", "0.5.2"

    def action_down(self, action: Json, context: DownContext) -> list[Json]:
        """Say what the states around the action are."""
        return [{"was": context.before()["title"], "is": context.after()["title"]}]


def test_each_of_several_actions_is_translated_in_the_states_around_it() -> None:
    before, after = session(title="old"), session(title="new")
    action = {"type": "session/titleChanged", "title": "new"}
    ladder = Translator("0.5.2", (Twice(), Compares()))
    told = ladder.action_down("session", before, action, after)
    assert told == [{"was": "old", "is": ""}, {"was": "", "is": "new"}]


class Remembers(Step):
    """Says what was the last completed turn."""

    newer, older = "0.7.0", "0.6.0"

    def action_down(self, action: Json, context: DownContext) -> list[Json]:
        """Name the last turn."""
        return [{"last": context.last_turn()}]


@pytest.mark.parametrize("turns", [[], [{"id": "u"}], [{"id": "u"}, {"id": "v"}]])
def test_a_step_may_ask_for_the_last_completed_turn(turns: list[Json]) -> None:
    ladder = Translator("0.6.0", (Remembers(),))
    started = {"type": "chat/turnStarted", "turnId": "t"}
    expected = turns[-1]["id"] if turns else None
    (told,) = ladder.action_down(
        "chat", chat(active=False, turns=turns), started, chat(turns=turns)
    )
    assert told == {"last": expected}
    (told,) = ladder.action_down("session", session(), started, session(title="new"))
    assert told == {"last": None}


def _said_twice(action: Json, context: UpContext) -> list[Json]:
    return [{**action, "title": ""}, {**action, "was": context.before()["title"]}]


def _said_by(action: Json, context: UpContext) -> Json:
    return {**action, "by": context.sender, "in": context.around.session}


class Splits(Step):
    """Understands a host's new title as two, and a client's as one."""

    newer, older = "0.6.0", "0.5.2"

    def __init__(self) -> None:
        self.actions_up = {"session/titleChanged": _said_by}
        self.splits_up = {"session/titleChanged": _said_twice}


class Signs(Step):
    """Notes who sent a new title."""

    newer, older = "0.7.0", "0.6.0"

    def __init__(self) -> None:
        self.actions_up = {"session/titleChanged": _said_by}


def test_what_a_host_sent_may_be_several_actions_here() -> None:
    ladder = Translator("0.5.2", (Signs(), Splits()))
    action = {"type": "session/titleChanged", "title": "new"}
    around = Whereabouts(session="ahp-session:/1")
    signed = {**action, "by": "host", "in": "ahp-session:/1"}
    climbed = ladder.actions_up("session", action, session(title="old"), now=NOW, around=around)
    assert climbed == [{**signed, "title": ""}, {**signed, "was": "old"}]
    by_client = {**action, "by": "client", "in": "ahp-session:/1"}
    one = ladder.action_up("session", action, session(title="old"), now=NOW, around=around)
    assert one == by_client


class Placed(Rewriter):
    """Writes down where something was and who sent it."""

    def __init__(self, around: Whereabouts, sender: Sender) -> None:
        self._mark = {
            "by": sender,
            "session": around.session,
            "chat": around.chat_of_turn("t"),
            "callChat": around.chat_of_call("c"),
            "default": around.default_chat(),
        }

    def claim(self, claim: Json) -> Json:
        """Mark a claim."""
        return {**claim, **self._mark}


class Places(Step):
    """Asks about the surroundings."""

    newer, older = "0.7.0", "0.6.0"

    def up(self, around: Whereabouts = NOWHERE, sender: Sender = "host") -> Rewriter:
        """Ask."""
        return Placed(around, sender)


def test_states_actions_and_params_are_translated_by_what_is_around_them() -> None:
    ladder = Translator("0.6.0", (Places(),))
    around = Whereabouts(
        session="s",
        chat_of_turn={"t": "1"}.get,
        chat_of_call={"c": "2"}.get,
        default_chat=lambda: "3",
    )
    known = {"session": "s", "chat": "1", "callChat": "2", "default": "3"}
    unknown = {"session": "", "chat": None, "callChat": None, "default": None}
    claimed: Json = {"type": "terminal/claimed", "claim": {}}
    action = ladder.action_up("terminal", claimed, {}, now=NOW, around=around)
    assert action["claim"] == {"by": "client", **known}
    (action,) = ladder.actions_up("terminal", claimed, {}, now=NOW, around=around)
    assert action["claim"] == {"by": "host", **known}
    state = ladder.state_up("terminal", {"claim": {}}, around=around)
    assert state["claim"] == {"by": "host", **known}
    params = ladder.params_up("createTerminal", {"claim": {}}, around=around)
    assert params["claim"] == {"by": "client", **known}
    assert ladder.state_up("terminal", {"claim": {}})["claim"] == {"by": "host", **unknown}


@pytest.mark.parametrize("version", OLDER)
def test_a_method_that_a_version_lacks_cannot_be_asked_for(version: str) -> None:
    ladder = translator(version)
    for method in ("moveChat", "runAutomation", "createSession"):
        if ladder.has_method(method):
            ladder.params_down(method, {})
        else:
            with pytest.raises(Untranslatable, match=method):
                ladder.params_down(method, {})


def test_a_client_says_one_action_or_none() -> None:
    ladder = Translator("0.6.0", (Twice(),))
    action = {"type": "session/titleChanged", "title": "new"}
    with pytest.raises(Untranslatable, match="titleChanged needs a newer host"):
        ladder.action_down("session", session(), action, session(title="new"), sender="client")


@pytest.mark.parametrize("version", OLDER)
def test_an_unknown_action_climbs_as_it_is_for_the_host_to_refuse(version: str) -> None:
    odd: list[Any] = [{"type": "future/unknown"}, {"type": 3}, {"type": []}, {}, [], None, "x"]
    for action in odd:
        assert translator(version).action_up("chat", action, chat(), now=NOW) is action


@pytest.mark.parametrize("version", OLDER)
def test_a_notification_that_no_version_has_is_dropped(version: str) -> None:
    assert translator(version).notification_down("future/unknown", {}) is None


@pytest.mark.parametrize("version", OLDER)
def test_snapshots_and_envelopes_in_results_are_left_to_the_caller(version: str) -> None:
    snapshots = {"snapshots": [{"resource": "c", "state": chat(), "fromSeq": 1}]}
    assert translator(version).result_down("reconnect", {}, snapshots) is snapshots


ACTIONS = [
    "chat/turnStarted", "chat/turnCancelled", "chat/pendingMessageSet", "chat/draftChanged",
    "chat/toolCallConfirmed", "chat/toolCallComplete", "chat/toolCallContentChanged",
    "chat/responsePart", "chat/turnsLoaded", "session/activeClientSet", "session/chatUpdated",
    "session/customizationsChanged", "session/inputNeededSet", "changeset/fileSet",
    "root/agentsChanged", "root/terminalsChanged", "terminal/claimed", "chat/error",
    "chat/turnResume", "annotations/set", "annotations/updated", "changeset/statusChanged",
    "changeset/contentChanged", "session/customizationToggled", "automation/createRequested",
    "automation/updateRequested", "automation/set",
]  # fmt: skip
METHODS = (
    *("createSession", "createChat", "listSessions", "fetchTurns", "subscribe", "completions"),
    *("initialize", "authenticate", "createTerminal", "resolveSessionConfig"),
    "listAutomationTriggerDefinitions",
)
BEFORE: dict[str, Json] = {
    "root": {"agents": []},
    "session": session(),
    "chat": chat(),
    "terminal": {"title": "", "content": [], "claim": {"kind": "client", "clientId": "c"}},
    "changeset": {"status": "error", "files": []},
    "annotations": {"annotations": []},
    "automation": {"entries": []},
}


@examples(150)
@given(value=json_values())
def test_no_shape_of_input_trips_a_translation(value: Any) -> None:
    for version in OLDER:
        old = translator(version)
        for method in METHODS:
            try:
                old.params_up(method, value)
            except Untranslatable:
                assert method == "createTerminal"
            old.result_up(method, {}, value)
        for method in ("root/sessionAdded", "root/sessionSummaryChanged", "auth/required"):
            old.notification_up(method, value)
        for name in ACTIONS:
            kind = name.partition("/")[0]
            members = value if isinstance(value, dict) else {"message": value}
            for climb in (old.action_up, old.actions_up):
                try:
                    climb(kind, {**members, "type": name}, BEFORE[kind], now=NOW)
                except Untranslatable:
                    assert introduced_in(name) is not None


@examples(150)
@given(value=json_values())
@example(value={"inputRequests": [{}], "activeTurn": {}})
@example(value={"inputRequests": [], "activeTurn": {"responseParts": 3}, "status": None})
@example(value={"inputRequests": [None], "activeTurn": None, "status": "x"})
@example(value={"turns": [None], "activeTurn": {"responseParts": [{"kind": "toolCall"}, 3]}})
@example(value={"turns": [{"responseParts": [{"kind": "toolCall", "toolCall": 3}]}]})
def test_no_shape_of_a_hosts_state_trips_a_translation(value: Any) -> None:
    for version in OLDER:
        for kind in BEFORE:
            translator(version).state_up(kind, value)
        if isinstance(value, dict):
            translator(version).turn_up(value)
