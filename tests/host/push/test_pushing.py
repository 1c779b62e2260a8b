"""From a page that subscribes to its browser, through a whole host: revoked, killed, restarted."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.host import Gate, Host, SqliteStore
from agenthost.host import host as host_module
from agenthost.host.push import watch as watch_module
from agenthost.host.trust import HostTokens, Principal
from agenthost.tokens import BOOK_FILE, Role, TokenBook
from tests.host.push.services import Browser, PushService
from tests.wire.client import WireClient, open_client
from tests.wire.hosting import embed, serve

Json = dict[str, Any]

OWNER_SECRET = "the-owners-token-of-this-test-host"
PAGE = {"name": "agenthost-page"}
S = "ahp-session:/pushed"
INVALID, NOT_FOUND = -32602, -32008
_POINT = Browser().subscription["keys"]["p256dh"]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_module, "DELAY_SECONDS", 0.05)
    monkeypatch.setattr(host_module, "TOKEN_CHECK_INTERVAL", 0.05)


class Site:
    """A host in a folder, its push service, and clients that come in by a secret."""

    def __init__(self, host: Host, url: str, book: TokenBook, service: PushService) -> None:
        self.host, self.url, self.book, self.service = host, url, book, service

    @asynccontextmanager
    async def client(
        self, secret: str = OWNER_SECRET, name: str = "page", **info: Any
    ) -> AsyncIterator[WireClient]:
        async with open_client(f"{self.url}/?tkn={secret}", name) as client:
            await client.initialize(clientInfo=PAGE, **info)
            yield client


@asynccontextmanager
async def opened(folder: Path, service: PushService | None = None) -> AsyncIterator[Site]:
    service = service or PushService()
    book = TokenBook(folder / BOOK_FILE)
    store = SqliteStore(folder / "store.sqlite")
    push_file = folder / "push.json"
    async with Host(store=store, push_file=push_file, push_connector=service.connect) as host:
        url = await host.listen(port=0, gate=Gate(HostTokens(OWNER_SECRET, book)))
        yield Site(host, url, book, service)


async def subscribe(client: WireClient, browser: Browser, **wanted: Any) -> None:
    params = {"kinds": ["needsInput", "failed"], "withText": False, **wanted}
    answer = await client.request(
        "agenthost/subscribePush", subscription=browser.subscription, **params
    )
    assert answer is None


async def show(client: WireClient, visible: bool) -> None:
    """Say that somebody looks at a client's window, or no more."""
    params = {"channel": "ahp-root://", "visible": visible}
    await client.send({"method": "agenthost/visible", "params": params})
    await client.ping()


async def ask(client: WireClient, session: str = S) -> tuple[str, Json]:
    """Start a turn that asks for an approval; return its chat, and the call that waits."""
    chat = await client.ready_session(session)
    await client.subscribe(chat)
    await client.start_turn(chat, "t1", "/run true")
    ready = await client.action(chat, "chat/toolCallReady")
    return chat, ready


async def approve(client: WireClient, chat: str, ready: Json) -> None:
    await client.accepted(
        chat,
        {
            "type": "chat/toolCallConfirmed",
            "turnId": "t1",
            "toolCallId": ready["toolCallId"],
            "approved": True,
            "confirmed": "user-action",
        },
    )


async def test_a_waiting_approval_reaches_the_browser_and_is_taken_back_when_answered(
    tmp_path: Path,
) -> None:
    browser = Browser()
    async with opened(tmp_path) as site, site.client() as page:
        await subscribe(page, browser, withText=True)
        chat, ready = await ask(page)
        [taken] = await site.service.until(1)
        told = browser.read(taken.body)
        assert (told["kind"], told["session"], told["chat"]) == ("needsInput", S, chat)
        assert told["text"]
        await approve(page, chat, ready)
        _, withdrawn = await site.service.until(2)
        assert browser.read(withdrawn.body) == {"kind": "withdraw", "session": S}
        assert withdrawn.headers["Topic"] == taken.headers["Topic"]


async def test_a_failed_turn_reaches_the_browser(tmp_path: Path) -> None:
    browser = Browser()
    async with opened(tmp_path) as site, site.client() as page:
        await subscribe(page, browser)
        chat = await page.ready_session(S)
        await page.subscribe(chat)
        await page.run_turn(chat, "t1", "/fail")
        [taken] = await site.service.until(1)
        assert browser.read(taken.body)["kind"] == "failed"


async def test_a_visible_window_of_the_same_token_keeps_it_quiet(tmp_path: Path) -> None:
    anas, bobs = Browser("https://push.example.org/ana"), Browser("https://push.example.org/bob")
    async with opened(tmp_path) as site, site.client() as owner:
        secret = site.book.create("bob", Role.VIEWER, expires=None, now=0.0).secret
        async with site.client(secret, "bobs") as bob:
            await subscribe(owner, anas)
            await subscribe(bob, bobs)
            await show(owner, True)
            await ask(owner)
            [taken] = await site.service.until(1)
            assert taken.first_line.startswith("POST /bob ")
            # Hidden again, the next one is told to both.
            await show(owner, False)
            await ask(owner, "ahp-session:/second")
            lines = {each.first_line for each in (await site.service.until(3))[1:]}
            assert lines == {"POST /ana HTTP/1.1", "POST /bob HTTP/1.1"}


