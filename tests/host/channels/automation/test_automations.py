"""Automations on a real host, by the wire: what clients may ask for, and when what runs."""

from __future__ import annotations

from tests.host.channels.automation.world import (
    CATALOGUE,
    DAILY,
    living,
    status,
)


async def test_an_automation_runs_at_its_time_and_tells_everybody() -> None:
    async with living() as world:
        entry = await world.create()
        assert entry["definition"]["title"] == "Tidy up"
        assert entry["nextRunAt"] == "2026-01-05T08:00:00.000Z"
        assert entry["operations"] == ["update", "remove", "run"]
        assert entry["runs"] == []
        await world.pass_until("2026-01-05T08:00:01.000Z")
        (run,) = await world.settled(runs=1)
        assert status(run) == "completed"
        assert run["origin"] == {
            "kind": "trigger",
            "triggerId": "t1",
            "scheduledFor": "2026-01-05T08:00:00.000Z",
        }
        assert world.entry()["nextRunAt"] == "2026-01-06T08:00:00.000Z"
        # The session is a session like any other, and says where it is from.
        session = await world.client.subscribe(run["primarySession"])
        origin = {"kind": "automation", "automation": DAILY, "run": run["resource"]}
        assert session["origin"] == origin
        assert session["title"] == "Tidy up"
        chat = await world.client.subscribe(session["defaultChat"])
        (turn,) = chat["turns"]
        assert turn["message"] == {"text": "work", "origin": {"kind": "automation"}}
        listed = (await world.client.request("listSessions"))["items"]
        assert [item.get("origin") for item in listed] == [origin]
        # And the run has a channel of its own.
        state = await world.client.subscribe(run["resource"])
        assert state["sessions"] == [run["primarySession"]]
        assert state["lifecycle"] == run["lifecycle"]
        mirrored, fresh = await world.client.compared(CATALOGUE)
        assert mirrored == fresh
