"""What a peer sends is kept as it is, forgiven, or refused with the path of its first fault."""

from __future__ import annotations

import contextlib
import copy
from typing import Any, Literal, get_origin

import pytest

from agenthost.errors import InvalidParams, MethodNotFound
from agenthost.protocol.envelopes import StateAction
from agenthost.protocol.kind_detection import kind_of_state
from agenthost.protocol.methods import METHODS, Direction
from agenthost.protocol.schema.scalars import OpenWord
from agenthost.protocol.schema.unions import checker, tags_of
from agenthost.protocol.schema.unknown_variants import find_unknown
from agenthost.protocol.schema.validation import (
    action_types,
    build_validators,
    validate_action,
    validate_as,
    validate_params,
    validate_result,
)
from agenthost.protocol.wire_types import WIRE_TYPES
from tests.conformance import corpus
from tests.protocol.refusals import ACTIONS, CLIENT_ACTIONS, refused_path
from tests.protocol.wire_samples import (
    changed,
    full,
    minimal,
    places,
    removed,
    spelled,
    variants,
)

ROOT = "ahp-root://"


# Where nulls are forgiven; the action inside the other has its own tests.
LENIENT_METHODS = sorted(METHODS.keys() - {"dispatchAction"})


def samples(method: str) -> list[Any]:
    """Return params that show every variant, except that one action stands for all of them."""
    wire_type = METHODS[method].params
    return [full(wire_type)] if "action" in wire_type.__annotations__ else variants(wire_type)


def test_all_actions_are_known_and_forty_seven_are_the_clients() -> None:
    assert len(action_types()) == 106
    assert len({tags_of(action, "type") for action in CLIENT_ACTIONS.values()}) == 47


# Params


@pytest.mark.parametrize("method", sorted(METHODS))
def test_minimal_and_full_params_are_returned_as_they_are(method: str) -> None:
    for params in (minimal(METHODS[method].params), *samples(method)):
        before = copy.deepcopy(params)
        assert validate_params(method, params) is params
        assert params == before


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_missing_required_field_is_refused_by_its_path(method: str) -> None:
    for params in samples(method):
        for place in places(params, METHODS[method].params):
            if place.is_required:
                with pytest.raises(InvalidParams) as error:
                    validate_params(method, removed(params, place.location))
                assert refused_path(error) == place.path
                assert error.value.message == f"{place.path}: is required"


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_field_of_the_wrong_type_is_refused_by_its_path(method: str) -> None:
    for params in samples(method):
        for place in places(params, METHODS[method].params):
            for bad in place.wrong:
                with pytest.raises(InvalidParams) as error:
                    validate_params(method, changed(params, place.location, bad))
                assert refused_path(error) == place.path


@pytest.mark.parametrize("method", LENIENT_METHODS)
def test_an_optional_null_in_params_counts_as_absent_at_any_depth(method: str) -> None:
    for params in samples(method):
        for place in places(params, METHODS[method].params):
            if place.is_required or place.wire_type is Any:
                continue
            sent = changed(params, place.location, None)
            before = copy.deepcopy(sent)
            assert validate_params(method, sent) == removed(params, place.location)
            assert sent == before, "what was sent was changed"


@pytest.mark.parametrize("method", LENIENT_METHODS)
def test_a_required_null_in_params_is_refused_by_its_path(method: str) -> None:
    for params in samples(method):
        for place in places(params, METHODS[method].params):
            if place.is_required and place.wrong:
                with pytest.raises(InvalidParams) as error:
                    validate_params(method, changed(params, place.location, None))
                assert refused_path(error) == place.path


@pytest.mark.parametrize("method", sorted(METHODS))
def test_unknown_fields_survive_in_every_object(method: str) -> None:
    params = full(METHODS[method].params)
    holders = {place.location[:-1] for place in places(params, METHODS[method].params)}
    for holder in holders:
        sent = changed(params, (*holder, "fromTheFuture"), {"deep": [None, 1.5]})
        assert validate_params(method, sent) is sent


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("params", [None, [], "x", 7, True, [{"channel": ROOT}]])
def test_params_that_are_no_object_are_refused(method: str, params: Any) -> None:
    with pytest.raises(InvalidParams, match="expected an object"):
        validate_params(method, params)


def test_a_foreign_method_is_not_found() -> None:
    with pytest.raises(MethodNotFound):
        validate_params("tools/list", {"channel": "mcp://x"})
    with pytest.raises(MethodNotFound):
        validate_result("tools/list", {})


