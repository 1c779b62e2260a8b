"""The argument tree of the ``agenthost`` command; what each command does is in ``commands``."""

from __future__ import annotations

import argparse
import gc
import importlib
import io
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any, NoReturn

from agenthost.cli.arguments import HelpFormatter
from agenthost.version import __version__

# Each is a module of ``commands`` with ``register(subparsers)``.
_COMMANDS = (
    "serve",
    "chat",
    "sessions",
    "nodes",
    "send",
    "watch",
    "diff",
    "terminal",
    "files",
    "customizations",
    "mcp",
    "automations",
    "config",
    "export",
    "agents",
    "new-agent",
    "token",
    "qr",
    "relay",
    "inspect",
    "doctor",
    "logs",
    "backup",
    "restore",
    "migrate",
    "completion",
    "help",
)

_EXAMPLES = """examples:
  agenthost serve             run a host; it prints what to do next"""

# The shell's own codes for a command that was interrupted, or whose output nobody reads any more.
_INTERRUPTED, _UNREAD = 130, 141


# As in ``exit_codes``, which takes longer to load than most errors take to be made.
_USAGE = 2


class _Misuse(SystemExit):
    """Wrong command-line usage; already reported on stderr."""

    def __init__(self, message: str, *, event: bool) -> None:
        super().__init__(_USAGE)
        self.message = message
        # Whether the command's JSON comes in lines that say in ``event`` what they are.
        self.event = event


class _Parser(argparse.ArgumentParser):
    """A parser whose exit carries the error message."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        print(f"{self.prog}: error: {message}", file=sys.stderr)
        raise _Misuse(message, event=bool(self.get_default("json_event")))


class _Version(argparse.Action):
    """Prints the version; argparse's own action would wrap it like a text."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(f"agenthost {__version__}")
        parser.exit()


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of the whole command line, or of one command, which loads faster."""
    parser = _Parser(
        prog="agenthost",
        usage="%(prog)s COMMAND ...",
        description="The agent host that every client can reach.",
        formatter_class=HelpFormatter,
        epilog=_EXAMPLES,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    subparsers = parser.add_subparsers(
        prog="agenthost", dest="command", metavar="COMMAND", title="commands", required=True
    )
    for name in () if only == "--version" else (only,) if only in _COMMANDS else _COMMANDS:
        module = name.replace("-", "_")
        importlib.import_module(f"agenthost.cli.commands.{module}").register(subparsers)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    if arguments is not None:
        return _run(list(arguments))
    # The process is ours alone, and what it loads stays: no time goes into looking for garbage
    # there, neither now nor, which takes longest, when it ends.
    gc.disable()
    try:
        return _run(sys.argv[1:])
    finally:
        gc.freeze()


def _run(words: list[str]) -> int:
    _open_standard_streams()
    _accept_any_text()
    _heed_interrupts()
    try:
        args = build_parser(words[0] if words else None).parse_args(words)
        gc.enable()
        code: int = args.run(args)
        sys.stdout.flush()
    except _Misuse as misuse:
        if "--json" in words:
            from agenthost.cli.exit_codes import print_json_failure

            print_json_failure(misuse.message, _USAGE, "usage", event=misuse.event)
        raise
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has enough. What is still in the buffer goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _UNREAD
    return code


def _open_standard_streams() -> None:
    """Open /dev/null for closed standard streams, before a file or socket takes their number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # Takes the lowest number that is free, which is the closed stream's own.
            stream = open(os.devnull, mode)  # noqa: SIM115
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def _accept_any_text() -> None:
    """Write characters that the locale lacks as escapes."""
    for stream, errors in (
        (sys.stdin, "surrogateescape"),
        (sys.stdout, "backslashreplace"),
        (sys.stderr, "backslashreplace"),
    ):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


def _heed_interrupts() -> None:
    """Let SIGINT end every command, also where it was inherited as ignored.

    A script that starts a command with ``&`` has it ignore Ctrl-C, but whoever sends the signal to
    that very process means it.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if in_main_thread and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


if __name__ == "__main__":
    sys.exit(main())
