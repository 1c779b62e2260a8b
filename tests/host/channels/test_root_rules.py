"""The host's own settings: what their values may be, which are kept, and who decides."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.channels.root_rules import (
    check_flags,
    check_root_value,
    kept_values,
    read_flag,
    root_values,
)
from agenthost.host.channels.root_schema import CONFIG_SCHEMA, root_schema
from agenthost.host.channels.settings import check_value

PROPERTIES: dict[str, Any] = dict(CONFIG_SCHEMA["properties"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@pytest.mark.parametrize("key", PROPERTIES)
def test_every_setting_says_what_it_is_and_may_be_what_it_is_by_default(key: str) -> None:
    schema = PROPERTIES[key]
    assert schema["title"]
    assert schema["description"]
    if "default" in schema:
        assert check_value(key, schema, schema["default"]) is None
        assert check_root_value(key, schema["default"], []) is None


def test_what_the_command_line_decides_can_only_be_read() -> None:
    properties = root_schema(["dispose"])["properties"]
    assert properties["dispose"]["readOnly"] is True
    assert not any("readOnly" in other for key, other in properties.items() if key != "dispose")


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("welcome", "7", "7"),
        ("promptTimeout", "7.5", 7.5),
        ("mcp.enabled", "false", False),
        ("mcp.enabled", "no", "no"),
        ("plugins", "/a,/b", ["/a", "/b"]),
        ("plugins", '["/a"]', ["/a"]),
        ("nothing", "x", "x"),
    ],
)
def test_a_text_on_the_command_line_is_read_as_its_setting_has_it(
    key: str, text: str, value: object
) -> None:
    assert read_flag(key, text) == value


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        ({"nothing": 1}, "there is no setting nothing; there are welcome"),
        ({"mcp.enabled": "no"}, "mcp.enabled must be of type boolean"),
        ({"promptTimeout": float("nan")}, "must be a number of seconds"),
        ({"promptTimeout": -1}, "must be a number of seconds"),
        ({"telemetry.endpoint": "ftp://x"}, "must be an http or https address"),
        ({"plugins": ["a"]}, "is no absolute path"),
    ],
)
def test_the_command_line_is_told_what_a_setting_cannot_be(
    flags: dict[str, object], why: str
) -> None:
    assert why in (check_flags(flags) or "")


def test_only_what_somebody_chose_and_what_still_fits_is_kept() -> None:
    before: dict[str, Any] = {
        "welcome": {"type": "string", "default": "hi"},
        "dispose": {"type": "string", "default": "trash", "readOnly": True},
        "draftSeconds": {"type": "number", "default": 5},
        "approvals": {"type": "string", "default": "default"},
    }
    stored = {
        "welcome": "hi",
        "dispose": "delete",
        "draftSeconds": 6,
        "approvals": "of long ago",
        "editor.setting": {"any": 1},
    }
    chosen = kept_values(stored, before)
    assert chosen == {"draftSeconds": 6, "editor.setting": {"any": 1}}
    values = root_values(chosen, {"promptTimeout": 1})
    assert (values["welcome"], values["dispose"]) == ("", "trash")
    assert (values["draftSeconds"], values["promptTimeout"]) == (6, 1)


@given(key=st.sampled_from(sorted(PROPERTIES)), value=JSON)
def test_whatever_a_value_is_it_is_taken_or_refused_with_a_short_reason(
    key: str, value: object
) -> None:
    refused = check_value(key, PROPERTIES[key], value) or check_root_value(key, value, [])
    assert refused is None or (key in refused and len(refused) < 1000)
