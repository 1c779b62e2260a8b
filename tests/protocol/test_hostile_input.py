"""Whatever a peer sends is taken or refused: no traceback, no more work than it is worth."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import ValidationError

from agenthost.errors import InvalidParams
from agenthost.protocol.envelopes import StateAction
from agenthost.protocol.methods import METHODS
from agenthost.protocol.schema.unions import checker
from agenthost.protocol.schema.validation import validate_action, validate_as, validate_params
from agenthost.protocol.wire_types import WIRE_TYPES
from tests.protocol.refusals import ACTIONS, refusal_of, refused_path
from tests.protocol.wire_samples import changed, full, minimal, places, spelled

ROOT = "ahp-root://"

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(method=st.sampled_from(sorted(METHODS)), params=JSON)
def test_arbitrary_json_as_params_is_taken_or_refused(method: str, params: Any) -> None:
    refusal_of(lambda: validate_params(method, params))


@given(data=st.data(), method=st.sampled_from(sorted(METHODS)), junk=JSON)
def test_arbitrary_json_anywhere_in_params_is_taken_or_refused(
    data: st.DataObject, method: str, junk: Any
) -> None:
    params = full(METHODS[method].params)
    place = data.draw(st.sampled_from(list(places(params, METHODS[method].params))))
    sent = changed(params, place.location, junk)
    refusal = refusal_of(lambda: validate_params(method, sent))
    assert refusal is None or (refusal.path or "").startswith(place.path)


@given(name=st.sampled_from(sorted(ACTIONS)), data=st.data(), junk=JSON)
def test_arbitrary_json_anywhere_in_an_action_is_taken_or_refused(
    name: str, data: st.DataObject, junk: Any
) -> None:
    action = full(ACTIONS[name])
    place = data.draw(st.sampled_from(list(places(action, StateAction))))
    sent = changed(action, place.location, junk)
    refusal = refusal_of(lambda: validate_action(sent))
    assert refusal is None or (refusal.path or "").startswith(spelled(place.location, "action"))


@given(name=st.sampled_from(sorted(WIRE_TYPES)), value=JSON)
def test_arbitrary_json_as_any_type_is_taken_or_refused(name: str, value: Any) -> None:
    refusal_of(lambda: validate_as(name, value))


def agents_changed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the one message that nests without bound, around a setting's schema."""
    model = {"id": "m", "provider": "p", "name": "n"}
    config = {"type": "object", "properties": {"setting": schema}}
    agent = minimal(WIRE_TYPES["AgentInfo"]) | {"models": [{**model, "configSchema": config}]}
    action = {"type": "root/agentsChanged", "agents": [agent]}
    return {"channel": ROOT, "serverSeq": 1, "action": action}


@pytest.mark.parametrize("depth", [120, 300, 900])
@pytest.mark.parametrize("origin", [None, {"clientId": "c", "clientSeq": 1}])
def test_deep_nesting_is_taken_or_refused_in_words(depth: int, origin: Any) -> None:
    schema: dict[str, Any] = {"type": "object", "title": "innermost"}
    for _ in range(depth):
        schema = {"type": "object", "title": "outer", "items": schema}
    envelope = {**agents_changed(schema), "origin": origin}
    refusal = refusal_of(lambda: validate_params("action", envelope))
    if depth >= 300:
        assert refusal is not None
    assert refusal is None or refusal.message == "nested too deeply"


@pytest.mark.parametrize(
    ("name", "value", "path"),
    [
        (
            "CreateSessionParams",
            {"channel": "s", "workingDirectories": [7] * 1000},
            "workingDirectories[0]",
        ),
        (
            "ChatInputCompletedAction",
            {
                **minimal(ACTIONS["ChatInputCompletedAction"]),
                "answers": {f"q{number}": 7 for number in range(1000)},
            },
            "answers.q0",
        ),
        (
            "CreateChatParams",
            changed(
                full(METHODS["createChat"].params),
                ("initialMessage", "attachments"),
                [{"type": "simple"}] * 1000,
            ),
            "initialMessage.attachments[0].label",
        ),
    ],
)
def test_a_thousand_faults_in_a_list_or_map_cost_no_more_than_one(
    name: str, value: Any, path: str
) -> None:
    with pytest.raises(ValidationError) as raised:
        checker(WIRE_TYPES[name]).validate_python(value, strict=True)
    assert raised.value.error_count() == 1
    with pytest.raises(InvalidParams) as error:
        validate_as(name, value)
    assert refused_path(error) == path


def test_long_values_and_keys_are_shortened_and_secrets_left_out() -> None:
    with pytest.raises(InvalidParams) as error:
        validate_action({"type": "x" * 10_000})
    assert len(error.value.message) < 200
    answers = {"k" * 10_000: 7}
    action = {"type": "chat/inputCompleted", "requestId": "r", "response": "accept"}
    with pytest.raises(InvalidParams) as error:
        validate_action({**action, "answers": answers})
    assert len(error.value.message) < 300
    token = {"channel": ROOT, "resource": "https://example.com", "token": 271828}
    with pytest.raises(InvalidParams) as error:
        validate_params("authenticate", token)
    assert error.value.message == "token: expected a string, got a number"


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 10**400, -(10**400), 2**63])
def test_a_number_that_no_peer_can_carry_is_refused(number: Any) -> None:
    for action, field in (
        (minimal(ACTIONS["ChatTurnCancelledAction"]), "duration"),
        (minimal(ACTIONS["TerminalResizedAction"]), "cols"),
    ):
        with pytest.raises(InvalidParams) as error:
            validate_action({**action, field: number})
        assert refused_path(error) == f"action.{field}"
