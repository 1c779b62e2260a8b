"""Automations with the client: made, changed, run, followed, watched and removed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agenthost.client import Client, Rejected, Unsupported, connect, define_automation
from agenthost.errors import NotFound
from tests.host.channels.automation.world import World, living

NIGHTLY = define_automation("Tidy up", "work", cron=["0 2 * * *"], zone="Europe/Berlin")
BY_HAND = define_automation("Tidy up", "work")


@asynccontextmanager
async def client_of(world: World) -> AsyncIterator[Client]:
    async with connect(world.url) as client:
        yield client


async def test_an_automation_from_its_making_to_its_end() -> None:
    async with living() as world, client_of(world) as client:
        assert await client.automations.list() == []
        made = await client.automations.create(NIGHTLY)
        assert made["definition"] == NIGHTLY
        assert made["nextRunAt"] == "2026-01-06T01:00:00.000Z"
        assert await client.automations.list() == [made]
        resource = made["resource"]
        paused = await client.automations.update(resource, {"enabled": False})
        assert "nextRunAt" not in paused
        assert await client.automations.get(resource) == paused
        run = await client.automations.run(resource)
        async with await client.automations.follow_run(run) as followed:
            ended = await followed.ended()
            assert followed.status == "completed"
        (listed,) = await client.automations.runs(resource)
        assert listed["lifecycle"] == ended["lifecycle"]
        await client.automations.remove(resource)
        assert await client.automations.list() == []
        for gone in (
            client.automations.get(resource),
            client.automations.remove(resource),
            client.automations.run(resource),
        ):
            with pytest.raises(NotFound):
                await gone


async def test_what_is_refused_says_why() -> None:
    async with living() as world, client_of(world) as client:
        with pytest.raises(Rejected, match="five fields"):
            await client.automations.create(define_automation("x", "y", cron=["@daily"]))
        made = await client.automations.create(BY_HAND)
        with pytest.raises(Rejected, match="there is no agent"):
            await client.automations.update(made["resource"], {"session": {"provider": "no"}})
        with pytest.raises(Rejected, match="already"):
            await client.automations.create(NIGHTLY, resource=made["resource"])
        # Making the same again is no mistake: the answer may have been lost.
        assert await client.automations.create(BY_HAND, resource=made["resource"]) == made


async def test_whoever_watches_sees_every_step() -> None:
    async with living() as world, client_of(world) as client, client_of(world) as other:
        seen: list[list[str]] = []

        async def watch() -> None:
            async for entries in other.automations.watch():
                seen.append([entry["definition"]["title"] for entry in entries])
                if seen[-1] == ["Other"]:
                    return

        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            tasks.create_task(watch())
            made = await client.automations.create(BY_HAND)
            await client.automations.update(made["resource"], {"title": "Other"})
        assert seen[-1] == ["Other"]


async def test_a_run_is_cancelled() -> None:
    async with living() as world, client_of(world) as client:
        made = await client.automations.create(define_automation("x", "wait"))
        run = await client.automations.run(made["resource"])
        async with await client.automations.follow_run(run) as followed:
            await followed.channel.until(lambda state: state["lifecycle"]["status"] == "running")
            await client.automations.cancel(run)
            assert (await followed.ended())["lifecycle"]["status"] == "cancelled"
        with pytest.raises(Rejected, match="the run is over"):
            await client.automations.cancel(run)


async def test_older_runs_are_fetched_as_far_as_they_are_wanted() -> None:
    async with living() as world, client_of(world) as client:
        made = await client.automations.create(BY_HAND)
        for number in range(30):
            run = await client.automations.run(made["resource"], request=str(number))
            async with await client.automations.follow_run(run) as followed:
                await followed.ended()
        assert len(await client.automations.runs(made["resource"], limit=5)) == 5
        runs = await client.automations.runs(made["resource"])
        assert len(runs) == 30
        assert runs[0]["resource"] == run


async def test_a_host_of_an_older_protocol_has_none() -> None:
    async with living() as world, connect(world.url, versions=["0.8.0"]) as client:
        with pytest.raises(Unsupported, match="no automations"):
            await client.automations.list()
