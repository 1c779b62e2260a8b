"""The argument tree of the ``agenthost`` command; what each command does is in ``commands``."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

__all__ = ["main"]

# Each is a module of ``commands`` with ``register(subparsers)``.
_COMMANDS = (
    "serve",
    "chat",
    "sessions",
    "send",
    "watch",
    "export",
    "agents",
    "token",
    "inspect",
    "doctor",
)

# The shell's own codes for a command that was interrupted, or whose output nobody reads any more.
_INTERRUPTED, _UNREAD = 130, 141


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of the whole command line, or of one command, which loads faster."""
    parser = argparse.ArgumentParser(
        prog="agenthost", description="The agent host that every client can reach."
    )
    parser.add_argument("--version", action="version", version=f"agenthost {version('agenthost')}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in (only,) if only in _COMMANDS else _COMMANDS:
        importlib.import_module(f"agenthost.cli.commands.{name}").register(subparsers)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    _accept_any_text()
    try:
        args = build_parser(words[0] if words else None).parse_args(words)
        code: int = args.run(args)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has enough. What is still in the buffer goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _UNREAD
    return code


def _accept_any_text() -> None:
    """Let no character be one too many for the locale: spell out those that it does not have."""
    for stream, errors in (
        (sys.stdin, "surrogateescape"),
        (sys.stdout, "backslashreplace"),
        (sys.stderr, "backslashreplace"),
    ):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


if __name__ == "__main__":
    sys.exit(main())
