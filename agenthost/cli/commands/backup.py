"""``agenthost backup``: copy a data directory into one file, beside the host that uses it."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from agenthost.cli.arguments import Subparsers, add_command, add_data_dir_option, add_json_option
from agenthost.cli.command_cleanup import cleanup_on_signal
from agenthost.cli.connection.command_hints import hint, use_data_dir
from agenthost.cli.exit_codes import FAILED, OK, USAGE, report_failure
from agenthost.local_host import default_data_dir

if TYPE_CHECKING:
    from agenthost.host.backup import BackupReport

STDOUT = "-"

_EXAMPLES = """examples:
  agenthost backup agenthost.tar             this machine's host, as it runs
  agenthost backup /mnt/backups/$(date +%F).tar --data-dir /srv/agenthost
  agenthost backup - | ssh box 'cat > agenthost.tar'

The file holds tokens and whole conversations: keep it as you keep those.
exit codes: 0 done; 1 not done, or damaged rows were found in the store
"""


def register(subparsers: Subparsers) -> None:
    """Add ``backup`` to the argument tree."""
    backup = add_command(
        subparsers, "backup", "save sessions, tokens and settings to a file", run, _EXAMPLES
    )
    backup.add_argument(
        "file", metavar="FILE", help="where to; replaced if it is there; - is standard output"
    )
    backup.add_argument(
        "--without-tokens",
        action="store_true",
        help="leave out tokens and the keys of notifications; a restored host makes new ones",
    )
    add_data_dir_option(backup)
    add_json_option(backup, "print what was saved as JSON")


def run(args: argparse.Namespace) -> int:
    """Make the backup; 1 when it could not be made, or the store is damaged."""
    # The host's, and slow to import: only what runs needs it.
    from agenthost.host.backup import BackupError, save_backup, write_backup

    data_dir = args.data_dir or default_data_dir()
    use_data_dir(data_dir)
    keep = not args.without_tokens
    if args.file == STDOUT and args.json:
        return report_failure(args, "--json would be mixed with the backup", USAGE, "usage")
    if args.file == STDOUT and sys.stdout.isatty():
        what = "a backup is not for a screen: name a file, or redirect the output"
        return report_failure(args, what, USAGE, "usage")
    now = time.time()
    try:
        with cleanup_on_signal():
            if args.file == STDOUT:
                # Raw: what a buffer holds would be waited for when the process ends.
                with open(sys.stdout.fileno(), "wb", buffering=0, closefd=False) as output:
                    report = write_backup(data_dir, output, now=now, with_secrets=keep)
            else:
                target = Path(args.file).expanduser()
                report = save_backup(data_dir, target, now=now, with_secrets=keep)
    except BackupError as error:
        return report_failure(args, error, FAILED, "failed")
    return _tell(args, report)


def _tell(args: argparse.Namespace, report: BackupReport) -> int:
    if args.json:
        told = {"files": report.files, "bytes": report.size, "skipped": report.skipped}
        print(json.dumps({**told, "damages": report.damages}))
    else:
        # Standard output may be the backup.
        print(_summary(args.file, report), file=sys.stderr)
    if not report.damages:
        return OK
    print(
        f"agenthost: {report.damages:,} damaged rows of the store are in the backup as they are; "
        f"{hint('doctor', '--deep')} names them",
        file=sys.stderr,
    )
    return FAILED


def _summary(file: str, report: BackupReport) -> str:
    where = "standard output" if file == STDOUT else file
    skipped = f"; {report.skipped:,} files had gone meanwhile" if report.skipped else ""
    files = f"{report.files:,} file{'' if report.files == 1 else 's'}"
    return f"Saved {files}, {report.size / 1e6:.1f} MB, to {where}{skipped}."
