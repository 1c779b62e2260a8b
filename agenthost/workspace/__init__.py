"""The files that sessions work on, as agents and the host see them."""

from agenthost.workspace.git.status import GitStatus, git_status
from agenthost.workspace.paths import file_path, resolve

__all__ = ["GitStatus", "file_path", "git_status", "resolve"]
