"""``agenthost qr``: let a phone in by a code to scan, with a token of its own.

The code holds the page's address with the token behind a ``#``, which browsers send to nobody, so
that it stands in no log. The library that draws it is loaded only then.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from agenthost.cli.arguments import Subparsers, add_command, add_data_dir_option, add_json_option
from agenthost.cli.commands.token import parse_expiry
from agenthost.cli.connection.command_hints import command, hint, use_data_dir
from agenthost.cli.connection.host_lookup import find_host
from agenthost.cli.connection.network_addresses import reachable_addresses
from agenthost.cli.exit_codes import FAILED, OK, USAGE, report_failure
from agenthost.local_host import NoHost, default_data_dir
from agenthost.tokens import BOOK_FILE, NewToken, Role, TokenBook, TokenError, check_name

if TYPE_CHECKING:
    import segno

DEFAULT_NAME = "phone"
DEFAULT_EXPIRY = "90d"
NEVER = "never"
# Pixels of one dot, which a phone reads from any screen.
DOT_PIXELS = 8
# White on black whatever the terminal's colours are: some readers know no other way round.
_COLOURS, _PLAIN = "\x1b[97;40m", "\x1b[0m"


_EXAMPLES = """examples:
  agenthost qr                                   a code with a token of its own
  agenthost qr --role viewer --expires 2h        for somebody who may look
  agenthost qr --url https://agents.example.org  behind a proxy or a tunnel"""


class _NoCode(Exception):
    """No code can be made; the text is one line for a person."""


class _Misuse(_NoCode):
    """What was asked for cannot be meant."""


@dataclass(frozen=True, slots=True)
class PageAddress:
    """Where the page is, as the phone will call it."""

    # Scheme, host and port, without a path.
    base: str

    @property
    def is_plain(self) -> bool:
        """Whether whoever shares the network could read along."""
        return self.base.startswith("http:")

    @property
    def is_named(self) -> bool:
        """Whether it is a name, which the host does not know for its own unless told."""
        host = urlsplit(self.base).hostname or ""
        return not (":" in host or host.replace(".", "").isdigit() or host == "localhost")


def register(subparsers: Subparsers) -> None:
    """Add ``qr`` to the argument tree."""
    qr = add_command(subparsers, "qr", "let a phone in: show a code to scan", run, _EXAMPLES)
    qr.add_argument(
        "--name", help=f"the new token's name (default: {DEFAULT_NAME}, {DEFAULT_NAME}-2 …)"
    )
    qr.add_argument(
        "--role",
        choices=[role.value for role in Role],
        default=Role.OPERATOR.value,
        help="what it allows (default: %(default)s)",
    )
    qr.add_argument(
        "--expires",
        metavar="WHEN",
        default=DEFAULT_EXPIRY,
        help="30d, 12h, a date, or never (default: %(default)s)",
    )
    qr.add_argument(
        "--url", help="the page's address as the phone sees it, such as a tunnel's or a proxy's"
    )
    qr.add_argument("--png", type=Path, metavar="FILE", help="write the code there as a picture")
    add_data_dir_option(qr)
    add_json_option(qr, "print JSON on standard output, and no code")


def run(args: argparse.Namespace) -> int:
    """Show the code; 0 when done, 1 with one line when not, 2 for wrong usage."""
    folder: Path = args.data_dir or default_data_dir()
    use_data_dir(folder)
    now = time.time()
    try:
        expires = _expiry(args.expires, now)
        place = _named_place(args.url) if args.url is not None else _place_of_host(folder)
        book = TokenBook(folder / BOOK_FILE)
        made = _create(book, args.name, Role(args.role), expires, now)
        try:
            _show(args, place, made)
        except BaseException:
            # A token that nobody was shown is of no use to anybody who should have it.
            book.revoke(made.entry.name)
            raise
    except _Misuse as error:
        return report_failure(args, error, USAGE, "usage")
    except (_NoCode, NoHost, TokenError) as error:
        return report_failure(args, error, FAILED, "failed")
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return report_failure(args, f"{where}{error.strerror or error}", FAILED, "failed")
    return OK


def _expiry(text: str, now: float) -> datetime | None:
    if text == NEVER:
        return None
    try:
        expires = parse_expiry(text, now)
    except ValueError as error:
        raise _Misuse(str(error)) from None
    if expires.timestamp() <= now:
        raise _Misuse(f"--expires {text} lies in the past")
    return expires


