"""An MCP server of a session: its state, its log, starting and stopping it, talking to it.

The host runs the server; here is what a client may ask for. Which servers there are is in
``customizations``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agenthost.client.customizations import CustomizationItem, customization_items
from agenthost.client.errors import McpServerFailed
from agenthost.client.optional_requests import ask
from agenthost.client.terminals import TerminalView

if TYPE_CHECKING:
    from agenthost.client.state.channel import Channel
    from agenthost.client.state.client_core import ClientCore
    from agenthost.client.state.dispatches import Dispatch
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.session.customizations import McpAuthRequirement, McpServerState
    from agenthost.protocol.session.state import SessionState

LOG = "agenthost/log"
"""The member of ``_meta`` in which a host names the terminal that shows a server's output."""


class McpServerView:
    """One MCP server of a session that the client follows."""

    def __init__(self, core: ClientCore, channel: Channel[SessionState], id: str) -> None:
        self._core = core
        self._channel = channel
        # Its id among the session's customizations.
        self.id = id

    @property
    def item(self) -> CustomizationItem:
        """Its entry among the customizations.

        Raises:
            LookupError: it is not declared any more.
        """
        return self._find(self._channel.state)

    @property
    def _members(self) -> Mapping[str, Any]:
        return self.item.value

    @property
    def name(self) -> str:
        """What people call it."""
        return self.item.name

    @property
    def state(self) -> McpServerState:
        """How it fares; ``kind`` is starting, ready, authRequired, error or stopped."""
        return _state(self.item)

    @property
    def auth(self) -> McpAuthRequirement | None:
        """The token that it, or a call of one of its tools, waits for; None where none does.

        ``client.authenticate(auth["resource"]["resource"], token)`` answers it.
        """
        state = self.state
        if state["kind"] == "authRequired":
            return state
        for needed in self._channel.state.get("inputNeeded") or ():
            if needed["kind"] == "toolAuthentication" and self._is_ours(needed["toolCall"]):
                return needed["toolCall"]["auth"]
        return None

    def _is_ours(self, call: Mapping[str, Any]) -> bool:
        contributor = call.get("contributor") or {}
        return bool(contributor.get("customizationId") == self.id)

    def start(self) -> Dispatch:
        """Start it; one that runs is started anew.

        Raises, when awaited:
            Rejected: it is switched off, or nobody has trusted the folder that declares it.
        """
        return self._request("session/mcpServerStartRequested")

    def stop(self) -> Dispatch:
        """Stop it; whatever it started ends with it."""
        return self._request("session/mcpServerStopRequested")

    def restart(self) -> Dispatch:
        """Stop it if it runs, and start it."""
        return self.start()

    def background(self) -> Dispatch:
        """Let the session go on while it starts; its tools join the next turn."""
        return self._request("session/mcpServerBackgroundRequested")

    async def wait_for(self, *kinds: str) -> McpServerState:
        """Wait until its state is one of these kinds, and return that state.

        Raises:
            McpServerFailed: it failed, and nobody waits for that.
            LookupError: it is not declared any more.
            ChannelGone: the session is gone.
        """

        def holds(session: SessionState) -> bool:
            state = _state(self._find(session))
            if state["kind"] == "error" and "error" not in kinds:
                raise McpServerFailed(self.name, _reason(state))
            return state["kind"] in kinds

        return _state(self._find(await self._channel.until(holds)))

    async def log(self) -> TerminalView:
        """Follow what it prints: its standard error, and what it says outside of the protocol.

        Raises:
            Unsupported: the host keeps no logs of servers.
        """
        uri = await self._log_uri()
        channel = await self._core.subscribe(uri, owner=self._channel.uri)
        return TerminalView(self._core, channel)

    async def _log_uri(self) -> str:
        known = (self._members.get("_meta") or {}).get(LOG)
        if isinstance(known, str):
            return known
        params = {"channel": self._channel.uri, "id": self.id}
        result = await ask(
            self._core, "agenthost/mcpLog", params, lacking="logs of MCP servers", repeat=True
        )
        uri: str = result["terminal"]
        return uri

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> JsonObject:
        """Ask it something in MCP's own words, over the side channel that it has while it runs.

        A host passes on what the server's ``mcpApp`` capabilities say, such as ``tools/list`` or
        ``resources/read``. A client that wants a side channel says so: ``connect(mcp_apps=True)``.

        Raises:
            McpServerFailed: it has no side channel now.
            WireError: the host or the server refuses.
        """
        channel = self._members.get("channel")
        if not isinstance(channel, str):
            raise McpServerFailed(self.name, f"has no side channel; it is {self.state['kind']}")
        result: JsonObject = await self._core.request(
            method, {**(params or {}), "channel": channel}
        )
        return result

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
    ) -> JsonObject:
        """Call one of its tools outside of any turn, because a person says so; for owners.

        Returns MCP's own ``CallToolResult``: ``content``, and ``isError`` where it failed.

        Raises:
            WireError: it does not run, has no such tool, or this client may not call it.
        """
        params: JsonObject = {"channel": self._channel.uri, "id": self.id, "tool": tool}
        if arguments is not None:
            params["arguments"] = dict(arguments)
        answer = await self._core.request("agenthost/callMcpTool", params, timeout=timeout)
        result: JsonObject = answer["result"]
        return result

    async def trust(self) -> None:
        """Let what declares it be started from now on: for the owner of a host.

        The declaration is trusted as this client sees it; a changed one has to be trusted again.

        Raises:
            PermissionDenied: this client may not decide that.
        """
        params: JsonObject = {"channel": self._channel.uri, "ids": [self.id]}
        members: Mapping[str, Any] = self.item.value
        told = (members.get("_meta") or {}).get("agenthost/trust")
        if isinstance(told, dict) and isinstance(digest := told.get("digest"), str):
            params["digests"] = [digest]
        await ask(
            self._core, "agenthost/trustFolder", params, lacking="trusted folders", repeat=True
        )

    def _request(self, type: str) -> Dispatch:
        self._channel.check()
        return self._core.dispatch(self._channel.uri, {"type": type, "id": self.id})

    def _find(self, session: SessionState) -> CustomizationItem:
        for item in customization_items(session):
            if item.id == self.id and item.kind == "mcpServer":
                return item
        raise LookupError(f"there is no MCP server {self.id} any more")


def _state(item: CustomizationItem) -> McpServerState:
    members: Mapping[str, Any] = item.value
    state: McpServerState = members["state"]
    return state


def _reason(state: Mapping[str, Any]) -> str:
    error = state.get("error") or {}
    return str(error.get("message") or "it failed and does not say why")
