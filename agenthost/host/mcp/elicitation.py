"""What an MCP server asks people, as the protocol's questions, and the answers back (pure)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agenthost.agents import inputs
from agenthost.agents.inputs import Answers
from agenthost.protocol.jsonrpc import dumps

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonMapping, JsonObject

# Bytes of a request, which stays in the chat.
MOST_BYTES = 64 * 1024
# Questions of one request, options of one question, and characters of a text.
MOST_QUESTIONS = 32
MOST_OPTIONS = 100
_LONGEST = 2000
_LONGEST_LABEL = 200
_WEB = re.compile(r"https?://[^\s]{1,2000}", re.IGNORECASE)

DECLINED: JsonObject = {"action": "decline"}
_FORMATS = ("email", "uri", "date", "date-time")


class UnaskableQuestion(Exception):
    """What a server wants to know cannot be asked; says why."""


def request_of(server: str, params: JsonObject) -> JsonObject:
    """Return the request by which people are asked what a server wants to know, without its id.

    Raises:
        UnaskableQuestion: nobody could answer it.
    """
    request = _request_of(server, params)
    if len(dumps(request)) > MOST_BYTES:
        raise UnaskableQuestion("it asks with more words than anybody reads")
    return request


def _request_of(server: str, params: JsonObject) -> JsonObject:
    message = f"{server} asks: {_text(params.get('message')) or 'for your answer'}"
    if params.get("mode") == "url":
        url = params.get("url")
        if not isinstance(url, str) or _WEB.fullmatch(url) is None:
            raise UnaskableQuestion("the page that it wants to open has no http or https address")
        return {"message": f"{message}\n\n{url}", "url": url}
    schema = params.get("requestedSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or not properties:
        return {"message": message}
    if len(properties) > MOST_QUESTIONS:
        raise UnaskableQuestion(f"it asks more than {MOST_QUESTIONS} things at once")
    assert isinstance(schema, dict)
    required = schema.get("required")
    wanted = required if isinstance(required, list) else []
    questions = [_question(name, said, name in wanted) for name, said in properties.items()]
    return {"message": message, "questions": questions}


def result_of(params: JsonObject, answers: Answers) -> JsonObject:
    """Return the elicitation result that a server is given for people's answers."""
    if not answers:
        return {"action": "cancel" if answers.response == "cancel" else "decline"}
    if params.get("mode") == "url":
        return {"action": "accept"}
    return {"action": "accept", "content": dict(answers.values)}


def _question(name: str, said: object, required: bool) -> JsonObject:
    if not isinstance(said, dict) or not name:
        raise UnaskableQuestion(f"it does not say what {name[:_LONGEST_LABEL]} is")
    title = _text(said.get("title"), _LONGEST_LABEL) or name[:_LONGEST_LABEL]
    message = _text(said.get("description")) or title
    shared: JsonObject = {"required": required, "title": title}
    if (options := _options(said)) is not None:
        return inputs.choice(name, message, options, **shared)
    match said.get("type"):
        case "array":
            return _many(name, message, said, shared)
        case "boolean":
            return inputs.boolean(name, message, default=_of(said, "default", bool), **shared)
        case "integer":
            return inputs.integer(name, message, **_bounds(said, int), **shared)
        case "number":
            return inputs.number(name, message, **_bounds(said, float), **shared)
        case "string" | None:
            return inputs.text(
                name,
                message,
                min=_of(said, "minLength", int),
                max=_of(said, "maxLength", int),
                format=said["format"] if said.get("format") in _FORMATS else None,
                default=_of(said, "default", str),
                **shared,
            )
    raise UnaskableQuestion(f"{title} is of a kind that people are not asked for here")


def _many(name: str, message: str, said: JsonObject, shared: JsonObject) -> JsonObject:
    items = said.get("items")
    options = _options(items) if isinstance(items, dict) else None
    if options is None:
        raise UnaskableQuestion(f"{shared['title']} is a list of what nobody can choose from")
    least, most = _of(said, "minItems", int), _of(said, "maxItems", int)
    return inputs.choices(name, message, options, min=least, max=most, **shared)


def _options(said: JsonObject) -> list[JsonObject] | None:
    """Return the options of a choice, in any of the spellings that MCP had; None if it is none."""
    titled = said.get("oneOf") or said.get("anyOf")
    if isinstance(titled, list):
        pairs = [
            (each.get("const"), each.get("title")) for each in titled if isinstance(each, dict)
        ]
    elif isinstance(values := said.get("enum"), list):
        names = said.get("enumNames")
        labels: Sequence[object] = names if isinstance(names, list) else values
        pairs = list(zip(values, labels, strict=False))
    else:
        return None
    if len(pairs) > MOST_OPTIONS or not all(isinstance(value, str) for value, _ in pairs):
        raise UnaskableQuestion("it offers too much to choose from, or what is no text")
    return [
        {"id": value, "label": _text(label, _LONGEST_LABEL) or str(value)[:_LONGEST_LABEL]}
        for value, label in dict(pairs).items()
    ]


def _bounds(said: JsonObject, kind: type[int] | type[float]) -> JsonObject:
    names = {"min": "minimum", "max": "maximum", "default": "default"}
    return {name: _of(said, key, kind) for name, key in names.items()}


def _of(said: JsonMapping, key: str, kind: type) -> Any:
    value = said.get(key)
    if isinstance(value, bool) and kind is not bool:
        return None
    if kind is float and isinstance(value, int):
        return value
    return value if isinstance(value, kind) else None


def _text(value: object, longest: int = _LONGEST) -> str:
    return value[:longest] if isinstance(value, str) else ""
