"""Content that the host keeps outside of channel state, read by its URI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.errors import NotFound
from agenthost.host.channels.changeset.blobs import SCHEME
from agenthost.protocol.uris import content_uri

if TYPE_CHECKING:
    from agenthost.host.core import HostCore
    from agenthost.host.store import Blob


def is_content(uri: str) -> bool:
    """Say whether a URI names content that the host minted."""
    return uri.startswith((content_uri(""), SCHEME))


async def stored_content(core: HostCore, uri: str) -> Blob:
    """Return stored content, or a file as it was; raise NotFound for what is not there."""
    if uri.startswith(SCHEME):
        return await core.changesets.content(uri)
    if core.writer.ledger.backlog:
        await core.writer.ledger.settle()
    blob = await core.store.blob(uri)
    if blob is None:
        raise NotFound(f"there is no content {uri}")
    return blob
