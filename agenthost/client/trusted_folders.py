"""The folders whose MCP servers a host may start, because somebody has said so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.client.optional_requests import ask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agenthost.client.state.client_core import ClientCore
    from agenthost.protocol.own_commands import ListTrustResult, TrustedFolder

_LACKING = "trusted folders"


class TrustedFolders:
    """What was decided about the folders of a host; for its owner."""

    def __init__(self, core: ClientCore) -> None:
        self._core = core

    async def list(self) -> Sequence[TrustedFolder]:
        """Return the folders about which something was decided."""
        result: ListTrustResult = await ask(self._core, "agenthost/listTrust", {}, lacking=_LACKING)
        return result["items"]

    async def forget(self, folder: str) -> None:
        """Take back what was decided about a folder, by its path: it will be asked again."""
        await ask(self._core, "agenthost/forgetTrust", {"folder": folder}, lacking=_LACKING)
