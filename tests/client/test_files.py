"""The files of a session, on a real host: read, written, listed, copied, moved and deleted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agenthost.client import NotText, Session, SessionFiles, Unsupported
from agenthost.errors import AlreadyExists, Conflict, InvalidParams, NotFound, PermissionDenied
from agenthost.protocol import SUPPORTED_VERSIONS
from tests.client.scripted import ScriptedHost
from tests.client.world import World

OUTSIDE = Path(__file__).resolve()


@pytest.fixture
async def session(world: World, tmp_path: Path) -> AsyncIterator[Session]:
    client = await world.join("me")
    async with await client.sessions.create(directories=[tmp_path.as_uri()]) as made:
        yield made


@pytest.fixture
def files(session: Session) -> SessionFiles:
    return session.files


async def test_what_is_written_is_read(files: SessionFiles, tmp_path: Path) -> None:
    await files.write("a.txt", "grün\n")
    assert (tmp_path / "a.txt").read_text() == "grün\n"
    assert await files.read_text("a.txt") == "grün\n"
    assert await files.read_bytes("a.txt") == "grün\n".encode()
    await files.write("b", b"\xff\x00")
    assert (tmp_path / "b").read_bytes() == b"\xff\x00"
    assert await files.read_bytes("b") == b"\xff\x00"


async def test_bytes_that_are_no_text_are_not_taken_for_one(
    files: SessionFiles, tmp_path: Path
) -> None:
    (tmp_path / "b").write_bytes(b"\xff\x00")
    with pytest.raises(NotText, match="not text"):
        await files.read_text("b")


@pytest.mark.parametrize("name", ["a b.txt", "a#b?c%20.txt", "grün", "a:b", "-", "x" * 200])
async def test_any_name_is_found_again(files: SessionFiles, tmp_path: Path, name: str) -> None:
    await files.mkdir("folder")
    path = f"folder/{name}"
    await files.write(path, name)
    assert (tmp_path / "folder" / name).read_text() == name
    assert await files.list("folder") == [{"name": name, "type": "file"}]
    assert await files.read_text(Path(path)) == name
    assert await files.read_text(tmp_path / path) == name
    assert await files.read_text((tmp_path / path).as_uri()) == name


def test_what_looks_like_a_uri_is_one_and_all_else_is_a_path(
    files: SessionFiles, tmp_path: Path
) -> None:
    assert files.uri("ahp-content:/x") == "ahp-content:/x"
    assert files.uri("./ab:c") == f"{tmp_path.as_uri()}/ab%3Ac"
    assert files.uri("/a b") == "file:///a%20b"


async def test_a_folder_is_listed(files: SessionFiles, tmp_path: Path) -> None:
    await files.mkdir("deep/er")
    (tmp_path / "a").touch()
    entries = [{"name": "a", "type": "file"}, {"name": "deep", "type": "directory"}]
    assert await files.list() == entries
    assert await files.list(".") == entries
    assert await files.list("deep") == [{"name": "er", "type": "directory"}]


async def test_a_file_is_written_only_as_it_was_asked_for(
    files: SessionFiles, tmp_path: Path
) -> None:
    await files.write("a", "one")
    etag = (await files.stat("a")).get("etag")
    await files.write("a", " two", mode="append")
    await files.write("a", "zero ", mode="insert")
    assert (tmp_path / "a").read_text() == "zero one two"
    with pytest.raises(Conflict):
        await files.write("a", "late", if_match=etag)
    with pytest.raises(AlreadyExists):
        await files.write("a", "new", create_only=True)
    with pytest.raises(InvalidParams):
        await files.write("a", "x", position=100)
    assert (tmp_path / "a").read_text() == "zero one two"
    await files.write("a", "!", position=4)
    assert (tmp_path / "a").read_text() == "zero!"


async def test_what_there_is_is_told(files: SessionFiles, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("12345")
    (tmp_path / "link").symlink_to("a")
    found = await files.stat("link")
    assert (found["type"], found.get("size")) == ("file", 5)
    assert found["uri"] == (tmp_path / "a").as_uri()
    assert (await files.stat("link", follow=False))["type"] == "symlink"
    assert (await files.stat(""))["type"] == "directory"
    with pytest.raises(NotFound):
        await files.stat("missing")


async def test_files_are_copied_moved_and_deleted(files: SessionFiles, tmp_path: Path) -> None:
    await files.mkdir("folder")
    await files.write("folder/a", "a")
    await files.copy("folder", "other")
    await files.move("other/a", "b")
    assert (tmp_path / "b").read_text() == "a"
    for put in (files.copy, files.move):
        with pytest.raises(AlreadyExists):
            await put("folder/a", "b", overwrite=False)
    await files.move("folder/a", "b")
    assert await files.list("folder") == []
    await files.delete("folder")
    await files.write("other/c", "c")
    with pytest.raises(InvalidParams):
        await files.delete("other")
    await files.delete("other", recursive=True)
    assert await files.list() == [{"name": "b", "type": "file"}]


@pytest.mark.parametrize("path", ["../../x", "/etc/passwd", OUTSIDE, "/proc/self/environ"])
async def test_what_is_outside_is_refused(files: SessionFiles, path: str | Path) -> None:
    for refused in (files.read_bytes(path), files.write(path, ""), files.delete(path)):
        with pytest.raises(PermissionDenied):
            await refused
    assert OUTSIDE.read_text()


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
async def test_every_version_has_files(world: World, tmp_path: Path, version: str) -> None:
    client = await world.join("old", version)
    async with await client.sessions.create(directories=[tmp_path.as_uri()]) as session:
        await session.files.write("a", "text")
        assert await session.files.read_text("a") == "text"
    assert await client.files.read_text(tmp_path / "a") == "text"


async def test_a_host_without_files_is_told_apart_from_a_missing_file() -> None:
    host = ScriptedHost()
    client = host.client()
    side = await host.welcome(client)
    try:
        listing = asyncio.create_task(client.files.list("/w"))
        side.refuse(await side.next("resourceList"), -32601)
        with pytest.raises(Unsupported, match="this host has no files"):
            await listing
    finally:
        await client.aclose()