async def test_a_window_that_was_visible_and_left_keeps_nothing_quiet(tmp_path: Path) -> None:
    async with opened(tmp_path) as site, site.client() as owner:
        await subscribe(owner, Browser())
        async with site.client(name="other") as other:
            await show(other, True)
        await ask(owner)
        await site.service.until(1)


async def test_a_revoked_token_takes_its_subscriptions_along(tmp_path: Path) -> None:
    async with opened(tmp_path) as site, site.client() as owner:
        made = site.book.create("phone", Role.OPERATOR, expires=None, now=0.0)
        async with site.client(made.secret, "phone") as phone:
            await subscribe(phone, Browser("https://push.example.org/phone"))
            await subscribe(owner, Browser("https://push.example.org/owner"))
            site.book.revoke("phone")
            assert (await phone.closed)[0] == 1008
        # A successor of the same name does not get them back.
        site.book.create("phone", Role.OPERATOR, expires=None, now=0.0)
        async with asyncio.timeout(60):
            while len(json.loads((tmp_path / "push.json").read_text())["subscriptions"]) > 1:
                await owner.ping()
        await ask(owner)
        [taken] = await site.service.until(1)
        assert taken.first_line.startswith("POST /owner ")


async def test_a_book_of_tokens_that_cannot_be_read_for_a_while_costs_no_subscription(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = Gate.still_valid

    def still_valid(self: Gate, principal: Principal, now: float) -> bool:
        asked.append(principal.name)
        return real(self, principal, now)

    monkeypatch.setattr(Gate, "still_valid", still_valid)
    async with opened(tmp_path) as site, site.client() as owner:
        made = site.book.create("phone", Role.OPERATOR, expires=None, now=0.0)
        async with site.client(made.secret, "phone") as phone:
            await subscribe(phone, Browser("https://push.example.org/phone"))
            (tmp_path / BOOK_FILE).chmod(0o644)
            assert (await phone.closed)[0] == 1008
        asked.clear()
        async with asyncio.timeout(60):
            while asked.count("owner") < 5:
                await owner.ping()
        await ask(owner)
        (tmp_path / BOOK_FILE).chmod(0o600)
        async with site.client(made.secret, "phone") as phone:
            await ask(phone, "ahp-session:/next")
            [taken] = await site.service.until(1)
            assert taken.first_line.startswith("POST /phone ")


async def test_tokens_are_withdrawn_though_the_subscriptions_cannot_be_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path) as site:
        one = site.book.create("one", Role.OPERATOR, expires=None, now=0.0)
        two = site.book.create("two", Role.OPERATOR, expires=None, now=0.0)
        async with site.client(one.secret, "one") as first, site.client(two.secret, "two") as next_:
            await subscribe(first, Browser())
            (tmp_path / "push.json").unlink()
            (tmp_path / "push.json").mkdir()
            site.book.revoke("one")
            assert (await first.closed)[0] == 1008
            async with asyncio.timeout(60):
                while "push.json" not in caplog.text:
                    await next_.ping()
            site.book.revoke("two")
            async with asyncio.timeout(60):
                assert (await next_.closed)[0] == 1008
    # Tried again and again, told once.
    assert caplog.text.count("push.json") == 1


async def test_what_is_not_wanted_any_more_is_not_pushed(tmp_path: Path) -> None:
    one, two = Browser("https://push.example.org/one"), Browser("https://push.example.org/two")
    async with opened(tmp_path) as site, site.client() as owner:
        await subscribe(owner, one)
        await subscribe(owner, two)
        await owner.request("agenthost/unsubscribePush", endpoint=one.endpoint)
        await owner.request("agenthost/unsubscribePush", endpoint="https://unknown.example.org/")
        await ask(owner)
        [taken] = await site.service.until(1)
        assert taken.first_line.startswith("POST /two ")


async def test_a_browser_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    async with opened(tmp_path) as site, site.client() as owner:
        site.service.answers = [b"HTTP/1.1 410 Gone\r\n\r\n"]
        await subscribe(owner, Browser())
        await ask(owner)
        async with asyncio.timeout(60):
            while site.host.core.push_book.subscriptions:
                await owner.ping()
        assert not json.loads((tmp_path / "push.json").read_text())["subscriptions"]


async def test_a_host_that_starts_again_pushes_to_the_same_browsers(tmp_path: Path) -> None:
    browser = Browser()
    service = PushService()
    async with opened(tmp_path, service) as site, site.client() as page:
        await subscribe(page, browser)
        await ask(page)
        await service.until(1)
    async with opened(tmp_path, service) as site, site.client() as page:
        assert len(site.host.core.push_book.subscriptions) == 1
        await ask(page, "ahp-session:/next")
        async with asyncio.timeout(60):
            told: list[Json] = []
            while not any(each["session"] == "ahp-session:/next" for each in told):
                await service.until(len(told) + 1)
                told = [browser.read(each.body) for each in service.taken]


