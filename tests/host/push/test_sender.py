"""What goes to a push service, where it may go, and what comes of every sort of answer."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import subprocess
import sys
import threading
import time
from base64 import urlsafe_b64decode
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs
from py_vapid import Vapid02  # type: ignore[import-untyped]

from agenthost.clock import SystemClock
from agenthost.host.push import sender as sender_module
from agenthost.host.push.book import PushSubscription
from agenthost.host.push.keys import BadKey, check_browser_keys, new_keys
from agenthost.host.push.sender import (
    AT_ONCE,
    FOR_ONE,
    BadEndpoint,
    Delivery,
    PushNote,
    PushSender,
    connect_publicly,
    is_public,
    place_of,
)
from tests.host.push.services import Browser, PushService

KEYS = new_keys()
NOTE = PushNote(b'{"kind":"needsInput","session":"s:/1"}', "topic-1", "high")
OK = b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"


class Waits(SystemClock):
    """Notes how long somebody wants to sleep, and does not."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.asked.append(seconds)
        await asyncio.sleep(0)


def subscribed(browser: Browser) -> PushSubscription:
    told = browser.subscription
    keys = told["keys"]
    return PushSubscription(
        "ana", None, told["endpoint"], keys["p256dh"], keys["auth"], ("needsInput",), False
    )


async def send(service: PushService, clock: Waits | None = None) -> Delivery:
    sender = PushSender(clock or Waits(), service.connect)
    return await sender.send(KEYS, subscribed(Browser()), NOTE)


async def test_a_message_is_signed_encrypted_and_can_be_read_by_its_browser_alone() -> None:
    service, browser = PushService(), Browser("https://push.example.org/send/abc?x=1")
    sender = PushSender(Waits(), service.connect)
    assert await sender.send(KEYS, subscribed(browser), NOTE) is Delivery.SENT
    taken = service.taken[0]
    assert service.asked == [("push.example.org", 443)]
    assert taken.first_line == "POST /send/abc?x=1 HTTP/1.1"
    assert browser.read(taken.body) == json.loads(NOTE.body)
    assert NOTE.body not in taken.body
    assert (
        taken.headers
        | {
            "Host": "push.example.org",
            "Content-Encoding": "aes128gcm",
            "Topic": "topic-1",
            "Urgency": "high",
            "Connection": "close",
        }
        == taken.headers
    )
    assert 0 < int(taken.headers["TTL"]) <= 28 * 24 * 3600
    assert Vapid02.verify(taken.headers["Authorization"])
    fields = dict(part.split("=", 1) for part in taken.headers["Authorization"][6:].split(","))
    assert fields["k"] == KEYS.public
    payload = fields["t"].split(".")[1]
    claims = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    assert claims["aud"] == "https://push.example.org"
    assert 0 < claims["exp"] - time.time() < 24 * 3600
    assert claims["sub"].startswith("mailto:")
    with pytest.raises(Exception, match=r".*"):
        Browser().read(taken.body)


