"""The host: one owner of the truth that any number of clients mirror."""

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
