"""The table of methods is complete, and every message can be routed by its channel."""

from __future__ import annotations

import re

import pytest
from typing_extensions import is_typeddict

from agenthost.protocol.methods import METHODS, Direction, methods
from agenthost.protocol.schema.scalars import CatalogueSpelling, RootSpelling
from agenthost.protocol.schema.unions import fields_of
from tests.conformance import corpus

EITHER_WAY = {
    "resourceRead", "resourceWrite", "resourceList", "resourceCopy", "resourceDelete",
    "resourceMove", "resourceResolve", "resourceMkdir", "resourceRequest", "createResourceWatch",
}  # fmt: skip
ON_ROOT = EITHER_WAY | {
    "initialize", "ping", "reconnect", "listSessions", "authenticate", "resolveSessionConfig",
    "sessionConfigCompletions", "agenthost/listTrash", "listAutomationTriggerDefinitions",
    "agenthost/createToken", "agenthost/listTokens", "agenthost/revokeToken",
    "agenthost/about", "agenthost/subscribePush", "agenthost/unsubscribePush",
    "agenthost/visible", "agenthost/forgetTrust", "agenthost/listTrust",
    "agenthost/listNodes",
}  # fmt: skip
ON_AUTOMATIONS = {"runAutomation", "fetchAutomationRuns"}
# What this product adds to the protocol.
OURS = 16


def test_there_are_as_many_methods_as_the_protocol_has() -> None:
    assert len(methods(Direction.TO_HOST, is_notification=False)) == 31 + OURS
    assert len(methods(Direction.TO_HOST, is_notification=True)) == 3
    assert len(methods(Direction.TO_CLIENT, is_notification=False)) == 10
    assert len(methods(Direction.TO_CLIENT, is_notification=True)) == 9
    assert len(METHODS) == 31 + OURS + 3 + 9


def test_the_resource_methods_go_either_way_and_nothing_else_does() -> None:
    assert {name for name, method in METHODS.items() if len(method.directions) == 2} == EITHER_WAY
    assert methods(Direction.TO_CLIENT, is_notification=False) == EITHER_WAY


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_message_names_its_channel(name: str) -> None:
    params = METHODS[name].params
    assert is_typeddict(params)
    assert "channel" in params.__required_keys__
    rule = fields_of(params)["channel"].__metadata__[0]
    assert isinstance(rule, RootSpelling) == (name in ON_ROOT)
    assert isinstance(rule, CatalogueSpelling) == (name in ON_AUTOMATIONS)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_request_has_room_for_free_data_and_no_notification_has(name: str) -> None:
    method = METHODS[name]
    assert ("_meta" in method.params.__optional_keys__) == (not method.is_notification)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_row_is_named_after_itself_and_a_notification_has_no_result(name: str) -> None:
    method = METHODS[name]
    assert method.name == name
    assert not (method.is_notification and method.result)


def test_the_digest_names_no_method_that_is_missing_here() -> None:
    digest = corpus.SHARED / "spec" / "wire.md"
    if not digest.is_file():
        pytest.skip(f"no digest at {digest}")
    catalogue = digest.read_text("utf-8").split("## 5. Method catalogue")[1].split("## 6.")[0]
    rows = re.findall(r"^\| `([a-zA-Z/]+)`", catalogue, re.MULTILINE)
    assert len(rows) > 20
    assert set(rows) <= METHODS.keys()
