"""Which unit, and which node, a client's request is for."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from agenthost.cluster.front.owner_peer import LinkBroken
from agenthost.cluster.front.routes import MethodPlace
from agenthost.cluster.units import REALM
from agenthost.errors import (
    AgentHostError,
    Conflict,
    InternalError,
    ProviderNotFound,
    WireError,
)
from agenthost.protocol.own_members import FORK
from agenthost.protocol.uris import ROOT, canonical

if TYPE_CHECKING:
    from agenthost.cluster.front.relays import Relays
    from agenthost.cluster.front.surroundings import KnownNodes, OwnerClaims, RealmMap
    from agenthost.host.clients.connection import Connection
    from agenthost.host.core import HostCore
    from agenthost.host.log.channel import AnyChannel
    from agenthost.protocol.common import JsonObject

log = logging.getLogger(__name__)

LOST = "the machine that worked on this was lost; look whether it was done, and try again"
SILENT = "no machine of this host could take this in time; try again"
# Names lanes to a node, whoever owns what there; no unit is called that.
NODE_LANE = "@node "


class Addresses:
    """Finds out for whom something is."""

    def __init__(
        self, copy: RealmMap, nodes: KnownNodes, claims: OwnerClaims, own_node: str
    ) -> None:
        self._copy = copy
        self._nodes = nodes
        self._claims = claims
        self._own_node = own_node
        # Set once the front's parts are made.
        self._relays: Relays | None = None
        self._core: HostCore | None = None

    @property
    def core(self) -> HostCore:
        """The parts of the front."""
        assert self._core is not None, "attach comes first"
        return self._core

    @property
    def _relayed(self) -> Relays:
        assert self._relays is not None, "attach comes first"
        return self._relays

    def attach(self, core: HostCore, relays: Relays) -> None:
        """Take up work for a front."""
        self._core, self._relays = core, relays

    async def lane_for(
        self, place: MethodPlace, connection: Connection, method: str, params: JsonObject
    ) -> str:
        """Return what names the lane of a request."""
        uri = canonical(params["channel"])
        match place:
            case MethodPlace.UNIT:
                return await self.unit_named(uri, method, params)
            case MethodPlace.PLACED:
                return await self._placed(uri, params)
            case MethodPlace.RELAYED:
                node = self._relayed.node_of(uri) or await self._placed_channel(uri)
                return f"{NODE_LANE}{node}"
            case MethodPlace.TERMINAL:
                claim = params["claim"]
                if claim["kind"] == "session":
                    return await self.unit_named(canonical(claim["session"]), method, params)
                return f"{NODE_LANE}{self._own_node}"
        return REALM

    async def unit_named(self, uri: str, method: str, params: JsonObject) -> str:
        """Return the unit of the channel that a request names."""
        if uri == ROOT:
            return f"{NODE_LANE}{self._own_node}"
        channel = await self.core.directory.find(uri)
        if channel is None and method in ("agenthost/restoreSession", "agenthost/purgeSession"):
            return uri
        if channel is None:
            # Any owner knows how to say so.
            return f"{NODE_LANE}{self._own_node}"
        unit = self.unit(channel)
        destination = params["destination"] if method == "moveChat" else {}
        other = destination.get("session")
        if other is not None and canonical(other) != unit:
            await self._expect_together(unit, canonical(other))
        return unit

    async def _expect_together(self, unit: str, other: str) -> None:
        """Refuse what would have to be decided in two places at once."""
        found = await self.core.directory.find(other)
        if found is None:
            # Its owner says so.
            return
        if await self.owner_or_error(unit) != await self.owner_or_error(self.unit(found)):
            raise Conflict("the two sessions are on different machines: move one of them first")

    async def _placed(self, uri: str, params: JsonObject) -> str:
        if uri != ROOT and await self.core.directory.find(uri) is not None:
            # Its owner says that it is there already.
            return self._unit_of(uri)
        match (params.get("_meta") or {}).get(FORK):
            case {"session": str(source)}:
                found = await self.core.directory.find(source)
                if found is not None:
                    # A fork is made where its source is; its owner may show turns there for it.
                    return f"{NODE_LANE}{await self.owner_or_error(self.unit(found))}"
        directories = params.get("workingDirectories")
        if directories is None:
            directory = params.get("workingDirectory")
            directories = [directory] if directory is not None else []
        provider = params.get("provider")
        node = self._nodes.place(provider, directories, None)
        if node is None and provider is not None:
            raise ProviderNotFound(f"there is no agent {provider!r} on any machine of this host")
        return f"{NODE_LANE}{node or self._own_node}"

    async def _placed_channel(self, uri: str) -> str:
        try:
            node = await self._relayed.place(uri)
        except WireError:
            raise
        except AgentHostError as error:
            raise told(error) from error
        # Nobody's: its owner says what it is instead, or that it is not there.
        return node or await self.owner_or_error(self._unit_of(uri))

    def unit_with(self, connection: Connection, uri: str) -> str | None:
        """Return a session that the client follows and that works where a file lies."""
        for channel in connection.subscriptions:
            directories = (
                channel.state.get("workingDirectories")
                if channel.is_logged and channel.session is None and channel.uri != ROOT
                else None
            )
            for directory in directories or ():
                if uri == directory or uri.startswith(directory.rstrip("/") + "/"):
                    return self.unit(channel)
        return None

    def followed_units(self, connection: Connection) -> list[str]:
        """Return the units of what a client follows."""
        followed = (each for each in connection.subscriptions if each.is_logged)
        return list(dict.fromkeys(self.unit(each) for each in followed if each.uri != ROOT))

    def unit(self, channel: AnyChannel) -> str:
        """Return the unit that a channel belongs to."""
        return channel.session or self._unit_of(channel.uri)

    def _unit_of(self, uri: str) -> str:
        return self._copy.unit_of_channel(uri) or REALM

    async def find_owner(self, unit: str) -> str:
        """Return the node that has a unit, or that a lane names."""
        if unit.startswith(NODE_LANE):
            node = unit.removeprefix(NODE_LANE)
            if node not in self._nodes.living:
                raise LinkBroken(f"the machine {node} is not there")
            return node
        return await self._claims.owner(unit)

    async def owner_or_error(self, unit: str) -> str:
        """Return the same, or raise what a client is told."""
        try:
            return await self.find_owner(unit)
        except WireError:
            raise
        except AgentHostError as error:
            raise told(error) from error

    def terminals(self) -> list[tuple[str, str]]:
        """Return all terminals that nodes tell of, with their nodes."""
        return [
            (terminal["resource"], name)
            for name, node in self._nodes.living.items()
            for terminal in node.terminals
        ]


class NobodyReached(LinkBroken):
    """Nobody was reached, so that nothing can have been done."""


def told(error: BaseException) -> WireError:
    """Return what a client is told who waits for something that cannot be answered."""
    if isinstance(error, WireError):
        return error
    if isinstance(error, LinkBroken) and not isinstance(error, NobodyReached):
        return Conflict(LOST)
    if isinstance(error, AgentHostError):
        return Conflict(str(error) or SILENT)
    log.error("a request was not passed on", exc_info=error)
    return InternalError()
