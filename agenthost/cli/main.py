"""The argument tree of the ``agenthost`` command; what each command does is in ``commands``."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from importlib.metadata import version

__all__ = ["main"]

# Imported when the tree is built; each has ``register(subparsers)``.
_COMMANDS = ("serve", "agents", "token")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="agenthost", description="The agent host that every client can reach."
    )
    parser.add_argument("--version", action="version", version=f"agenthost {version('agenthost')}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in _COMMANDS:
        importlib.import_module(f"agenthost.cli.commands.{name}").register(subparsers)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    args = build_parser().parse_args(arguments)
    try:
        code: int = args.run(args)
    except KeyboardInterrupt:
        # The shell's own code for a command that was interrupted.
        return 130
    except BrokenPipeError:
        # Whoever read our output has enough.
        sys.stderr.close()
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main())
