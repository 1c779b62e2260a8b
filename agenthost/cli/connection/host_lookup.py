"""Finding the host that a command is for: by its address, or the one that runs on this machine."""

from __future__ import annotations

from pathlib import Path

from agenthost.cli.connection.command_hints import command_line
from agenthost.local_host import (
    RunningHost,
    find_local_host,
)


def find_host(
    url: str | None = None, token: str | None = None, data_dir: Path | None = None
) -> RunningHost:
    """Return where to connect: the given URL, or the host of a data directory on this machine.

    Raises:
        NoHost: none is running on this machine.
        ValueError: the URL cannot be the address of a host.
    """
    if url is None:
        return find_local_host(
            data_dir, token, start_command=_start_command, elsewhere="name one with --url"
        )
    # Only for an address, because it takes long to load.
    from agenthost.client.link.addresses import full_address

    return RunningHost(full_address(url), token)


def _start_command(data_dir: Path) -> str:
    return command_line("serve", data_dir=data_dir)
