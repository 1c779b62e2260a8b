"""Files for clients: whose folders they lie in, how many at once, and how failures are told."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agenthost.client import connect
from agenthost.errors import WireError
from agenthost.host import Host, Limits, Principal, Role
from agenthost.host.files.refusals import wire_errors
from agenthost.host.trust import LOCAL_OWNER
from agenthost.workspace.files import Files
from tests.flags import eventually


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOENT, -32008),
        (errno.EEXIST, -32010),
        (errno.EACCES, -32009),
        (errno.EROFS, -32009),
        (errno.ENOTDIR, -32602),
        (errno.ENAMETOOLONG, -32602),
        (errno.ENOSPC, -32603),
        (errno.EDQUOT, -32603),
        (errno.EFBIG, -32603),
        (errno.EIO, -32603),
    ],
)
def test_what_the_kernel_says_is_told_in_the_protocols_words(number: int, code: int) -> None:
    with pytest.raises(WireError) as told, wire_errors("uri", "file:///a"):
        raise OSError(number, os.strerror(number), "/somewhere/else")
    assert told.value.code == code
    # By the name that the client knows, and no other.
    assert "file:///a" in told.value.message
    assert "somewhere" not in told.value.message


async def test_owners_reach_the_folders_of_sessions_and_others_nothing(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "elsewhere").mkdir()
    async with Host(roots=[tmp_path / "root"]) as host, connect(await host.listen(port=0)) as c:
        reach = host.core.files.reach
        assert reach.folders(LOCAL_OWNER).paths == (str(tmp_path / "root"),)
        await c.sessions.create(directories=[(tmp_path / "elsewhere").as_uri()])
        assert reach.folders(LOCAL_OWNER).paths == (
            str(tmp_path / "root"),
            str(tmp_path / "elsewhere"),
        )
        for role in (Role.OPERATOR, Role.VIEWER):
            assert reach.folders(Principal("somebody", role)).paths == ()


@pytest.fixture
def may_end() -> Iterator[threading.Event]:
    """Set at the end in any case, or a thread would be waited for for ever."""
    event = threading.Event()
    yield event
    event.set()


async def test_a_disk_that_hangs_holds_only_so_many_threads(may_end: threading.Event) -> None:
    async with Host(limits=Limits(file_threads=2)) as host:
        running: list[Files] = []

        def hang(files: Files) -> None:
            running.append(files)
            may_end.wait()

        work = host.core.files.work
        tasks = [asyncio.create_task(work(LOCAL_OWNER, hang)) for _ in range(10)]
        await eventually(lambda: len(running) == 2)
        # Whoever gives up leaves a thread behind that hangs on.
        for task in tasks[:2]:
            task.cancel()
        await asyncio.wait(tasks[:2])
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(running) == 2
        may_end.set()
        await asyncio.gather(*tasks[2:])
        assert len(running) == 10