def test_no_other_http_library_is_loaded_for_it() -> None:
    script = (
        "import sys; from agenthost.host.push import keys, sender; "
        "assert 'cryptography' not in sys.modules; k = keys.new_keys(); "
        "keys.authorization(k, 'https://a.b', 0); keys.sealed(b'x', k.public, 'A' * 22); "
        "assert not {'aiohttp', 'requests', 'urllib3'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


@pytest.mark.parametrize(
    ("answer", "outcome", "tries"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", Delivery.SENT, 1),
        (b"HTTP/1.1 202 Accepted\r\n\r\n", Delivery.SENT, 1),
        (b"HTTP/1.1 404 Not Found\r\n\r\n", Delivery.GONE, 1),
        (b"HTTP/1.1 410 Gone\r\n\r\n", Delivery.GONE, 1),
        (b"HTTP/1.1 400 Bad\r\n\r\n", Delivery.FAILED, 1),
        (b"HTTP/1.1 403 No\r\n\r\n", Delivery.FAILED, 1),
        (b"HTTP/1.1 413 Too Large\r\n\r\n", Delivery.FAILED, 1),
        # Nobody is followed anywhere.
        (b"HTTP/1.1 307 Go\r\nLocation: https://10.0.0.1/\r\n\r\n", Delivery.FAILED, 1),
        (b"HTTP/1.1 301 Go\r\nLocation: http://localhost/\r\n\r\n", Delivery.FAILED, 1),
        (b"HTTP/1.1 500 Oops\r\n\r\n", Delivery.FAILED, 3),
        (b"HTTP/1.1 429 Busy\r\n\r\n", Delivery.FAILED, 3),
        (b"", Delivery.FAILED, 3),
        (b"SSH-2.0-OpenSSH\r\n", Delivery.FAILED, 3),
        (b"HTTP/1.1 \r\n\r\n", Delivery.FAILED, 3),
        (b"HTTP/1.1 2x1 x\r\n\r\n", Delivery.FAILED, 3),
        (b"\xff" * 100, Delivery.FAILED, 3),
    ],
)
async def test_what_a_service_answers_decides(answer: bytes, outcome: Delivery, tries: int) -> None:
    service = PushService()
    service.answers = [answer]
    assert await send(service) is outcome
    assert len(service.taken) == tries


async def test_a_busy_service_is_asked_again_when_it_wants_to_be() -> None:
    service, clock = PushService(), Waits()
    service.answers = [
        b"HTTP/1.1 429 Busy\r\nretry-after: 7\r\n\r\n",
        b"HTTP/1.1 503 Busy\r\nRetry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n\r\n",
        OK,
    ]
    assert await send(service, clock) is Delivery.SENT
    assert clock.asked == [7.0, 15.0]


@pytest.mark.parametrize("after", ["61", "999999999", "86400"])
async def test_one_that_wants_to_be_asked_much_later_is_not(after: str) -> None:
    service = PushService()
    service.answers = [f"HTTP/1.1 503 Busy\r\nRetry-After: {after}\r\n\r\n".encode()]
    assert await send(service) is Delivery.FAILED
    assert len(service.taken) == 1


async def test_what_nobody_needs_any_more_is_not_tried_again() -> None:
    service = PushService()
    service.answers = [b"HTTP/1.1 503 Busy\r\n\r\n"]
    sender = PushSender(Waits(), service.connect)
    still = iter([True, False])
    outcome = await sender.send(KEYS, subscribed(Browser()), NOTE, lambda: next(still))
    assert outcome is Delivery.FAILED
    assert len(service.taken) == 1


def silent(connection: socket.socket) -> None:
    connection.recv(1)


def dripping(connection: socket.socket) -> None:
    try:
        for byte in b"HTTP/1.1 201 Created" + b"." * 100_000:
            connection.sendall(bytes([byte]))
            time.sleep(0.02)
    except OSError:
        return


def endless(connection: socket.socket) -> None:
    sent = 0
    try:
        while sent < 50_000_000:
            connection.sendall(b"x" * 65536)
            sent += 65536
    except OSError:
        return
    raise AssertionError("all of it was read")


@pytest.mark.parametrize("behaviour", [silent, dripping, endless])
async def test_a_service_that_answers_slowly_endlessly_or_not_at_all_is_left(
    monkeypatch: pytest.MonkeyPatch, behaviour: Callable[[socket.socket], None]
) -> None:
    monkeypatch.setattr(sender_module, "SECONDS", 0.3)
    service = PushService()
    service.misbehave = behaviour
    async with asyncio.timeout(60):
        assert await send(service) is Delivery.FAILED
    assert len(service.asked) == 3


async def test_services_that_take_long_keep_nobody_elses_messages_back() -> None:
    slow, quick, release = PushService(), PushService(), threading.Event()

    def take_long(connection: socket.socket) -> None:
        release.wait(60)

    slow.misbehave = take_long

    def connect(host: str, port: int, deadline: float) -> socket.socket:
        return (slow if host.startswith("slow") else quick).connect(host, port, deadline)

    sender = PushSender(Waits(), connect)
    hers = replace(subscribed(Browser("https://slow.example.org/x")), name="mallory")
    notes = [structs.replace(NOTE, topic=f"topic-{number}") for number in range(16)]
    sends = [asyncio.create_task(sender.send(KEYS, hers, note)) for note in notes]
    try:
        await slow.until(FOR_ONE)
        async with asyncio.timeout(60):
            assert await sender.send(KEYS, subscribed(Browser()), NOTE) is Delivery.SENT
    finally:
        release.set()
        await asyncio.gather(*sends)


async def test_what_takes_a_message_back_waits_until_that_has_come_in() -> None:
    service, release = PushService(), threading.Event()

    def answer_late(connection: socket.socket) -> None:
        release.wait(60)
        connection.sendall(OK)

    service.misbehave = answer_late
    sender, browser = PushSender(Waits(), service.connect), Browser()
    back, other = (
        structs.replace(NOTE, body=b'{"kind":"withdraw"}'),
        structs.replace(NOTE, topic="topic-2"),
    )
    to = subscribed(browser)
    sends = [asyncio.create_task(sender.send(KEYS, to, note)) for note in (NOTE, back, other)]
    # Nobody waits for what is of another topic.
    assert {each.headers["Topic"] for each in await service.until(2)} == {"topic-1", "topic-2"}
    release.set()
    assert set(await asyncio.gather(*sends)) == {Delivery.SENT}
    assert [browser.read(each.body)["kind"] for each in service.taken][2] == "withdraw"


async def test_few_messages_are_under_way_at_once() -> None:
    service, release = PushService(), threading.Event()
    under_way: list[int] = []
    now = [0]
    lock = threading.Lock()

    def wait(connection: socket.socket) -> None:
        with lock:
            now[0] += 1
            under_way.append(now[0])
        release.wait(60)
        with lock:
            now[0] -= 1
        connection.sendall(OK)

    service.misbehave = wait
    sender = PushSender(Waits(), service.connect)
    browsers = [Browser(f"https://push.example.org/{number}") for number in range(12)]
    to = [replace(subscribed(each), name=each.endpoint) for each in browsers]
    sends = [asyncio.create_task(sender.send(KEYS, each, NOTE)) for each in to]
    await service.until(AT_ONCE)
    release.set()
    assert set(await asyncio.gather(*sends)) == {Delivery.SENT}
    assert max(under_way) <= AT_ONCE


# Where a service may be


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://push.example.org/x",
        "ws://push.example.org/x",
        "file:///etc/passwd",
        "https://localhost/x",
        "https://127.0.0.1/x",
        "https://2130706433/x",
        "https://0x7f.1/x",
        "https://127.1/x",
        "https://[::1]/x",
        "https://[fd00::1]/x",
        "https://10.0.0.1/x",
        "https://user:word@push.example.org/x",
        "https://push.example.org:8443/x",
        "https://push.example.org:22/x",
        "https://push.example.org:x/",
        "https://push_x.example.org/",
        "https://.example.org/",
        "https://push.example.org /x",
        "https://push.example.org/x\r\nHost: y",
        "https://push.example.org/x y",
        "https://püsh.example.org/",
        "https:///x",
        "https://[/x",
        "",
        "https://push.example.org/" + "x" * 2000,
    ],
)
def test_what_is_no_address_of_a_push_service_is_refused(endpoint: str) -> None:
    with pytest.raises(BadEndpoint):
        place_of(endpoint)


