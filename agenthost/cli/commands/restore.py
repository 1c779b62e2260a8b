"""``agenthost restore``: fill a data directory from a backup, while no host uses it."""

from __future__ import annotations

import argparse
import json
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from agenthost.cli.arguments import Subparsers, add_command, add_data_dir_option, add_json_option
from agenthost.cli.command_cleanup import cleanup_on_signal
from agenthost.cli.connection.command_hints import hint, use_data_dir
from agenthost.cli.exit_codes import FAILED, OK, report_failure
from agenthost.cli.format.terminal_text import one_line
from agenthost.local_host import default_data_dir

if TYPE_CHECKING:
    from agenthost.host.backup import RestoreReport

STDIN = "-"

_EXAMPLES = """examples:
  agenthost restore agenthost.tar             into this user's data directory
  agenthost restore agenthost.tar --data-dir /srv/agenthost
  agenthost restore agenthost.tar --replace   what is there is moved aside
  ssh box cat agenthost.tar | agenthost restore -
"""


def register(subparsers: Subparsers) -> None:
    """Add ``restore`` to the argument tree."""
    restore = add_command(
        subparsers, "restore", "put a backup back, while no host runs", run, _EXAMPLES
    )
    restore.add_argument(
        "file", metavar="FILE", help="what agenthost backup made; - is standard input"
    )
    restore.add_argument(
        "--replace",
        action="store_true",
        help="move what is in the data directory into a folder there; otherwise it must be empty",
    )
    add_data_dir_option(restore, "where to")
    add_json_option(restore, "print what was restored as JSON")


def run(args: argparse.Namespace) -> int:
    """Restore the backup; 1 when nothing was changed because that cannot be done."""
    # The host's, and slow to import: only what runs needs it.
    from agenthost.host.backup import BackupError, restore_backup

    data_dir: Path = args.data_dir or default_data_dir()
    use_data_dir(data_dir)
    try:
        with cleanup_on_signal(), _source(args.file) as source:
            report = restore_backup(source, data_dir, now=time.time(), replace=args.replace)
    except BackupError as error:
        return report_failure(args, error, FAILED, "failed")
    except OSError as error:
        return report_failure(args, f"{args.file}: {error.strerror}", FAILED, "failed")
    if args.json:
        print(json.dumps(_as_json(report)))
    else:
        print("\n".join(_summary(report, data_dir)), file=sys.stderr)
    return OK


def _source(file: str) -> AbstractContextManager[BinaryIO]:
    if file == STDIN:
        return nullcontext(sys.stdin.buffer)
    return open(Path(file).expanduser(), "rb")


def _as_json(report: RestoreReport) -> dict[str, object]:
    return {
        "created": report.manifest.created,
        "agenthost": report.manifest.agenthost,
        "files": report.files,
        "tokens": report.manifest.secrets,
        "damages": report.damages,
        "before": None if report.before is None else str(report.before),
    }


def _summary(report: RestoreReport, data_dir: Path) -> list[str]:
    made = one_line(f"{report.manifest.created}, agenthost {report.manifest.agenthost or '?'}")
    lines = [f"Restored {report.files:,} files to {data_dir} (made {made})."]
    if report.before is not None:
        lines.append(f"What was there is in {report.before}; delete it when you do not need it.")
    if not report.manifest.secrets:
        lines.append("No tokens were in it: the host makes a new one when it starts.")
    if report.damages:
        how = hint("doctor", "--deep")
        lines.append(f"{report.damages:,} rows were damaged already: {how} names them.")
    lines.append(f"Next: {hint('serve')}")
    return lines
