from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.http.messages import HttpRequest, parse_target
from agenthost.host.trust import RedactTokens, redact, redact_value

SECRET = "constant-Secret_of.the~tests+/=0123"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("GET /?tkn=abc HTTP/1.1", "GET /?tkn=[redacted] HTTP/1.1"),
        ("/?x=1&tkn=abc&y=2#z", "/?x=1&tkn=[redacted]&y=2#z"),
        ("'ws://h/?TKN=a%2Bb'", "'ws://h/?TKN=[redacted]'"),
        ("Authorization: Bearer abc", "Authorization: Bearer [redacted]"),
        ('{"x-authorization": "bearer  abc"}', '{"x-authorization": "[redacted]"}'),
        ("Authorization: Basic YTpi", "Authorization: Basic [redacted]"),
        ("X-API-Key: abc, Accept: x", "X-API-Key: [redacted], Accept: x"),
        ("bearer  abc", "bearer  [redacted]"),
        ("Sec-WebSocket-Protocol: ahp, tkn.YS1i_c", "Sec-WebSocket-Protocol: ahp, tkn.[redacted]"),
        ("/?access_token=abc&y=2", "/?access_token=[redacted]&y=2"),
        ("/?next=%3Ftkn%3Dabc&y=2", "/?next=%3Ftkn%3D[redacted]&y=2"),
        ("export OPENAI_API_KEY='abc' x", "export OPENAI_API_KEY='[redacted]' x"),
        ("https://me:abc@host/x", "https://me:[redacted]@host/x"),
        ("{'token': 'a\\'bc', 'x': 1}", "{'token': '[redacted]', 'x': 1}"),
        # JSON in a text in a text, and one that was cut off.
        (r"{\"clientSecret\": \"abc\", \"x\": 1", r"{\"clientSecret\": \"[redacted]\", \"x\": 1"),
        ('{"token": "ab', '{"token": "[redacted]'),
        ("\u0130 TOKEN=abc \u0130", "\u0130 TOKEN=[redacted] \u0130"),
        ("\ud800 token=abc", "\ud800 token=[redacted]"),
        ("tkn=a and tkn=b", "tkn=[redacted] and tkn=[redacted]"),
        ("/?x=1&token=abc&y=2", "/?x=1&token=[redacted]&y=2"),
        ("/?next=/x?tkn=abc;d&y=1", "/?next=/x?tkn=[redacted]&y=1"),
        ("nothing to hide, xtkn", "nothing to hide, xtkn"),
        ("maxTokens=5 progressToken=abc", "maxTokens=5 progressToken=abc"),
        ('{"progress_token": "abc", "tokens": "x"}', '{"progress_token": "abc", "tokens": "x"}'),
        ("http://host:8765/a@b", "http://host:8765/a@b"),
    ],
)
def test_tokens_in_text_are_replaced(before: str, after: str) -> None:
    assert redact(before) == after


def test_a_whole_secret_goes_whatever_characters_it_has() -> None:
    assert SECRET not in redact(f"ws://h:1/?tkn={SECRET} Bearer {SECRET}")
    assert redact(f"?tkn={SECRET}") == "?tkn=[redacted]"


@given(st.lists(st.sampled_from(["tkn", "token", "%74kn", *"=&?#;/x5"])).map("".join))
def test_no_token_that_a_request_may_hold_survives(target: str) -> None:
    try:
        _, query = parse_target(redact("/" + target))
    except ValueError:
        return
    assert HttpRequest("GET", "/", query).token in (None, "[redacted]")


def test_the_token_of_authenticate_is_replaced_in_a_copy() -> None:
    message = {"id": 1, "method": "authenticate", "params": {"resource": "r", "token": SECRET}}
    clean = redact_value(message)
    assert clean == {
        "id": 1,
        "method": "authenticate",
        "params": {"resource": "r", "token": "[redacted]"},
    }
    assert message["params"] == {"resource": "r", "token": SECRET}