@pytest.mark.parametrize("spelling", [ROOT, "ahp-root:", "ahp-root:/"])
def test_the_root_channel_is_known_in_the_spellings_of_real_clients(spelling: str) -> None:
    assert validate_params("ping", {"channel": spelling}) == {"channel": spelling}


@pytest.mark.parametrize("channel", ["", "ahp-session:/s1", "ahp-root://x", 3, None])
def test_a_root_method_on_another_channel_is_refused(channel: Any) -> None:
    with pytest.raises(InvalidParams) as error:
        validate_params("ping", {"channel": channel})
    assert refused_path(error) == "channel"


def test_a_malformed_version_offer_is_left_to_negotiation_but_must_be_there() -> None:
    params = {"channel": ROOT, "protocolVersions": [3, None], "clientId": "c"}
    assert validate_params("initialize", params) is params
    with pytest.raises(InvalidParams) as error:
        validate_params("initialize", removed(params, ("protocolVersions",)))
    assert refused_path(error) == "protocolVersions"


@pytest.mark.parametrize(
    ("method", "path", "bad", "good"),
    [
        ("completions", ("offset",), -1, 0),
        ("listSessions", ("limit",), 0, 1),
        ("subscribe", ("view", "turns"), -1, 0),
        ("subscribe", ("delivery", "maxLatencyMs"), -0.5, 0),
        ("createTerminal", ("cols",), 0, 1),
        ("createTerminal", ("rows",), -3, 1),
        ("reconnect", ("lastSeenServerSeq",), -1, 0),
        ("dispatchAction", ("clientSeq",), -1, 0),
        ("resourceWrite", ("position",), -1, 0),
        ("initialize", ("clientId",), "", "c"),
        ("reconnect", ("clientId",), "", "c"),
        ("createChat", ("chat",), "", "ahp-chat:/c"),
        ("subscribe", ("channel",), "", "x:"),
    ],
)
def test_a_field_keeps_to_its_range(
    method: str, path: tuple[str, ...], bad: Any, good: Any
) -> None:
    params = full(METHODS[method].params)
    validate_params(method, changed(params, path, good))
    with pytest.raises(InvalidParams) as error:
        validate_params(method, changed(params, path, bad))
    assert refused_path(error) == spelled(path)


def test_a_whole_number_written_as_a_float_becomes_an_integer() -> None:
    params = {"channel": "c", "clientSeq": 3.0, "action": minimal(ACTIONS["TerminalInputAction"])}
    checked = validate_params("dispatchAction", params)
    assert type(checked["clientSeq"]) is int
    assert checked == {**params, "clientSeq": 3}
    assert checked["action"] is params["action"]
    resized = {"type": "terminal/resized", "cols": 80.0, "rows": 24}
    assert type(validate_action(resized)["cols"]) is int


def test_null_inside_free_form_maps_is_data() -> None:
    params = {"channel": "s", "provider": None, "config": {"a": None, "b": {"c": None}}}
    assert validate_params("createSession", params) == {
        "channel": "s",
        "config": {"a": None, "b": {"c": None}},
    }
    message = {
        "text": "hi",
        "origin": {"kind": "user"},
        "model": {"id": "m", "config": {"temperature": None}},
        "_meta": {"x": None},
    }
    started = {"type": "chat/turnStarted", "turnId": "t", "startedAt": "now", "message": message}
    assert validate_action(started) is started
    complete = changed(
        full(ACTIONS["ChatToolCallCompleteAction"]), ("result", "structuredContent"), {"x": None}
    )
    assert validate_action(complete) is complete


# Actions


@pytest.mark.parametrize("name", sorted(ACTIONS))
def test_every_action_is_returned_as_it_is_alone_and_in_params(name: str) -> None:
    for action in (minimal(ACTIONS[name]), *variants(ACTIONS[name])):
        assert validate_action(action) is action
        params = {"channel": "c", "clientSeq": 1, "action": action}
        assert validate_params("dispatchAction", params) is params


@pytest.mark.parametrize("name", sorted(CLIENT_ACTIONS))
def test_a_fault_in_a_dispatched_action_is_refused_by_its_path(name: str) -> None:
    for action in variants(CLIENT_ACTIONS[name]):
        for place in places(action, StateAction):
            path = spelled(place.location, "action")
            faulty = [changed(action, place.location, bad) for bad in place.wrong]
            if place.is_required:
                faulty.append(removed(action, place.location))
            for sent in faulty:
                with pytest.raises(InvalidParams) as error:
                    validate_action(sent)
                assert refused_path(error) == path
                with pytest.raises(InvalidParams) as error:
                    validate_params(
                        "dispatchAction", {"channel": "c", "clientSeq": 1, "action": sent}
                    )
                assert refused_path(error) == path


