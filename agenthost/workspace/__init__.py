"""The files that sessions work on, as agents and the host see them."""

from agenthost.workspace.git import GitStatus, git_status

__all__ = ["GitStatus", "git_status"]
