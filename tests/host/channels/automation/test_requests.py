"""What clients may ask of automations, who may, and how much."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from agenthost.host.channels.automation import catalogue
from agenthost.host.channels.automation.rules import MOST_AUTOMATIONS, MOST_DEFINITION_BYTES
from agenthost.host.store import MemoryBacking
from agenthost.host.trust import Gate, Principal
from agenthost.tokens import Role
from tests.host.channels.automation.world import (
    CATALOGUE,
    DAILY,
    VERSION,
    create_action,
    definition,
    living,
    status,
)
from tests.wire.client import open_client

Json = dict[str, Any]


def schedule(expression: str = "0 9 * * *", zone: str = "UTC", **more: Any) -> Json:
    timing = {"expression": expression, "timeZone": zone}
    return {"id": "t1", "kind": "schedule", "schedule": timing, **more}


REFUSED: list[tuple[Json, str]] = [
    ({"triggers": [schedule("@daily")]}, "five fields"),
    ({"triggers": [schedule("0 9 * * MON#1")]}, "is no day of the week"),
    ({"triggers": [schedule(zone="Mars/Olympus")]}, "there is no time zone 'Mars/Olympus'"),
    ({"triggers": [schedule(zone="../../etc/passwd")]}, "there is no time zone"),
    ({"triggers": [schedule(), schedule()]}, "an id of its own"),
    ({"triggers": [schedule() | {"id": ""}]}, "an id of its own"),
    ({"triggers": [schedule() | {"id": str(n)} for n in range(21)]}, "at most 20 triggers"),
    ({"triggers": [schedule(misfirePolicy="twice")]}, "misfirePolicy"),
    (
        {"triggers": [{"id": "t", "kind": "event", "type": "push", "title": "Push", "events": []}]},
        "no events",
    ),
    ({"triggers": [{"id": "t", "kind": "moon"}]}, "no events"),
    ({"message": {"text": "x", "origin": {"kind": "user"}}}, "origin automation"),
    ({"session": {"provider": "nobody"}}, "there is no agent 'nobody'"),
    (
        {"session": {"customizations": [{"type": "plugin", "id": "p", "name": "P", "uri": "a:b"}]}},
        "customizations",
    ),
    ({"disableConditions": [{"kind": "afterDate", "date": "soon"}]}, "is no date"),
    ({"disableConditions": [{"kind": "afterRuns", "max": 1}] * 2}, ""),
    ({"disableConditions": [{"kind": "afterRuns", "max": 0}]}, ""),
    ({"disableConditions": [{"kind": "afterMoon"}]}, "afterMoon"),
    ({"title": "x" * 3000}, "title is longer"),
    ({"_meta": {"x": "y" * MOST_DEFINITION_BYTES}}, "65,536 bytes"),
    (
        {
            "message": {
                "text": "look",
                "origin": {"kind": "automation"},
                "attachments": [{"type": "chat", "label": "c", "resource": "ahp-chat:/nowhere"}],
            }
        },
        "does not exist",
    ),
    ({"enabled": None}, ""),
]


@pytest.mark.parametrize(("changes", "reason"), REFUSED)
async def test_what_cannot_be_is_refused_with_the_reason(changes: Json, reason: str) -> None:
    async with living() as world:
        assert reason in await world.client.rejected(CATALOGUE, create_action(**changes))
        await world.client.ping()
        assert world.entries == []
        # Nor can an automation become so.
        await world.create()
        before = world.entry()
        action = {"type": "automation/updateRequested", "resource": DAILY, "changes": changes}
        assert reason in await world.client.rejected(CATALOGUE, action)
        await world.client.ping()
        assert world.entry() == before


async def test_an_automation_needs_a_name_of_its_own() -> None:
    async with living() as world:
        for name in ("ahp-session:/x", "daily", "ahp-automation:/a\nb"):
            assert "ahp-automation:" in await world.client.rejected(CATALOGUE, create_action(name))
        first = await world.create()
        # Who lost the answer asks again, and nobody else is in the way.
        await world.client.accepted(CATALOGUE, create_action())
        await world.client.ping()
        assert world.entries == [first]
        reason = await world.client.rejected(CATALOGUE, create_action(title="Other"))
        assert "already" in reason
        update = {"type": "automation/updateRequested", "resource": "ahp-automation:/no"}
        reason = await world.client.rejected(CATALOGUE, {**update, "changes": {"title": "x"}})
        assert "there is no automation" in reason
        removed = {"type": "automation/removed", "resource": "ahp-automation:/no"}
        await world.client.accepted(CATALOGUE, removed)


async def test_clients_do_not_say_what_is_the_hosts_to_say() -> None:
    async with living() as world:
        entry = await world.create()
        run = await world.run()
        await world.settled(runs=1)
        await world.client.subscribe(run)
        lifecycle = {"status": "pending", "createdAt": "2026-01-01T00:00:00.000Z"}
        for channel, action in (
            (CATALOGUE, {"type": "automation/set", "automation": {**entry, "runCount": 9}}),
            (run, {"type": "automationRun/lifecycleChanged", "lifecycle": lifecycle}),
            (run, {"type": "automationRun/sessionRemoved", "session": "ahp-session:/x"}),
        ):
            await world.client.rejected(channel, action)


async def test_there_is_an_end_to_how_many() -> None:
    async with living() as world:
        for number in range(MOST_AUTOMATIONS):
            await world.create(f"ahp-automation:/{number}", triggers=[])
        reason = await world.client.rejected(CATALOGUE, create_action("ahp-automation:/more"))
        assert reason == f"this host keeps at most {MOST_AUTOMATIONS} automations; remove one first"
        gone = {"type": "automation/removed", "resource": "ahp-automation:/0"}
        await world.client.accepted(CATALOGUE, gone)
        await world.create("ahp-automation:/more")


async def test_all_together_may_take_so_much() -> None:
    async with living() as world:
        large = {"_meta": {"x": "y" * (MOST_DEFINITION_BYTES - 1000)}}
        reason = ""
        for number in range(100):
            action = create_action(f"ahp-automation:/{number}", **large)
            envelope = await world.client.dispatched(CATALOGUE, action)
            reason = envelope.get("rejectionReason", "")
            if reason:
                break
        assert reason == "all automations together may take 4,194,304 bytes"


async def test_what_never_comes_true_is_accepted_and_never_runs() -> None:
    async with living() as world:
        entry = await world.create(**definition("0 0 30 2 *"))
        assert "nextRunAt" not in entry
        assert entry["definition"]["enabled"] is True


async def test_an_update_replaces_what_it_names_and_nothing_else() -> None:
    async with living() as world:
        await world.create(_meta={"theirs": 1}, disableConditions=[{"kind": "afterRuns", "max": 3}])
        world.clock.set("2026-01-05T06:30:00.000Z")
        before = world.entry()
        entry = await world.update(title="Other", triggers=[schedule("0 7 * * *")])
        assert entry["definition"] == {
            **before["definition"],
            "title": "Other",
            "triggers": [schedule("0 7 * * *")],
        }
        assert entry["nextRunAt"] == "2026-01-05T07:00:00.000Z"
        assert entry["createdAt"] == before["createdAt"]
        assert entry["modifiedAt"] == "2026-01-05T06:30:00.000Z"
        assert entry["runCount"] == 0
        assert "runCount" not in await world.update(disableConditions=[])
        paused = await world.update(enabled=False)
        assert "nextRunAt" not in paused


async def test_history_is_shown_page_by_page_to_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "RUN_HISTORY", 45)
    backing = MemoryBacking()
    async with living(backing=backing) as world:
        await world.create(triggers=[])
        runs: list[str] = []
        for number in range(50):
            runs.insert(0, await world.run(request=str(number)))
            await world.settled()
        async with open_client(world.url, "other", VERSION) as other:
            await other.initialize(CATALOGUE)
            sizes = []
            while True:
                entry = other.states[CATALOGUE]["entries"][0]
                sizes.append(len(entry["runs"]))
                cursor = entry.get("runsNextCursor")
                if cursor is None:
                    break
                assert (
                    await world.client.request(
                        "fetchAutomationRuns", channel=CATALOGUE, automation=DAILY, cursor=cursor
                    )
                    == {}
                )
                await other.ping()
            assert sizes == [20, 40, 45]
            assert [run["resource"] for run in entry["runs"]] == runs[:45]
            assert {status(run) for run in entry["runs"]} == {"completed"}
            # Another run does not take away what is shown; the oldest is forgotten.
            newest = await world.run(request="newest")
            await world.settled(runs=45)
            assert [run["resource"] for run in world.runs()] == [newest, *runs[:44]]
        for gone in (runs[44], runs[49]):
            assert (await world.client.refusal("subscribe", channel=gone)).code == -32008
        failure = await world.client.refusal(
            "fetchAutomationRuns", channel=CATALOGUE, automation="ahp-automation:/no"
        )
        assert failure.code == -32008
    kept = [uri for uri in backing.channels if uri.startswith("ahp-automation-run:")]
    assert len(kept) == 45


class Names:
    """Lets everybody in as whom they say they are."""

    def authenticate(self, secret: str, now: float) -> Principal | None:
        return Principal(secret, Role(secret))

    def still_valid(self, principal: Principal, now: float) -> bool:
        return True


async def test_viewers_look_on_and_operators_stay_inside_the_hosts_folders(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    elsewhere = {"workingDirectories": [outside.as_uri()]}
    async with AsyncExitStack() as stack:
        world = await stack.enter_async_context(living(roots=[inside], default_directory=inside))
        url = await world.host.listen(port=0, gate=Gate(Names()))
        clients = {}
        for role in ("owner", "operator", "viewer"):
            client = await stack.enter_async_context(
                open_client(f"{url}?tkn={role}", role, VERSION)
            )
            await client.initialize(CATALOGUE)
            clients[role] = client
        owner, operator, viewer = clients.values()
        await owner.accepted(CATALOGUE, create_action(session=elsewhere, triggers=[]))
        removed = {"type": "automation/removed", "resource": DAILY}
        update: Json = {"type": "automation/updateRequested", "resource": DAILY}
        paused = {**update, "changes": {"enabled": False}}
        for action in (create_action("ahp-automation:/v"), paused, removed):
            assert "the role viewer" in await viewer.rejected(CATALOGUE, action)
        ask: Json = {"channel": CATALOGUE, "automation": DAILY}
        failure = await viewer.refusal("runAutomation", **ask, requestId="v")
        assert failure.code == -32009
        await viewer.request("fetchAutomationRuns", **ask)
        # An operator may not work outside, and so may not say what is done there either.
        for action in (
            create_action("ahp-automation:/o", session=elsewhere),
            {**update, "changes": {"message": definition(text="wait")["message"]}},
        ):
            assert "inside the host's roots only" in await operator.rejected(CATALOGUE, action)
        await operator.accepted(CATALOGUE, paused)
        await operator.request("runAutomation", **ask, requestId="o")
        (run,) = await world.settled(runs=1)
        assert status(run) == "completed"
        assert world.entry()["_meta"] == {"agenthost.owner": "owner"}
        # Inside it may, and then it runs on the operator's behalf.
        own = {**update, "changes": {"session": {"workingDirectories": [inside.as_uri()]}}}
        await operator.accepted(CATALOGUE, own)
        await world.client.ping()
        assert world.entry()["_meta"] == {"agenthost.owner": "operator"}


async def test_what_an_owner_may_not_any_more_fails(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    backing = MemoryBacking()
    folders = {"workingDirectories": [outside.as_uri()]}
    async with living(backing=backing, roots=[inside, outside]) as world:
        url = await world.host.listen(port=0, gate=Gate(Names()))
        async with open_client(f"{url}?tkn=operator", "operator", VERSION) as operator:
            await operator.initialize(CATALOGUE)
            await operator.accepted(CATALOGUE, create_action(session=folders))
    async with living(backing=backing, roots=[inside]) as world:
        await world.run()
        (run,) = await world.settled(runs=1)
        assert "inside the host's roots only" in run["lifecycle"]["error"]["message"]
