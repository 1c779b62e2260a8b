"""What the options of ``agenthost automations add`` define."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agenthost.cli.arguments import count
from agenthost.cli.commands.automation_times import last_moment, local_zone
from agenthost.cli.connection.host_connection import decode_argument
from agenthost.cli.connection.session_lookup import check_model
from agenthost.cli.exit_codes import USAGE, CommandFailed
from agenthost.cli.format.terminal_text import clip, one_line

if TYPE_CHECKING:
    from agenthost.client import Client
    from agenthost.protocol.automation.definition import AutomationDefinition

_LONGEST_TITLE = 60

ADD_EXAMPLES = (
    'agenthost automations add --message "What is new?" --cron "0 9 * * MON-FRI"',
    'agenthost automations add --message "Update" --cron "30 2 1 * *" --paused',
    "agenthost automations add --message - --title audit --dir . < audit.md",
)
"""Command lines that add an automation."""


def add_definition_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
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


async def read_definition(
    client: Client, args: argparse.Namespace, message: str, directories: Sequence[str]
) -> AutomationDefinition:
    """Return the automation that the options define.

    Raises:
        CommandFailed: an option says what cannot be meant, or what the agent does not take.
    """
    from agenthost.client import define_automation

    zone = decode_argument(args.zone) if args.zone else local_zone()
    if args.agent is not None or args.model is not None:
        check_model(client, args.agent or _first_agent(client), args.model)
    return define_automation(
        decode_argument(args.title) if args.title else clip(one_line(message), _LONGEST_TITLE),
        message,
        cron=[decode_argument(each) for each in args.cron],
        zone=zone,
        skip_missed=args.skip_missed,
        provider=args.agent,
        model={"id": args.model} if args.model is not None else None,
        directories=directories,
        config=await _config(client, args, directories) or None,
        after_runs=args.after_runs,
        until=last_moment(args.until, zone) if args.until is not None else None,
        enabled=not args.paused,
    )


def read_message(text: str) -> str:
    """Return what the agent is told; ``-`` is standard input.

    Raises:
        CommandFailed: it is empty.
    """
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
