"""The host's store: the contract, and the two stores that keep it."""

from agenthost.host.store.contract import (
    Append,
    BadCursor,
    Blob,
    DropBlobs,
    DropChannel,
    DropRecord,
    DropSession,
    Page,
    PutBlob,
    PutRecord,
    PutSession,
    SaveSnapshot,
    Store,
    StoreBusy,
    StoreDamaged,
    StoredChannel,
    StoreError,
    StoreMisuse,
    TrimLog,
    Write,
)
from agenthost.host.store.database import Durability
from agenthost.host.store.memory import MemoryBacking, MemoryStore
from agenthost.host.store.sqlite import SqliteStore

__all__ = [
    "Append",
    "BadCursor",
    "Blob",
    "DropBlobs",
    "DropChannel",
    "DropRecord",
    "DropSession",
    "Durability",
    "MemoryBacking",
    "MemoryStore",
    "Page",
    "PutBlob",
    "PutRecord",
    "PutSession",
    "SaveSnapshot",
    "SqliteStore",
    "Store",
    "StoreBusy",
    "StoreDamaged",
    "StoreError",
    "StoreMisuse",
    "StoredChannel",
    "TrimLog",
    "Write",
]
