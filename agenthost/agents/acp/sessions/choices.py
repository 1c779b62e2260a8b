"""Modes, models and options of an ACP session: what is offered, and choosing it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from acp.client.connection import ClientSideConnection
from acp.schema import (
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionConfigSelectGroup,
    SessionModeState,
)

from agenthost.agents.acp.settings import Choice, Setting, key_of
from agenthost.agents.api import AgentError

Option = SessionConfigOptionSelect | SessionConfigOptionBoolean
Offer = Mapping[str, Setting]
# Settings that people can give before it is known what there is.
_ALWAYS = ("mode", "model")
# What clients that know no agent's modes call some -> how agents call them. The mode that an agent
# begins in is the interactive one.
_MODES = {
    "plan": ("plan", "architect"),
    "autopilot": ("bypassPermissions", "yolo", "full-access", "autopilot"),
}


def offered(modes: SessionModeState | None, options: Sequence[Option] | None) -> dict[str, Setting]:
    """Return what may be chosen, by setting; an option for the mode stands in for the modes."""
    settings = {} if modes is None else {"mode": _mode(modes)}
    return {**settings, **{made.key: made for made in map(_option, options or ())}}


def _mode(modes: SessionModeState) -> Setting:
    choices = tuple(
        Choice(mode.id, mode.name, mode.description or "") for mode in modes.available_modes
    )
    return Setting("mode", "Mode", choices=choices, current=modes.current_mode_id)


def _option(option: Option) -> Setting:
    key = option.category if option.category in _ALWAYS else key_of(option.id)
    choices = tuple(_choices(option)) if isinstance(option, SessionConfigOptionSelect) else ()
    return Setting(
        str(key),
        option.name,
        option.description or "",
        choices,
        option.current_value,
        option.id,
    )


def _choices(option: SessionConfigOptionSelect) -> Iterator[Choice]:
    for item in option.options:
        grouped = isinstance(item, SessionConfigSelectGroup)
        for choice in item.options if isinstance(item, SessionConfigSelectGroup) else [item]:
            label = f"{item.name}: {choice.name}" if grouped else choice.name
            yield Choice(choice.value, label, choice.description or "")


class Choices:
    """The settings offered and chosen in one ACP session."""

    def __init__(self, offer: Offer) -> None:
        self.offer = offer
        # What was in force before anybody chose.
        self._initial = {key: setting.current for key, setting in offer.items()}
        # What was chosen; what the agent changes by itself afterwards is left alone.
        self._chosen: dict[str, Any] = {}

    def update_options(self, options: Sequence[Option]) -> None:
        """Update the options to the agent's current ones."""
        self.offer = {**self.offer, **offered(None, options)}

    def mode_changed(self, mode: str) -> str | None:
        """Record the agent's current mode; return its name if it is another one."""
        setting = self.offer.get("mode")
        before = None if setting is None else setting.current
        if setting is None or before == mode:
            return None
        self.offer = {**self.offer, "mode": replace(setting, current=mode)}
        return next((choice.label for choice in setting.choices if choice.value == mode), mode)

    async def choose(
        self, connection: ClientSideConnection, session_id: str, wanted: Mapping[str, Any]
    ) -> None:
        """Make the session use what is wanted, and what it began with where nothing is.

        Raises:
            AgentError: there is no such choice.
        """
        undone = {key: self._initial[key] for key in self._chosen if key in self._initial}
        for key, given in {**undone, **wanted}.items():
            value = self._agent_mode(given) if key == "mode" else given
            if self._chosen.get(key, self._initial.get(key)) == value:
                continue
            if key not in self.offer and key not in _ALWAYS:
                # It was offered when the session was made, and no longer is.
                continue
            setting = self._setting(key, value)
            await self._set(connection, session_id, setting, value)
            self._chosen[key] = value

    def _agent_mode(self, value: Any) -> Any:
        """Return the agent's own name for a mode; an unknown one is returned as it is."""
        modes = self.offer.get("mode")
        own = [choice.value for choice in modes.choices] if modes is not None else []
        if value in own:
            return value
        if value == "interactive":
            # It asks people as it does by itself, with modes or without.
            return self._initial.get("mode")
        return next((name for name in _MODES.get(value, ()) if name in own), value)

    def _setting(self, key: str, value: Any) -> Setting:
        setting = self.offer.get(key)
        if setting is None:
            raise AgentError(f"this agent has no setting {key!r}", "unknownChoice")
        if not setting.is_switch and all(choice.value != value for choice in setting.choices):
            known = ", ".join(choice.value for choice in setting.choices)
            raise AgentError(f"there is no {key} {value!r}; there are: {known}", "unknownChoice")
        return setting

    async def _set(
        self, connection: ClientSideConnection, session_id: str, setting: Setting, value: Any
    ) -> None:
        if setting.option is None:
            await connection.set_session_mode(session_id=session_id, mode_id=value)
            self.mode_changed(value)
            return
        answer = await connection.set_config_option(
            config_id=setting.option, session_id=session_id, value=value
        )
        self.update_options(answer.config_options or ())
