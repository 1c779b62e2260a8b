"""What a front passes on to those who own what a client asks for, and how that ends.

The front judges form and version; everything else is decided by an owner, over a link of the
client's own. A request ends by its answer, or by an error that says what its client can do; an
action by the log, an answer, or its time (`pending`). Nothing waits for ever.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from agenthost.cluster.commits import Own
from agenthost.cluster.front.client_links import ClientLinks, Open
from agenthost.cluster.front.owner_peer import LinkBroken, OwnerPeer
from agenthost.cluster.front.pending import PendingAction, PendingActions, size_of
from agenthost.cluster.front.relays import Relays
from agenthost.cluster.front.routes import ONLY_READ, PLACES, MethodPlace
from agenthost.cluster.units import REALM
from agenthost.errors import (
    AgentHostError,
    AuthRequired,
    Conflict,
    InternalError,
    NotFound,
    ProviderNotFound,
    SessionNotFound,
    WireError,
)
from agenthost.host.clients.methods import methods
from agenthost.host.clients.subscriptions import missing_channel
from agenthost.host.files.client_resources import is_clients
from agenthost.host.files.content import is_content
from agenthost.protocol.methods import METHODS, Beside
from agenthost.protocol.own_members import FORK
from agenthost.protocol.uris import ROOT, canonical

if TYPE_CHECKING:
    from agenthost.cluster.realm import RealmLink
    from agenthost.host.clients.connection import Connection
    from agenthost.host.core import HostCore
    from agenthost.host.log.channel import AnyChannel
    from agenthost.host.log.writer import ClientAction
    from agenthost.host.trust import Principal
    from agenthost.protocol.common import Action, JsonObject
    from agenthost.transport import Transport

log = logging.getLogger(__name__)

# Seconds in which somebody must be found who carries a request out.
REACH_SECONDS = 15.0
# Seconds in which it must be answered: before the client's next message, and beside those.
ANSWER_SECONDS, PATIENT_SECONDS = 60.0, 600.0
# How often one is asked who may have done nothing, and seconds in between.
MOST_TRIES, PAUSE = 3, 0.1
LOST = "the machine that worked on this was lost; look whether it was done, and try again"
SILENT = "no machine of this host could take this in time; try again"
# Names lanes to a node, whoever owns what there; no unit is called that.
_NODE = "@node "


class RealmMap(Protocol):
    """What forwarding must know of the local copy."""

    def owner_of(self, unit: str) -> str | None:
        """Return the node that owns a unit."""
        ...

    def unit_of_channel(self, channel: str) -> str | None:
        """Return the unit that a channel belongs to."""
        ...

    async def reached(self, position: int) -> None:
        """Wait until everything up to a message can be read."""
        ...

    def on_commit(self, tell: Callable[[Any], None]) -> object:
        """Tell somebody of every commit, in order."""
        ...


class KnownNodes(Protocol):
    """What forwarding must know of the nodes of the realm."""

    @property
    def living(self) -> Mapping[str, Any]:
        """The nodes that live, by name."""
        ...

    def place(
        self, provider: str | None, directories: Sequence[str], prefer: str | None
    ) -> str | None:
        """Return the node for something new."""
        ...


class OwnerClaims(Protocol):
    """Finds out who owns what."""

    async def owner(self, unit: str) -> str:
        """Return the living node that has a unit; AgentHostError where none can."""
        ...

    def forget(self, unit: str) -> None:
        """Find it out anew the next time."""
        ...


class Forwarding:
    """Passes on what the clients of a front ask for; the ``Elsewhere`` of its host."""

    def __init__(
        self,
        copy: RealmMap,
        link: RealmLink | None,
        nodes: KnownNodes,
        own_node: str,
        *,
        claims: OwnerClaims,
        open: Open | None = None,
        pending: PendingActions | None = None,
    ) -> None:
        """``open`` opens a link to a node, for a principal and a purpose; by default over NATS."""
        open = open or _over(link, copy)
        self._copy = copy
        self._nodes = nodes
        self._own_node = own_node
        self._claims = claims
        self._open = open
        self.pending = PendingActions() if pending is None else pending
        self.pending.on_expired = self._expired
        self.relays = Relays(
            own_node, self.pending, open, claims.owner, copy.unit_of_channel, self._terminals
        )
        self._links: dict[Connection, ClientLinks] = {}
        self._core: HostCore | None = None
        copy.on_commit(self._committed)

    @property
    def core(self) -> HostCore:
        """The parts of the front."""
        assert self._core is not None, "attach comes first"
        return self._core

    def attach(self, core: HostCore) -> None:
        """Take up work for a front, whose parts are made and not opened yet."""
        self._core = core
        self.relays.attach(core)

    async def close(self) -> None:
        """End everything that is under way."""
        for connection in list(self._links):
            self.left(connection)
        self.relays.close()

    # What clients follow, and that they leave.

    def followed(self, connection: Connection, channel: AnyChannel) -> None:
        """Tell the channel's owner, for whom it counts who follows what."""
        self._mirror(connection, channel, follows=True)

    def unfollowed(self, connection: Connection, channel: AnyChannel) -> None:
        """Tell the channel's owner."""
        self._mirror(connection, channel, follows=False)

    def _mirror(self, connection: Connection, channel: AnyChannel, *, follows: bool) -> None:
        links = self._links.get(connection)
        if channel is self.core.directory.root:
            if links is not None:
                links.follow_root(follows)
        elif not channel.is_logged:
            if not follows:
                self.relays.deserted(channel)
        elif follows:
            self._links_of(connection).lane(self._unit(channel)).follow(channel.uri, follows)
        elif links is not None:
            links.lane(self._unit(channel)).follow(channel.uri, follows)

    def left(self, connection: Connection) -> None:
        """End a client's links; what is unanswered it sends again where it comes back."""
        links = self._links.pop(connection, None)
        self.pending.left(connection)
        if links is not None:
            links.close()

    def _links_of(self, connection: Connection) -> ClientLinks:
        links = self._links.get(connection)
        if links is None:
            links = ClientLinks(
                connection, self.pending, self._open, self._find_owner, self._claims.forget
            )
            self._links[connection] = links
        return links

    # Actions.

    async def dispatch(self, dispatch: ClientAction, channel: AnyChannel, action: Action) -> None:
        """Send an action on its way, in order with all else that its client does there."""
        connection: Any = dispatch.connection
        await self.pending.room(connection, size_of(action))
        if not self.core.clients.is_live(connection):
            # It sends it again where it is now.
            return
        unit = self._unit(channel)
        if not channel.is_logged:
            node = self.relays.node_of(channel.uri)
            if node is None:
                return self.core.writer.reject(dispatch, "there is no such channel any more")
            unit = f"{_NODE}{node}"
        again = connection.is_returned
        entry = self.pending.add(dispatch, channel.uri, action, is_again=again)
        self._links_of(connection).lane(unit).dispatch(entry)

    def _expired(self, entry: PendingAction, reason: str) -> None:
        self.core.metrics.count("agenthost_actions_rejected_total")
        self.core.writer.reject(entry.dispatch, reason)

    def _committed(self, applied: Any) -> None:
        if not any(isinstance(write, Own) for _, write in applied.writes):
            return
        self._claims.forget(applied.unit)
        for links in list(self._links.values()):
            # Once everybody has taken this commit in, which may have answered some.
            asyncio.get_running_loop().call_soon(links.moved, applied.unit)

    # Requests.

    def takes(self, method: str) -> bool:
        """Say whether a method is carried out elsewhere."""
        return PLACES.get(method, MethodPlace.HERE) is not MethodPlace.HERE

    async def request(self, connection: Connection, method: str, params: JsonObject) -> object:
        """Have a client's request carried out by whom it concerns."""
        place = PLACES[method]
        if place is MethodPlace.EVERYWHERE:
            return await self._everywhere(connection, method, params)
        if place is MethodPlace.FILES:
            return await self._files(connection, method, params)
        unit, result = await self._asked_again(
            connection, method, params, lambda: self._lane_for(place, connection, method, params)
        )
        self._note(connection, method, params, unit, result)
        return result

    async def _asked_again(
        self,
        connection: Connection,
        method: str,
        params: JsonObject,
        find_unit: Callable[[], Awaitable[str]],
    ) -> tuple[str, Any]:
        """Ask whoever owns what is asked for, and once more where that may have done nothing.

        Returns the unit with the answer.
        """
        for attempt in range(1, MOST_TRIES + 1):
            unit = await find_unit()
            try:
                return unit, await self._ask(connection, unit, method, params)
            except Conflict as error:
                # It was somebody's until a moment ago, and nothing was done.
                if attempt == MOST_TRIES or "owner" not in (error.data or {}):
                    raise
            except LinkBroken as error:
                harmless = method in ONLY_READ or isinstance(error, _NotSent)
                if attempt == MOST_TRIES or not harmless:
                    raise _told(error) from error
            self._claims.forget(unit)
            await asyncio.sleep(PAUSE)
        raise AssertionError("the last try returns or raises")

    async def side_channel(
        self, connection: Connection, uri: str, method: str, params: JsonObject
    ) -> object:
        """Have a client's request to an MCP server carried out, by the owner of its session."""
        asked = {**params, "channel": uri}
        units = self._followed_units(connection)
        found = NotFound(f"there is no MCP channel {uri[:200]}")
        return await self._first(connection, units, method, asked, found)

    async def _ask(
        self,
        connection: Connection,
        unit: str,
        method: str,
        params: JsonObject,
        seconds: float | None = None,
    ) -> Any:
        """Ask the owner of a unit; LinkBroken where no answer can come."""
        if seconds is None:
            is_beside = method not in METHODS or METHODS[method].beside is not Beside.NO
            seconds = PATIENT_SECONDS if is_beside else ANSWER_SECONDS
        peer = await self._reached(self._links_of(connection), unit)
        return await peer.request(method, params, seconds)

    async def _reached(self, links: ClientLinks, unit: str) -> OwnerPeer:
        try:
            async with asyncio.timeout(REACH_SECONDS):
                return await links.lane(unit).peer()
        except WireError:
            raise
        except TimeoutError:
            raise _NotSent(SILENT) from None
        except (AgentHostError, OSError) as error:
            raise _NotSent(str(error)) from error

    async def _first(
        self,
        connection: Connection,
        units: Sequence[str],
        method: str,
        params: JsonObject,
        error: WireError,
    ) -> Any:
        """Return the answer of the first owner who knows what is asked for."""
        nodes: set[str] = set()
        for unit in units:
            try:
                node = await self._find_owner(unit)
                if node not in nodes:
                    nodes.add(node)
                    return await self._ask(connection, f"{_NODE}{node}", method, params)
            except NotFound as refusal:
                error = refusal
            except WireError:
                raise
            except AgentHostError as broken:
                error = _told(broken)
        raise error

    async def _everywhere(self, connection: Connection, method: str, params: JsonObject) -> object:
        """Ask every node; who refuses counts only where nobody accepts."""
        units = [f"{_NODE}{node}" for node in self._nodes.living]
        asking = [self._ask(connection, unit, method, params, ANSWER_SECONDS) for unit in units]
        answers = await asyncio.gather(*asking, return_exceptions=True)
        errors: list[BaseException] = []
        for answer in answers:
            if not isinstance(answer, BaseException):
                return answer
            errors.append(answer)
        errors.sort(key=lambda error: (not isinstance(error, AuthRequired), _is_link(error)))
        raise _told(errors[0]) if errors else InternalError(SILENT)

    # Who is meant.

    async def _lane_for(
        self, place: MethodPlace, connection: Connection, method: str, params: JsonObject
    ) -> str:
        uri = canonical(params["channel"])
        match place:
            case MethodPlace.UNIT:
                return await self._unit_named(uri, method, params)
            case MethodPlace.PLACED:
                return await self._placed(uri, params)
            case MethodPlace.RELAYED:
                node = self.relays.node_of(uri) or await self._placed_channel(uri)
                return f"{_NODE}{node}"
            case MethodPlace.TERMINAL:
                claim = params["claim"]
                if claim["kind"] == "session":
                    return await self._unit_named(canonical(claim["session"]), method, params)
                return f"{_NODE}{self._own_node}"
        return REALM

    async def _unit_named(self, uri: str, method: str, params: JsonObject) -> str:
        if uri == ROOT:
            return f"{_NODE}{self._own_node}"
        channel = await self.core.directory.find(uri)
        if channel is None and method in ("agenthost/restoreSession", "agenthost/purgeSession"):
            return uri
        if channel is None:
            raise missing_channel(self.core, uri)
        unit = self._unit(channel)
        destination = params["destination"] if method == "moveChat" else {}
        other = destination.get("session")
        if other is not None and canonical(other) != unit:
            await self._expect_together(unit, canonical(other))
        return unit

    async def _expect_together(self, unit: str, other: str) -> None:
        """Refuse what would have to be decided in two places at once."""
        if await self.core.directory.find(other) is None:
            raise SessionNotFound(f"there is no session {other}")
        if await self._owner_or_error(unit) != await self._owner_or_error(other):
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
                    return f"{_NODE}{await self._owner_or_error(self._unit(found))}"
        directories = params.get("workingDirectories")
        if directories is None:
            directory = params.get("workingDirectory")
            directories = [directory] if directory is not None else []
        provider = params.get("provider")
        node = self._nodes.place(provider, directories, None)
        if node is None and provider is not None:
            raise ProviderNotFound(f"no machine of this host has an agent {provider}")
        return f"{_NODE}{node or self._own_node}"

    async def _placed_channel(self, uri: str) -> str:
        try:
            node = await self.relays.place(uri)
        except WireError:
            raise
        except AgentHostError as error:
            raise _told(error) from error
        if node is None:
            raise missing_channel(self.core, uri)
        return node

    async def _files(self, connection: Connection, method: str, params: JsonObject) -> object:
        uri = params.get("uri") or params.get("source", "")
        if is_content(uri):
            # It is in the copy.
            return await methods()[method](connection, params)
        if is_clients(uri):
            error = NotFound(f"nobody here knows {uri}")
            living = [f"{_NODE}{node}" for node in self._nodes.living]
            units = [*self._followed_units(connection), *living]
            return await self._first(connection, units, method, params, error)
        channel = canonical(params["channel"])
        unit = await self._unit_named(channel, method, params) if channel != ROOT else None
        unit = unit or self._unit_with(connection, uri) or f"{_NODE}{self._own_node}"

        async def find_unit() -> str:
            # By its node, which is to be known where a watch is made.
            return f"{_NODE}{await self._owner_or_error(unit)}"

        asked, result = await self._asked_again(connection, method, params, find_unit)
        if method == "createResourceWatch":
            self.relays.made(result["channel"], asked.removeprefix(_NODE), connection.principal)
        return result

    def _unit_with(self, connection: Connection, uri: str) -> str | None:
        """Return a session that the client follows and that works where a file lies."""
        for channel in connection.subscriptions:
            directories = (
                channel.state.get("workingDirectories")
                if channel.is_logged and channel.session is None and channel.uri != ROOT
                else None
            )
            for directory in directories or ():
                if uri == directory or uri.startswith(directory.rstrip("/") + "/"):
                    return self._unit(channel)
        return None

    def _followed_units(self, connection: Connection) -> list[str]:
        followed = (each for each in connection.subscriptions if each.is_logged)
        return list(dict.fromkeys(self._unit(each) for each in followed if each.uri != ROOT))

    def _unit(self, channel: AnyChannel) -> str:
        return channel.session or self._unit_of(channel.uri)

    def _unit_of(self, uri: str) -> str:
        return self._copy.unit_of_channel(uri) or REALM

    async def _find_owner(self, unit: str) -> str:
        if unit.startswith(_NODE):
            node = unit.removeprefix(_NODE)
            if node not in self._nodes.living:
                raise LinkBroken(f"the machine {node} is not there")
            return node
        return await self._claims.owner(unit)

    async def _owner_or_error(self, unit: str) -> str:
        try:
            return await self._find_owner(unit)
        except WireError:
            raise
        except AgentHostError as error:
            raise _told(error) from error

    def _note(
        self, connection: Connection, method: str, params: JsonObject, unit: str, result: Any
    ) -> None:
        """Remember where a client's new terminal is, or that one is gone."""
        if method == "disposeTerminal":
            self.relays.dropped(params["channel"])
        elif method == "createTerminal":
            node = unit.removeprefix(_NODE) if unit.startswith(_NODE) else None
            node = node or self._copy.owner_of(unit)
            if node is not None:
                self.relays.made(params["channel"], node, connection.principal)

    def _terminals(self) -> list[tuple[str, str]]:
        return [
            (terminal["resource"], name)
            for name, node in self._nodes.living.items()
            for terminal in node.terminals
        ]


def _over(link: RealmLink | None, copy: RealmMap) -> Open:
    # Tests come without it, and a host without a cluster has it not installed.
    from agenthost.cluster.links import open_link

    assert link is not None, "links need something to go over"

    async def open(node: str, principal: Principal, purpose: str) -> Transport:
        return await open_link(link, node, principal, purpose, copy.reached)

    return open


class _NotSent(LinkBroken):
    """Nobody was reached, so that nothing can have been done."""


def _is_link(error: BaseException) -> bool:
    return not isinstance(error, WireError)


def _told(error: BaseException) -> WireError:
    """Return what a client is told who waits for something that cannot be answered."""
    if isinstance(error, WireError):
        return error
    if isinstance(error, LinkBroken) and not isinstance(error, _NotSent):
        return InternalError(LOST)
    if isinstance(error, AgentHostError):
        return InternalError(str(error) or SILENT)
    log.error("a request was not passed on", exc_info=error)
    return InternalError()
