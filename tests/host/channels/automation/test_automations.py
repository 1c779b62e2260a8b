"""Automations on a real host, by the wire: when what runs, and what everybody is told of it."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from agenthost.agents import Turn
from agenthost.host.store import MemoryBacking
from tests.host.channels.automation.world import (
    CATALOGUE,
    DAILY,
    VERSION,
    Worker,
    create_action,
    definition,
    living,
    scheduled,
    status,
)
from tests.wire.client import PATIENCE, open_client
from tests.wire.guarded import RESOURCE, Guarded
from tests.wire.schemas import complaints_about, needs_schemas


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


async def test_what_happens_is_told_in_order() -> None:
    async with living() as world:
        await world.create(triggers=[])
        run = await world.run()
        await world.settled(runs=1)
        told = [envelope["action"] for envelope in world.client.envelopes[CATALOGUE]]
        assert told[0]["type"] == "automation/createRequested"
        assert {action["type"] for action in told[1:]} == {"automation/set"}
        shown = [action["automation"]["runs"] for action in told[1:]]
        steps = [(status(runs[0]), runs[0]["sessionCount"]) for runs in shown if runs]
        assert steps == [("pending", 0), ("pending", 1), ("running", 1), ("completed", 1)]
        state = await world.client.subscribe(run)
        times = state["lifecycle"]
        assert times.keys() == {"status", "createdAt", "startedAt", "completedAt"}


async def test_spring_has_no_half_past_two_and_autumn_has_two() -> None:
    spring = ("2026-03-27T12:00:00.000Z", "2026-03-31T12:00:00.000Z")
    autumn = ("2026-10-23T12:00:00.000Z", "2026-10-26T12:00:00.000Z")
    for (start, end), runs in (
        (spring, ["28 01:30", "30 00:30", "31 00:30"]),
        (autumn, ["24 00:30", "25 00:30", "25 01:30", "26 01:30"]),
    ):
        async with living(start) as world:
            await world.create(**definition("30 2 * * *"))
            await world.pass_until(end)
            done = await world.settled(runs=len(runs))
            assert scheduled(done) == runs
            assert {status(run) for run in done} == {"completed"}
            assert not any("catchUp" in run["origin"] for run in done)
            assert world.worker.heard == ["work"] * len(runs)


@pytest.mark.parametrize(("policy", "runs"), [("skip", 0), ("runOnce", 1), (None, 1)])
async def test_what_was_missed_while_the_host_was_down(policy: str | None, runs: int) -> None:
    backing = MemoryBacking()
    wanted = definition("*/10 * * * *")
    if policy is not None:
        wanted["triggers"][0]["misfirePolicy"] = policy
    async with living("2026-01-05T06:05:00.000Z", backing) as world:
        await world.create(**wanted)
    # Three hours later, and once more: what was made up for is not made up for again.
    for _ in range(2):
        async with living("2026-01-05T09:05:00.000Z", backing) as world:
            await world.clock.asleep()
            done = await world.settled(runs=runs)
            origins = [run["origin"] for run in done]
            assert [origin.get("catchUp") for origin in origins] == [True] * runs
            assert scheduled(done) == ["05 06:10"] * runs
            assert world.entry()["nextRunAt"] == "2026-01-05T09:10:00.000Z"


async def test_a_clock_that_is_set_back_repeats_nothing() -> None:
    async with living() as world:
        await world.create(**definition("*/10 * * * *"))
        await world.pass_until("2026-01-05T06:35:00.000Z")
        await world.settled(runs=3)
        world.clock.set("2026-01-05T06:05:00.000Z")
        await world.pass_until("2026-01-05T06:45:00.000Z")
        done = await world.settled(runs=4)
        assert scheduled(done) == ["05 06:10", "05 06:20", "05 06:30", "05 06:40"]


async def test_it_disables_itself_after_so_many_runs_and_can_be_enabled_again() -> None:
    limit = [{"kind": "afterRuns", "max": 2}]
    async with living() as world:
        entry = await world.create(**definition("*/10 * * * *", disableConditions=limit))
        assert entry["runCount"] == 0
        await world.pass_until("2026-01-05T06:15:00.000Z")
        world.clock.set("2026-01-05T06:20:00.005Z")
        await world.settled(runs=2)
        world.clock.set("2026-01-05T07:05:00.000Z")
        entry = world.entry()
        assert (entry["definition"]["enabled"], entry["runCount"]) == (False, 2)
        assert "nextRunAt" not in entry
        assert entry["modifiedAt"] > entry["createdAt"]
        # By hand it still runs, and that does not count.
        await world.run()
        await world.settled(runs=3)
        assert world.entry()["runCount"] == 2
        entry = await world.update(enabled=True)
        assert (entry["definition"]["enabled"], entry["runCount"]) == (True, 0)
        await world.pass_until("2026-01-05T07:15:00.000Z")
        assert len(await world.settled(runs=4)) == 4


async def test_it_disables_itself_at_its_date_though_nothing_is_due() -> None:
    until = [{"kind": "afterDate", "date": "2026-01-05T07:00:00Z"}]
    async with living() as world:
        await world.create(disableConditions=until)
        await world.pass_until("2026-01-05T06:59:50.000Z")
        assert world.entry()["definition"]["enabled"] is True
        world.clock.set("2026-01-05T07:00:00.000Z")
        await world.until(lambda: not world.entry()["definition"]["enabled"])
        # Enabled again, it is over at once.
        assert (await world.update(enabled=True))["definition"]["enabled"] is False


async def test_the_same_request_is_the_same_run_for_ever() -> None:
    backing = MemoryBacking()
    async with living(backing=backing) as world:
        await world.create(triggers=[], enabled=False)
        first = await world.run(request="one")
        assert await world.run(request="one") == first
        assert await world.run(request="two") != first
        await world.settled(runs=2)
    async with living(backing=backing) as world:
        assert await world.run(request="one") == first
        assert len(world.runs()) == 2
        assert world.worker.heard == []


async def test_requests_that_come_together_are_one_run() -> None:
    async with living() as world:
        await world.create(triggers=[])
        runs = await asyncio.gather(*(world.run(request="one") for _ in range(10)))
        assert len(set(runs)) == 1
        assert len(await world.settled(runs=1)) == 1


async def test_too_many_runs_at_once_are_refused_or_fail() -> None:
    async with living() as world:
        await world.create(**definition("*/10 * * * *", text="wait"))
        for number in range(5):
            await world.run(request=str(number))
        refused = await world.client.refusal(
            "runAutomation", channel=CATALOGUE, automation=DAILY, requestId="more"
        )
        assert refused.code == -32011
        assert "5 runs" in refused.message
        await world.pass_until("2026-01-05T06:10:01.000Z")
        await world.until(lambda: len(world.runs()) == 6)
        newest = world.runs()[0]
        assert newest["lifecycle"]["error"]["errorType"] == "tooManyRuns"
        world.worker.go_on.set()
        assert len(await world.settled(runs=6)) == 6
        # Now there is room, also for what was refused.
        await world.run(request="more")
        await world.settled(runs=7)


async def test_a_run_is_cancelled_while_it_works() -> None:
    async with living() as world:
        await world.create(**definition(text="wait"))
        run = await world.run()
        await world.until(lambda: [r for r in world.runs() if status(r) == "running"])
        await world.client.subscribe(run)
        await world.client.accepted(run, {"type": "automationRun/cancelRequested"})
        (done,) = await world.settled(runs=1)
        assert status(done) == "cancelled"
        reason = await world.client.rejected(run, {"type": "automationRun/cancelRequested"})
        assert reason == "the run is over"
        session = await world.client.subscribe(done["primarySession"])
        chat = await world.client.subscribe(session["defaultChat"])
        assert [turn["state"] for turn in chat["turns"]] == ["cancelled"]


async def test_who_disposes_of_the_session_cancels_the_run() -> None:
    async with living() as world:
        await world.create(**definition(text="wait"))
        await world.run()
        await world.until(lambda: [r for r in world.runs() if status(r) == "running"])
        session = world.runs()[0]["primarySession"]
        await world.client.request("disposeSession", channel=session)
        await world.settled(runs=1)
        await world.until(lambda: world.runs()[0]["sessionCount"] == 0)
        (done,) = world.runs()
        assert status(done) == "cancelled"
        assert "primarySession" not in done
        # Taken back from the trash, it is the run's session again.
        await world.client.request("agenthost/restoreSession", channel=session)
        await world.until(lambda: world.runs()[0].get("primarySession") == session)
        assert status(world.runs()[0]) == "cancelled"


async def test_a_run_tells_what_it_used() -> None:
    class Counting(Worker):
        async def run(self, turn: Turn) -> None:
            await turn.report_usage({"inputTokens": 3, "outputTokens": 4})
            await super().run(turn)

    async with living(agents=[Counting()]) as world:
        await world.create(triggers=[])
        await world.run()
        (done,) = await world.settled(runs=1)
        assert done["lifecycle"]["usage"] == {"inputTokens": 3, "outputTokens": 4}


async def test_an_agent_that_does_not_answer_holds_up_nobody_else() -> None:
    class Stuck(Worker):
        provider = "stuck"
        asked = 0
        free = threading.Event()

        def config_schema(self, values: Any, working_directory: str | None) -> Any:
            self.asked += 1
            if self.asked > 1:
                self.free.wait(PATIENCE)
            return super().config_schema(values, working_directory)

    stuck, worker = Stuck(), Worker()
    async with living(agents=[worker, stuck]) as world:
        await world.create(triggers=[], session={"provider": "stuck"})
        await world.create("ahp-automation:/other", triggers=[])
        run = await world.run()
        await world.run("ahp-automation:/other")
        (done,) = await world.settled(resource="ahp-automation:/other", runs=1)
        assert status(done) == "completed"
        # It can be cancelled all the same, and then does not start after all.
        await world.client.subscribe(run)
        await world.client.accepted(run, {"type": "automationRun/cancelRequested"})
        await world.settled(runs=1)
        stuck.free.set()
        await world.client.ping()
        assert status(world.runs()[0]) == "cancelled"
        assert stuck.heard == []
        assert len((await world.client.request("listSessions"))["items"]) == 1


async def test_a_run_fails_with_its_agent() -> None:
    async with living() as world:
        await world.create(**definition(text="fail"))
        await world.run()
        (done,) = await world.settled(runs=1)
        assert status(done) == "failed"
        assert done["lifecycle"]["error"]["errorType"] == "ValueError"


async def test_a_run_says_that_its_agent_is_gone() -> None:
    backing = MemoryBacking()
    async with living(backing=backing) as world:
        await world.create(session={"provider": "worker"})
    other = Worker()
    other.provider = "other"
    async with living(backing=backing, agents=[other]) as world:
        await world.run()
        (done,) = await world.settled(runs=1)
        assert "startedAt" not in done["lifecycle"]
        assert done["lifecycle"]["error"]["message"] == "there is no agent 'worker' on this host"
        assert (await world.client.request("listSessions"))["items"] == []


async def test_a_run_needs_its_owner_to_have_signed_in() -> None:
    async with living(agents=[Guarded()]) as world:
        # Making it does not: it will run at night, and who knows what is then.
        await world.create(triggers=[])
        await world.run(request="before")
        (done,) = await world.settled(runs=1)
        assert done["lifecycle"]["error"]["errorType"] == "authRequired"
        await world.client.request("authenticate", resource=RESOURCE, token="secret")
        await world.run(request="after")
        done = (await world.settled(runs=2))[0]
        assert status(done) == "completed"


async def test_removed_automations_leave_nothing_but_their_sessions() -> None:
    backing = MemoryBacking()
    async with living(backing=backing) as world:
        await world.create(triggers=[])
        first = await world.run(request="one")
        await world.settled(runs=1)
        await world.update(message=definition(text="wait")["message"])
        second = await world.run(request="two")
        await world.until(lambda: [r for r in world.runs() if status(r) == "running"])
        await world.client.subscribe(second)
        await world.client.accepted(CATALOGUE, {"type": "automation/removed", "resource": DAILY})
        assert world.entries == []
        assert (await world.client.refusal("subscribe", channel=first)).code == -32008
        # What was under way comes to its end, and whoever follows it sees that.
        world.worker.go_on.set()
        ended = await world.client.action(second, "automationRun/lifecycleChanged")
        assert ended["lifecycle"]["status"] == "completed"
        await world.client.ping()
        assert (await world.client.refusal("subscribe", channel=second)).code == -32008
        assert len((await world.client.request("listSessions"))["items"]) == 2
        failure = await world.client.refusal(
            "runAutomation", channel=CATALOGUE, automation=DAILY, requestId="three"
        )
        assert failure.code == -32008
    assert backing.records.get("automations") == {}
    assert backing.records.get("automationRuns") == {}
    assert not [uri for uri in backing.channels if uri.startswith("ahp-automation-run:")]


async def test_an_automation_made_anew_has_nothing_of_the_former() -> None:
    backing = MemoryBacking()
    async with living(backing=backing) as world:
        await world.create(**definition(text="wait"))
        former = await world.run(request="one")
        await world.until(lambda: [r for r in world.runs() if status(r) == "running"])
        await world.client.subscribe(former)
        await world.client.accepted(CATALOGUE, {"type": "automation/removed", "resource": DAILY})
        entry = await world.create(triggers=[])
        assert entry["runs"] == []
        assert await world.run(request="one") != former
        world.worker.go_on.set()
        await world.client.action(former, "automationRun/lifecycleChanged")
        (run,) = await world.settled(runs=1)
        assert run["resource"] != former
    kept = [uri for uri in backing.channels if uri.startswith("ahp-automation-run:")]
    assert kept == [run["resource"]]


async def test_a_hundred_automations_at_the_same_minute() -> None:
    async with living() as world:
        names = [f"ahp-automation:/{number}" for number in range(100)]
        for name in names:
            await world.create(name)
        await world.pass_until("2026-01-05T08:00:01.000Z")
        for name in names:
            (run,) = await world.settled(resource=name, runs=1)
            assert status(run) == "completed"
        assert len(world.worker.heard) == 100


async def test_what_the_host_can_do_is_told_at_once() -> None:
    async with living() as world, open_client(world.url, "two", VERSION) as two:
        result = await two.initialize()
        assert result["automations"].keys() == {
            "create",
            "schedules",
            "runCancellation",
            "runHistoryLimit",
        }
        assert await two.request("listAutomationTriggerDefinitions") == {"items": []}


async def test_whoever_comes_back_is_told_what_ran() -> None:
    async with living() as world:
        await world.create()
        async with open_client(world.url, "away", VERSION) as former:
            await former.initialize("ahp-root://", CATALOGUE)
            former.abort()
        await world.pass_until("2026-01-05T08:00:01.000Z")
        await world.settled(runs=1)
        async with open_client(world.url, "away", VERSION) as client:
            result = await client.resume(former)
            assert result["type"] == "replay"
            await client.ping()
            assert client.states[CATALOGUE] == world.client.states[CATALOGUE]


async def test_the_catalogue_has_several_spellings() -> None:
    async with living() as world, open_client(world.url, "two", VERSION) as two:
        await two.initialize()
        await two.subscribe("ahp-automations://catalog")
        await world.create()
        told: Any = await two.action("ahp-automations://catalog", "automation/set")
        assert told["automation"]["resource"] == DAILY


async def test_what_is_sent_again_after_a_lost_answer_is_done_once() -> None:
    async with living() as world:
        async with open_client(world.url, "away", VERSION) as former:
            await former.initialize("ahp-root://", CATALOGUE)
            seen = former.last_seen
            sent = await former.dispatch(CATALOGUE, create_action())
            await former.envelope(CATALOGUE, lambda e: True)
            former.abort()
        await world.until(lambda: world.entries)
        entry = await world.update(title="Other")
        async with open_client(world.url, "away", VERSION) as client:
            await client.reconnect(seen, "ahp-root://", CATALOGUE)
            params = {"channel": CATALOGUE, "clientSeq": sent, "action": create_action()}
            await client.send({"method": "dispatchAction", "params": params})
            origin = {"clientId": "away", "clientSeq": sent}
            told = await client.envelope(CATALOGUE, lambda e: e.get("origin") == origin)
            assert "rejectionReason" not in told
            await world.client.ping()
            assert world.entry() == entry


async def test_an_older_client_sees_what_its_version_has() -> None:
    limit = [{"kind": "afterRuns", "max": 2}]
    async with living() as world, open_client(world.url, "old", "0.9.0") as old:
        result = await old.initialize(CATALOGUE)
        assert "automations" in result
        await world.create(triggers=[], disableConditions=limit)
        told = await old.action(CATALOGUE, "automation/set")
        assert "runCount" not in told["automation"]
        assert "disableConditions" not in told["automation"]["definition"]
        # What it does not know it does not take away either.
        update = {"type": "automation/updateRequested", "resource": DAILY}
        await old.accepted(CATALOGUE, {**update, "changes": {"title": "Other"}})
        await world.client.ping()
        assert world.entry()["definition"]["title"] == "Other"
        assert world.entry()["definition"]["disableConditions"] == limit
        run = await old.request(
            "runAutomation", channel=CATALOGUE, automation=DAILY, requestId="old"
        )
        await old.subscribe(run["resource"])
        await world.settled(runs=1)
        mirrored, fresh = await old.compared(CATALOGUE)
        assert mirrored == fresh
        mirrored, fresh = await old.compared(run["resource"])
        assert mirrored == fresh


async def test_a_client_from_before_automations_sees_their_sessions_and_nothing_else() -> None:
    async with living() as world, open_client(world.url, "old", "0.8.0") as old:
        result = await old.initialize("ahp-root://", CATALOGUE)
        assert "automations" not in result
        assert [item["resource"] for item in result["snapshots"]] == ["ahp-root://"]
        assert (await old.refusal("subscribe", channel=CATALOGUE)).code == -32008
        failure = await old.refusal(
            "runAutomation", channel=CATALOGUE, automation=DAILY, requestId="old"
        )
        assert failure.code == -32601
        assert await old.rejected(CATALOGUE, create_action())
        await world.create(triggers=[])
        await world.run()
        (run,) = await world.settled(runs=1)
        session = await old.subscribe(run["primarySession"])
        assert "origin" not in session
        chat = await old.subscribe(session["defaultChat"])
        assert chat["turns"][0]["message"]["origin"]["kind"] == "systemNotification"
        assert (await old.refusal("subscribe", channel=run["resource"])).code == -32008


@needs_schemas
@pytest.mark.parametrize("version", [VERSION, "0.9.0"])
async def test_everything_that_is_told_is_as_the_schemas_say(version: str) -> None:
    limit = [{"kind": "afterRuns", "max": 9}]
    async with living() as world, open_client(world.url, "reader", version) as reader:
        await reader.initialize("ahp-root://", CATALOGUE)
        await reader.request("listAutomationTriggerDefinitions")
        await world.create(**definition("*/10 * * * *", disableConditions=limit))
        await world.pass_until("2026-01-05T06:10:01.000Z")
        await world.settled(runs=1)
        for number, text in enumerate(("fail", "wait"), 2):
            await world.update(message=definition(text=text)["message"])
            run = await world.run(request=text)
            await reader.subscribe(run)
            if text == "wait":
                await world.until(lambda: [r for r in world.runs() if status(r) == "running"])
                await reader.accepted(run, {"type": "automationRun/cancelRequested"})
            await world.settled(runs=number)
        ask: Any = {"channel": CATALOGUE, "automation": DAILY}
        await reader.request("fetchAutomationRuns", **ask)
        await reader.request("runAutomation", **ask, requestId="wait")
        for each in world.runs():
            await reader.subscribe(each["resource"])
            await reader.subscribe(each["primarySession"])
        await reader.subscribe(CATALOGUE)
        await reader.accepted(CATALOGUE, {"type": "automation/removed", "resource": DAILY})
        await reader.request("listSessions")
        assert complaints_about(reader) == []
