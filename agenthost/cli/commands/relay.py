"""``agenthost relay``: what ``ssh://`` runs on the machine of a host, to reach it.

Joins standard input and output to the host that runs here; if none does, this process serves the
one client. Errors are one line of JSON on standard error, for the other end to read.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path

from agenthost.cli.arguments import Subparsers, add_command
from agenthost.cli.exit_codes import FAILED, OK, UNREACHABLE
from agenthost.client import ClientError, HostPlace
from agenthost.client.link.addresses import dial_place
from agenthost.client.link.relay import GREETING, relay
from agenthost.local_host import DATA_DIR_VARIABLE, NoHost, NoToken, find_local_host

_EXAMPLES = """examples:
  agenthost relay --stdio             as ssh runs it on the host's machine
  agenthost chat --url ssh://me@box   has it run on box, by itself
"""


def register(subparsers: Subparsers) -> None:
    """Add ``relay`` to the argument tree."""
    parser = add_command(
        subparsers, "relay", "join standard streams to the host here, for ssh://", run, _EXAMPLES
    )
    parser.add_argument(
        "--stdio", action="store_true", required=True, help="the streams to join; there is no other"
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        metavar="DIR",
        help=f"the host of this data directory (default: ${DATA_DIR_VARIABLE}, or the user's)",
    )


def run(args: argparse.Namespace) -> int:
    """Carry messages until either side ends."""
    folder: Path | None = args.data_dir.expanduser() if args.data_dir else None
    try:
        found = find_local_host(folder)
    except NoToken as error:
        return _fail("noToken", error)
    except NoHost:
        return _serve(folder)
    try:
        asyncio.run(relay(dial_place(HostPlace(found.url, found.token, found.tls_cert))))
    except ClientError as error:
        return _fail("unreachable", error)
    except (KeyboardInterrupt, BrokenPipeError):
        return FAILED
    return OK


def _serve(folder: Path | None) -> int:
    """Serve this one client, as long as it is there."""
    from agenthost.cli.main import main

    # Whoever logs in begins at home; sessions without a folder of their own work there.
    options = [] if folder is None else ["--data-dir", str(folder)]
    os.write(sys.stdout.fileno(), GREETING + b"\n")
    return main(["serve", "--stdio", *options])


def _fail(kind: str, error: Exception) -> int:
    print(json.dumps({"agenthost": kind, "message": str(error)}), file=sys.stderr, flush=True)
    return UNREACHABLE