@pytest.mark.parametrize(
    ("endpoint", "place"),
    [
        ("https://fcm.googleapis.com/fcm/send/a:b", ("fcm.googleapis.com", "/fcm/send/a:b")),
        ("https://WEB.push.apple.com/Q", ("web.push.apple.com", "/Q")),
        ("https://wns2.notify.windows.com/w/?t=B%2f", ("wns2.notify.windows.com", "/w/?t=B%2f")),
        ("https://updates.push.services.mozilla.com:443/wpush/v2/g", (
            "updates.push.services.mozilla.com", "/wpush/v2/g")),
        ("https://push.example.org#x", ("push.example.org", "/")),
    ],
)  # fmt: skip
def test_the_services_of_browsers_are_where_they_say(endpoint: str, place: tuple[str, str]) -> None:
    assert place_of(endpoint) == place


NOT_PUBLIC = [
    "127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254",
    "100.64.0.1", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
    "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
    "::", "::1", "fd00::1", "fc00::1", "fe80::1", "fe80::1%eth0", "ff02::1", "2001:db8::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1", "2002:7f00:1::",
    "2002:a00:1::1", "2001:0:1234::1", "::127.0.0.1", "100::1", "name", "",
    # What some versions of Python take for public.
    "fec0::1", "feff::1", "3fff::1", "64:ff9b:1::a00:1", "192.0.0.8", "192.88.99.1",
]  # fmt: skip


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_addresses_that_mean_something_here_are_not_connected_to(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    assert not is_public(address)
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("it was connected to"))
    with pytest.raises(OSError, match="no public address"):
        connect_publicly("rebound.example.org", 443, time.monotonic() + 5)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "142.250.1.95", "2a00:1450::5f", "64:ff9b::808:808"]
)
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(address)