def _named_place(url: str) -> PageAddress:
    """Read the address that was given; a path or query of its own would lead nowhere."""
    misuse = _Misuse(f"--url {url!a} is no address of a page, such as https://host.example")
    if not url.isprintable() or " " in url:
        # The URL's parser would leave some of it out.
        raise misuse
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        # Which it looks at only now.
        _ = parts.port
    except ValueError:
        raise misuse from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise misuse
    return PageAddress(f"{parts.scheme}://{parts.netloc}")


def _place_of_host(folder: Path) -> PageAddress:
    """Return where the running host is reached from elsewhere; raise where it is not."""
    host = find_host(data_dir=folder)
    if host.token is None:
        raise _NoCode(
            "the host runs without a token and serves this machine alone: "
            f"start it with {hint('serve', '--host', '0.0.0.0')}"
        )
    listening = host.listening or host.url.partition("://")[2]
    addresses = [each for each in reachable_addresses(listening) if not _is_local(each)]
    if not addresses:
        raise _NoCode(
            f"the host listens on {listening}, which no other device reaches: "
            f"start it with {hint('serve', '--host', '0.0.0.0')}, "
            "or name its address, such as a tunnel's, with --url"
        )
    scheme = "https" if host.url.startswith("wss:") else "http"
    return PageAddress(f"{scheme}://{addresses[0]}")


def _is_local(address: str) -> bool:
    name = address.rpartition(":")[0]
    return name in ("localhost", "[::1]", "0.0.0.0", "[::]", "") or name.startswith("127.")


def _create(
    book: TokenBook, name: str | None, role: Role, expires: datetime | None, now: float
) -> NewToken:
    """Make the token; without a name under the first free one."""
    if name is None:
        taken = {entry.name.casefold() for entry in book.list()}
        numbered = (f"{DEFAULT_NAME}-{number}" for number in range(2, len(taken) + 3))
        name = next(each for each in (DEFAULT_NAME, *numbered) if each not in taken)
    else:
        try:
            check_name(name)
        except TokenError as error:
            raise _Misuse(str(error)) from error
    return book.create(name, role, expires=expires, now=now)


def _show(args: argparse.Namespace, place: PageAddress, made: NewToken) -> None:
    address = f"{place.base}/#tkn={quote(made.secret, safe='')}"
    if args.png is not None:
        _write_private(args.png, lambda file: _code(address).save(file, "png", scale=DOT_PIXELS))
    entry = made.entry
    if args.json:
        told = {
            "name": entry.name,
            "role": entry.role.value,
            "expires": None if entry.expires is None else entry.expires.isoformat(),
            "url": address,
        }
        print(json.dumps(told, indent=2))
        return
    if args.png is None:
        print(_drawn(_code(address)))
    print(address, flush=True)
    until = "" if entry.expires is None else f", valid until {_day(entry.expires)}"
    lines = [
        f"It holds the {entry.role.value} token {entry.name!r}{until}, which is not shown again.",
        "To withdraw it:",
        f"  {command('token', 'revoke', entry.name)}",
    ]
    if args.png is not None:
        lines.insert(0, f"The code is in {args.png}; whoever sees it can come in.")
    if args.url is not None and place.is_named:
        lines.append(f"The host must have been started with --allow-origin {place.base}")
    if place.is_plain:
        lines.append(
            "This is plain HTTP: who shares the network could read along. Installing the page and "
            "notifications need HTTPS."
        )
    print("\n".join(lines), file=sys.stderr)


def _code(address: str) -> segno.QRCode:
    import segno

    return segno.make(address, error="m", micro=False)


def _drawn(code: segno.QRCode) -> str:
    """Return the code in half blocks, in colours of its own where there are any."""
    text = io.StringIO()
    code.terminal(out=text, compact=True)
    lines = text.getvalue().rstrip("\n").split("\n")
    if sys.stdout.isatty():
        lines = [f"{_COLOURS}{line}{_PLAIN}" for line in lines]
    return "\n".join(lines)


def _write_private(path: Path, write: Callable[[io.BufferedWriter], None]) -> None:
    """Write a file that only its owner may read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o600)
        write(file)


def _day(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d")
