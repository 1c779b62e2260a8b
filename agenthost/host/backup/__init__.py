"""Backups of a data directory: made beside a running host, restored while none runs."""

from agenthost.host.backup.contents import BackupError, Manifest
from agenthost.host.backup.create import BackupReport, save_backup, write_backup
from agenthost.host.backup.replacement import finish_replacement
from agenthost.host.backup.restore import RestoreReport, restore_backup

__all__ = [
    "BackupError",
    "BackupReport",
    "Manifest",
    "RestoreReport",
    "finish_replacement",
    "restore_backup",
    "save_backup",
    "write_backup",
]
