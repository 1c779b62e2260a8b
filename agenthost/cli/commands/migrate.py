"""``agenthost migrate``: copy a single host's sessions into a realm of many machines, or back."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agenthost.cli.arguments import Subparsers, add_command, add_data_dir_option, add_json_option
from agenthost.cli.command_cleanup import cleanup_on_signal
from agenthost.cli.commands.serve_cluster import (
    CREDENTIALS_VARIABLE,
    credentials,
    realm_name,
    require_cluster,
    servers,
)
from agenthost.cli.connection.command_hints import use_data_dir
from agenthost.cli.exit_codes import FAILED, OK, report_failure
from agenthost.errors import AgentHostError
from agenthost.local_host import default_data_dir

if TYPE_CHECKING:
    from agenthost.cluster.migration import Migrated

# Sessions after which it is told how far it is.
_TELL_EVERY = 100

_EXAMPLES = """examples:
  agenthost migrate --to nats://n1:4222        while no host runs here
  agenthost migrate --from nats://n1:4222 --data-dir /tmp/copy
  agenthost backup realm.tar --data-dir /tmp/copy

It copies, and changes nothing where it reads. A realm, or a folder, that has
something in it is refused. exit codes: 0 done; 1 not done
"""


def register(subparsers: Subparsers) -> None:
    """Add ``migrate`` to the argument tree."""
    migrate = add_command(
        subparsers, "migrate", "copy sessions to many machines, or back", run, _EXAMPLES
    )
    way = migrate.add_mutually_exclusive_group(required=True)
    way.add_argument("--to", type=servers, metavar="URL", help="the servers of an empty realm")
    way.add_argument(
        "--from", type=servers, metavar="URL", dest="source", help="the servers of a realm"
    )
    migrate.add_argument(
        "--realm", type=realm_name, default="main", metavar="NAME", help="which (%(default)s)"
    )
    migrate.add_argument(
        "--cluster-credentials", type=Path, metavar="FILE", help=f"(${CREDENTIALS_VARIABLE})"
    )
    add_data_dir_option(migrate, "the single host's data directory")
    add_json_option(migrate, "print what was copied as JSON")


def run(args: argparse.Namespace) -> int:
    """Copy; 1 with one line when that fails."""
    # Slow to import: only what runs needs it.
    import asyncio

    data_dir = args.data_dir or default_data_dir()
    use_data_dir(data_dir)
    try:
        require_cluster()
        with cleanup_on_signal():
            migrated = asyncio.run(_migrate(args, data_dir))
    except (AgentHostError, OSError) as error:
        return report_failure(args, error, FAILED, "failed")
    if args.json:
        print(json.dumps({"sessions": migrated.sessions, "channels": migrated.channels}))
    else:
        where = f"the realm “{args.realm}”" if args.to else str(data_dir)
        noun = "session" if migrated.sessions == 1 else "sessions"
        print(f"Copied {migrated.sessions:,} {noun} to {where}.")
    return OK


async def _migrate(args: argparse.Namespace, data_dir: Path) -> Migrated:
    from agenthost.cluster.migration import copy_from_realm, copy_into_realm
    from agenthost.cluster.realm import RealmAddress, RealmLink

    found = credentials(args.cluster_credentials)
    async with RealmLink(
        RealmAddress(args.to or args.source, args.realm, found), "migrate"
    ) as link:
        if args.to:
            return await copy_into_realm(data_dir, link, _tell)
        return await copy_from_realm(link, await link.open_realm(create=False), data_dir)


def _tell(done: int, count: int) -> None:
    if done % _TELL_EVERY == 0:
        print(f"{done:,} of {count:,} sessions", file=sys.stderr)
