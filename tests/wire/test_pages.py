"""The plain pages beside the WebSocket: what this is, whether it lives, how it does."""

from __future__ import annotations

import base64
import gzip
import re
from datetime import UTC
from email.utils import parsedate_to_datetime

import pytest

from agenthost.host.http.assets import STATIC
from tests.host.transports.raw import Response, open_raw, upgrade_head
from tests.wire.client import open_client
from tests.wire.hosting import ServedHost

built = pytest.mark.skipif(
    not (STATIC / "index.html").exists(), reason="the web page is not built: make web"
)
pytestmark = pytest.mark.asyncio(loop_scope="module")

SAMPLE = re.compile(
    r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)"
    r'(?:\{(?P<labels>[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*"(?:,[a-zA-Z_]\w*="[^"\n]*")*)\})?'
    r" (?P<value>[0-9.eE+-]+)"
)


async def fetch(host: ServedHost, path: str, method: str = "GET", **headers: str) -> Response:
    fields = {"Host": host.address, **headers}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    async with open_raw(int(host.address.rpartition(":")[2])) as raw:
        raw.send("\r\n".join((*lines, "", "")).encode())
        return await raw.response()


def parsed(text: str) -> dict[str, float]:
    """Read Prometheus' text format: name and labels to value; each sample has help and a type."""
    types: dict[str, str] = {}
    helped: set[str] = set()
    samples: dict[str, float] = {}
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            helped.add(line.split(" ", 3)[2])
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert kind in ("gauge", "counter")
            types[name] = kind
        else:
            sample = SAMPLE.fullmatch(line)
            assert sample is not None, line
            assert sample["name"] in types.keys() & helped
            assert types[sample["name"]] == "gauge" or sample["name"].endswith("_total")
            key = line.rpartition(" ")[0]
            assert key not in samples
            samples[key] = float(sample["value"])
    return samples


@built
async def test_the_web_page_is_shown_at_all_its_places(shared_host: ServedHost) -> None:
    page = await fetch(shared_host, "/")
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert page.headers["cache-control"] == "no-cache"
    assert b"<script" in page.body
    assert shared_host.token.encode() not in page.body
    places = ("/new", "/s/abc", "/s/~YQ/c/~Yg/t/1?panel=files", "/automations", "/settings/access")
    for path in (*places, "/inspect", f"/?tkn={shared_host.token}"):
        assert (await fetch(shared_host, path)).body == page.body, path


@built
async def test_all_that_the_page_names_is_there_packed_and_for_ever(
    shared_host: ServedHost,
) -> None:
    page = (await fetch(shared_host, "/")).body.decode()
    named = re.findall(r'(?:src|href)="(/[^"]+)"', page)
    assert any(path.startswith("/assets/") for path in named)
    for path in named:
        whole = await fetch(shared_host, path)
        assert whole.status == 200, path
        if path.startswith("/assets/"):
            assert whole.headers["cache-control"] == "public, max-age=31536000, immutable"
        packed = await fetch(shared_host, path, **{"Accept-Encoding": "gzip, deflate"})
        if "content-encoding" in packed.headers:
            assert gzip.decompress(packed.body) == whole.body


