"""Settings against their schema: the host's, a session's, a model's, and changes to them (pure)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from agenthost.agents.common_settings import APPROVALS

if TYPE_CHECKING:
    from typing import TypeAlias

    from agenthost.host.channels.rule_context import RuleContext, Rules
    from agenthost.protocol.common import Action, ConfigPropertySchema, ConfigSchema, JsonObject
    from agenthost.protocol.root import RootConfigState
    from agenthost.protocol.session.state import (
        SessionConfigPropertySchema,
        SessionConfigSchema,
        SessionConfigState,
        SessionState,
    )

    Schema: TypeAlias = ConfigSchema | SessionConfigSchema

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def check_value(key: str, schema: ConfigPropertySchema, value: object) -> str | None:
    """Return why a value does not fit its property schema, or None."""
    types = _TYPES[schema["type"]]
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        return f"{key} must be of type {schema['type']}"
    choices = schema.get("enum")
    if choices is not None and not schema.get("enumDynamic") and value not in choices:
        return f"{key} must be one of {', '.join(map(str, choices))}"
    if isinstance(value, list):
        return _check_items(key, schema, value)
    return _check_members(key, schema, value) if isinstance(value, dict) else None


def _check_items(key: str, schema: ConfigPropertySchema, value: list[object]) -> str | None:
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least is not None and len(value) < least:
        return f"{key} must have at least {least} item{'' if least == 1 else 's'}"
    if most is not None and len(value) > most:
        return f"{key} must have at most {most} item{'' if most == 1 else 's'}"
    inner = schema.get("items")
    if inner is None:
        return None
    return _first(check_value(f"{key}[{index}]", inner, item) for index, item in enumerate(value))


def _check_members(key: str, schema: ConfigPropertySchema, value: JsonObject) -> str | None:
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    for name, member in value.items():
        inner = properties.get(name, others)
        broken = check_value(f"{key}.{name}", inner, member) if inner is not None else None
        if broken is not None:
            return broken
    return _missing(schema, value, f"{key}.")


def _missing(
    schema: Schema | ConfigPropertySchema, values: JsonObject, prefix: str = ""
) -> str | None:
    missing = (name for name in schema.get("required") or () if name not in values)
    return _first(f"{prefix}{name} is required" for name in missing)


def _first(reasons: Iterable[str | None]) -> str | None:
    return next((reason for reason in reasons if reason is not None), None)


def check_complete(schema: Schema, values: JsonObject, *, complete: bool = True) -> str | None:
    """Check a bag: known keys, fitting values and, in a ``complete`` one, nothing missing."""
    properties = schema["properties"]
    for key, value in values.items():
        if key not in properties:
            return f"there is no setting {key}"
        broken = check_value(key, properties[key], value)
        if broken is not None:
            return broken
    return _missing(schema, values) if complete else None


def sanitize(schema: Schema, values: JsonObject) -> JsonObject:
    """Keep the values that fit the schema, and fill in defaults."""
    kept: JsonObject = {}
    for key, inner in schema["properties"].items():
        # What is only shown is the host's to say, whatever the client echoes.
        given = key in values and not inner.get("readOnly")
        if given and check_value(key, inner, values[key]) is None:
            kept[key] = values[key]
        elif "default" in inner:
            kept[key] = inner["default"]
    return kept


def with_approvals(schema: SessionConfigSchema, mode: str) -> SessionConfigSchema:
    """Return a session's schema whose approvals begin with a mode, if it has that one."""
    setting = schema["properties"].get(APPROVALS)
    if setting is None or mode not in (setting.get("enum") or ()):
        return schema
    begun: SessionConfigPropertySchema = {**setting, "default": mode}
    return {**schema, "properties": {**schema["properties"], APPROVALS: begun}}


def check_change(
    config: RootConfigState | SessionConfigState | None,
    action: Action,
    frozen: Callable[[Mapping[str, object]], bool],
    *,
    keeps_unknown: bool = False,
) -> str | None:
    """Return why a change of settings is refused, or None; ``frozen`` says which cannot change.

    Settings that no schema knows are refused, unless the bag ``keeps_unknown`` ones.
    """
    if config is None:
        return "there is nothing to configure here"
    properties, values = config["schema"]["properties"], config["values"]
    for key, value in action["config"].items():
        schema = properties.get(key)
        if schema is None:
            if keeps_unknown:
                continue
            return f"there is no setting {key}"
        if key in values and is_same(values[key], value):
            continue
        if frozen(schema):
            return f"{key} cannot be changed"
        broken = check_value(key, schema, value)
        if broken is not None:
            return broken
    if action.get("replace"):
        for key in values:
            schema = properties.get(key)
            if key not in action["config"] and frozen({} if schema is None else schema):
                return f"{key} cannot be removed"
        return _missing(config["schema"], action["config"])
    return None


def is_same(old: object, new: object) -> bool:
    """Say whether two values of a setting are the same."""
    # To Python a boolean equals a number; to JSON it does not.
    return isinstance(old, bool) == isinstance(new, bool) and bool(old == new)


def _session_changed(state: SessionState, action: Action, context: RuleContext) -> str | None:
    return check_change(
        state.get("config"),
        action,
        lambda schema: bool(schema.get("readOnly")) or not schema.get("sessionMutable"),
    )


SESSION_RULES: Rules[SessionState] = {"session/configChanged": _session_changed}