@pytest.mark.parametrize(
    "secret",
    [
        {"token": SECRET},
        {"Token": {"deep": [SECRET]}},
        {"accessToken": SECRET},
        {"api_key": SECRET},
        {"OPENAI_API_KEY": SECRET},
        {"oauthClient": {"clientSecret": SECRET}},
        {"headers": {"Authorization": SECRET}},
        {"headers": [{"name": "X-Api-Key", "value": SECRET}]},
        {"uri": f"ws://h/?tkn={SECRET}"},
        {"text": f"curl -H 'Authorization: Bearer {SECRET}'"},
        {"toolInput": f'{{"password": "{SECRET}"}}'},
        {"x" * 10_000 + "token": SECRET},
    ],
)
@pytest.mark.parametrize("method", ["authenticate", "Authenticate", "dispatchAction", 7, None])
def test_a_secret_is_found_by_its_name_anywhere(method: Any, secret: dict[str, Any]) -> None:
    message = {"method": method, "params": {"list": [1, {"action": {"kept": "kept", **secret}}]}}
    clean = redact_value(message)
    assert SECRET not in str(clean)
    assert clean["params"]["list"][1]["action"]["kept"] == "kept"
    for wrapped in ([message], {"error": {"data": message}}):
        assert SECRET not in str(redact_value(wrapped))


@pytest.mark.parametrize(
    "message",
    [
        {"method": "ping", "params": {"progressToken": "p-1", "inputTokens": 5, "token": None}},
        {"usage": {"token": 12, "cost": 1.5, "cookie": True, "secret": ""}},
        {"method": "authenticate", "params": {"resource": "r"}},
        {"name": "token", "params": ["value", {"value": "x"}, "author", "tokens: 5"]},
        {"id": 1, "result": None},
    ],
)
def test_a_message_without_a_secret_is_passed_on_as_it_is(message: dict[str, object]) -> None:
    assert redact_value(message) is message


@pytest.fixture
def log() -> Iterator[tuple[logging.Logger, io.StringIO]]:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.addFilter(RedactTokens())
    logger = logging.Logger("tests.redaction")
    logger.addHandler(handler)
    yield logger, written
    handler.close()


def test_the_page_of_a_canvas_is_replaced_and_no_other_address() -> None:
    canvas = {"instanceId": "i", "canvasId": "preview", "title": "Preview"}
    action = {"type": "canvas/stateChanged", "canvas": {**canvas, "url": "http://h/"}}
    snapshot = {"resource": "ahp-canvas:/1", "state": {**canvas, "url": "http://h/"}, "fromSeq": 1}
    clean = redact_value({"params": {"action": action}, "result": {"snapshot": snapshot}})
    shown = {**canvas, "url": "[redacted]"}
    assert clean["params"]["action"] == {**action, "canvas": shown}
    assert clean["result"]["snapshot"] == {**snapshot, "state": shown}
    for other in ({"canvas": canvas}, {"request": {"id": "q", "url": "http://h/"}}):
        assert redact_value(other) is other


def test_a_filtered_handler_writes_no_token_from_arguments_text_or_tracebacks(
    log: tuple[logging.Logger, io.StringIO],
) -> None:
    logger, written = log
    logger.debug("< GET %s HTTP/1.1", f"/?tkn={SECRET}")
    logger.info(f"Authorization: Bearer {SECRET} at 100%")
    address = f"ws://h/?tkn={SECRET}"
    try:
        raise ValueError(f"bad URI {address}")
    except ValueError:
        logger.exception("failed")
    text = written.getvalue()
    assert SECRET not in text
    assert text.count("[redacted]") == 3
    assert "at 100%" in text
    assert "ValueError: bad URI" in text


def test_other_records_pass_unchanged(log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, written = log
    logger.info("%d sessions, %s", 7, "all well")
    try:
        raise ValueError("plain")
    except ValueError:
        logger.exception("failed")
    assert written.getvalue().startswith("7 sessions, all well\nfailed\nTraceback")
    assert "ValueError: plain" in written.getvalue()


def test_a_record_whose_arguments_do_not_fit_is_not_printed_raw(
    log: tuple[logging.Logger, io.StringIO],
) -> None:
    logger, written = log
    logger.info("%d", f"tkn={SECRET}")
    assert SECRET not in written.getvalue()
    assert "badly formatted" in written.getvalue()