@built
async def test_a_page_that_has_not_changed_is_not_sent_again(shared_host: ServedHost) -> None:
    page = await fetch(shared_host, "/")
    again = await fetch(shared_host, "/", **{"If-None-Match": page.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    assert "content-length" not in again.headers
    assert again.headers["etag"] == page.headers["etag"]
    assert again.headers["content-security-policy"] == page.headers["content-security-policy"]


@built
async def test_the_page_may_load_only_itself_and_stands_in_no_frame(
    shared_host: ServedHost,
) -> None:
    page = await fetch(shared_host, "/")
    script = re.search(r'src="(/assets/[^"]+)"', page.body.decode())
    assert script is not None
    for answer in (page, await fetch(shared_host, script[1])):
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
        assert "frame-ancestors 'none'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


async def test_a_host_header_cannot_write_into_the_front_page(shared_host: ServedHost) -> None:
    page = await fetch(shared_host, "/", Host='"><script>alert(1)</script>')
    assert b"alert(1)" not in page.body.replace(b"&gt;", b">").partition(b"<body")[0]
    assert b"<script>" not in page.body


@pytest.mark.parametrize("path", ["/assets/none.js", "/assets/../token", "/assets//etc/passwd"])
async def test_a_file_that_the_page_does_not_have_is_not_there(
    shared_host: ServedHost, path: str
) -> None:
    assert (await fetch(shared_host, path)).status == 404


async def test_what_the_build_keeps_for_itself_is_not_served(shared_host: ServedHost) -> None:
    for path in ("/.build", "/.vite/manifest.json"):
        assert (await fetch(shared_host, path)).status == 401, path


async def test_a_browser_gives_its_token_as_a_subprotocol(shared_host: ServedHost) -> None:
    offered = base64.urlsafe_b64encode(shared_host.token.encode()).decode().rstrip("=")
    port = int(shared_host.address.rpartition(":")[2])
    origin = f"http://{shared_host.address}"
    for token, status in ((offered, 101), ("AAAA", 401), ("!", 401)):
        async with open_raw(port) as raw:
            names = {"Host": shared_host.address, "Origin": origin}
            protocols = {"Sec-WebSocket-Protocol": f"ahp, tkn.{token}"}
            raw.send(upgrade_head(**names, **protocols))
            answer = await raw.response()
        assert answer.status == status, token
        if status == 101:
            assert answer.headers["sec-websocket-protocol"] == "ahp"


async def test_health_is_told_to_everyone(shared_host: ServedHost) -> None:
    for headers in ({}, {"Origin": "https://elsewhere.example"}):
        health = await fetch(shared_host, "/healthz", **headers)
        assert (health.status, health.body) == (200, b"ok\n")


async def test_metrics_need_the_token(shared_host: ServedHost) -> None:
    bare = await fetch(shared_host, "/metrics")
    wrong = await fetch(shared_host, "/metrics?tkn=wrong")
    assert (bare.status, wrong.status) == (401, 401)
    assert bare.headers["www-authenticate"].startswith("bearer")
    bearer = {"Authorization": f"Bearer {shared_host.token}"}
    foreign = await fetch(shared_host, "/metrics", **bearer, Origin="https://elsewhere.example")
    assert foreign.status == 403
    for path, headers in (("/metrics", bearer), (f"/metrics?tkn={shared_host.token}", {})):
        assert (await fetch(shared_host, path, **headers)).status == 200


async def test_a_page_that_may_not_connect_is_told_so_when_it_asks_why(
    shared_host: ServedHost,
) -> None:
    # Browsers leave out Origin where a page asks the host that it came from.
    port = shared_host.address.rpartition(":")[2]
    asking = {"Authorization": f"Bearer {shared_host.token}", "Host": f"box.example:{port}"}
    told = await fetch(
        shared_host, "/metrics", **asking, **{"Agenthost-Origin": f"http://box.example:{port}"}
    )
    assert told.status == 403
    assert b"--allow-origin" in told.body
    own = {"Agenthost-Origin": f"http://{shared_host.address}"}
    del asking["Host"]
    assert (await fetch(shared_host, "/metrics", **asking, **own)).status == 200
    # It cannot speak for a page that the browser names.
    foreign = await fetch(
        shared_host, "/metrics", **asking, **own, Origin="https://elsewhere.example"
    )
    assert foreign.status == 403


async def test_metrics_are_in_prometheus_format_and_count(shared_host: ServedHost) -> None:
    path = f"/metrics?tkn={shared_host.token}"
    page = await fetch(shared_host, path)
    assert page.headers["content-type"].startswith("text/plain; version=0.0.4")
    before = parsed(page.body.decode())
    assert before["agenthost_connections"] == 0
    async with open_client(shared_host.url, "counted") as client:
        await client.initialize("ahp-root://")
        chat = await client.ready_session("ahp-session:/counted")
        await client.subscribe(chat)
        await client.run_turn(chat, "t1", "hello")
        assert await client.rejected(chat, {"type": "chat/delta"})
        assert await client.rejected(chat, {"type": "chat/truncated", "turnId": "none"})
        await client.exchange("garbage")
        for _ in range(3):
            await client.ping()
        after = parsed((await fetch(shared_host, path)).body.decode())
    assert after["agenthost_connections"] == 1
    assert after['agenthost_requests_total{method="ping"}'] == 3
    assert after['agenthost_requests_total{method="createSession"}'] == 1

    def grown(name: str) -> float:
        return after[name] - before[name]

    assert grown("agenthost_sessions") == 1
    assert grown("agenthost_actions_dispatched_total") == 3
    assert grown("agenthost_actions_rejected_total") == 2
    assert grown("agenthost_protocol_violations_total") == 1
    assert grown("agenthost_messages_received_total") == len(client.sent) + 1
    assert grown("agenthost_server_seq") > 5


async def test_other_paths_are_told_apart_only_by_who_has_the_token(
    shared_host: ServedHost,
) -> None:
    for path in ("/nothing", "/metrics/x", "/../metrics", "//metrics", "/%2e%2e/token", "/token"):
        assert (await fetch(shared_host, path)).status == 401, path
        assert (await fetch(shared_host, f"{path}?tkn={shared_host.token}")).status == 404, path


@pytest.mark.parametrize("path", ["/", "/healthz", "/nothing", "/metrics"])
async def test_head_answers_like_get_without_a_body(shared_host: ServedHost, path: str) -> None:
    bearer = f"Bearer {shared_host.token}"
    get = await fetch(shared_host, path, Authorization=bearer)
    head = await fetch(shared_host, path, "HEAD", Authorization=bearer)
    assert (head.status, head.body) == (get.status, b"")
    if path != "/metrics":
        # Between the two, a second may have begun.
        del head.headers["date"], get.headers["date"]
        assert head.headers == get.headers


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
@pytest.mark.parametrize("path", ["/", "/metrics"])
async def test_other_methods_are_not_allowed(
    shared_host: ServedHost, method: str, path: str
) -> None:
    bearer = f"Bearer {shared_host.token}"
    answer = await fetch(shared_host, path, method, Authorization=bearer)
    assert answer.status == 405
    assert answer.headers["allow"] == "get, head"


@pytest.mark.parametrize("path", ["/", "/healthz", "/metrics", "/nothing"])
async def test_every_answer_carries_the_safety_headers(shared_host: ServedHost, path: str) -> None:
    for answer in (
        await fetch(shared_host, path),
        await fetch(shared_host, path, Authorization=f"Bearer {shared_host.token}"),
        await fetch(shared_host, path, "POST"),
    ):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert parsedate_to_datetime(answer.headers["date"]).tzinfo is UTC
        # The page asks each time whether it is still so.
        kept = "no-cache" if "etag" in answer.headers else "no-store"
        assert answer.headers["cache-control"] == kept
        assert "access-control-allow-origin" not in answer.headers
