"""An ACP agent's modes, models and other options as settings of a session.

An agent tells its choices only once it runs. Until then ``mode`` and ``model`` are free words;
afterwards new sessions are offered what it told. How choices are learned and made is in
``choices``. Whether it has to ask is the host's to answer, whatever the agent offers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agenthost.agents.common_settings import COMMON_SETTINGS, PLACE_SETTINGS

_LATER = "As the agent names it; what there is to choose is known once the agent has run"


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a setting."""

    value: str
    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing to choose; without choices it is a switch."""

    key: str
    title: str
    description: str = ""
    choices: tuple[Choice, ...] = ()
    current: str | bool | None = None
    # How the agent calls the option; None stands for its mode, which is set in a way of its own.
    option: str | None = None

    @property
    def is_switch(self) -> bool:
        """Whether this is either on or off."""
        return isinstance(self.current, bool)


_UNKNOWN = (Setting("mode", "Mode", _LATER), Setting("model", "Model", _LATER))


# Settings that the host answers for; an agent's own ones of these names get others.
_OURS: Final = PLACE_SETTINGS.union(COMMON_SETTINGS)


def key_of(option: str) -> str:
    """Return the name of the setting for an agent's option."""
    return f"agent.{option}" if option in _OURS else option


def schema_of(settings: Mapping[str, Setting] | None) -> dict[str, Any]:
    """Return the schema of a session's settings; None stands for an agent that never ran."""
    known: Iterable[Setting] = _UNKNOWN if settings is None else settings.values()
    properties = {setting.key: _property(setting) for setting in known}
    return {"type": "object", "properties": {**COMMON_SETTINGS, **properties}}


def _property(setting: Setting) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "string", "title": setting.title, "sessionMutable": True}
    if setting.description:
        made["description"] = setting.description
    if setting.is_switch:
        return {**made, "type": "boolean"}
    # What an agent offers may change while it runs, so the list binds nobody.
    made["enumDynamic"] = True
    if setting.choices:
        made["enum"] = [choice.value for choice in setting.choices]
        made["enumLabels"] = [choice.label for choice in setting.choices]
        made["enumDescriptions"] = [choice.description for choice in setting.choices]
    return made
