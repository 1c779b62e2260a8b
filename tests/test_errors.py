"""Wire errors: what they carry is theirs to read on either side of the wire."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.errors import (
    AuthRequired,
    InternalError,
    InvalidParams,
    PermissionDenied,
    UnsupportedProtocolVersion,
    WireError,
)

RESOURCE = {"resource": "https://api.example.org"}
REQUEST = {"channel": "ahp-root://", "uri": "file:///x", "read": True}

TYPED: list[tuple[WireError, str, Any]] = [
    (InvalidParams("no", path="action.title"), "path", "action.title"),
    (InvalidParams("no"), "path", None),
    (UnsupportedProtocolVersion(["1.0.0", "0.9.0"]), "supported", ("1.0.0", "0.9.0")),
    (AuthRequired([RESOURCE]), "resources", (RESOURCE,)),
    (PermissionDenied(request=REQUEST), "request", REQUEST),
    (PermissionDenied(), "request", None),
]


@pytest.mark.parametrize(("error", "name", "told"), TYPED)
def test_what_an_error_tells_is_told_by_the_one_that_arrives(
    error: WireError, name: str, told: Any
) -> None:
    arrived = WireError.from_wire(error.to_wire())
    assert type(arrived) is type(error)
    assert getattr(error, name) == getattr(arrived, name) == told
    assert arrived.to_wire() == error.to_wire()


@pytest.mark.parametrize(
    "data",
    [None, 3, "x", [], {}, {"path": 3, "request": 3, "resources": 3, "supportedVersions": 3}],
)
@pytest.mark.parametrize(
    ("code", "name", "told"),
    [
        (InvalidParams.code, "path", None),
        (UnsupportedProtocolVersion.code, "supported", ()),
        (AuthRequired.code, "resources", ()),
        (PermissionDenied.code, "request", None),
    ],
)
def test_an_error_whose_data_is_not_as_it_should_be_tells_nothing(
    code: int, name: str, told: Any, data: Any
) -> None:
    arrived = WireError.from_wire({"code": code, "message": "no", "data": data})
    assert getattr(arrived, name) == told
    assert arrived.data == data


def test_only_the_fitting_entries_of_a_list_are_told() -> None:
    versions = {"code": -32005, "message": "", "data": {"supportedVersions": ["1.0.0", 3]}}
    resources = {"code": -32007, "message": "", "data": {"resources": [RESOURCE, 3]}}
    refused, wanted = WireError.from_wire(versions), WireError.from_wire(resources)
    assert isinstance(refused, UnsupportedProtocolVersion)
    assert isinstance(wanted, AuthRequired)
    assert (refused.supported, wanted.resources) == (("1.0.0",), (RESOURCE,))


@pytest.mark.parametrize(
    ("code", "kind", "kept"),
    [
        (-32602.0, InvalidParams, -32602),
        (-32077, WireError, -32077),
        (True, InternalError, -32603),
        ("-32602", InternalError, -32603),
        (1.5, InternalError, -32603),
        (None, InternalError, -32603),
    ],
)
def test_a_code_is_a_whole_number_however_it_is_spelled(
    code: Any, kind: type[WireError], kept: int
) -> None:
    arrived = WireError.from_wire({"code": code, "message": "m"})
    assert type(arrived) is kind
    assert arrived.to_wire() == {"code": kept, "message": "m"}
    assert type(arrived.wire_code) is int