@pytest.mark.parametrize("name", sorted(CLIENT_ACTIONS))
def test_a_null_in_a_dispatched_action_is_refused_because_absence_is_a_command(name: str) -> None:
    for action in variants(CLIENT_ACTIONS[name]):
        for place in places(action, StateAction):
            if not place.wrong:
                continue
            sent = changed(action, place.location, None)
            for check in (
                validate_action,
                lambda sent: validate_params(
                    "dispatchAction", {"channel": "c", "clientSeq": 1, "action": sent}
                ),
            ):
                with pytest.raises(InvalidParams) as error:
                    check(sent)
                assert refused_path(error) == spelled(place.location, "action")


def test_truncating_at_null_does_not_pass_for_truncating_at_nothing() -> None:
    with pytest.raises(InvalidParams) as error:
        validate_action({"type": "chat/truncated", "turnId": None})
    assert error.value.path == "action.turnId"
    assert error.value.message == "action.turnId: expected a string, got null"


def test_a_host_that_writes_null_for_absent_is_understood() -> None:
    envelope = {
        "channel": "c",
        "serverSeq": 7,
        "origin": None,
        "rejectionReason": None,
        "action": {"type": "session/activityChanged", "activity": None},
    }
    assert validate_params("action", envelope) == {
        "channel": "c",
        "serverSeq": 7,
        "action": {"type": "session/activityChanged"},
    }


def test_an_unknown_action_type_is_refused_alone_but_kept_in_an_envelope() -> None:
    action = {"type": "future/thing", "x": None}
    with pytest.raises(InvalidParams, match="unknown action type") as error:
        validate_action(action)
    assert refused_path(error) == "action.type"
    envelope = {"channel": "c", "serverSeq": 1, "action": action}
    assert validate_params("action", envelope) is envelope


@pytest.mark.parametrize("action", [None, [], "terminal/cleared", {}, {"type": 3}, {"type": None}])
def test_an_action_without_a_type_is_refused(action: Any) -> None:
    with pytest.raises(InvalidParams) as error:
        validate_action(action)
    assert refused_path(error) == ("action.type" if isinstance(action, dict) else "action")


def test_a_fault_in_the_action_means_that_channel_and_number_are_sound() -> None:
    with pytest.raises(InvalidParams) as error:
        validate_params("dispatchAction", {"channel": "c", "clientSeq": -1, "action": {}})
    assert refused_path(error) == "clientSeq"


@pytest.mark.parametrize("approved", [1, 0, "true", None])
def test_a_confirmation_is_told_apart_by_a_real_boolean(approved: Any) -> None:
    action = changed(full(ACTIONS["ChatToolCallApprovedAction"]), ("approved",), approved)
    with pytest.raises(InvalidParams) as error:
        validate_action(action)
    assert refused_path(error) == "action.approved"


# Unions


OPEN = [
    "MessageAttachment",
    "ToolResultContent",
    "Customization",
    "CustomizationEnablement",
    "ResponsePart",
    "StateAction",
    "SessionOrigin",
    "BackgroundWork",
    "TerminalLifecycleState",
    "ChatMoveDestination",
    "AutomationTrigger",
    "AutomationDisableCondition",
    "AutomationRunOrigin",
    "AutomationRunLifecycle",
]
CLOSED = [
    "ChatInputAnswer",
    "ChatInputAnswerValue",
    "TerminalClaim",
    "ChatSource",
    "ChangesetOperationTarget",
    "ReconnectResult",
]


def discriminator(name: str) -> str:
    key: str = WIRE_TYPES[name].__metadata__[0].key
    return key


@pytest.mark.parametrize("name", OPEN)
def test_an_open_union_keeps_what_it_does_not_know(name: str) -> None:
    value = {discriminator(name): "fromTheFuture", "x": {"y": None}}
    assert validate_as(name, value) is value


@pytest.mark.parametrize("name", CLOSED)
def test_a_closed_union_refuses_what_it_does_not_know(name: str) -> None:
    key = discriminator(name)
    with pytest.raises(InvalidParams, match=r"expected '.*' or '.*', got") as e:
        validate_as(name, {key: "fromTheFuture"})
    assert refused_path(e) == key


@pytest.mark.parametrize("name", OPEN + CLOSED)
@pytest.mark.parametrize("tag", [None, 7, True, [], {}])
def test_a_discriminant_that_is_no_string_is_refused(name: str, tag: Any) -> None:
    with pytest.raises(InvalidParams) as error:
        validate_as(name, {discriminator(name): tag})
    assert refused_path(error) == discriminator(name)


# Words


