"""JSON-RPC 2.0 messages: one JSON object per frame, decoded and encoded.

Owns the four message shapes and the id rules. Does not know methods, parameters or handshakes:
``methods`` and ``peer`` do. AHP carries no batches, so an array is an invalid request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import orjson
from msgspec import Struct

from agenthost.errors import InvalidParams, InvalidRequest, ParseError, WireError

# AHP types ids as numbers and sends integers; anything JSON-RPC allows is accepted and echoed.
Id: TypeAlias = int | float | str | None


class Request(Struct, frozen=True):
    """A call that must be answered exactly once."""

    id: Id
    method: str
    params: dict[str, Any]


class Notification(Struct, frozen=True):
    """A message that must not be answered."""

    method: str
    params: dict[str, Any]


class Success(Struct, frozen=True):
    """The result of a call; ``result`` is always on the wire, even when it is null."""

    id: Id
    result: Any


class Failure(Struct, frozen=True):
    """The refusal of a call; ``id`` is None when the call could not even be read."""

    id: Id
    error: WireError


Message: TypeAlias = Request | Notification | Success | Failure


class InboundError(Exception):
    """A frame that cannot be taken as a message, with the answer it deserves.

    ``reply`` is None where JSON-RPC forbids an answer: the frame was a notification or a response.
    """

    def __init__(self, error: WireError, reply: Failure | None) -> None:
        self.error = error
        self.reply = reply
        super().__init__(error.message)


def loads(raw: bytes | str) -> Any:
    """Parse JSON, or raise ParseError; NaN, bad UTF-8 and bottomless nesting are errors."""
    try:
        return orjson.loads(raw)
    except (orjson.JSONDecodeError, RecursionError) as error:
        raise ParseError from error


dumps: Callable[[Any], bytes] = orjson.dumps
"""Encode JSON compactly as UTF-8."""


def decode(raw: bytes | str) -> Message:
    """Read one frame, or raise InboundError with what to answer."""
    try:
        value = loads(raw)
    except ParseError as error:
        raise InboundError(error, Failure(None, error)) from error
    if not isinstance(value, dict):
        raise _refuse(None, "a message must be one JSON object")
    if "method" in value:
        return _decode_call(value)
    if "result" in value or "error" in value:
        return _decode_response(value)
    raise _refuse(_readable_id(value), "a message needs a method, or an id with a result or error")


def encode(message: Message) -> bytes:
    """Write one message as a frame."""
    match message:
        case Request(id, method, params):
            return dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        case Notification(method, params):
            return dumps({"jsonrpc": "2.0", "method": method, "params": params})
        case Success(id, result):
            return dumps({"jsonrpc": "2.0", "id": id, "result": result})
        case Failure(id, error):
            return dumps({"jsonrpc": "2.0", "id": id, "error": error.to_wire()})


def _decode_call(value: dict[str, Any]) -> Request | Notification:
    is_request = "id" in value
    if is_request and not _is_id(value["id"]):
        raise _refuse(None, "an id must be a number or a string")
    id = value.get("id")

    def refused(error: WireError) -> InboundError:
        return InboundError(error, Failure(id, error) if is_request else None)

    if value.get("jsonrpc") != "2.0":
        raise refused(InvalidRequest('"jsonrpc" must be "2.0"'))
    method, params = value["method"], value.get("params", {})
    if not isinstance(method, str):
        raise refused(InvalidRequest("the method must be a string"))
    if not isinstance(params, dict):
        raise refused(InvalidParams("params must be an object", path="params"))
    return Request(id, method, params) if is_request else Notification(method, params)


def _decode_response(value: dict[str, Any]) -> Success | Failure:
    # Its id is one of ours. An answer under that id would reach a call of the peer's.
    if "id" not in value or not _is_id(value["id"]):
        raise _unanswerable("a response's id must be a number or a string")
    if "result" in value and "error" in value:
        raise _unanswerable("a response has either a result or an error")
    id = value["id"]
    if "result" in value:
        return Success(id, value["result"])
    error = value["error"]
    if not isinstance(error, Mapping):
        raise _unanswerable("an error must be an object")
    return Failure(id, WireError.from_wire(error))


def _is_id(value: object) -> bool:
    return value is None or (isinstance(value, int | float | str) and not isinstance(value, bool))


def _readable_id(value: Mapping[str, Any]) -> Id:
    id = value.get("id")
    return id if _is_id(id) else None


def _refuse(id: Id, why: str) -> InboundError:
    error = InvalidRequest(why)
    return InboundError(error, Failure(id, error))


def _unanswerable(why: str) -> InboundError:
    return InboundError(InvalidRequest(why), None)
