"""``agenthost automations``: let a host start sessions by itself, and see what became of them."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from agenthost.cli.arguments import Subparsers, add_command, add_json_option, count
from agenthost.cli.connection.host_connection import (
    add_connection_options,
    command_for_host,
    connected,
    decode_argument,
    run_command,
    use_colour,
)
from agenthost.cli.connection.session_lookup import check_directories, check_model
from agenthost.cli.exit_codes import FAILED, OK, USAGE, CommandFailed, print_error
from agenthost.cli.format.automation_format import (
    automation_json,
    automation_page,
    automation_table,
    moment,
    run_json,
    run_table,
)
from agenthost.cli.format.state_format import activity_word, error_text, session_id, short_id
from agenthost.cli.format.terminal_text import Ink, clip, one_line
from agenthost.errors import AgentHostError

if TYPE_CHECKING:
    from agenthost.client import Client
    from agenthost.protocol.automation.run import AutomationRunState, AutomationRunSummary
    from agenthost.protocol.automation.state import AutomationEntry

_EXAMPLES = """examples:
  agenthost automations                                what there is, and when it runs next
  agenthost automations add --cron "0 9 * * MON-FRI" --dir . \\
      --title Standup --message "Summarise what changed since yesterday"
  agenthost automations add --message "Update the dependencies" --cron "30 2 1 * *" \\
      --zone Europe/Berlin --until 2027-12-31
  agenthost automations run standup --wait             now, and see how it ends
  agenthost automations runs standup                   what became of the runs
  agenthost automations pause standup                  and resume, or remove

