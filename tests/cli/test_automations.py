"""``agenthost automations`` against a real host."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from agenthost.cli.commands.automation_times import local_zone
from agenthost.cli.format.state_format import session_id
from tests.cli.running import Cli
from tests.wire.hosting import PATIENCE

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]


async def added(cli: Cli, *options: str) -> Json:
    done = await cli.main("automations", "add", "--json", *options)
    assert done.code == 0, done.err
    automation: Json = done.json
    return automation


async def test_an_automation_is_added_listed_and_shown(cli: Cli) -> None:
    done = await cli.main(
        *("automations", "add", "--title", "Standup", "--message", "What is new?"),
        *("--cron", "0 9 * * MON-FRI", "--zone", "Europe/Berlin", "--dir", str(cli.cwd)),
        *("--after-runs", "3", "--until", "2099-12-31"),
    )
    assert done.code == 0, done.err
    assert re.fullmatch(
        r"added  ahp-automation:/\S+\n  runs next at \d{4}-\S+ \d\d:\d\d\n", done.out
    )
    uri = done.out.split()[1]
    listing = await cli.main("automations")
    head, *rows = listing.out.splitlines()
    assert head.split() == ["ID", "TITLE", "STATE", "NEXT", "RUN", "LAST", "RUN"]
    assert any(re.fullmatch(r"\w{8}  Standup +on +\d{4}-\S+ \d\d:\d\d  -", row) for row in rows)
    page = (await cli.main("automations", "show", "stand")).out
    for words in (
        "0 9 * * MON-FRI (Europe/Berlin)",
        "What is new?",
        str(cli.cwd),
        "after 3 runs (0 so far)",
        "none yet",
    ):
        assert words in page
    shown = (await cli.main("automations", "show", uri, "--json")).json
    assert shown["automation"] == uri
    # The day that is named is the last one.
    assert shown["disableConditions"][1]["date"] == "2099-12-31T22:59:00Z"
    listed = (await cli.main("automations", "--json")).json
    assert shown in listed
    assert (await cli.main("automations", "remove", uri)).out == f"removed  {uri}\n"


async def test_a_run_can_be_waited_for_and_looked_at(cli: Cli) -> None:
    automation = await added(cli, "--title", "Runs well", "--message", "hello")
    done = await cli.main("automations", "run", "runs well", "--wait")
    assert done.code == 0, done.err
    assert re.search(r"^completed  ahp-automation-run:/", done.out, re.MULTILINE)
    assert "agenthost watch" in done.out
    (run,) = (await cli.main("automations", "runs", automation["automation"], "--json")).json
    assert (run["status"], run["origin"]) == ("completed", {"kind": "manual"})
    line = (await cli.main("automations", "runs", "runs well")).out
    assert re.search(r"completed +by hand +session \w{8}", line)
    shown = await cli.main("sessions", "show", run["session"], "--json")
    assert shown.json["title"] == "Runs well"
    assert shown.json["origin"]["automation"] == automation["automation"]
    await cli.main("automations", "remove", automation["automation"])


async def test_times_are_told_as_the_clock_shows_them_then_and_not_as_it_does_now(
    cli: Cli,
) -> None:
    for day in ("2099-01-15", "2099-07-15"):
        automation = await added(
            cli,
            *("--title", day, "--message", "x", "--cron", "0 9 * * *"),
            *("--zone", "America/New_York", "--until", day),
        )
        page = await cli("automations", "show", day, TZ="America/New_York")
        assert f"on {day} 23:59" in page.out
        await cli.main("automations", "remove", automation["automation"])


async def test_who_waits_for_a_run_is_told_at_once_where_it_may_be_answered(cli: Cli) -> None:
    automation = await added(cli, "--title", "Wants to know", "--message", "/ask")
    async with cli.running("automations", "run", "wants to know", "--wait") as waiting:
        run = (await waiting.until("running  ahp-automation-run:/")).split()[1]
        assert session_id(run) in await waiting.until("shows its session")
        assert (await cli.main("automations", "cancel", session_id(run))).code == 0
        done = await waiting.end()
    assert (done.code, done.out) == (1, f"cancelled  {run}\n")
    await cli.main("automations", "remove", automation["automation"])


async def test_a_run_that_somebody_has_to_answer_says_so(cli: Cli) -> None:
    automation = await added(cli, "--title", "Asks around", "--message", "/ask")
    uri = automation["automation"]
    started = await cli.main("automations", "run", uri, "--json")
    session = session_id(started.json["run"])
    async with asyncio.timeout(PATIENCE):
        while "needs input" not in (await cli.main("sessions", "show", session)).out:
            pass
    for verb in (["runs", uri], ["show", uri], []):
        assert re.search(r"needs input", (await cli.main("automations", *verb)).out), verb
    (run,) = (await cli.main("automations", "runs", uri, "--json")).json
    assert run["status"] == "running"
    await cli.main("automations", "cancel", session)
    assert "needs input" not in (await cli.main("automations", "runs", uri)).out
    await cli.main("automations", "remove", uri)


async def test_a_run_that_fails_says_so(cli: Cli) -> None:
    automation = await added(cli, "--title", "Fails", "--message", "/fail badly")
    done = await cli.main("automations", "run", automation["automation"], "--wait", "--json")
    assert done.code == 1
    assert done.json["status"] == "failed"
    assert done.json["error"]["message"]
    # Where to look is told besides what went wrong.
    line = (await cli.main("automations", "runs", automation["automation"])).out
    assert re.search(r"failed +by hand +session \w{8}: the demo agent failed", line)
    await cli.main("automations", "remove", automation["automation"])


async def test_a_run_is_cancelled(cli: Cli) -> None:
    automation = await added(cli, "--title", "Asks", "--message", "/ask")
    started = await cli.main("automations", "run", "asks", "--json")
    assert (started.code, started.json["status"]) == (0, "running")
    id = session_id(started.json["run"])
    done = await cli.main("automations", "cancel", id[:12])
    assert (done.code, done.out) == (0, f"cancelled  {started.json['run']}\n")
    again = await cli.main("automations", "cancel", id)
    assert again.code == 1
    assert "the run is over" in again.err
    assert (await cli.main("automations", "cancel", "zzz")).code == 1
    await cli.main("automations", "remove", automation["automation"])


async def test_automations_are_paused_and_resumed(cli: Cli) -> None:
    automation = await added(
        cli, "--title", "Now and then", "--message", "x", "--cron", "0 0 1 1 *"
    )
    uri = automation["automation"]
    assert (await cli.main("automations", "pause", "now and then")).out == f"paused  {uri}\n"
    assert re.search("Now and then +paused +- ", (await cli.main("automations")).out)
    resumed = await cli.main("automations", "resume", uri)
    assert resumed.out.startswith(f"resumed  {uri}\n  runs next at ")
    both = await cli.main("automations", "pause", uri, "nothing like it", "--json")
    assert both.code == 1
    assert [outcome["done"] for outcome in both.json] == [True, False]
    await cli.main("automations", "remove", uri)
    gone = await cli.main("automations", "show", uri)
    assert gone.code == 1
    assert "no automation matches" in gone.err


async def test_what_cannot_be_added_is_explained(cli: Cli, tmp_path: Path) -> None:
    for options, code, words in (
        (("--message", "x", "--cron", "@daily"), 1, "five fields"),
        (("--message", "x", "--cron", "0 9 * * *", "--zone", "Mars/Olympus"), 1, "no time zone"),
        (("--message", "x", "--dir", str(tmp_path / "no")), 2, "does not exist"),
        (("--message", " "), 2, "nothing to say"),
        (("--message", "x", "--until", "soon"), 2, "2026-12-31"),
        (("--message", "x", "--until", "2020-01-01"), 2, "2020-01-01 is over"),
        (("--message", "x", "--after-runs", "0"), 2, "whole number"),
        (("--message", "x", "--agent", "nobody"), 1, "there is no agent"),
        (("--message", "x", "--set", "mode"), 2, "NAME=VALUE"),
        (
            ("--message", "x", "--set", "moon=full"),
            2,
            "it has isolation, directory",
        ),
        (("--title", "x"), 2, "--message"),
    ):
        done = await cli.main("automations", "add", *options)
        assert done.code == code, (options, done)
        assert words in done.err
    assert (await cli.main("automations", "--json")).json == []
    assert "no automations yet" in (await cli.main("automations")).err


async def test_several_automations_of_one_name_are_told_apart(cli: Cli) -> None:
    twins = [await added(cli, "--title", "Twins", "--message", "x") for _ in range(2)]
    done = await cli.main("automations", "show", "twins")
    assert done.code == 1
    assert "could mean several automations" in done.err
    removed = await cli.main("automations", "remove", *(twin["automation"] for twin in twins))
    assert removed.code == 0


@pytest.mark.parametrize(
    ("variable", "zone"), [("Asia/Tokyo", "Asia/Tokyo"), (":Asia/Tokyo", "Asia/Tokyo")]
)
async def test_the_zone_is_this_machines(
    variable: str, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", variable)
    assert local_zone() == zone
    monkeypatch.setenv("TZ", "/somewhere/odd")
    assert local_zone() == "UTC"
