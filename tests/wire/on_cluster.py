"""The tests of this folder on a node of a cluster: ``AGENTHOST_TEST_CLUSTER=1 pytest tests/wire``.

Hosts in this process are then nodes of a realm of their own, those in another are served with
``--cluster``, all on one NATS server for each worker. A store stands for a realm: a host that is
made again on the same file or backing finds what was there.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import pytest

from agenthost.agents import Agent
from agenthost.cluster.node import ClusterNode
from agenthost.cluster.realm import RealmAddress
from agenthost.host import MemoryStore, SqliteStore
from agenthost.host.clients.connection import Connection
from agenthost.host.core import HostCore
from agenthost.host.store import Store
from tests.cluster.servers import NatsServer, free_ports

ON_CLUSTER = bool(os.environ.get("AGENTHOST_TEST_CLUSTER"))
"""Whether the tests are to run on nodes."""

STORE = Path("realm/realm.sqlite" if ON_CLUSTER else "agenthost.sqlite")
"""The file that a host, or a node, keeps everything in, below its data directory."""

# Seconds in which a server must have begun.
PATIENCE = 30.0
_FILES = "looks at the files of a plain host"

# Parts that matter where clients are.
_OF_FRONTS = ("clients", "metrics", "budget", "push_book")

# What cannot mean anything on a node, by file or by file and test.
NOT_ON_CLUSTER: dict[str, str] = {
    "test_damage.py": _FILES,
    "test_old_data.py": _FILES,
    "test_restore.py": "restores a plain host's backup; a realm's goes through `agenthost migrate`",
    "test_split_actions.py::test_a_gap_over_two_snapshots_takes_one_below_the_newest_version": (
        "has a host save snapshots, which each copy of a realm does for itself"
    ),
    "test_split_actions.py::test_a_log_of_a_host_that_took_fewer_numbers_is_not_replayed": (
        "counts as hosts of the past did; a realm's numbers come with its messages"
    ),
    "test_split_actions.py::test_what_has_an_effect_on_its_sender_alone_is_refused": (
        "has a host apply an action for a connection, which a node's other half has"
    ),
    "test_changeset_extremes.py::"
    "test_checkpoints_that_went_with_a_temporary_folder_are_not_missed": (
        "a node says that checkpoints are not kept where it is, with an error, not an empty list"
    ),
    "test_resume.py::test_a_turn_that_a_crash_or_a_stop_ended_goes_on": (
        "copies what a store in memory holds, which a node has not"
    ),
}


class _NodeCore:
    """The parts of a node, each of that half which does with it what a plain host does."""

    def __init__(self, front: HostCore, owner: HostCore) -> None:
        self._front, self._owner = front, owner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._front if name in _OF_FRONTS else self._owner, name)


class NodeAsHost(ClusterNode):
    """A node with a realm of its own, made and used as a `Host` is."""

    def __init__(
        self,
        agents: Sequence[Agent] | None = None,
        *,
        store: Store | None = None,
        **settings: Any,
    ) -> None:
        """Describe a node whose realm is the one that the store stands for."""
        self._kept = None
        if type(store) is SqliteStore:
            self._folder = Path(f"{store._path}.node")
        elif type(store) is MemoryStore:
            self._folder = _folder_of(store)
        elif store is None:
            self._folder = Path(tempfile.mkdtemp(prefix="agenthost-node-"))
            self._kept = self._folder
        else:
            pytest.skip("has a store of its own, which a node has not")
        address = RealmAddress((server_url(),), realm_of(self._folder))
        super().__init__(address, self._folder, agents=agents, **settings)

    @property
    def core(self) -> HostCore:
        """The parts of its owner, which decides, and of its front, which knows the clients."""
        assert self.owner is not None, "the owner is being made anew"
        return cast("HostCore", _NodeCore(self.front.core, self.owner.core))

    @property
    def connections(self) -> frozenset[Connection]:
        """The connections of its front."""
        return self.front.connections

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await super().__aexit__(exc_type, exc, traceback)
        if self._kept is not None:
            shutil.rmtree(self._kept, ignore_errors=True)


def cluster_options(options: Sequence[str]) -> list[str]:
    """Return what ``agenthost serve`` is told besides, to be a node."""
    if not ON_CLUSTER or "--cluster" in options or "--data-dir" not in options:
        return []
    folder = Path(options[options.index("--data-dir") + 1])
    return ["--cluster", server_url(), "--realm", realm_of(folder)]


def skip_what_cannot_be(items: Sequence[pytest.Item]) -> None:
    """Skip what cannot mean anything on a node."""
    for item in items:
        file = item.path.name
        name = getattr(item, "originalname", item.name)
        reason = NOT_ON_CLUSTER.get(file) or NOT_ON_CLUSTER.get(f"{file}::{name}")
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=f"on a cluster: {reason}"))


def realm_of(folder: Path) -> str:
    """Return the realm that belongs to a data directory."""
    return hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]


@functools.cache
def server_url() -> str:
    """Return where the server of this process listens, which ends with it."""
    folder = Path(tempfile.mkdtemp(prefix="agenthost-nats-"))
    [port] = free_ports(1)
    server = NatsServer(f"wire-{secrets.token_hex(3)}", folder, port)
    server.start()
    _SERVERS.append((server, folder))
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return server.url
        time.sleep(0.02)
    raise RuntimeError(f"the server did not begin: {server.log}")


def server_files() -> list[Path]:
    """Return the files of the server of this process, if there is one."""
    return [path for _, folder in _SERVERS for path in folder.rglob("*")]


def stop_server() -> None:
    """End the server of this process, if there is one."""
    while _SERVERS:
        server, folder = _SERVERS.pop()
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


_SERVERS: list[tuple[NatsServer, Path]] = []
# Backings of stores in memory, kept so that none takes another's place, with their folders.
_BACKINGS: dict[int, tuple[object, Path]] = {}


def _folder_of(store: MemoryStore) -> Path:
    backing = store._backing
    if id(backing) not in _BACKINGS:
        folder = Path(tempfile.mkdtemp(prefix="agenthost-node-"))
        _BACKINGS[id(backing)] = (backing, folder)
    return _BACKINGS[id(backing)][1]