AUTOMATION is an automation's URI, the beginning of its id, its title or a part of the title.
A cron expression has five fields: minute, hour, day of the month, month, day of the week.
"""

_HELP = {
    "pause": "start no runs until they are resumed; by hand they still run",
    "resume": "let paused automations run again from now on",
    "remove": "remove automations; the sessions that they made stay",
}
_DONE = {"pause": "paused", "resume": "resumed", "remove": "removed"}
# Of the automations that a word could mean, this many are named.
_MOST_NAMED = 5
_LONGEST_TITLE = 60


def register(subparsers: Subparsers) -> None:
    """Add ``automations`` and its verbs to the argument tree."""
    automations = add_command(
        subparsers,
        "automations",
        "let the host start sessions by itself: list, add, run, pause and remove automations",
        run,
        _EXAMPLES,
    )
    add_connection_options(automations)
    add_json_option(automations)
    verbs = automations.add_subparsers(dest="verb", metavar="VERB", help="list if there is none")
    added = [verbs.add_parser("list", help="list automations")]
    added.append(verbs.add_parser("show", help="show one automation and its last runs"))
    added[-1].add_argument("automation", metavar="AUTOMATION")
    added.append(verbs.add_parser("add", help="add an automation"))
    _add_definition_options(added[-1])
    added.append(verbs.add_parser("run", help="run an automation now, also a paused one"))
    added[-1].add_argument("automation", metavar="AUTOMATION")
    added[-1].add_argument("--wait", action="store_true", help="until it is over; 1 if it failed")
    for name, about in _HELP.items():
        added.append(verbs.add_parser(name, help=about))
        added[-1].add_argument("automations", metavar="AUTOMATION", nargs="+")
    added.append(verbs.add_parser("runs", help="list the runs of an automation, newest first"))
    added[-1].add_argument("automation", metavar="AUTOMATION")
    added[-1].add_argument("--limit", metavar="N", type=count, default=20, help="(default: 20)")
    added.append(verbs.add_parser("cancel", help="stop a run that is not over"))
    added[-1].add_argument("run_uri", metavar="RUN", help="its URI or the beginning of its id")
    for verb in added:
        add_connection_options(verb, inherited=True)
        add_json_option(verb, inherited=True)


def _add_definition_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--message", metavar="TEXT", required=True, help="what the agent is told; - reads it")
    add("--title", metavar="TITLE", help="its name (default: the beginning of the message)")
    add(
        "--cron",
        metavar="EXPRESSION",
        action="append",
        default=[],
        help="when it runs, in five fields; may be repeated (default: by hand only)",
    )
    add("--zone", metavar="ZONE", help="the time zone, as Europe/Berlin (default: this machine's)")
    add("--agent", metavar="PROVIDER", help="who works (default: the host's)")
    add("--model", metavar="ID", help="with which model (default: the agent's)")
    add(
        "--dir",
        metavar="DIR",
        action="append",
        default=[],
        help="where it works: a path or URI; may be repeated (default: where the host works)",
    )
    add(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a setting of its sessions, as autoApprove=autoApprove: nobody may be there to ask; "
        "may be repeated",
    )
    add("--after-runs", metavar="N", type=count, help="pause after so many scheduled runs")
    add("--until", metavar="DATE", help="pause after this day, or at this time")
    add(
        "--skip-missed",
        action="store_true",
        help="leave out what was missed while the host was down, instead of one run for it",
    )
    add("--paused", action="store_true", help="do not let it run by itself yet")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    match args.verb:
        case None | "list":
            return run_command(args, _list)
        case "show":
            return run_command(args, _show)
        case "add":
            return run_command(args, _add)
        case "run":
            return run_command(args, _run)
        case "runs":
            return run_command(args, _runs)
        case "cancel":
            return run_command(args, _cancel)
    return run_command(args, _change)


# Looking.


async def _list(args: argparse.Namespace) -> int:
    async with connected(args) as client:
        entries = await client.automations.list()
        waiting = await _waiting(client, [run for entry in entries for run in entry["runs"]])
    if args.json:
        print(json.dumps([automation_json(entry) for entry in entries], indent=2))
    elif entries:
        for line in automation_table(entries, _now(), _width(), use_colour(), waiting):
            print(line)
    else:
        hint = command_for_host(args, "automations", "add", "--help")
        print(f"There are no automations yet; `{hint}` says how to add one.", file=sys.stderr)
    return OK


async def _show(args: argparse.Namespace) -> int:
    async with connected(args) as client:
        entry = await _find(client, args.automation)
        waiting = await _waiting(client, entry["runs"])
    if args.json:
        print(json.dumps(automation_json(entry), indent=2))
    else:
        for line in automation_page(entry, _now(), Ink(use_colour()), waiting):
            print(line)
    return OK


async def _runs(args: argparse.Namespace) -> int:
    async with connected(args) as client:
        entry = await _find(client, args.automation)
        runs = await client.automations.runs(entry["resource"], limit=args.limit)
        waiting = await _waiting(client, runs)
    if args.json:
        print(json.dumps([run_json(run) for run in runs], indent=2))
    elif runs:
        for line in run_table(runs, _now(), _width(), use_colour(), waiting):
            print(line)
    else:
        print("It has not run yet.", file=sys.stderr)
    return OK


async def _waiting(client: Client, runs: Sequence[AutomationRunSummary]) -> set[str]:
    """Return the sessions that wait for an answer, asking only when some run is under way."""
    if all(run["lifecycle"]["status"] != "running" for run in runs):
        return set()
    sessions = await client.sessions.list()
    return {one["resource"] for one in sessions if activity_word(one["status"]) == "needs input"}


# Doing.


async def _add(args: argparse.Namespace) -> int:
    from agenthost.client import define_automation

    message = _message(args.message)
    title = decode_argument(args.title) if args.title else clip(one_line(message), _LONGEST_TITLE)
    zone = decode_argument(args.zone) if args.zone else local_zone()
    directories = check_directories(args)
    async with connected(args) as client:
        if args.agent is not None or args.model is not None:
            check_model(client, args.agent or _first_agent(client), args.model)
        config = await _config(client, args, directories)
        definition = define_automation(
            title,
            message,
            cron=[decode_argument(each) for each in args.cron],
            zone=zone,
            skip_missed=args.skip_missed,
            provider=args.agent,
            model={"id": args.model} if args.model is not None else None,
            directories=directories,
            config=config or None,
            after_runs=args.after_runs,
            until=_until(args.until, zone) if args.until is not None else None,
            enabled=not args.paused,
        )
        entry = await client.automations.create(definition)
    if args.json:
        print(json.dumps(automation_json(entry), indent=2))
        return OK
    print(f"added  {one_line(entry['resource'])}")
    print(f"  {_when(entry, args)}")
    return OK


def _when(entry: AutomationEntry, args: argparse.Namespace) -> str:
    """Say when a new automation runs, or how it does."""
    if "nextRunAt" in entry:
        return f"runs next at {moment(entry['nextRunAt'], _now())}"
    id = short_id(entry["resource"])
    definition = entry["definition"]
    if definition["triggers"] and not definition["enabled"] and not args.paused:
        return "never runs by itself: its time is over"
    if definition["triggers"] and not definition["enabled"]:
        return f"is paused; `{command_for_host(args, 'automations', 'resume', id)}` lets it run"
    if definition["triggers"] and args.until is not None:
        return f"never runs by itself: no such time comes until {one_line(args.until)}"
    if definition["triggers"]:
        return "never runs by itself: no such day comes"
    return f"`{command_for_host(args, 'automations', 'run', id)}` runs it"


async def _run(args: argparse.Namespace) -> int:
    async with connected(args) as client:
        entry = await _find(client, args.automation)
        uri = await client.automations.run(entry["resource"])
        async with await client.automations.follow_run(uri) as followed:
            # Its session is there in a moment, and people want to look at it: it may be long, or
            # wait for an answer that is given there.
            state = await followed.channel.until(
                lambda run: run["lifecycle"]["status"] != "pending"
            )
            if not args.json:
                _tell_run(args, state)
            is_told = state["lifecycle"]["status"] != "running"
            if args.wait:
                state = await followed.ended()
    lifecycle: Any = state["lifecycle"]
    failed = lifecycle["status"] == "failed" or (args.wait and lifecycle["status"] != "completed")
    if args.json:
        print(json.dumps(run_json(state), indent=2))
    elif args.wait and not is_told:
        print(f"{lifecycle['status']}  {one_line(uri)}")
    if lifecycle["status"] == "failed":
        print_error(error_text(lifecycle.get("error")), FAILED)
    return FAILED if failed else OK


def _tell_run(args: argparse.Namespace, run: AutomationRunState) -> None:
    lines = [f"{run['lifecycle']['status']}  {one_line(run['resource'])}"]
    session = run.get("primarySession")
    if session is not None:
        watch = command_for_host(args, "watch", session_id(session))
        lines.append(f"  `{watch}` shows its session")
    print("\n".join(lines), flush=True)


async def _cancel(args: argparse.Namespace) -> int:
    text = decode_argument(args.run_uri)
    async with connected(args) as client:
        listed = [
            run["resource"] for entry in await client.automations.list() for run in entry["runs"]
        ]
        found = [uri for uri in listed if text in (uri, session_id(uri))]
        found = found or [uri for uri in listed if text and session_id(uri).startswith(text)]
        if len(found) != 1:
            which = "no run begins" if not found else f"{len(found)} runs begin"
            raise CommandFailed(f"{which} with {text!r}", kind="ambiguous" if found else "notFound")
        async with await client.automations.follow_run(found[0]) as followed:
            await followed.cancel()
            state = await followed.ended()
    if args.json:
        print(json.dumps(run_json(state), indent=2))
    else:
        print(f"{state['lifecycle']['status']}  {one_line(found[0])}")
    return OK


async def _change(args: argparse.Namespace) -> int:
    outcomes: list[dict[str, Any]] = []
    async with connected(args) as client:
        for text in args.automations:
            outcome: dict[str, Any] = {"automation": decode_argument(text), "done": False}
            outcomes.append(outcome)
            try:
                outcome["automation"] = (await _find(client, text))["resource"]
                note = await _change_one(client, outcome["automation"], args.verb)
                outcome["done"] = True
            except (AgentHostError, TimeoutError) as error:
                outcome["error"] = str(error) or "no answer in time"
                print_error(outcome["error"], FAILED)
                continue
            if not args.json:
                print(f"{_DONE[args.verb]}  {one_line(outcome['automation'])}{note}")
    if args.json:
        print(json.dumps(outcomes, indent=2))
    return OK if all(outcome["done"] for outcome in outcomes) else FAILED


async def _change_one(client: Client, resource: str, verb: str) -> str:
    """Apply a verb to an automation; return what is worth knowing about it."""
    if verb == "remove":
        await client.automations.remove(resource)
        return ""
    entry = await client.automations.update(resource, {"enabled": verb == "resume"})
    if verb == "pause":
        return ""
    if not entry["definition"]["enabled"]:
        raise CommandFailed(f"{resource} stays paused: its time is over")
    return f"\n  runs next at {moment(entry['nextRunAt'], _now())}" if "nextRunAt" in entry else ""


# What people name.


async def _find(client: Client, text: str) -> AutomationEntry:
    """Return the one automation that a text means."""
    text = decode_argument(text)
    found = match_automations(await client.automations.list(), text)
    if not found:
        message = f"no automation matches {text!r}; `agenthost automations` lists them"
        raise CommandFailed(message, kind="notFound")
    if len(found) > 1:
        named = [
            f"  {session_id(each['resource'])}  {clip(one_line(each['definition']['title']), 60)}"
            for each in found[:_MOST_NAMED]
        ]
        more = [f"  and {len(found) - _MOST_NAMED} more"] if len(found) > _MOST_NAMED else []
        message = "\n".join([f"{text!r} could mean several automations:", *named, *more])
        raise CommandFailed(message, kind="ambiguous")
    return found[0]


def match_automations(entries: Sequence[AutomationEntry], text: str) -> list[AutomationEntry]:
    """Return the automations that match: by URI, id, start of an id, title, part of a title."""
    word = text.casefold()
    ways: tuple[Callable[[AutomationEntry], bool], ...] = (
        lambda entry: entry["resource"] == text,
        lambda entry: session_id(entry["resource"]) == text,
        lambda entry: session_id(entry["resource"]).startswith(text),
        lambda entry: entry["definition"]["title"].casefold() == word,
        lambda entry: word in entry["definition"]["title"].casefold(),
    )
    for means in ways if text else ():
        found = [entry for entry in entries if means(entry)]
        if found:
            return found
    return []


def _message(text: str) -> str:
    message = sys.stdin.read() if text == "-" else decode_argument(text)
    if not message.strip():
        raise CommandFailed("--message: there is nothing to say", USAGE)
    return message


async def _config(
    client: Client, args: argparse.Namespace, directories: Sequence[str]
) -> dict[str, Any]:
    """Return the settings that are given, once the agent takes them.

    Raises:
        CommandFailed: it has no such setting, or not with that value. It would leave them out.
    """
    values: dict[str, Any] = {}
    for given in map(decode_argument, args.set):
        name, equals, text = given.partition("=")
        if not name or not equals:
            raise CommandFailed(f"--set: {given!r} is not NAME=VALUE", USAGE)
        values[name] = _value(text)
    if not values:
        return values
    resolved = await client.sessions.config(
        args.agent, directory=next(iter(directories), None), values=values
    )
    settings = resolved["schema"]["properties"]
    for name, value in values.items():
        if name not in settings:
            known = one_line(", ".join(settings)) or "none"
            raise CommandFailed(f"--set: there is no setting {name!r}; it has {known}", USAGE)
        if resolved["values"].get(name) != value:
            choices = settings[name].get("enum")
            may = f"; it may be {one_line(', '.join(map(str, choices)))}" if choices else ""
            raise CommandFailed(f"--set: {name} cannot be {value!r}{may}", USAGE)
    return values


def _value(text: str) -> Any:
    """Read a setting's value: as JSON where it is some, else as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _first_agent(client: Client) -> str:
    agents = client.root.state["agents"] if client.root.has_state else []
    return agents[0]["provider"] if agents else ""


