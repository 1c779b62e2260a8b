"""The file of subscriptions: what is told is kept, for its owner alone, within bounds."""

from __future__ import annotations

import asyncio
import json
import stat
import threading
from pathlib import Path

import pytest

from agenthost.errors import Conflict, InternalError, NotFound
from agenthost.host.push import book as book_module
from agenthost.host.push.book import MOST_PER_HOST, MOST_PER_TOKEN, PushBook, PushSubscription


def subscription(endpoint: str = "https://p.example/1", name: str = "ana") -> PushSubscription:
    return PushSubscription(name, "digest", endpoint, "key", "auth", ("needsInput", "failed"), True)


def opened(path: Path | None) -> PushBook:
    book = PushBook(path)
    book.open()
    return book


async def test_a_new_book_has_no_key_until_somebody_asks_and_then_always_the_same(
    tmp_path: Path,
) -> None:
    path = tmp_path / "data" / "push.json"
    book = opened(path)
    assert book.keys is None
    assert not path.exists()
    first, second = await asyncio.gather(book.public_key(), book.public_key())
    assert first == second is not None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert await opened(path).public_key() == first
    assert len(str(first)) == 87


async def test_what_was_added_is_there_after_a_restart_and_what_was_removed_is_not(
    tmp_path: Path,
) -> None:
    path = tmp_path / "push.json"
    book = opened(path)
    for number in range(3):
        await book.add(subscription(f"https://p.example/{number}"))
    await book.remove("https://p.example/1")
    assert opened(path).subscriptions == book.subscriptions
    assert [each.endpoint[-1] for each in book.subscriptions] == ["0", "2"]


async def test_a_browser_has_one_subscription_whoever_it_belongs_to(tmp_path: Path) -> None:
    book = opened(tmp_path / "push.json")
    await book.add(subscription())
    await book.add(subscription(name="bob"))
    assert [each.name for each in book.subscriptions] == ["bob"]


async def test_only_its_own_token_takes_a_subscription_back(tmp_path: Path) -> None:
    book = opened(tmp_path / "push.json")
    await book.add(subscription())
    await book.remove("https://p.example/1", name="bob")
    assert len(book.subscriptions) == 1
    await book.remove("https://p.example/1", name="ana")
    assert not book.subscriptions


async def test_the_oldest_of_a_token_makes_room_and_others_stay(tmp_path: Path) -> None:
    book = opened(tmp_path / "push.json")
    await book.add(subscription("https://p.example/bob", "bob"))
    for number in range(MOST_PER_TOKEN + 2):
        await book.add(subscription(f"https://p.example/{number}"))
    kept = [each.endpoint.rpartition("/")[2] for each in book.subscriptions]
    assert kept == ["bob", *map(str, range(2, MOST_PER_TOKEN + 2))]


async def test_a_host_has_so_many_and_not_one_more(tmp_path: Path) -> None:
    book = opened(tmp_path / "push.json")
    for number in range(MOST_PER_HOST):
        await book.add(subscription(f"https://p.example/{number}", f"n{number // 10}"))
    with pytest.raises(Conflict):
        await book.add(subscription("https://p.example/more", "more"))
    # The same browser again is none more.
    await book.add(subscription("https://p.example/5", "n0"))
    assert len(book.subscriptions) == MOST_PER_HOST


async def test_what_does_not_count_any_more_goes(tmp_path: Path) -> None:
    path = tmp_path / "push.json"
    book = opened(path)
    await book.add(subscription("https://p.example/1", "ana"))
    await book.add(subscription("https://p.example/2", "bob"))
    await book.prune(lambda each: each.name == "bob")
    assert [each.name for each in opened(path).subscriptions] == ["bob"]
    before = path.stat().st_mtime_ns
    await book.prune(lambda each: True)
    assert path.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b"{}",
        b'{"format":2,"vapid":{"private":"a","public":"b"},"subscriptions":[]}',
        b'{"format":1,"vapid":{"private":1,"public":"b"},"subscriptions":[]}',
        b'{"format":1,"vapid":{"private":"a","public":"b"},"subscriptions":[{}]}',
        b'{"format":1,"vapid":{"private":"a","public":"b"},"subscriptions":[{"name":1,'
        b'"credential":null,"endpoint":"e","p256dh":"p","auth":"a","kinds":[],"with_text":true}]}',
        b"\xff",
        b"[" * 100_000,
    ],
)
async def test_a_damaged_file_is_left_alone_and_nothing_is_pushed(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "push.json"
    path.write_bytes(content)
    path.chmod(0o600)
    book = opened(path)
    assert "nothing is pushed" in caplog.text
    assert await book.public_key() is None
    with pytest.raises(NotFound):
        await book.add(subscription())
    assert path.read_bytes() == content


async def test_a_file_that_others_can_read_is_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "push.json"
    await opened(path).public_key()
    path.chmod(0o644)
    assert opened(path).keys is None
    assert "nothing is pushed" in caplog.text


async def test_what_cannot_be_written_is_not_told_as_kept(tmp_path: Path) -> None:
    path = tmp_path / "push.json"
    book = opened(path)
    await book.add(subscription())
    path.unlink()
    path.mkdir()
    with pytest.raises(InternalError):
        await book.add(subscription("https://p.example/2"))
    assert [each.endpoint for each in book.subscriptions] == ["https://p.example/1"]


async def test_without_a_place_to_keep_them_there_are_none() -> None:
    book = opened(None)
    assert await book.public_key() is None
    with pytest.raises(NotFound):
        await book.add(subscription())
    await book.remove("https://p.example/1")


async def test_no_secret_is_shown_when_one_is_printed(tmp_path: Path) -> None:
    book = opened(tmp_path / "push.json")
    await book.add(subscription())
    shown = repr(book.keys) + repr(book.subscriptions)
    document = json.loads((tmp_path / "push.json").read_text())
    for secret in (document["vapid"]["private"], "https://p.example", "digest", "'auth'"):
        assert secret not in shown


async def test_the_file_has_what_is_told_though_somebody_left_while_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real = tmp_path / "push.json", book_module._write
    book = opened(path)
    await book.public_key()
    begun, go_on, written = threading.Event(), threading.Event(), threading.Semaphore(0)

    def write(path: Path, data: bytes) -> None:
        if not begun.is_set():
            begun.set()
            go_on.wait(60)
        real(path, data)
        written.release()

    monkeypatch.setattr(book_module, "_write", write)
    left = asyncio.create_task(book.add(subscription("https://p.example/1")))
    await asyncio.to_thread(begun.wait, 20)
    left.cancel()
    stays = asyncio.create_task(book.add(subscription("https://p.example/2")))
    # Long enough for whoever would not wait.
    await asyncio.wait([stays], timeout=0.2)
    go_on.set()
    await stays
    for _ in range(2):
        assert await asyncio.to_thread(written.acquire, timeout=60)
    assert "https://p.example/2" in {each.endpoint for each in book.subscriptions}
    assert opened(path).subscriptions == book.subscriptions
    await asyncio.gather(left, return_exceptions=True)
