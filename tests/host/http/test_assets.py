"""The web page's files: what is served of a built folder, how, and what never is."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.core import HostCore
from agenthost.host.http.assets import Assets
from agenthost.host.http.messages import Headers, HttpRequest, HttpResponse
from agenthost.host.http.pages import Pages
from agenthost.host.trust import Gate
from agenthost.host.trust.gate import is_open_page, is_place

FOREVER = "public, max-age=31536000, immutable"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page as the build leaves it, with a secret beside it."""
    static = tmp_path_factory.mktemp("built") / "static"
    for name, content in {
        "index.html": "<p>index</p>",
        "sw.js": "worker",
        "manifest.webmanifest": "{}",
        "assets/main-1.js": "script",
        "assets/main-1.js.br": "script as br",
        "assets/main-1.js.gz": "script as gz",
        "assets/style-1.css": "style",
        "assets/style-1.css.gz": "style as gz",
        "assets/thing.unheard": "?",
        ".build": "0123",
        ".vite/manifest.json": "{}",
    }.items():
        path = static / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (static.parent / "token").write_text("secret")
    return static


@pytest.fixture(scope="module")
def assets(folder: Path) -> Assets:
    return Assets.load(folder)


def ask(assets: Assets, path: str, **headers: str) -> HttpResponse | None:
    named = Headers((name.replace("_", "-"), value) for name, value in headers.items())
    return assets.answer(HttpRequest("GET", path, headers=named))


def get(assets: Assets, path: str, **headers: str) -> HttpResponse:
    answer = ask(assets, path, **headers)
    assert answer is not None
    return answer


@pytest.mark.parametrize(
    ("path", "body", "content_type", "kept"),
    [
        ("/", b"<p>index</p>", "text/html; charset=utf-8", "no-cache"),
        ("/s/abc/c/def", b"<p>index</p>", "text/html; charset=utf-8", "no-cache"),
        ("/index.html", b"<p>index</p>", "text/html; charset=utf-8", "no-cache"),
        ("/sw.js", b"worker", "text/javascript; charset=utf-8", "no-cache"),
        ("/manifest.webmanifest", b"{}", "application/manifest+json", "no-cache"),
        ("/assets/main-1.js", b"script", "text/javascript; charset=utf-8", FOREVER),
        ("/assets/style-1.css", b"style", "text/css; charset=utf-8", FOREVER),
        ("/assets/thing.unheard", b"?", "application/octet-stream", FOREVER),
    ],
)
def test_a_file_is_served_with_its_type_and_how_long_it_keeps(
    assets: Assets, path: str, body: bytes, content_type: str, kept: str
) -> None:
    answer = get(assets, path)
    assert (answer.status, answer.body) == (200, body)
    assert (answer.content_type, answer.cache_control) == (content_type, kept)
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; ")


@pytest.mark.parametrize(
    "path",
    [
        "/assets",
        "/assets/",
        "/assets/main-1.js.br",
        "/assets/../sw.js",
        "/assets/../../token",
        "/../token",
        "//sw.js",
        "/.build",
        "/.vite/manifest.json",
        "/SW.js",
        "sw.js",
        "",
        "/sw.js\0",
        "/new/",
        "/snow",
    ],
)
def test_nothing_else_is_served(assets: Assets, path: str) -> None:
    assert ask(assets, path) is None


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("", None),
        ("identity", None),
        ("gzip", "gzip"),
        ("gzip, deflate, br, zstd", "br"),
        ("BR;q=1.0, gzip;q=0.5", "br"),
        ("br;q=0, gzip", "gzip"),
        ("br; q=0.000, gzip;q=0", None),
        (";,,;q", None),
    ],
)
def test_a_file_comes_packed_as_the_browser_takes_it(
    assets: Assets, accepted: str, encoding: str | None
) -> None:
    answer = get(assets, "/assets/main-1.js", Accept_Encoding=accepted)
    assert answer.headers.get("Content-Encoding") == encoding
    expected = {None: b"script", "gzip": b"script as gz", "br": b"script as br"}
    assert answer.body == expected[encoding]
    assert answer.headers["Vary"] == "Accept-Encoding"


def test_a_packing_that_a_file_does_not_have_falls_back(assets: Assets) -> None:
    answer = get(assets, "/assets/style-1.css", Accept_Encoding="br, gzip")
    assert answer.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in get(assets, "/", Accept_Encoding="br, gzip").headers


def test_a_browser_that_has_a_file_is_told_so(assets: Assets) -> None:
    path = "/assets/main-1.js"
    plain = get(assets, path).headers["ETag"]
    packed = get(assets, path, Accept_Encoding="br").headers["ETag"]
    assert plain != packed
    for known in (packed, f"W/{packed}", f'"other", {packed}', "*"):
        answer = get(assets, path, Accept_Encoding="br", If_None_Match=known)
        assert (answer.status, answer.body) == (304, b""), known
    for known in (plain, '"other"', "", packed.strip('"')):
        assert get(assets, path, Accept_Encoding="br", If_None_Match=known).status == 200, known


@given(st.text(max_size=30), st.text(max_size=60), st.text(max_size=60))
def test_whatever_is_asked_the_answer_is_one_of_the_files(
    folder: Path, path: str, accepted: str, known: str
) -> None:
    answer = ask(Assets.load(folder), path, Accept_Encoding=accepted, If_None_Match=known)
    assert answer is None or b"secret" not in answer.body


def test_every_place_inside_the_page_is_open_and_nothing_like_one_is() -> None:
    for path in ("/", "/new", "/s/x", "/automations", "/automations/x/runs/1", "/settings/y"):
        assert is_place(path)
        assert is_open_page(path)
    for path in ("/metrics", "/s", "/news", "/settingsx", "//", "/S/x", "/inspect/x"):
        assert not is_place(path), path


def test_where_the_page_is_not_built_its_places_say_so(tmp_path: Path) -> None:
    # What tells of the host's health is not asked here.
    pages = Pages(cast("HostCore", None), Gate(None), tmp_path / "nothing")
    for path in ("/", "/s/abc"):
        answer = pages(HttpRequest("GET", path, headers=Headers([("Host", "me:1")])))
        assert answer is not None
        text = answer.body.decode()
        assert "The page is not built: run <code>make setup</code>" in text
        assert "ws://me:1/" in text
        assert "script-src" not in answer.headers["Content-Security-Policy"]
    hostile = Headers([("Host", '"><script>alert(1)</script>')])
    answer = pages(HttpRequest("GET", "/", headers=hostile))
    assert answer is not None
    assert b"<script" not in answer.body
    # Of bytes that are no text, as they come from the socket.
    answer = pages(HttpRequest("GET", "/", headers=Headers([("Host", "\udcff")])))
    assert answer is not None
    assert answer.status == 200


def test_who_only_watches_the_host_does_not_make_it_read_the_page(tmp_path: Path) -> None:
    pages = Pages(cast("HostCore", None), Gate(None), tmp_path)
    refused = pages(HttpRequest("GET", "/metrics"))
    assert refused is not None
    assert refused.status == 403
    (tmp_path / "index.html").write_text("built meanwhile")
    answer = pages(HttpRequest("GET", "/"))
    assert answer is not None
    assert answer.body == b"built meanwhile"
