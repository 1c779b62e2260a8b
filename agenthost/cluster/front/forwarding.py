"""What a front passes on to those who own what a client asks for, and how that ends.

The front judges form and version; everything else is decided by an owner, over a link of the
client's own. A request ends by its answer, or by an error that says what its client can do; an
action by the log, an answer, or its time (`pending`). Nothing waits for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from agenthost.cluster.commits import Own
from agenthost.cluster.front.addresses import NODE_LANE, SILENT, Addresses, NobodyReached, told
from agenthost.cluster.front.client_links import ClientLinks, Open
from agenthost.cluster.front.owner_peer import LinkBroken, OwnerPeer
from agenthost.cluster.front.pending import PendingAction, PendingActions, size_of
from agenthost.cluster.front.relays import Relays
from agenthost.cluster.front.routes import MADE, MAY_ASK, ONLY_READ, PLACES, STORED, MethodPlace
from agenthost.cluster.front.surroundings import why_full
from agenthost.errors import (
    AgentHostError,
    AlreadyExists,
    AuthRequired,
    Conflict,
    InternalError,
    NotFound,
    SessionAlreadyExists,
    WireError,
)
from agenthost.host.channels.changeset.blobs import session_named
from agenthost.host.channels.session.kind import SESSION
from agenthost.host.clients.concurrent_requests import waiting_for_a_client
from agenthost.host.clients.methods import methods
from agenthost.host.files.client_resources import is_clients
from agenthost.host.files.content import is_content
from agenthost.protocol.methods import METHODS, Beside
from agenthost.protocol.uris import ROOT, canonical

if TYPE_CHECKING:
    from agenthost.cluster.front.surroundings import KnownNodes, OwnerClaims, RealmMap
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
# Seconds that a ping waits for what was sent before it; clients wait longer for its answer.
SETTLE_SECONDS = 5.0
# Seconds before one is asked again who may have done nothing, and the most that they grow to.
PAUSE, LONGEST_PAUSE = 0.1, 1.0


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
        self._addresses = Addresses(copy, nodes, claims, own_node)
        self.relays = Relays(
            own_node,
            self.pending,
            open,
            claims.owner,
            copy.unit_of_channel,
            self._addresses.terminals,
            lambda: nodes.living,
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
        self._addresses.attach(core, self.relays)
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
        elif follows and self.core.clients.is_live(connection):
            self._links_of(connection).lane(self._addresses.unit(channel)).follow(
                channel.uri, follows
            )
        elif links is not None:
            links.lane(self._addresses.unit(channel)).follow(channel.uri, follows)

    def withdrawn(self, connection: Connection, channel: AnyChannel) -> None:
        """Tell a session's owner, for whom the client may be active there still."""
        if channel.kind is not SESSION or not self.core.clients.is_live(connection):
            return
        active = channel.state.get("activeClients", ())
        if any(each["clientId"] == connection.client_id for each in active):
            self.core.tasks.start(self._withdraw(connection, channel), "withdraw a client")

    async def _withdraw(self, connection: Connection, channel: AnyChannel) -> None:
        try:
            peer = await self._reached(self._links_of(connection), self._addresses.unit(channel))
            if channel not in connection.subscriptions:
                # Only who follows something can leave it.
                peer.ask("subscribe", {"channel": channel.uri})
                peer.notify("unsubscribe", {"channel": channel.uri})
        except AgentHostError as error:
            log.info("%s stays active in %s: %s", connection.name, channel.uri, error)

    def left(self, connection: Connection) -> None:
        """End a client's links; what is unanswered it sends again where it comes back."""
        links = self._links.pop(connection, None)
        self.pending.left(connection)
        if links is not None:
            links.close()

    def _links_of(self, connection: Connection) -> ClientLinks:
        links = self._links.get(connection)
        if links is None:
            if not self.core.clients.is_live(connection):
                # Nobody would ever close them.
                raise LinkBroken("the client has left")
            links = ClientLinks(
                connection,
                self.pending,
                self._open,
                self._addresses.find_owner,
                self._claims.forget,
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
        unit = self._addresses.unit(channel)
        if not channel.is_logged:
            node = self.relays.node_of(channel.uri)
            if node is None:
                return self.core.writer.reject(dispatch, "there is no such channel any more")
            unit = f"{NODE_LANE}{node}"
        elif (reason := why_full(self._nodes.living)) is not None:
            return self.core.writer.reject(dispatch, reason)
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
        if place is MethodPlace.SETTLED:
            await self._settled(connection)
            return None
        if method in STORED and (reason := why_full(self._nodes.living)) is not None:
            raise InternalError(reason)
        if place is MethodPlace.EVERYWHERE:
            return await self._everywhere(connection, method, params)
        if place is MethodPlace.FILES:
            return await self._files(connection, method, params)
        # Its owner may have to ask this very client, and counts for itself what is under way.
        gives_way = waiting_for_a_client() if method in MAY_ASK else contextlib.nullcontext()
        with gives_way:
            unit, result = await self._asked_again(
                connection,
                method,
                params,
                lambda: self._addresses.lane_for(place, connection, method, params),
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
        made = params.get(MADE.get(method, ""))
        was_asked = False
        clock = asyncio.get_running_loop().time
        pause, until = PAUSE, clock() + REACH_SECONDS
        while True:
            is_last = clock() > until
            unit = await find_unit()
            try:
                return unit, await self._ask(connection, unit, method, params)
            except (AlreadyExists, SessionAlreadyExists):
                if not was_asked:
                    raise
                # By the one who was lost before it could say so.
                return unit, None
            except Conflict as error:
                # It was somebody's until a moment ago, and nothing was done.
                if is_last or "owner" not in (error.data or {}):
                    raise
            except LinkBroken as error:
                was_asked = was_asked or not isinstance(error, NobodyReached)
                harmless = method in ONLY_READ or made is not None or not was_asked
                if is_last or not harmless:
                    raise told(error) from error
            self._claims.forget(unit)
            await asyncio.sleep(pause)
            # A machine that is lost is missed after seconds, and then another takes over.
            pause = min(LONGEST_PAUSE, pause * 2)

    async def _settled(self, connection: Connection) -> None:
        """Wait until owners have dealt with what a client sent before, as far as they soon do.

        A ping's answer says so, on one host as on many; and also that this node is there, so that
        it does not wait for a machine that is not.
        """
        links = self._links.get(connection)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_SECONDS):
                await connection.told_news()
                if links is not None:
                    await links.settled()
                    await self.pending.settled(connection)

    async def side_channel(
        self, connection: Connection, uri: str, method: str, params: JsonObject
    ) -> object:
        """Have a client's request to an MCP server carried out, by the owner of its session."""
        asked = {**params, "channel": uri}
        units = self._addresses.followed_units(connection)
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
            raise NobodyReached(SILENT) from None
        except (AgentHostError, OSError) as error:
            raise NobodyReached(str(error)) from error

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
                node = await self._addresses.find_owner(unit)
                if node not in nodes:
                    nodes.add(node)
                    return await self._ask(connection, f"{NODE_LANE}{node}", method, params)
            except NotFound as refusal:
                error = refusal
            except WireError:
                raise
            except AgentHostError as broken:
                error = told(broken)
        raise error

    async def _everywhere(self, connection: Connection, method: str, params: JsonObject) -> object:
        """Ask every node; who refuses counts only where nobody accepts."""
        units = [f"{NODE_LANE}{node}" for node in self._nodes.living]
        asking = [self._ask(connection, unit, method, params, ANSWER_SECONDS) for unit in units]
        answers = await asyncio.gather(*asking, return_exceptions=True)
        errors: list[BaseException] = []
        for answer in answers:
            if not isinstance(answer, BaseException):
                return answer
            errors.append(answer)
        errors.sort(key=lambda error: (not isinstance(error, AuthRequired), _is_link(error)))
        raise told(errors[0]) if errors else Conflict(SILENT)

    async def _files(self, connection: Connection, method: str, params: JsonObject) -> object:
        uri = params.get("uri") or params.get("source", "")
        # A file as it was lies where its session works.
        whose = session_named(uri)
        if whose is not None and self._copy.owner_of(whose) is not None:
            return (await self._asked_again(connection, method, params, _always(whose)))[1]
        if is_content(uri):
            # It is in the copy.
            return await methods()[method](connection, params)
        if is_clients(uri):
            error = NotFound(f"nobody here knows {uri}")
            living = [f"{NODE_LANE}{node}" for node in self._nodes.living]
            units = [*self._addresses.followed_units(connection), *living]
            with waiting_for_a_client():
                return await self._first(connection, units, method, params, error)
        channel = canonical(params["channel"])
        unit = (
            await self._addresses.unit_named(channel, method, params) if channel != ROOT else None
        )
        unit = unit or self._addresses.unit_with(connection, uri) or f"{NODE_LANE}{self._own_node}"

        async def find_unit() -> str:
            # By its node, which is to be known where a watch is made.
            return f"{NODE_LANE}{await self._addresses.owner_or_error(unit)}"

        asked, result = await self._asked_again(connection, method, params, find_unit)
        if method == "createResourceWatch":
            self.relays.made(result["channel"], asked.removeprefix(NODE_LANE), connection.principal)
        return result

    def _note(
        self, connection: Connection, method: str, params: JsonObject, unit: str, result: Any
    ) -> None:
        """Remember where a client's new terminal is, or that one is gone."""
        if method == "disposeTerminal":
            self.relays.dropped(params["channel"])
        elif method == "createTerminal":
            node = unit.removeprefix(NODE_LANE) if unit.startswith(NODE_LANE) else None
            node = node or self._copy.owner_of(unit)
            if node is not None:
                self.relays.made(params["channel"], node, connection.principal)


def _always(unit: str) -> Callable[[], Awaitable[str]]:
    async def find_unit() -> str:
        return unit

    return find_unit


def _over(link: RealmLink | None, copy: RealmMap) -> Open:
    # Tests come without it, and a host without a cluster has it not installed.
    from agenthost.cluster.links import open_link

    assert link is not None, "links need something to go over"

    async def open(node: str, principal: Principal, purpose: str) -> Transport:
        return await open_link(link, node, principal, purpose, copy.reached)

    return open


def _is_link(error: BaseException) -> bool:
    return not isinstance(error, WireError)
