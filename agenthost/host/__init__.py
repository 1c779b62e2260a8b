"""The host: one owner of the truth that any number of clients mirror."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agenthost.host.host import Host
    from agenthost.host.store import MemoryStore, SqliteStore, Store
    from agenthost.host.trust import Gate, Limits, Policy, Principal, Role, ShellPolicy

__all__ = [
    "Gate",
    "Host",
    "Limits",
    "MemoryStore",
    "Policy",
    "Principal",
    "Role",
    "ShellPolicy",
    "SqliteStore",
    "Store",
]

_PLACES = {
    "host": ("Host",),
    "store": ("MemoryStore", "SqliteStore", "Store"),
    "trust": ("Gate", "Limits", "Policy", "Principal", "Role", "ShellPolicy"),
}


def __getattr__(name: str) -> Any:
    # Late, so that who needs a part of it, the store say, does not load the whole.
    for place, names in _PLACES.items():
        if name in names:
            return getattr(importlib.import_module(f"agenthost.host.{place}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