async def test_turns_that_a_crash_ended_are_told_of_when_the_host_is_back(tmp_path: Path) -> None:
    browser, service = Browser(), PushService()
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    async with opened(before) as site, site.client() as page:
        await subscribe(page, browser)
        chat, _ = await ask(page)
        await site.service.until(1)
        # What a crash at this moment would leave.
        shutil.copytree(before, after)
    async with opened(after, service):
        [taken] = await service.until(1)
        told = browser.read(taken.body)
        assert (told["kind"], told["session"], told["chat"]) == ("failed", S, chat)


async def test_a_killed_host_keeps_its_key_and_its_subscriptions(tmp_path: Path) -> None:
    async with serve(tmp_path / "data") as host:
        async with open_client(host.url) as page:
            told = await page.initialize(clientInfo=PAGE)
            await subscribe(page, Browser())
        before = json.loads((host.data_dir / "push.json").read_text())
        assert told["_meta"]["agenthost/push"] == before["vapid"]["public"]
        await host.kill()
        await host.start()
        async with open_client(host.url, "again") as page:
            again = await page.initialize(clientInfo=PAGE)
            assert again["_meta"]["agenthost/push"] == told["_meta"]["agenthost/push"]
        after = json.loads((host.data_dir / "push.json").read_text())
        assert after == before
        assert len(after["subscriptions"]) == 1


async def test_only_a_page_makes_the_host_have_a_key_and_then_all_are_told(tmp_path: Path) -> None:
    async with opened(tmp_path) as site:
        async with open_client(f"{site.url}/?tkn={OWNER_SECRET}", "cli") as client:
            assert "agenthost/push" not in (await client.initialize())["_meta"]
        assert not (tmp_path / "push.json").exists()
        async with open_client(f"{site.url}/?tkn={OWNER_SECRET}", "page") as client:
            key = (await client.initialize(clientInfo=PAGE))["_meta"]["agenthost/push"]
        async with open_client(f"{site.url}/?tkn={OWNER_SECRET}", "cli") as client:
            await client.reconnect(0, "ahp-root://")
            assert (await client.request("agenthost/about"))["push"] == key


async def test_a_host_that_keeps_nothing_pushes_nothing() -> None:
    async with embed() as url, open_client(url) as client:
        assert "agenthost/push" not in (await client.initialize(clientInfo=PAGE))["_meta"]
        refused = await client.refusal(
            "agenthost/subscribePush",
            subscription=Browser().subscription,
            kinds=[],
            withText=False,
        )
        assert (refused.code, refused.message) == (NOT_FOUND, "this host pushes nothing")


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"endpoint": "http://push.example.org/"}, "subscription.endpoint"),
        ({"endpoint": "https://127.0.0.1/"}, "subscription.endpoint"),
        ({"endpoint": "https://localhost/"}, "subscription.endpoint"),
        ({"endpoint": "https://[::1]/"}, "subscription.endpoint"),
        ({"endpoint": "https://push.example.org:8765/"}, "subscription.endpoint"),
        ({"keys": {"p256dh": "BA", "auth": "x" * 22}}, "subscription.keys"),
        ({"keys": {"p256dh": "BA"}}, "subscription.keys.auth"),
        # Of the right length, among much that means nothing and would be kept along with it.
        ({"keys": {"p256dh": _POINT + "~" * 100_000, "auth": "x" * 22}}, "subscription.keys"),
        ({"keys": {"p256dh": _POINT, "auth": "x" * 22 + "~" * 100_000}}, "subscription.keys"),
        ({"keys": 7}, "subscription.keys"),
    ],
)
async def test_what_cannot_be_pushed_to_is_refused_by_its_field(
    tmp_path: Path, changes: Json, path: str
) -> None:
    async with opened(tmp_path) as site, site.client() as client:
        refused = await client.refusal(
            "agenthost/subscribePush",
            subscription={**Browser().subscription, **changes},
            kinds=["needsInput"],
            withText=False,
        )
        assert (refused.code, refused.data) == (INVALID, {"path": path})
        assert not site.host.core.push_book.subscriptions


async def test_no_log_has_what_would_let_others_push_or_read(tmp_path: Path) -> None:
    log = tmp_path / "wire.log"
    browser = Browser("https://push.example.org/secret-place")
    async with (
        embed(wire_log=log, push_file=tmp_path / "push.json") as url,
        open_client(url) as client,
    ):
        await client.initialize(clientInfo=PAGE)
        await subscribe(client, browser)
        await client.request("agenthost/unsubscribePush", endpoint=browser.endpoint)
    text = log.read_text()
    assert "agenthost/subscribePush" in text
    keys = browser.subscription["keys"]
    for secret in ("secret-place", keys["p256dh"], keys["auth"]):
        assert secret not in text