def is_open_word(wire_type: Any) -> bool:
    return isinstance(getattr(wire_type, "__metadata__", (None,))[0], OpenWord)


WORDS = sorted(name for name, wire_type in WIRE_TYPES.items() if is_open_word(wire_type))


@pytest.mark.parametrize("name", WORDS)
def test_a_word_of_the_future_is_kept_and_anything_but_a_word_is_refused(name: str) -> None:
    assert validate_as(name, "fromTheFuture") == "fromTheFuture"
    for wrong in (None, 7, True, ["x"], {"x": "y"}):
        with pytest.raises(InvalidParams, match="expected a string, got"):
            validate_as(name, wrong)


def test_the_words_of_what_is_asked_for_are_closed() -> None:
    """A host must know what it is asked for; of what it is told it can keep what it does not."""
    spelled_out = {
        name
        for name, wire_type in WIRE_TYPES.items()
        if get_origin(wire_type) is Literal and name not in WORDS
    }
    assert spelled_out == {
        "CompletionItemKind",
        "ContentEncoding",
        "PendingMessageKind",
        "PushKind",
        "ResourceWriteMode",
        "RoleName",
    }
    params = {"channel": ROOT, "uri": "file:///a", "encoding": "rot13"}
    with pytest.raises(InvalidParams, match="expected 'base64' or 'utf-8', got \"rot13\""):
        validate_params("resourceRead", params)


@pytest.mark.parametrize("name", sorted(ACTIONS))
def test_no_unknown_word_fails_the_action_that_holds_it(name: str) -> None:
    for action in variants(ACTIONS[name]):
        for place in places(action, ACTIONS[name]):
            if is_open_word(place.wire_type):
                told = changed(action, place.location, "fromTheFuture")
                assert validate_action(told) is told


def test_an_agents_own_words_must_be_known() -> None:
    action = {"type": "changeset/statusChanged", "status": "pondering"}
    assert find_unknown(validate_action(action), StateAction, "action") == (
        "action.status: there is no 'pondering'; there is computing, recomputing, ready, error"
    )
    known = {"type": "changeset/statusChanged", "status": "recomputing"}
    assert find_unknown(validate_action(known), StateAction, "action") is None


# Lists


RUNS = {"kind": "afterRuns", "max": 3}
DATE = {"kind": "afterDate", "date": "2027-01-01T00:00:00Z"}
LATER = {"kind": "afterSunset", "place": "here"}


def asked(*conditions: Any) -> dict[str, Any]:
    changes = {"disableConditions": [*conditions]}
    return {"type": "automation/updateRequested", "resource": "a:/1", "changes": changes}


@pytest.mark.parametrize("conditions", [[], [RUNS], [DATE, RUNS], [LATER, RUNS, LATER]])
def test_a_condition_of_each_kind_may_stand_once(conditions: list[Any]) -> None:
    action = asked(*conditions)
    assert validate_action(action) is action


@pytest.mark.parametrize("conditions", [[RUNS, RUNS], [DATE, RUNS, {**DATE, "date": "x"}]])
def test_a_second_condition_of_a_kind_is_refused(conditions: list[Any]) -> None:
    with pytest.raises(InvalidParams, match="expected each kind at most once, got a list") as error:
        validate_action(asked(*conditions))
    assert refused_path(error) == "action.changes.disableConditions"


def test_a_fault_inside_such_a_list_is_found_and_what_can_be_forgiven_is_forgiven() -> None:
    with pytest.raises(InvalidParams) as error:
        validate_action(asked(RUNS, {"kind": "afterDate"}))
    assert refused_path(error) == "action.changes.disableConditions[1].date"
    assert validate_action(asked({**RUNS, "max": 3.0})) == asked(RUNS)


@pytest.mark.parametrize(
    ("name", "value", "path"),
    [
        ("AutomationAfterRunsCondition", {"kind": "afterRuns", "max": 0}, "max"),
        ("AutomationAfterRunsCondition", {"kind": "afterRuns", "max": 1.5}, "max"),
        ("ConfigPropertySchema", {"type": "array", "title": "t", "minItems": -1}, "minItems"),
        ("ConfigPropertySchema", {"type": "array", "title": "t", "maxItems": 0.5}, "maxItems"),
        (
            "AuthenticateParams",
            {"channel": ROOT, "resource": "r", "token": "", "expiresIn": 0},
            "expiresIn",
        ),
    ],
)
def test_a_count_keeps_to_its_range(name: str, value: Any, path: str) -> None:
    with pytest.raises(InvalidParams, match="a whole number of at least") as error:
        validate_as(name, value)
    assert refused_path(error) == path


