"""The host that the clients of a node see: all of the realm, as the log tells it.

It decides nothing. Its channels are read from the local copy and moved on by the feed; what clients
ask for and do is passed to those who own it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, cast

from agenthost.cluster.front.follower import FeedFollower, Pending
from agenthost.cluster.front.ledger import FrontLedger, ReadableCopy
from agenthost.cluster.front.news import FeedNews
from agenthost.host.channels.session.active_clients import ActiveClients
from agenthost.host.host import STOPPING, Host
from agenthost.host.housekeeping import sweep
from agenthost.host.store import Store, Write
from agenthost.host.wiring import wire
from agenthost.protocol.uris import AUTOMATIONS, ROOT
from agenthost.transport import CloseCode

if TYPE_CHECKING:
    from agenthost.cluster.copy.applied import Applied
    from agenthost.cluster.copy.list_book import ListBook
    from agenthost.host.clients.wire_log import WireLog
    from agenthost.host.core import HostCore
    from agenthost.host.log.channel import AnyChannel
    from agenthost.host.push.book import PushBook
    from agenthost.host.remote_owner import RemoteOwner


class FrontCopy(ReadableCopy, Protocol):
    """What a front needs of the local copy."""

    @property
    def store(self) -> Store:
        """Where everything is read from; it is open already."""
        ...

    @property
    def lists(self) -> ListBook:
        """When sessions changed in the list."""
        ...

    def on_commit(self, tell: Callable[[Applied], None]) -> object:
        """Tell somebody of every message of the feed, in order, before it can be read."""
        ...


class FrontHost(Host):
    """Serves the clients of a node."""

    def __init__(
        self,
        copy: FrontCopy,
        remote_owner: RemoteOwner,
        *,
        node: str = "",
        append: Callable[[Sequence[Write]], None] = lambda writes: None,
        push_book: PushBook | None = None,
        pending: Pending = lambda client_id, client_seq: None,
        **host_settings: Any,
    ) -> None:
        """Describe the front of a node; ``async with`` starts it.

        Args:
            copy: the local copy of the realm, open and caught up.
            remote_owner: who carries out what clients ask for.
            node: the name of the node.
            append: adds writes that need no owner to the realm (the unit ``MISC``), in its own
                time; without any writes it is to append an empty message.
            push_book: who is pushed what; by default this host's own file says so.
            pending: what a client has dispatched that was not answered yet.
            host_settings: as those of every `Host`.
        """
        super().__init__(store=cast("Store", _Opened(copy.store)), **host_settings)
        self._copy = copy
        self._remote_owner = remote_owner
        self._node = node
        self._append = append
        self._push_book = push_book
        self._pending = pending
        self._follower: FeedFollower | None = None
        # Set with every message, while the front waits for a root channel.
        self._heard = asyncio.Event()
        copy.on_commit(self._take)

    @property
    def seen_names(self) -> list[str]:
        """Those who look at a window of theirs, by the names of their tokens."""
        return sorted({each.principal.name for each in self.connections if each.is_visible})

    def _make_core(self, store: Store, wire_log: WireLog | None, workspace_dir: Path) -> HostCore:
        core = wire(
            self._settings,
            store,
            wire_log,
            workspace_dir,
            connections=lambda: len(self._connections),
            counts=self._counts,
            on_failure=self._fail,
            make_ledger=partial(FrontLedger, copy=self._copy, append=self._append),
            remote_owner=self._remote_owner,
            push_book=self._push_book,
        )
        ledger = core.writer.ledger
        assert isinstance(ledger, FrontLedger)
        core.effects.silence()
        core.directory.ask_nobody()
        core.directory.reads_logged_only = True
        core.clients.node = self._node
        core.active_clients = _NobodyActive(core.clients, core.writer, core.directory, core.effects)
        core.news = news = FeedNews(core, self._copy.lists)
        self._follower = FeedFollower(core, ledger, news, self._pending)
        self._remote_owner.attach(core)
        return core

    async def _open(self, core: HostCore) -> None:
        await core.writer.ledger.open()
        await core.catalogue.open()
        await core.clients.open()
        core.push_book.open()
        await self._find_root(core)
        # Whether there are automations is told at once to all who come.
        await core.directory.find(AUTOMATIONS)

    async def _find_root(self, core: HostCore) -> AnyChannel:
        """Return the realm's root channel, once there is one."""
        while True:
            self._heard.clear()
            root = await core.directory.find(ROOT)
            if root is not None:
                return root
            await self._heard.wait()

    def _start_work(self, core: HostCore) -> None:
        core.tasks.start(sweep(core), "sweep")
        core.tasks.start(self._check_tokens(), "check tokens")

    async def _say_goodbye(self) -> None:
        for connection in list(self._connections):
            connection.end(CloseCode.GOING_AWAY, STOPPING)

    async def _stop(self) -> None:
        await self._remote_owner.close()
        await super()._stop()

    def _take(self, applied: Applied) -> None:
        if self._core is not None and self._follower is not None:
            self._follower.take(applied)
            self._heard.set()


class _Opened:
    """A store that others have opened, and close."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def __aenter__(self) -> Store:
        return self._store

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return None


class _NobodyActive(ActiveClients):
    """Leaves it to the owners of sessions who is active there."""

    def left(self, client_id: str) -> None:
        """Wait for nobody."""
