"""``agenthost token create|list|revoke``: manage the named tokens of a data directory.

Edits the book that a running host reads, so no host needs to be reached or restarted. A secret is
printed once, alone on standard output; everything a person should know goes to standard error.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from agenthost.cli.arguments import (
    Subparsers,
    add_command,
    add_data_dir_option,
    add_json_option,
    add_verb,
)
from agenthost.cli.connection.command_hints import hint, use_data_dir
from agenthost.cli.exit_codes import FAILED, OK, USAGE, report_failure
from agenthost.local_host import default_data_dir
from agenthost.tokens import BOOK_FILE, Role, TokenBook, TokenEntry, TokenError, check_name

_SPAN = re.compile(r"(?P<count>[0-9]{1,6})(?P<unit>[mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


_CREATE_EXAMPLES = (
    "agenthost token create laptop --role operator",
    "agenthost token create guest --role viewer --expires 12h",
)
_EXAMPLES = """examples:
  agenthost token create laptop --role operator   for your other machine
  agenthost token create guest --expires 12h      may look, but not send
  agenthost token list
  agenthost token revoke guest

roles: viewer may look, operator may run sessions, owner may do everything"""


def register(subparsers: Subparsers) -> None:
    """Add ``token`` and its verbs to the argument tree."""
    token = add_command(subparsers, "token", "create, list and revoke named tokens", run, _EXAMPLES)
    verbs = token.add_subparsers(dest="verb", metavar="VERB", required=True)

    create = add_verb(
        verbs, "create", "create a token and print its secret once", *_CREATE_EXAMPLES
    )
    create.add_argument("name", metavar="NAME", type=_name, help="who or what will use it")
    create.add_argument(
        "--role",
        choices=[role.value for role in Role],
        default=Role.VIEWER.value,
        help="what it allows (default: %(default)s)",
    )
    create.add_argument(
        "--expires",
        metavar="WHEN",
        type=_expiry,
        help="30d, 12h, 90m, 2w, or a date such as 2027-01-01 (its first moment, UTC)",
    )
    listing = add_verb(
        verbs, "list", "list the tokens, without their secrets", "agenthost token list --json"
    )
    revoke = add_verb(
        verbs,
        "revoke",
        "withdraw a token: nobody can connect with it any more",
        "agenthost token revoke laptop",
    )
    revoke.add_argument("name", metavar="NAME")

    for verb in (create, listing, revoke):
        add_data_dir_option(verb)
        add_json_option(verb, "print JSON on standard output")


def run(args: argparse.Namespace) -> int:
    """Run the verb; 0 when done, 1 with one line on standard error when not, 2 for wrong usage."""
    use_data_dir(args.data_dir)
    book = TokenBook((args.data_dir or default_data_dir()) / BOOK_FILE)
    now = time.time()
    try:
        if args.verb == "create":
            return _create(book, args, now)
        if args.verb == "list":
            return _list(book.list(), now, as_json=args.json)
        return _revoke(book, args.name, now, as_json=args.json)
    except TokenError as error:
        return report_failure(args, error, FAILED, "failed")


def parse_expiry(text: str, now: float) -> datetime:
    """Return the time that ``30d``, ``12h`` or a date means; ValueError for anything else."""
    moment = datetime.fromtimestamp(int(now), UTC)
    span = _SPAN.fullmatch(text)
    try:
        if span is not None:
            return moment + timedelta(**{_UNITS[span["unit"]]: int(span["count"])})
        named = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is neither a span such as 30d nor a date") from None
    return named if named.tzinfo is not None else named.replace(tzinfo=UTC)


def _create(book: TokenBook, args: argparse.Namespace, now: float) -> int:
    try:
        expires = None if args.expires is None else parse_expiry(args.expires, now)
    except ValueError as error:
        return report_failure(args, error, USAGE, "usage")
    if expires is not None and expires.timestamp() <= now:
        return report_failure(args, f"--expires {args.expires} lies in the past", USAGE, "usage")
    made = book.create(args.name, Role(args.role), expires=expires, now=now)
    if args.json:
        print(json.dumps({**_as_json(made.entry, now), "token": made.secret}, indent=2))
        return OK
    print(made.secret, flush=True)
    until = "" if expires is None else f", valid until {_shown(expires)}"
    print(
        f"Created the {args.role} token {args.name!r}{until}. Keep it now: it is not shown again.\n"
        "Clients send it as a Bearer header or as ?tkn= in the URL.",
        file=sys.stderr,
    )
    return OK


def _list(entries: Sequence[TokenEntry], now: float, *, as_json: bool) -> int:
    if as_json:
        print(json.dumps([_as_json(entry, now) for entry in entries], indent=2))
        return OK
    if not entries:
        print(
            f"There are no named tokens; {hint('token', 'create', '--help')} says how to make one.",
            file=sys.stderr,
        )
        return OK
    rows = [("NAME", "ROLE", "CREATED", "EXPIRES"), *(_row(entry, now) for entry in entries)]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
    return OK


def _revoke(book: TokenBook, name: str, now: float, *, as_json: bool) -> int:
    entry = book.revoke(name)
    if as_json:
        print(json.dumps(_as_json(entry, now), indent=2))
        return OK
    print(f"Revoked the {entry.role.value} token {entry.name!r}.", file=sys.stderr)
    return OK


def _row(entry: TokenEntry, now: float) -> tuple[str, str, str, str]:
    expires = "never" if entry.expires is None else _shown(entry.expires)
    if entry.expired(now):
        expires += " (expired)"
    return entry.name, entry.role.value, _shown(entry.created), expires


def _as_json(entry: TokenEntry, now: float) -> dict[str, str | bool | None]:
    return {
        "name": entry.name,
        "role": entry.role.value,
        "created": entry.created.isoformat(),
        "expires": None if entry.expires is None else entry.expires.isoformat(),
        "expired": entry.expired(now),
    }


def _shown(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _name(text: str) -> str:
    try:
        return check_name(text)
    except TokenError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _expiry(text: str) -> str:
    # Only whether it can be read; from which moment it counts is known when the command runs.
    try:
        parse_expiry(text, 0.0)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text