def test_a_path_through_lists_unions_and_maps_names_only_what_was_sent() -> None:
    params = full(METHODS["createChat"].params)
    params["initialMessage"]["attachments"] = [
        {"type": "simple", "label": "fine"},
        {"type": "fromTheFuture"},
        {"type": "resource", "label": "x", "uri": "file:///a", "selection": {"range": {}}},
    ]
    with pytest.raises(InvalidParams) as error:
        validate_params("createChat", params)
    assert refused_path(error) == "initialMessage.attachments[2].selection.range.start"

    answers = {"which one?": {"state": "draft", "value": {"kind": "number", "value": "3"}}}
    action = {"type": "chat/inputCompleted", "requestId": "r", "response": "accept"}
    with pytest.raises(InvalidParams) as error:
        validate_action({**action, "answers": answers})
    assert refused_path(error) == 'action.answers["which one?"].value.value'


# Results and named types


@pytest.mark.parametrize("method", sorted(m.name for m in METHODS.values() if m.result))
def test_results_are_checked_like_params(method: str) -> None:
    result = full(METHODS[method].result)
    assert validate_result(method, result) is result
    with pytest.raises(InvalidParams):
        validate_result(method, 7)
    for place in places(result, METHODS[method].result):
        if not place.is_required and place.wire_type is not Any:
            sent = changed(result, place.location, None)
            assert validate_result(method, sent) == removed(result, place.location)


def test_a_result_that_should_be_null_means_nothing_else() -> None:
    assert validate_result("createSession", None) is None
    assert validate_result("createSession", {}) is None


def test_a_name_that_is_no_wire_type_is_the_callers_mistake() -> None:
    with pytest.raises(KeyError):
        validate_as("NoSuchType", {})


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ({"jsonrpc": "2.0", "id": 1, "method": 3}, "method"),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": 1}}, "error.message"),
        ({"jsonrpc": "1.0", "id": 1, "result": None}, "jsonrpc"),
        ({"jsonrpc": "2.0", "id": 1}, None),
    ],
)
def test_a_json_rpc_message_is_told_by_its_keys(message: Any, path: str | None) -> None:
    with pytest.raises(InvalidParams) as error:
        validate_as("JsonRpcMessage", message)
    assert refused_path(error) == path


STATES = {
    "root": "RootState",
    "session": "SessionState",
    "chat": "ChatState",
    "terminal": "TerminalState",
    "changeset": "ChangesetState",
    "annotations": "AnnotationsState",
    "resourceWatch": "ResourceWatchState",
    "automation": "AutomationState",
}


def test_everything_in_the_published_fixtures_passes_and_is_told_by_its_keys() -> None:
    fixtures = [corpus.read_reducer_fixture(path) for path in corpus.reducer_fixtures("1.0.0")]
    if not fixtures:
        pytest.skip(f"no conformance data at {corpus.CONFORMANCE}; set AGENTHOST_SHARED")
    for fixture in fixtures:
        for state in (fixture.initial, fixture.expected):
            validate_as(STATES[fixture.kind], corpus.without_nulls(state))
            assert kind_of_state(state) == fixture.kind
            validate_result(
                "subscribe", {"snapshot": {"resource": "r", "fromSeq": 1, "state": state}}
            )
        for action in fixture.actions:
            validate_params("action", {"channel": "c", "serverSeq": 1, "action": action})


# What these hold is unknown on purpose; every other value must be known to the last word.
FROM_THE_FUTURE = {
    "002-state-action-unknown-variant-preserved",
    "003-customization-unknown-type-preserved",
    "050-message-origin-unknown-kind-preserved",
    "052-session-origin-unknown-kind-preserved",
}


def test_the_published_values_are_known_and_kept() -> None:
    values = [corpus.read_round_trip(path) for path in corpus.round_trip_fixtures("1.0.0")]
    if not values:
        pytest.skip(f"no conformance data at {corpus.CONFORMANCE}; set AGENTHOST_SHARED")
    unknown = set()
    for value in values:
        plain = corpus.without_nulls(value.input)
        assert validate_as(value.type, plain) is plain
        if find_unknown(plain, WIRE_TYPES[value.type], value.name):
            unknown.add(value.name)
    assert unknown == FROM_THE_FUTURE


def test_what_clients_send_finds_its_validator_built() -> None:
    checker.cache_clear()
    build_validators()
    built = checker.cache_info().misses
    for method in METHODS.values():
        if Direction.TO_HOST in method.directions:
            with contextlib.suppress(InvalidParams):
                validate_params(method.name, {})
    assert checker.cache_info().misses == built
