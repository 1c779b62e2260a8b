"""``agenthost logs``: what the host of a data directory logged, and what it logs now."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from agenthost.cli.arguments import (
    Subparsers,
    add_command,
    add_data_dir_option,
    add_json_option,
    count,
)
from agenthost.cli.connection.command_hints import hint, use_data_dir
from agenthost.cli.data_dir import LOG_FILE
from agenthost.cli.exit_codes import FAILED, OK, report_failure
from agenthost.cli.format.log_format import log_lines
from agenthost.cli.format.terminal_text import Ink
from agenthost.cli.log_reader import LEVELS, LogFollower, LogLine, last_lines, line_filter
from agenthost.local_host import default_data_dir

# Seconds between two looks at the file.
_PATIENCE = 0.25

_EXAMPLES = """examples:
  agenthost logs                         the last 50 lines
  agenthost logs -f --level error        what goes wrong from now on
  agenthost logs --session 3f2a --traceback
  agenthost logs -n 1000 --json | jq 'select(.error).error.where'
"""


def register(subparsers: Subparsers) -> None:
    """Add ``logs`` to the argument tree."""
    logs = add_command(
        subparsers, "logs", "show what a host of this machine logged", run, _EXAMPLES
    )
    add = logs.add_argument
    add("-n", "--lines", type=count, default=50, metavar="N", help="so many (%(default)s)")
    add("-f", "--follow", action="store_true", help="go on as lines come, until Ctrl-C")
    add("--level", choices=LEVELS, help="only these, and what is worse")
    add("--session", metavar="ID", help="only what is about a session")
    add("--traceback", action="store_true", help="say how errors came about")
    add_data_dir_option(logs)
    add_json_option(logs, "print the lines as they are in the file")


def run(args: argparse.Namespace) -> int:
    """Print the log; 1 when there is none."""
    path: Path = (args.data_dir or default_data_dir()) / LOG_FILE
    use_data_dir(args.data_dir)
    try:
        if not path.exists() and not args.follow:
            what = f"there is no log: no host has written {path} yet; {hint('serve')} starts one"
            return report_failure(args, what, FAILED, "notFound")
        with closing(LogFollower(path)) as follower:
            _show(args, path, follower)
    except BrokenPipeError:
        raise
    except OSError as error:
        return report_failure(args, f"{path}: {error.strerror}", FAILED, "failed")
    return OK


def _show(args: argparse.Namespace, path: Path, follower: LogFollower) -> None:
    show, matches = _printer(args), line_filter(args.level, args.session)
    for line in last_lines(path, args.lines, matches, follower.read_new()):
        show(line)
    while args.follow:
        sys.stdout.flush()
        time.sleep(_PATIENCE)
        for line in filter(matches, follower.read_new()):
            show(line)


def _printer(args: argparse.Namespace) -> Callable[[LogLine], None]:
    if args.json:
        return lambda line: print(json.dumps(line))
    from agenthost.cli.connection.host_connection import use_colour

    ink = Ink(use_colour())
    return lambda line: print("\n".join(log_lines(line, ink, traceback=args.traceback)))
