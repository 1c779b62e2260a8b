"""Content that turns refer to: found in them, and copied for a session that forks them.

Knows how a reference looks, not what it stands for. Blobs go with the session that owns them, so
a fork that is to outlive its source needs its own.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agenthost.host.log.ledger import Ledger
from agenthost.host.store import PutBlob, Store
from agenthost.protocol.uris import content_uri

_PREFIX = content_uri("")


async def copy_content(
    turns: Sequence[Any], owner: str, store: Store, ledger: Ledger
) -> Sequence[Any]:
    """Copy what turns refer to for another owner, and return them with the new references."""
    copies: dict[str, str] = {}
    for uri in dict.fromkeys(_references(turns)):
        blob = await store.blob(uri)
        if blob is not None:
            _, _, name = uri.removeprefix(_PREFIX).partition("/")
            copies[uri] = content_uri(str(uuid.uuid4()), name or None)
            ledger.write(PutBlob(copies[uri], owner, blob.content_type, blob.data))
    return [_renamed(turn, copies) for turn in turns] if copies else turns


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if value.startswith(_PREFIX):
            yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _references(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _references(item)


def _renamed(value: Any, copies: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return copies.get(value, value)
    if isinstance(value, Mapping):
        return {key: _renamed(item, copies) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(item, copies) for item in value]
    return value
