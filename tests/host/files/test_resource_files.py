"""Files for clients: whose folders they lie in, how many at once, and how failures are told."""

from __future__ import annotations

import asyncio
import base64
import errno
import json
import os
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from agenthost.client import connect
from agenthost.errors import WireError
from agenthost.host import Host, Limits, Principal, Role
from agenthost.host.channels.session.kind import SESSION
from agenthost.host.files.commands import encode_read
from agenthost.host.files.reach import MOST_FOLDERS, Reach
from agenthost.host.files.refusals import wire_errors
from agenthost.host.trust import LOCAL_OWNER
from agenthost.protocol.session.state import SessionState
from agenthost.workspace import resolve
from agenthost.workspace.files import Files
from tests.flags import eventually
from tests.protocol.wire_samples import minimal


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
            str(tmp_path / "elsewhere"),
            str(tmp_path / "root"),
        )
        for role in (Role.OPERATOR, Role.VIEWER):
            assert reach.folders(Principal("somebody", role)).paths == ()


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc")
async def test_many_sessions_do_not_use_up_the_descriptors(tmp_path: Path) -> None:
    async with Host(roots=[tmp_path / "root"]) as host:
        core, before = host.core, len(os.listdir("/proc/self/fd"))
        for number in range(3 * MOST_FOLDERS):
            folder = tmp_path / f"f{number}"
            folder.mkdir()
            state = {**minimal(SessionState), "workingDirectories": [folder.as_uri()]}
            core.directory.create(f"ahp-session:/s{number}", SESSION, cast("SessionState", state))
            if number % 10 == 0:
                # The folder of the session that was used last is always reached.
                listed = await core.files.work(LOCAL_OWNER, partial(Files.list, path=folder))
                assert listed == []
        assert len(os.listdir("/proc/self/fd")) - before < 3 * MOST_FOLDERS + 50


async def test_whether_somebody_reaches_a_folder_is_known_without_reading_every_uri_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Host(roots=[tmp_path / "root"]) as host:
        core, reach, ann = host.core, host.core.files.reach, Principal("ann", Role.OPERATOR)
        for number in range(50):
            folder = tmp_path / f"f{number}"
            state = {**minimal(SessionState), "workingDirectories": [folder.as_uri()]}
            uri = f"ahp-session:/s{number}"
            session = core.directory.create(uri, SESSION, cast("SessionState", state))
            if number % 2:
                core.participants.add(session, "ann")
        last, other = [str(tmp_path / "f49")], [str(tmp_path / "f48")]
        assert reach.reaches(ann, last)
        assert not reach.reaches(ann, other)
        assert not reach.reaches(ann, [str(tmp_path / "root")])
        assert reach.reaches(LOCAL_OWNER, other)
        assert reach.reaches(LOCAL_OWNER, [str(tmp_path / "root")])
        assert not reach.reaches(LOCAL_OWNER, [str(tmp_path)])
        assert not reach.reaches(Principal("ann", Role.VIEWER), last)
        monkeypatch.setattr("agenthost.host.files.reach.file_path", None)
        assert reach.reaches(ann, last)
        assert len(reach.folders(ann).paths) == 25


async def test_where_folders_are_is_looked_up_once_in_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "root").symlink_to("one")
    async with Host(roots=[tmp_path / "root"]) as host:
        reach = Reach(host.core.participants, [str(tmp_path / "root")], [])
        looked: list[str] = []

        def resolve_counted(path: str) -> Path:
            looked.append(path)
            return resolve(path)

        monkeypatch.setattr("agenthost.host.files.reach.resolve", resolve_counted)
        for _ in range(10):
            assert reach.real_folders(LOCAL_OWNER) == (str(tmp_path / "one"),)
        assert len(looked) == 1
        (tmp_path / "root").unlink()
        (tmp_path / "root").symlink_to("two")
        monkeypatch.setattr("agenthost.host.files.reach.MOMENT", -1.0)
        assert reach.real_folders(LOCAL_OWNER) == (str(tmp_path / "two"),)


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


async def test_an_operator_whose_disk_hangs_leaves_threads_for_the_others(
    may_end: threading.Event,
) -> None:
    async with Host(limits=Limits(file_threads=4)) as host:
        running: list[Files] = []

        def hang(files: Files) -> None:
            running.append(files)
            may_end.wait()

        work, ann = host.core.files.work, Principal("ann", Role.OPERATOR)
        tasks = [asyncio.create_task(work(ann, hang)) for _ in range(10)]
        await eventually(lambda: len(running) == 2)
        for other in (LOCAL_OWNER, Principal("bea", Role.OPERATOR)):
            assert await work(other, lambda _: "done") == "done"
        # Nor do those wait that share the threads of everybody.
        assert await asyncio.to_thread(lambda: "done") == "done"
        assert len(running) == 2
        # One that gives up before its turn comes leaves nothing taken.
        tasks[-1].cancel()
        may_end.set()
        await asyncio.gather(*tasks[:-1])
        assert await work(ann, lambda _: "done") == "done"


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"", "utf-8"),
        ('"\\\n\r\t é 🎉'.encode(), "utf-8"),
        (b'"' * 1000, "utf-8"),
        (b"\x1b[1mred\x1b[0m and some text", "utf-8"),
        (b"\x00" * 1000, "base64"),
        (b"\xff\xfe", "base64"),
        (b"\xed\xa0\x80", "base64"),
    ],
)
def test_what_is_read_travels_as_text_unless_that_would_be_many_times_as_long(
    data: bytes, encoding: str
) -> None:
    for kind in (None, 'text/"plain"'):
        shown = json.loads(b"".join(encode_read(data, kind, None).json))
        assert shown["encoding"] == encoding
        assert shown.get("contentType") == kind
        found = shown["data"].encode() if encoding == "utf-8" else base64.b64decode(shown["data"])
        assert found == data
        asked = json.loads(b"".join(encode_read(data, kind, "base64").json))
        assert base64.b64decode(asked["data"]) == data
