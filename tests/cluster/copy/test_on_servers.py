"""The copy on real servers: follows appends, outlives their death, and goes on from bases there."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agenthost.cluster.commits import Commit, RealmWrite, encode_commit
from agenthost.cluster.copy import LocalCopy, bases
from agenthost.cluster.copy.realm_source import RealmSource
from agenthost.cluster.copy.source import LogState
from agenthost.cluster.realm import Appender, RealmError, RealmLink, RealmReplaced
from agenthost.cluster.realm.objects import RealmObjects
from agenthost.host.store import PutBlob
from tests.cluster.copy.hand_driven import created, said
from tests.cluster.servers import one_server, realm_link, three_servers

pytestmark = [pytest.mark.timeout(240)]
SESSION, CHAT = "ahp-session:/1", "chat:/1"


class Writer:
    """One who owns a session and appends to it."""

    def __init__(self, link: RealmLink) -> None:
        self._appender = Appender(link)
        self.last = self.count = 0

    async def append(self, *writes: RealmWrite) -> None:
        self.count += 1
        id = f"commit {self.count}"
        bodies = encode_commit(Commit(id, SESSION, "a", writes))
        self.last = await self._appender.append(SESSION, bodies, id, self.last)


def copy_of(link: RealmLink, folder: Path) -> LocalCopy:
    assert link.info is not None
    return LocalCopy(folder, link, link.info)


async def test_a_copy_follows_the_realm_and_outlives_its_servers(tmp_path: Path) -> None:
    async with three_servers(tmp_path) as servers, realm_link(servers) as link:
        writer = Writer(link)
        await writer.append(*created(SESSION, CHAT))
        async with copy_of(link, tmp_path / "n") as copy, asyncio.timeout(120):
            for n in range(20):
                await writer.append(said(CHAT, str(n)))
            (await servers.leader(link)).kill()
            for n in range(20):
                await writer.append(said(CHAT, str(n)))
            await copy.reached(writer.last)
            stored = await copy.store.load_channel(CHAT)
            assert stored is not None
            assert len(stored.tail) == 40
            assert copy.last_of(SESSION) == writer.last
            assert copy.is_fresh


async def test_a_new_node_takes_a_base_from_the_realm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bases, "KEPT_MESSAGES", 5)
    monkeypatch.setattr(bases, "KEPT_SECONDS", -1.0)
    async with one_server(tmp_path) as servers, realm_link(servers) as link:
        writer = Writer(link)
        await writer.append(*created(SESSION, CHAT))
        await writer.append(PutBlob("blob:/1", SESSION, None, b"x" * 3_000_000))
        for n in range(20):
            await writer.append(said(CHAT, str(n)))
        async with copy_of(link, tmp_path / "a") as copy, asyncio.timeout(60):
            await copy.caught_up()
            copy._mark()
            await copy.make_base()
        assert (await link.stream_state()).first == writer.last - 5 + 1
        await writer.append(said(CHAT, "later"))
        async with copy_of(link, tmp_path / "b") as copy, asyncio.timeout(60):
            await copy.caught_up()
            stored = await copy.store.load_channel(CHAT)
            assert stored is not None
            assert len(stored.tail) == 21
            blob = await copy.store.blob("blob:/1")
            assert blob is not None
            assert blob.data == b"x" * 3_000_000
            # And the log is still fenced where it was.
            await writer.append(said(CHAT, "last"))
            await copy.reached(writer.last)


class CutOnceAsked(RealmSource):
    """A realm whose log is cut as soon as a node has asked where it begins."""

    def __init__(self, link: RealmLink, folder: Path) -> None:
        assert link.info is not None
        super().__init__(link, link.info)
        self._cutting: LocalCopy | None = copy_of(link, folder)

    async def state(self) -> LogState:
        state = await super().state()
        cutting, self._cutting = self._cutting, None
        if cutting is not None:
            async with cutting:
                await cutting.caught_up()
                cutting._mark()
                await cutting.make_base()
        return state


async def test_a_node_that_begins_while_the_log_is_cut_takes_a_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bases, "KEPT_MESSAGES", 5)
    monkeypatch.setattr(bases, "KEPT_SECONDS", -1.0)
    async with one_server(tmp_path) as servers, realm_link(servers) as link, asyncio.timeout(60):
        writer = Writer(link)
        await writer.append(*created(SESSION, CHAT))
        for n in range(20):
            await writer.append(said(CHAT, str(n)))
        source = CutOnceAsked(link, tmp_path / "a")
        async with LocalCopy(tmp_path / "b", None, None, source=source) as copy:
            await copy.caught_up()
            assert (await link.stream_state()).first == writer.last - 5 + 1
            stored = await copy.store.load_channel(CHAT)
            assert stored is not None
            assert len(stored.tail) == 20
            await writer.append(said(CHAT, "later"))
            await copy.reached(writer.last)


async def test_a_stream_that_was_made_anew_is_refused(tmp_path: Path) -> None:
    async with one_server(tmp_path) as servers:
        async with realm_link(servers) as link:
            await Writer(link).append(*created(SESSION, CHAT))
            async with copy_of(link, tmp_path / "n") as copy, asyncio.timeout(60):
                await copy.caught_up()
            await link.jetstream.delete_stream(link.stream)
        async with realm_link(servers) as link:
            await Writer(link).append(*created(SESSION, CHAT))
            with pytest.raises(RealmReplaced, match=r"move .* away"):
                await copy_of(link, tmp_path / "n").__aenter__()


async def test_files_of_the_realm(tmp_path: Path) -> None:
    async with one_server(tmp_path) as servers, realm_link(servers) as link, asyncio.timeout(60):
        objects = RealmObjects(link, 1)
        assert await objects.names() == []
        (tmp_path / "file").write_bytes(bytes(range(256)) * 4_000)
        (tmp_path / "empty").write_bytes(b"")
        await objects.put("one", tmp_path / "file")
        await objects.put("none", tmp_path / "empty")
        assert sorted(await objects.names()) == ["none", "one"]
        await objects.fetch("one", tmp_path / "again")
        await objects.fetch("none", tmp_path / "again empty")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "file").read_bytes()
        assert (tmp_path / "again empty").read_bytes() == b""
        await objects.drop("one")
        await objects.drop("one")
        assert await objects.names() == ["none"]
        with pytest.raises(RealmError):
            await objects.fetch("one", tmp_path / "gone")
        with pytest.raises(RealmError):
            await objects.put("two", tmp_path / "there is no such file")
        servers[0].kill()
        with pytest.raises(RealmError):
            await objects.names()


async def test_a_copy_can_be_closed_while_its_feed_begins(tmp_path: Path) -> None:
    async with one_server(tmp_path) as servers, realm_link(servers) as link:
        for _ in range(10):
            async with asyncio.timeout(20):
                async with copy_of(link, tmp_path / "n"):
                    pass
