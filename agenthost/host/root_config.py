"""The host's own settings as its parts use them: what is set, or what counts while nothing is.

Clients change them by ``root/configChanged``; what they are called and may be is in
``channels.root_schema``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from agenthost.host.channels.root_kind import RootConfigChanged
from agenthost.host.channels.root_schema import CONFIG_SCHEMA
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject

# Told the new value of a setting.
SettingChanged: TypeAlias = Callable[[object], None]


class RootConfig:
    """Looks up the host's settings, and tells who wants to know that one has changed."""

    def __init__(
        self, directory: Directory, effects: Effects, flags: Mapping[str, object] | None = None
    ) -> None:
        """``flags`` are the settings that the command line decides, whatever is stored."""
        self._directory = directory
        self.flags = dict(flags or {})
        self._told: dict[str, list[SettingChanged]] = {}
        effects.on(RootConfigChanged, self._changed)

    def get(self, key: str) -> object:
        """Return a setting: the command line's, or the stored one, or its default, or None."""
        return self._value(key, self._stored())

    def text(self, key: str) -> str:
        """Return a setting that is a text; empty if there is none."""
        value = self.get(key)
        return value if isinstance(value, str) else ""

    def is_on(self, key: str) -> bool:
        """Return a setting that is a switch."""
        return self.get(key) is True

    def number(self, key: str) -> float | None:
        """Return a setting that is a number; None if there is none."""
        value = self.get(key)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return float(value) if is_number else None  # type: ignore[arg-type]

    def seconds(self, key: str) -> float | None:
        """Return a setting that is a time; None if it is to last for ever."""
        return self.number(key) or None

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a setting that is a list of texts."""
        value = self.get(key)
        return tuple(map(str, value)) if isinstance(value, list) else ()

    def on_change(self, key: str, tell: SettingChanged) -> None:
        """Tell somebody of every new value of a setting."""
        self._told.setdefault(key, []).append(tell)

    def _value(self, key: str, values: JsonObject) -> object:
        if key in self.flags:
            return self.flags[key]
        if key in values:
            return values[key]
        schema = CONFIG_SCHEMA["properties"].get(key)
        return schema.get("default") if schema is not None else None

    def _stored(self) -> JsonObject:
        if not self._directory.has_root:
            # The host is starting.
            return {}
        config = self._directory.root.state.get("config")
        return config["values"] if config else {}

    def _changed(self, effect: RootConfigChanged) -> None:
        for key, tellers in self._told.items():
            before, after = self._value(key, effect.before), self._value(key, effect.after)
            if before != after:
                for tell in tellers:
                    tell(after)
