"""What the values of the host's own settings must be besides what their schema says (pure)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agenthost.host.channels.root_schema import CONFIG_SCHEMA
from agenthost.host.channels.settings import check_change, check_value, is_same
from agenthost.protocol.jsonrpc import dumps

if TYPE_CHECKING:
    from agenthost.host.channels.rule_context import RuleContext, Rules
    from agenthost.protocol.common import Action, JsonObject
    from agenthost.protocol.root import AgentInfo, RootState

# Bytes that the host's own settings may take: every client is sent all of them.
MOST_ROOT_CONFIG = 256 * 1024

# Longer than anybody waits, and short enough to count with.
MOST_SECONDS = 10 * 365 * 24 * 3600.0


def check_root_value(key: str, value: object, agents: Iterable[AgentInfo]) -> str | None:
    """Return why a setting of a host with these agents may not be so, or None."""
    match key:
        case "defaultAgent":
            return _one_of(key, value, [agent["provider"] for agent in agents], "agent")
        case "defaultModel":
            models = [model["id"] for agent in agents for model in agent["models"]]
            return _one_of(key, value, models, "model")
    check = _CHECKS.get(key)
    return check(key, value) if check is not None else None


def read_flag(key: str, text: str) -> object:
    """Return what a text on the command line means as a setting; what means none stays a text."""
    schema = CONFIG_SCHEMA["properties"].get(key)
    if schema is None or schema["type"] == "string":
        return text
    if schema["type"] == "array" and not text.lstrip().startswith("["):
        return [item for item in text.split(",") if item]
    try:
        return json.loads(text)
    except ValueError:
        return text


def check_flags(flags: Mapping[str, object]) -> str | None:
    """Return why the command line may not decide so, or None; of agents nobody knows yet."""
    for key, value in flags.items():
        schema = CONFIG_SCHEMA["properties"].get(key)
        if schema is None:
            return f"there is no setting {key}; there are {', '.join(CONFIG_SCHEMA['properties'])}"
        check = _CHECKS.get(key, _anything)
        broken = check_value(key, schema, value) or check(key, value)
        if broken is not None:
            return broken
    return None


def kept_values(stored: JsonObject, before: JsonObject) -> JsonObject:
    """Return those stored values that somebody chose and that fit today.

    ``before`` is the properties of the schema that they were stored with. What was a default then,
    or the command line's, nobody has chosen.
    """
    kept: JsonObject = {}
    for key, value in stored.items():
        old, new = before.get(key) or {}, CONFIG_SCHEMA["properties"].get(key)
        unchosen = old.get("readOnly") or ("default" in old and old["default"] == value)
        if unchosen or (new is not None and check_value(key, new, value) is not None):
            continue
        kept[key] = value
    return kept


def root_values(chosen: JsonObject, flags: Mapping[str, object]) -> JsonObject:
    """Return all values: the command line's, those that were chosen, and defaults for the rest."""
    properties = CONFIG_SCHEMA["properties"].items()
    defaults = {key: schema["default"] for key, schema in properties if "default" in schema}
    return {**defaults, **chosen, **flags}


def _anything(key: str, value: object) -> str | None:
    return None


def _one_of(key: str, value: object, known: list[str], thing: str) -> str | None:
    if value == "" or value in known:
        return None
    listed = ", ".join(dict.fromkeys(known)) or "none"
    return f"{key}: there is no {thing} {str(value)[:100]}; there are {listed[:500]}"


def _check_seconds(key: str, value: object) -> str | None:
    fits = isinstance(value, int | float) and math.isfinite(value) and 0 <= value <= MOST_SECONDS
    return None if fits else f"{key} must be a number of seconds, or 0"


def _check_folders(key: str, value: object) -> str | None:
    for folder in value if isinstance(value, list) else ():
        if not str(folder).startswith("/") or not str(folder).isprintable():
            return f"{key}: {str(folder)[:100]!r} is no absolute path"
    return None


def _check_address(key: str, value: object) -> str | None:
    try:
        parts = urlsplit(str(value))
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        fits = fits and parts.username is None
    except ValueError:
        fits = False
    return None if fits or value == "" else f"{key} must be an http or https address"


_CHECKS: Mapping[str, Callable[[str, object], str | None]] = {
    "draftSeconds": _check_seconds,
    "promptTimeout": _check_seconds,
    "plugins": _check_folders,
    "telemetry.endpoint": _check_address,
}


def _root_changed(state: RootState, action: Action, context: RuleContext) -> str | None:
    config = state.get("config")
    # Editors hand every host the settings that theirs has; they are kept for who asks for them.
    broken = check_change(
        config, action, lambda schema: bool(schema.get("readOnly")), keeps_unknown=True
    )
    values = {} if config is None else config["values"]
    for key, value in action["config"].items():
        is_new = key not in values or not is_same(values[key], value)
        broken = broken or (
            check_root_value(key, value, state.get("agents", ())) if is_new else None
        )
    kept = {} if action.get("replace") else values
    if broken is None and len(dumps({**kept, **action["config"]})) > MOST_ROOT_CONFIG:
        return f"the settings of a host may take {MOST_ROOT_CONFIG} bytes in all"
    return broken


RULES: Rules[RootState] = {"root/configChanged": _root_changed}