def local_zone() -> str:
    """Return the time zone of this machine by its IANA name, or UTC where it has none."""
    named = os.environ.get("TZ", "").removeprefix(":")
    if "/" in named and not named.startswith("/"):
        return named
    _, found, zone = os.path.realpath("/etc/localtime").rpartition("/zoneinfo/")
    return zone if found and zone and not named else "UTC"


def _until(text: str, zone: str) -> str:
    """Read a day, whose end is meant, or a time, as the zone's clocks show it."""
    from zoneinfo import ZoneInfo

    try:
        place = ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        raise CommandFailed(f"--zone: there is no time zone {zone!r}", USAGE) from None
    try:
        if len(text) == len("2026-01-31"):
            end = date.fromisoformat(text) + timedelta(days=1)
            then = datetime.combine(end, datetime.min.time(), place) - timedelta(minutes=1)
        else:
            then = datetime.fromisoformat(text)
            then = then if then.tzinfo is not None else then.replace(tzinfo=place)
        then = then.astimezone(UTC)
    except (ValueError, OverflowError):
        message = "--until: give a day as 2026-12-31, or a time as 2026-12-31T18:00"
        raise CommandFailed(message, USAGE) from None
    if then <= _now():
        raise CommandFailed(f"--until: {text} is over", USAGE)
    return then.isoformat().replace("+00:00", "Z")


def _now() -> datetime:
    """Return the time here, in a zone that knows of other seasons if it can be named."""
    from zoneinfo import ZoneInfo

    now = datetime.now(UTC).astimezone()
    try:
        there = now.astimezone(ZoneInfo(local_zone()))
    except (KeyError, ValueError, OSError):
        return now
    return there if there.utcoffset() == now.utcoffset() else now


def _width() -> int | None:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