def test_a_name_is_looked_up_once_and_its_public_address_is_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[str] = []
    tried: list[Any] = []

    def look_up(host: str, port: int, **_: Any) -> list[Any]:
        looks.append(host)
        # A second look would find this machine.
        address = "8.8.8.8" if len(looks) == 1 else "127.0.0.1"
        inside = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.1", port))
        return [inside, (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    def connect(_: socket.socket, address: Any) -> None:
        tried.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(socket.socket, "connect", connect)
    with pytest.raises(ConnectionRefusedError):
        connect_publicly("push.example.org", 443, time.monotonic() + 5)
    assert (looks, tried) == (["push.example.org"], [("8.8.8.8", 443)])


def test_an_address_that_cannot_be_reached_leaves_the_next_one_and_time_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    addresses = [("2a00:1450::1", 443, 0, 0), ("10.0.0.1", 443), ("8.8.8.8", 443), ("9.9.9.9", 443)]
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", each) for each in addresses]
    tried: list[tuple[str, float | None]] = []

    def connect(plain: socket.socket, address: Any) -> None:
        tried.append((address[0], plain.gettimeout()))
        if len(tried) == 1:
            raise TimeoutError
        if len(tried) == 2:
            raise OSError("no route")

    def wrap(_: ssl.SSLContext, plain: socket.socket, server_hostname: str) -> socket.socket:
        return plain

    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(ssl.SSLContext, "wrap_socket", wrap)
    with connect_publicly("push.example.org", 443, time.monotonic() + 9):
        assert [address for address, _ in tried] == ["2a00:1450::1", "8.8.8.8", "9.9.9.9"]
    first = tried[0][1]
    assert first is not None
    assert 0 < first <= 3


def test_what_came_too_late_is_not_begun() -> None:
    with pytest.raises(OSError, match=r".*"):
        connect_publicly("localhost", 443, time.monotonic() - 1)


# Keys


@pytest.mark.parametrize(
    ("p256dh", "auth"),
    [
        ("", "x" * 22),
        ("BAAA", "x" * 22),
        ("B" + "A" * 86, "x" * 22),
        ("!" * 87, "x" * 22),
        (None, "AAAA"),
        (None, "x" * 23),
        (None, ""),
        (None, "é" * 22),
    ],
)
def test_keys_that_nothing_can_be_encrypted_with_are_refused(p256dh: str | None, auth: str) -> None:
    good = Browser().subscription["keys"]["p256dh"]
    with pytest.raises(BadKey):
        check_browser_keys(p256dh if p256dh is not None else good, auth)


def test_the_keys_of_a_browser_are_good() -> None:
    keys = Browser().subscription["keys"]
    check_browser_keys(keys["p256dh"], keys["auth"])


async def test_keys_that_a_file_got_wrong_cost_nothing_but_the_message() -> None:
    service = PushService()
    broken = PushSubscription("a", None, "https://push.example.org/x", "BAAA", "x", (), False)
    assert await PushSender(Waits(), service.connect).send(KEYS, broken, NOTE) is Delivery.FAILED
    assert not service.asked
