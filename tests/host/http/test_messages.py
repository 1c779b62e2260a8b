"""Requests as values, responses as bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.http.messages import (
    Headers,
    HttpResponse,
    UpgradeRequest,
    format_peer,
    parse_target,
    serialize_head,
)

DATE = "Sun, 06 Nov 1994 08:49:37 GMT"


def upgrade(target: str = "/", **headers: str) -> UpgradeRequest:
    path, query = parse_target(target)
    return UpgradeRequest("GET", path, query, Headers(headers.items()), "127.0.0.1:1")


def test_headers_are_found_in_any_case_and_repeated_ones_are_joined() -> None:
    headers = Headers([("X-One", "1"), ("x-one", "2"), ("Origin", "http://a")])
    assert headers["x-ONE"] == "1, 2"
    assert headers.get("ORIGIN") == "http://a"
    assert "origin" in headers
    assert "Nothing" not in headers
    assert len(headers) == 2


@pytest.mark.parametrize(
    ("request_", "token"),
    [
        (upgrade(Authorization="Bearer abc"), "abc"),
        (upgrade(authorization="bearer  abc "), "abc"),
        (upgrade("/?tkn=abc"), "abc"),
        (upgrade("/any/path?x=1&token=a%2Bb"), "a+b"),
        (upgrade("/?token=second&tkn=first"), "first"),
        (upgrade("/?tkn=from-url", Authorization="Bearer from-header"), "from-header"),
        (upgrade("/?tkn=from-url", Authorization="Basic eDp5"), "from-url"),
        (upgrade("/?tkn=one&tkn=two"), "one"),
        (upgrade("/?tkn=a+b%2Bc%3D"), "a+b+c="),
        (upgrade("/?tkn=%ff"), "\ufffd"),
        (upgrade("//[?tkn=abc#f"), "abc"),
        (upgrade("/?xtkn=abc&TKN=abc&%74kn=abc"), None),
        (upgrade("/?tkn="), None),
        (upgrade("/?tkn"), None),
        (upgrade(Authorization="Bearer "), None),
        (upgrade(Authorization="Bearer"), None),
        (upgrade(), None),
    ],
)
def test_the_token_comes_from_the_header_or_else_from_the_url(
    request_: UpgradeRequest, token: str | None
) -> None:
    assert request_.token == token


def test_a_request_and_its_headers_show_no_secret_when_printed() -> None:
    request = upgrade("/path?tkn=s3cret", Authorization="Bearer s3cret", Cookie="s3cret")
    assert "s3cret" not in repr(request)
    assert "s3cret" not in repr(request.headers)
    assert "/path" in repr(request)


def test_a_request_tells_its_origin() -> None:
    assert upgrade(Origin="https://example.org").origin == "https://example.org"
    assert upgrade().origin is None


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        ("/", "/", {}),
        ("/a%20b?x=1&y=%C3%BC&z", "/a b", {"x": "1", "y": "ü", "z": ""}),
        ("//evil.example/x", "//evil.example/x", {}),
        ("/a#b?c=d", "/a", {}),
        ("http://127.0.0.1:8765/a?b=c", "/a", {"b": "c"}),
        ("ws://host?tkn=t", "/", {"tkn": "t"}),
    ],
)
def test_a_target_is_split_into_path_and_query(
    target: str, path: str, query: dict[str, str]
) -> None:
    assert parse_target(target) == (path, query)


@pytest.mark.parametrize("target", ["*", "example.org:443", "http://[", "/?" + "a&" * 200])
def test_a_target_that_is_no_path_or_floods_with_parameters_is_an_error(target: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_target(target)


@given(st.text())
def test_any_target_is_split_or_refused_and_nothing_else(target: str) -> None:
    try:
        path, query = parse_target(target)
    except ValueError:
        return
    assert isinstance(path, str)
    assert all(isinstance(value, str) for value in query.values())


def test_a_response_has_a_length_a_type_and_the_safety_headers() -> None:
    response = HttpResponse(200, b"<p>hi</p>", "text/html", "max-age=60", {"ETag": '"1"'})
    lines = serialize_head(response, date=DATE).decode().split("\r\n")
    assert lines[0] == "HTTP/1.1 200 OK"
    assert lines[-2:] == ["", ""]
    assert set(lines[1:-2]) == {
        f"Date: {DATE}",
        "Content-Type: text/html",
        "Content-Length: 9",
        "Cache-Control: max-age=60",
        "X-Content-Type-Options: nosniff",
        "Referrer-Policy: no-referrer",
        'ETag: "1"',
        "Connection: close",
    }


@pytest.mark.parametrize("headers", [{"A": "x\r\nB: y"}, {"A\n": "x"}, {"": "x"}, {"A": "→"}])
def test_a_header_cannot_smuggle_another_one(headers: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="cannot be sent"):
        serialize_head(HttpResponse(headers=headers), date=DATE)


def test_an_unknown_status_has_a_line_all_the_same() -> None:
    assert serialize_head(HttpResponse(499), date=DATE).startswith(b"HTTP/1.1 499 Unknown\r\n")


def test_peers_are_shown_as_address_and_port() -> None:
    assert format_peer(("127.0.0.1", 80)) == "127.0.0.1:80"
    assert format_peer(("::1", 80, 0, 0)) == "[::1]:80"
    assert format_peer("") == "local"
    assert format_peer(None) == "local"
