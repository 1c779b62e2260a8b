"""The contract of stores, held by an owner's store on a real server.

The suite of the other stores as it is, but for what a realm does otherwise by design; each has its
reason in ``NOT_ON_A_REALM``. A few run always; all do with ``make wire-cluster`` or ``THOROUGH=1``.
"""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
from msgspec.structs import replace

from agenthost.cluster.copy import LocalCopy
from agenthost.cluster.owner.store import OwnerStore
from agenthost.cluster.realm import Appender, RealmAddress, RealmLink
from agenthost.cluster.units import REALM
from agenthost.host.store import (
    Append,
    DropChannel,
    PutSession,
    SaveSnapshot,
    StoredChannel,
    StoreMisuse,
    WholeChannel,
    Write,
)
from tests.cluster.servers import NatsServer, Servers, free_ports
from tests.host.store.test_contract_channels import *  # noqa: F403
from tests.host.store.test_contract_numbers import *  # noqa: F403
from tests.host.store.test_contract_sessions import *  # noqa: F403
from tests.host.store.test_contract_writes import *  # noqa: F403
from tests.host.store.test_contract_writes import (
    test_a_write_is_read_back_once_it_is_acknowledged,
    test_what_was_acknowledged_survives_a_crash,
)
from tests.thoroughness import THOROUGH

RUNS_ALL = THOROUGH or bool(os.environ.get("AGENTHOST_TEST_CLUSTER"))

ALWAYS = {
    test_a_write_is_read_back_once_it_is_acknowledged.__name__,
    test_what_was_acknowledged_survives_a_crash.__name__,
    "test_a_refused_unit_leaves_no_trace",
    "test_a_channel_that_comes_back_does_not_continue_its_former_self",
    "test_a_session_is_replaced_counted_and_dropped",
}
_NUMBERS = "an owner's numbers are its own and end with it: clients are shown those of the log"
_SNAPSHOTS = "copies make their own snapshots and trim their own logs; see test_compaction.py"
NOT_ON_A_REALM = {
    "test_a_crash_skips_everything_reserved_and_leaves_a_gap": _NUMBERS,
    "test_a_close_without_a_seal_counts_as_a_crash": _NUMBERS,
    "test_a_sealed_store_goes_on_right_after_the_last_number_used": _NUMBERS,
    "test_a_seal_can_be_followed_by_a_new_reservation_and_a_crash": _NUMBERS,
    "test_crashes_that_left_nothing_behind_share_one_gap": _NUMBERS,
    "test_every_crash_after_new_entries_has_a_gap_of_its_own": _NUMBERS,
    "test_dropped_entries_still_count_as_used": _NUMBERS,
    "test_a_channel_is_its_snapshot_and_the_entries_after_it": _SNAPSHOTS,
    "test_an_older_snapshot_does_not_replace_a_newer_one": _SNAPSHOTS,
    "test_the_snapshot_before_the_last_is_kept": _SNAPSHOTS,
    "test_the_snapshot_before_the_last_goes_with_the_log_that_it_needs": _SNAPSHOTS,
    "test_the_snapshot_before_the_last_stays_while_no_entry_after_it_goes": _SNAPSHOTS,
    "test_trimming_forgets_entries_and_remembers_how_far": _SNAPSHOTS,
    "test_trimming_to_a_length_keeps_the_newest_entries": _SNAPSHOTS,
    "test_trimming_never_forgets_what_no_snapshot_holds": _SNAPSHOTS,
    "test_channels_survive_a_restart": _SNAPSHOTS,
}

_realms = count(1)


@pytest.fixture(autouse=True)
def chosen(request: pytest.FixtureRequest) -> None:
    name = getattr(request.node, "originalname", "")
    if name in NOT_ON_A_REALM:
        pytest.skip(NOT_ON_A_REALM[name])
    if not RUNS_ALL and name not in ALWAYS:
        pytest.skip("runs with make wire-cluster, or THOROUGH=1")


class RealmSite:
    """A realm of its own, in which one node after the other runs; a crash is another node."""

    def __init__(self, servers: Servers, folder: Path) -> None:
        self.address = RealmAddress(servers.urls, f"contract{next(_realms)}")
        self.folder = folder
        self.runs = 0
        # Channel -> the numbers that hosts gave to its entries, in order, and to its creation.
        self.given: dict[str, list[int]] = defaultdict(list)
        self.created: dict[str, int] = {}

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
            # What the suite writes belongs to no session.
            assert await store.claim(REALM)
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
        unit_of = self._store.router.unit_of
        saved = {write.channel for write in writes if isinstance(write, SaveSnapshot)}
        for write in writes:
            # A host makes a session before it lists it.
            if isinstance(write, PutSession) and write.session not in saved:
                if unit_of(write.session) is not None:
                    continue
                made.append(SaveSnapshot(write.session, "session", 0, b"{}"))
        done = self._store.write(*made, *writes)
        for write in writes:
            if isinstance(write, Append):
                self._site.given[write.channel].append(write.seq)
            elif isinstance(write, SaveSnapshot):
                self._site.created.setdefault(write.channel, write.seq)
            elif isinstance(write, DropChannel):
                self._site.given.pop(write.channel, None)
                self._site.created.pop(write.channel, None)
        return done

    async def load_channel(self, channel: str, at_most: int | None = None) -> StoredChannel | None:
        return self._with_given(channel, await self._store.load_channel(channel, at_most))

    async def load_whole(
        self, channel: str, buckets: Collection[str], owners: str
    ) -> WholeChannel | None:
        whole = await self._store.load_whole(channel, buckets, owners)
        if whole is None:
            return None
        own = self._with_given(channel, whole.stored)
        assert own is not None
        owner = whole.owner
        if owner is not None:
            named = whole.records[owners].decode()
            kept = self._with_given(named, owner.stored)
            assert kept is not None
            owner = replace(owner, stored=kept)
        return replace(whole, stored=own, owner=owner)

    async def channel_positions(self, channels: Collection[str]) -> dict[str, int]:
        found = await self._store.channel_positions(channels)
        created, given = self._site.created, self._site.given
        return {name: created.get(name, given[name][0] - 1) for name in found}

    def _with_given(self, channel: str, stored: StoredChannel | None) -> StoredChannel | None:
        """Return what is stored under a host's own numbers; nothing is trimmed here."""
        if stored is None:
            return None
        assert stored.trimmed_through == stored.seq
        created, given = self._site.created[channel], self._site.given[channel]
        tail = tuple(
            replace(entry, seq=number) for entry, number in zip(stored.tail, given, strict=True)
        )
        return replace(stored, seq=created, tail=tail, trimmed_through=created)

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
