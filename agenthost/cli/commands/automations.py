"""``agenthost automations``: let a host start sessions by itself, and see what became of them."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agenthost.cli.arguments import Subparsers, add_command, add_json_option, add_verb, count
from agenthost.cli.commands.automation_definition import (
    ADD_EXAMPLES,
    add_definition_options,
    read_definition,
    read_message,
)
from agenthost.cli.commands.automation_times import local_now
from agenthost.cli.connection.automation_lookup import find_automation
from agenthost.cli.connection.command_hints import hint
from agenthost.cli.connection.host_connection import (
    add_connection_options,
    connected,
    decode_argument,
    run_command,
    use_colour,
)
from agenthost.cli.connection.session_lookup import check_directories
from agenthost.cli.exit_codes import FAILED, OK, CommandFailed, print_error
from agenthost.cli.format.automation_format import (
    automation_json,
    automation_page,
    automation_table,
    moment,
    run_json,
    run_table,
)
from agenthost.cli.format.state_format import activity_word, error_text, session_id, short_id
from agenthost.cli.format.terminal_text import Ink, one_line
from agenthost.errors import AgentHostError

if TYPE_CHECKING:
    from agenthost.client import Client
    from agenthost.protocol.automation.run import AutomationRunState, AutomationRunSummary
    from agenthost.protocol.automation.state import AutomationEntry

_EXAMPLES = """examples:
  agenthost automations                      and when each runs next
  agenthost automations add --cron "0 9 * * MON-FRI" --dir . \\
      --title Standup --message "Summarise what changed since yesterday"
  agenthost automations run standup --wait   now, and see how it ends
  agenthost automations runs standup         what became of the runs
  agenthost automations pause standup        and resume, or remove

AUTOMATION is an automation's URI, the beginning of its id, or its title.
A cron expression has five fields: minute, hour, day, month, day of the week.
"""

_HELP = {
    "pause": "start no runs until they are resumed; by hand they still run",
    "resume": "let paused automations run again from now on",
    "remove": "remove automations; the sessions that they made stay",
}
_DONE = {"pause": "paused", "resume": "resumed", "remove": "removed"}


def register(subparsers: Subparsers) -> None:
    """Add ``automations`` and its verbs to the argument tree."""
    automations = add_command(
        subparsers,
        "automations",
        "let the host start sessions by itself, on a schedule",
        run,
        _EXAMPLES,
    )
    add_connection_options(automations)
    add_json_option(automations)
    verbs = automations.add_subparsers(dest="verb", metavar="VERB", help="list if there is none")
    added = [add_verb(verbs, "list", "list automations", "agenthost automations list --json")]
    added.append(_on_automation(verbs, "show", "show one automation and its last runs"))
    added[-1].add_argument("automation", metavar="AUTOMATION")
    added.append(add_verb(verbs, "add", "add an automation", *ADD_EXAMPLES))
    add_definition_options(added[-1])
    added.append(_on_automation(verbs, "run", "run an automation now, also a paused one"))
    added[-1].add_argument("automation", metavar="AUTOMATION")
    added[-1].add_argument("--wait", action="store_true", help="until it is over; 1 if it failed")
    for name, about in _HELP.items():
        added.append(_on_automation(verbs, name, about))
        added[-1].add_argument("automations", metavar="AUTOMATION", nargs="+")
    added.append(_on_automation(verbs, "runs", "list the runs of an automation, newest first"))
    added[-1].add_argument("automation", metavar="AUTOMATION")
    added[-1].add_argument("--limit", metavar="N", type=count, default=20, help="(default: 20)")
    added.append(
        add_verb(
            verbs, "cancel", "stop a run that is not over", "agenthost automations cancel 7b1c"
        )
    )
    added[-1].add_argument("run_uri", metavar="RUN", help="its URI or the beginning of its id")
    for verb in added:
        add_connection_options(verb, inherited=True)
        add_json_option(verb, inherited=True)


def _on_automation(verbs: Subparsers, name: str, help: str) -> argparse.ArgumentParser:
    return add_verb(verbs, name, help, f"agenthost automations {name} standup")


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
        for line in automation_table(entries, local_now(), _width(), use_colour(), waiting):
            print(line)
    else:
        adding = hint("automations", "add", "--help")
        print(f"There are no automations yet; {adding} says how to add one.", file=sys.stderr)
    return OK


async def _show(args: argparse.Namespace) -> int:
    async with connected(args) as client:
        entry = await find_automation(client, args.automation)
        waiting = await _waiting(client, entry["runs"])
    if args.json:
        print(json.dumps(automation_json(entry), indent=2))
    else:
        for line in automation_page(entry, local_now(), Ink(use_colour()), waiting):
            print(line)
    return OK


async def _runs(args: argparse.Namespace) -> int:
    async with connected(args) as client:
        entry = await find_automation(client, args.automation)
        runs = await client.automations.runs(entry["resource"], limit=args.limit)
        waiting = await _waiting(client, runs)
    if args.json:
        print(json.dumps([run_json(run) for run in runs], indent=2))
    elif runs:
        for line in run_table(runs, local_now(), _width(), use_colour(), waiting):
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
    directories = check_directories(args)
    message = read_message(args.message)
    async with connected(args) as client:
        definition = await read_definition(client, args, message, directories)
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
        return f"runs next at {moment(entry['nextRunAt'], local_now())}"
    id = short_id(entry["resource"])
    definition = entry["definition"]
    if definition["triggers"] and not definition["enabled"] and not args.paused:
        return "never runs by itself: its time is over"
    if definition["triggers"] and not definition["enabled"]:
        return f"is paused; {hint('automations', 'resume', id)} lets it run"
    if definition["triggers"] and args.until is not None:
        return f"never runs by itself: no such time comes until {one_line(args.until)}"
    if definition["triggers"]:
        return "never runs by itself: no such day comes"
    return f"{hint('automations', 'run', id)} runs it"


async def _run(args: argparse.Namespace) -> int:
    async with connected(args) as client:
        entry = await find_automation(client, args.automation)
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
        lines.append(f"  {hint('watch', session_id(session))} shows its session")
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
                outcome["automation"] = (await find_automation(client, text))["resource"]
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
    return (
        f"\n  runs next at {moment(entry['nextRunAt'], local_now())}"
        if "nextRunAt" in entry
        else ""
    )


def _width() -> int | None:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
