"""The contract of stores, held by an owner's store on a real server.

Not all of it: numbers are a host's own and end with it, copies make and trim their own snapshots,
and a realm has many owners. The rest is the suite of the other stores as it is; it runs with
``make test THOROUGH=1``.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from agenthost.cluster.copy import LocalCopy
from agenthost.cluster.owner.store import OwnerStore
from agenthost.cluster.realm import Appender, RealmAddress, RealmLink
from agenthost.host.store import (
    Append,
    PutSession,
    SaveSnapshot,
    StoreMisuse,
    Write,
)
from tests.cluster.servers import NatsServer, Servers, free_ports
from tests.host.store.test_contract_channels import (  # noqa: F401
    test_a_limit_keeps_the_first_entries,
    test_entries_of_several_channels_come_in_one_order,
)
from tests.host.store.test_contract_numbers import (  # noqa: F401
    test_a_new_store_begins_at_one_without_gaps,
    test_a_seal_must_lie_between_the_last_entry_and_the_reservation,
    test_a_smaller_reservation_takes_nothing_back,
    test_nothing_is_used_before_it_is_reserved,
    test_reservations_made_at_once_end_at_the_highest,
)
from tests.host.store.test_contract_sessions import (  # noqa: F401
    test_a_cursor_is_stable_while_the_catalogue_changes_elsewhere,
    test_a_cursor_outlives_everything_it_has_seen,
    test_a_cursor_survives_a_restart,
    test_a_full_last_page_has_no_cursor,
    test_a_page_of_nothing_is_refused,
    test_a_session_is_replaced_counted_and_dropped,
    test_an_empty_catalogue_is_one_empty_page,
)
from tests.host.store.test_contract_writes import (  # noqa: F401
    test_a_refused_unit_leaves_no_trace,
    test_a_store_that_is_not_open_takes_and_gives_nothing,
    test_a_write_is_read_back_once_it_is_acknowledged,
    test_a_write_of_nothing_is_a_barrier,
    test_blobs_are_kept_replaced_and_dropped_with_their_owner,
    test_blobs_go_to_another_owner_and_are_dropped_with_it,
    test_bytes_are_kept_as_they_are,
    test_cancelling_the_wait_takes_nothing_back,
    test_later_writes_win_within_a_unit_and_between_units,
    test_leaving_the_store_makes_everything_durable,
    test_pending_counts_units_until_they_are_durable,
    test_records_of_a_bucket_come_in_order_of_their_keys,
    test_text_without_utf8_form_is_refused_wherever_it_stands,
    test_units_are_acknowledged_in_the_order_of_the_calls,
    test_what_was_acknowledged_survives_a_crash,
)
from tests.thoroughness import THOROUGH

pytestmark = pytest.mark.skipif(not THOROUGH, reason="runs with THOROUGH=1")

_realms = count(1)


class RealmSite:
    """A realm of its own, in which one node after the other runs; a crash is another node."""

    def __init__(self, servers: Servers, folder: Path) -> None:
        self.address = RealmAddress(servers.urls, f"contract{next(_realms)}")
        self.folder = folder
        self.runs = 0
        # Channel -> the numbers that hosts gave to its entries, in order.
        self.given: dict[str, list[int]] = defaultdict(list)

    def new(self) -> RealmStore:
        return RealmStore(self)

    def crash(self) -> None:
        self.runs += 1


class RealmStore:
    """An owner's store that opens what it stands on, and gives a host's own numbers back."""

    def __init__(self, site: RealmSite) -> None:
        self._site = site
        self._stack = AsyncExitStack()
        self._open: OwnerStore | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @property
    def _store(self) -> OwnerStore:
        if self._open is None:
            raise StoreMisuse("the store is not open")
        return self._open

    async def __aenter__(self) -> Self:
        if self._open is not None:
            raise StoreMisuse("a store is opened once")
        site, node = self._site, f"n{self._site.runs}"
        async with AsyncExitStack() as stack:
            link = await stack.enter_async_context(RealmLink(site.address, node))
            info = await link.open_realm()
            copy = LocalCopy(site.folder / node, link, info)
            await stack.enter_async_context(copy)
            await copy.caught_up()
            store = OwnerStore(copy, Appender(link), node)
            self._open = await stack.enter_async_context(store)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._stack.__aexit__(exc_type, exc, traceback)

    def write(self, *writes: Write) -> asyncio.Future[None]:
        made: list[Write] = []
        for write in writes:
            # A host makes a session before it lists it.
            if isinstance(write, PutSession) and self._store.router.unit_of(write.session) is None:
                made.append(SaveSnapshot(write.session, "session", 0, b"{}"))
        done = self._store.write(*made, *writes)
        for write in writes:
            if isinstance(write, Append):
                self._site.given[write.channel].append(write.seq)
        return done

    async def read_after(
        self, seq: int, channels: Collection[str], limit: int | None = None
    ) -> list[Append]:
        found: list[Append] = []
        for channel in dict.fromkeys(channels):
            entries = await self._store.read_after(0, [channel])
            given = self._site.given[channel]
            assert [each.seq for each in entries] == sorted({each.seq for each in entries})
            found += [replace(each, seq=given[at]) for at, each in enumerate(entries)]
        wanted = sorted((each for each in found if each.seq > seq), key=lambda each: each.seq)
        return wanted[:limit]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    folder = tmp_path_factory.mktemp("nats")
    servers = Servers([NatsServer("single", folder, free_ports(1)[0])])
    servers[0].start()
    try:
        asyncio.run(servers.ready())
        yield servers
    finally:
        servers[0].kill()


@pytest.fixture
def site(servers: Servers, tmp_path: Path) -> RealmSite:
    return RealmSite(servers, tmp_path)


@pytest.fixture
async def store(site: RealmSite) -> AsyncIterator[RealmStore]:
    async with site.new() as store:
        await store.reserve(1000)
        yield store
