"""Arguments that commands share: how a command and ``--json`` are added, and types of values."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

JSON_EVENT = "json_event"
"""The default that says that a command's JSON comes in lines with an ``event``."""

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_command(
    subparsers: Subparsers,
    name: str,
    help: str,
    run: Callable[[argparse.Namespace], int],
    examples: str | None = None,
) -> argparse.ArgumentParser:
    """Add a command to the argument tree and return its parser."""
    parser = subparsers.add_parser(
        name,
        help=help,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def add_json_option(
    parser: argparse.ArgumentParser,
    what: str = "print JSON",
    *,
    inherited: bool = False,
    events: bool = False,
) -> None:
    """Add ``--json``; ``events`` is for lines that say in ``event`` what they are."""
    parser.add_argument(
        "--json",
        action="store_true",
        default=argparse.SUPPRESS if inherited else False,
        help=what,
    )
    if events:
        parser.set_defaults(**{JSON_EVENT: True})


# Types of values.


def seconds(text: str) -> float:
    """Read a number of seconds from 0 on."""
    with suppress(ValueError):
        number = float(text)
        if 0 <= number < float("inf"):
            return number
    raise argparse.ArgumentTypeError("must be a number of seconds, 0 or more")


def positive_seconds(text: str) -> float:
    """Read a number of seconds above 0."""
    with suppress(argparse.ArgumentTypeError):
        if number := seconds(text):
            return number
    raise argparse.ArgumentTypeError("must be a number of seconds above 0")


def count(text: str) -> int:
    """Read a whole number from 1 on."""
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError("must be a whole number, 1 or more")
    return int(text)


def port(text: str) -> int:
    """Read the number of a port; 0 stands for a free one."""
    with suppress(ValueError):
        number = int(text)
        if 0 <= number <= 65535:
            return number
    raise argparse.ArgumentTypeError("must be a port from 0 to 65535")


def existing_file(text: str) -> Path:
    """Read the path of a file that is there."""
    path = Path(text).expanduser()
    if not path.exists():
        raise argparse.ArgumentTypeError(f"there is no file {text}")
    return path


def directory(text: str) -> Path:
    """Read the path of a directory that is there."""
    path = Path(text).expanduser()
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is not a directory")
    return path.resolve()
