"""A host that dies at any moment: no occurrence runs twice, and none is forgotten.

Every commit of a whole run is kept, and a new host is started from each of them.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from agenthost.host.store import MemoryBacking, MemoryStore, Write
from tests.host.channels.automation.world import (
    CATALOGUE,
    DAILY,
    VERSION,
    World,
    definition,
    living,
    status,
)
from tests.wire.client import open_client

RUN_NOW: dict[str, Any] = {"automation": DAILY, "requestId": "r1"}
AT = "2026-01-05T08:00:00.000Z"


class Film(MemoryStore):
    """Keeps a picture of what a killed host would leave, after every commit."""

    def __init__(self, backing: MemoryBacking) -> None:
        super().__init__(backing)
        self.pictures: list[MemoryBacking] = []

    def write(self, *writes: Write) -> asyncio.Future[None]:
        commit = super().write(*writes)
        commit.add_done_callback(lambda _: self.pictures.append(picture(self._backing)))
        return commit


def picture(backing: MemoryBacking) -> MemoryBacking:
    taken = MemoryBacking()
    for name, value in vars(backing).items():
        if name not in ("owner", "fail_with"):
            setattr(taken, name, copy.deepcopy(value))
    return taken


@asynccontextmanager
async def filmed(now: str) -> AsyncIterator[tuple[World, Film]]:
    film = Film(MemoryBacking())
    async with living(now, store=film) as world:
        yield world, film


async def film_of_a_run(**wanted: Any) -> list[MemoryBacking]:
    async with filmed("2026-01-05T07:59:00.000Z") as (world, film):
        await world.create(**wanted)
        first = len(film.pictures)
        await world.pass_until("2026-01-05T08:00:00.000Z")
        await world.settled(runs=1)
        return film.pictures[first:]


async def turns_of(world: World, session: str) -> list[str]:
    state = await world.client.subscribe(session)
    chat = await world.client.subscribe(state["defaultChat"])
    return [turn["state"] for turn in chat["turns"]]


async def test_from_whatever_it_left_there_is_one_run_one_session_and_one_turn() -> None:
    pictures = await film_of_a_run()
    assert len(pictures) > 3
    endings = []
    for left in pictures:
        async with living("2026-01-05T08:00:20.000Z", left) as world:
            await world.until(world.runs)
            (run,) = await world.settled(runs=1)
            assert run["origin"]["scheduledFor"] == AT
            assert run["sessionCount"] == 1
            listed = (await world.client.request("listSessions"))["items"]
            assert [item["resource"] for item in listed] == [run["primarySession"]]
            assert len(await turns_of(world, run["primarySession"])) == 1
            state = await world.client.subscribe(run["resource"])
            assert state["lifecycle"] == run["lifecycle"]
            endings.append(status(run))
        # Started once more, it has nothing left to do.
        async with living("2026-01-05T08:00:40.000Z", left) as world:
            await world.clock.asleep()
            assert [status(run) for run in world.runs()] == endings[-1:]
            assert world.worker.heard == []
            assert left.records["automationRuns"] == {}
    # A turn that was interrupted failed; before and after it nothing is lost.
    assert set(endings) == {"completed", "failed"}
    assert endings[0] == endings[-1] == "completed"


async def test_nothing_is_done_for_a_run_before_it_is_claimed() -> None:
    for left in await film_of_a_run():
        runs = [uri for uri in left.channels if uri.startswith("ahp-automation-run:")]
        sessions = list(left.sessions)
        assert len(runs) <= 1
        assert len(sessions) <= len(runs)
        if runs:
            # The cursor moves with the claim, or another host would claim it again.
            assert AT.encode() in left.records["automations"][DAILY]


async def test_an_interrupted_run_failed_with_its_turn() -> None:
    backing = MemoryBacking()
    async with living(backing=backing) as world:
        await world.create(**definition(text="wait"))
        await world.run()
        await world.until(lambda: [r for r in world.runs() if status(r) == "running"])
        left = picture(backing)
    for state, error in ((left, "hostRestarted"), (backing, "hostStopped")):
        async with living(backing=state) as world:
            (run,) = await world.settled(runs=1)
            assert run["lifecycle"]["error"]["errorType"] == error
            assert await turns_of(world, run["primarySession"]) == ["error"]
            assert world.worker.heard == []


async def test_a_claimed_run_of_an_automation_that_is_gone_is_cancelled() -> None:
    pictures = await film_of_a_run()
    claimed = next(left for left in pictures if left.records.get("automationRuns"))
    del claimed.channels[CATALOGUE], claimed.records["automations"]
    async with living("2026-01-05T08:00:20.000Z", claimed) as world:
        assert world.entries == []
        await world.client.ping()
        assert world.worker.heard == []
    assert claimed.records["automationRuns"] == {}
    assert not [uri for uri in claimed.channels if uri.startswith("ahp-automation-run:")]


async def test_a_host_whose_automations_are_damaged_does_everything_else() -> None:
    backing = MemoryBacking()
    async with living(backing=backing) as world:
        await world.create(**definition("* * * * *"))
    stored = backing.channels[CATALOGUE].snapshot
    assert stored is not None
    backing.channels[CATALOGUE].snapshot = replace(stored, state=b"{")
    async with living(backing=backing) as world:
        assert CATALOGUE not in world.client.states
        for method, params in (("subscribe", {}), ("runAutomation", RUN_NOW)):
            failure = await world.client.refusal(method, channel=CATALOGUE, **params)
            assert "damaged" in failure.message
        assert await world.client.used_session("ahp-session:/s1")
        async with open_client(world.url, "two", VERSION) as two:
            assert "automations" not in await two.initialize()


async def test_a_start_at_which_nothing_is_due_tells_nobody_anything() -> None:
    backing = MemoryBacking()
    async with living(backing=backing) as world:
        await world.create()
        seen = await world.client.request("subscribe", channel=CATALOGUE)
    async with living("2026-01-05T07:00:00.000Z", backing) as world:
        await world.clock.asleep()
        assert world.client.envelopes[CATALOGUE] == []
        after = await world.client.request("subscribe", channel=CATALOGUE)
        assert after["snapshot"]["state"] == seen["snapshot"]["state"]
        catalogue = world.host.core.directory.get(CATALOGUE)
        assert catalogue is not None
        assert catalogue.seq <= seen["snapshot"]["fromSeq"]


@pytest.mark.parametrize("minutes", [0, 5])
async def test_hosts_that_are_killed_all_the_time_run_each_occurrence_once(minutes: int) -> None:
    backing = MemoryBacking()
    async with living("2026-01-05T06:55:00.000Z", backing) as world:
        await world.create(**definition("0 * * * *"))
    for hour in range(7, 12):
        for second in (1, 7, 30):
            now = f"2026-01-05T{hour:02}:{minutes:02}:{second:02}.000Z"
            async with living(now, backing) as world:
                await world.clock.asleep()
                await world.settled()
            # What this one left is what it had stored when it was killed.
            backing = picture(backing)
    async with living("2026-01-05T11:06:00.000Z", backing) as world:
        runs = await world.settled(runs=5)
        times = [run["origin"]["scheduledFor"][11:13] for run in reversed(runs)]
        assert times == ["07", "08", "09", "10", "11"]
        assert {"catchUp" in run["origin"] for run in runs} == {minutes > 0}
