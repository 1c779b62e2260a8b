"""Exit codes and error output of commands.

Knows the exit codes and how a failure is told. Which error of a host or a client is which failure
is ``host_connection``'s; what a command does about it is its own.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Literal, TypeAlias

from agenthost.cli.arguments import JSON_EVENT
from agenthost.cli.format.terminal_text import safe_text
from agenthost.errors import AgentHostError

# What scripts can rely on. 4 is a turn that did not get the approval it asked for.
OK, FAILED, USAGE, UNREACHABLE, DENIED, INTERRUPTED = 0, 1, 2, 3, 4, 130

FailureKind: TypeAlias = Literal[
    "failed",
    "usage",
    "noHost",
    "unreachable",
    "refused",
    "noCommonVersion",
    "wentAway",
    "timeout",
    "notFound",
    "ambiguous",
    "noAgent",
    "denied",
]
"""What went wrong, for programs; documented, so that none may be renamed."""


class CommandFailed(AgentHostError):
    """A command cannot go on; carries the exit code and the machine-readable kind."""

    def __init__(self, message: str, code: int = FAILED, kind: FailureKind | None = None) -> None:
        self.code = code
        self.kind: FailureKind = kind or ("usage" if code == USAGE else "failed")
        super().__init__(message)


def report_failure(args: argparse.Namespace, what: object, code: int, kind: FailureKind) -> int:
    """Print an error, with ``--json`` on standard output as well; return the exit code."""
    if getattr(args, "json", False):
        print_json_failure(what, code, kind, event=getattr(args, JSON_EVENT, False))
    return print_error(what, code)


def print_json_failure(what: object, code: int, kind: FailureKind, *, event: bool = False) -> None:
    """Print a failure as a JSON document, or as the last JSON line."""
    error = {"kind": kind, "message": safe_text(str(what)), "exitCode": code}
    print(json.dumps({"event": "error", "error": error} if event else {"error": error}), flush=True)


def print_error(what: object, code: int) -> int:
    """Print an error on standard error and return the exit code."""
    # Part of it may be a host's or an agent's words.
    print(f"agenthost: {safe_text(str(what))}", file=sys.stderr)
    return code
