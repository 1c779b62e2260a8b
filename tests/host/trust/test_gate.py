from __future__ import annotations

from typing import Any

import pytest

from agenthost.errors import AgentHostError
from agenthost.host.trust import (
    LOCAL_OWNER,
    Gate,
    HostTokens,
    Principal,
    Refusal,
    StartupError,
    check_bind,
)
from agenthost.host.trust.failed_tokens import FailedTokens
from agenthost.host.trust.gate import is_open_page

NOW = 1_800_000_000.0
SECRET = "constant-owner-Secret_of-the-tests.0123"


def open_gate(**options: Any) -> Gate:
    """A gate without tokens at 127.0.0.1:8765."""
    return Gate(None, bound_hosts=["127.0.0.1:8765"], **options)


def token_gate(bound: str = "127.0.0.1:8765", **options: Any) -> Gate:
    return Gate(HostTokens(SECRET), bound_hosts=[bound], **options)


def ask(
    gate: Gate,
    *,
    token: str | None = None,
    origin: str | None = None,
    host: str | None = "127.0.0.1:8765",
    peer: str = "127.0.0.1",
    now: float = NOW,
) -> Principal | Refusal:
    return gate.check(token=token, origin=origin, host=host, peer=peer, now=now)


def status(answer: Principal | Refusal) -> int | None:
    return answer.status if isinstance(answer, Refusal) else None


# --- the token


def test_the_right_token_is_let_in_as_its_principal() -> None:
    assert ask(token_gate(), token=SECRET) == LOCAL_OWNER


def test_no_token_and_a_wrong_token_are_refused() -> None:
    assert status(ask(token_gate())) == 401
    assert status(ask(token_gate(), token="")) == 401
    assert status(ask(token_gate(), token="wrong")) == 401


def test_a_refusal_says_what_to_do_and_never_repeats_the_token() -> None:
    missing, wrong = ask(token_gate()), ask(token_gate(), token="my-wrong-token")
    assert isinstance(missing, Refusal)
    assert isinstance(wrong, Refusal)
    assert "Bearer" in missing.text
    assert missing.headers["WWW-Authenticate"].startswith("Bearer")
    assert missing.headers["Cache-Control"] == "no-store"
    assert "my-wrong-token" not in repr(wrong) + wrong.text + repr(wrong.headers)


def test_many_wrong_tokens_mean_a_pause_and_a_missing_one_does_not() -> None:
    gate = token_gate(failed_tokens=FailedTokens(failures=3, pause=30))
    assert [status(ask(gate)) for _ in range(10)] == [401] * 10
    assert [status(ask(gate, token="wrong")) for _ in range(5)] == [401, 401, 401, 429, 429]
    refusal = ask(gate, token="wrong", now=NOW + 10)
    assert isinstance(refusal, Refusal)
    assert refusal.headers["Retry-After"] == "20"
    assert status(ask(gate, token="wrong", peer="10.0.0.9")) == 401
    assert status(ask(gate, token="wrong", now=NOW + 31)) == 401


def test_nobody_can_lock_out_someone_who_has_a_valid_token() -> None:
    gate = token_gate(failed_tokens=FailedTokens(failures=3))
    for _ in range(20):
        ask(gate, token="wrong")
    assert ask(gate, token=SECRET) == LOCAL_OWNER


# --- the origin


def test_a_program_that_is_no_browser_sends_no_origin_and_needs_none() -> None:
    assert ask(open_gate()) == LOCAL_OWNER
    assert ask(token_gate(), token=SECRET, host="agents.example.org") == LOCAL_OWNER
    assert ask(token_gate(), token=SECRET, host=None) == LOCAL_OWNER


@pytest.mark.parametrize("name", ["127.0.0.1:8765", "localhost:8765", "[::1]:8765"])
def test_the_hosts_own_page_may_connect(name: str) -> None:
    assert ask(open_gate(), host=name, origin=f"http://{name}") == LOCAL_OWNER
    assert ask(token_gate(), token=SECRET, host=name, origin=f"http://{name}") == LOCAL_OWNER


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "https://127.0.0.1.evil.example:8765",
        "http://localhost:3000",
        "http://127.0.0.1",
        "http://127.0.0.1:8765.evil.example",
        "http://user@127.0.0.1:8765",
        "null",
        "",
        "file://",
        "vscode-webview://0a1b2c",
        "chrome-extension://abcdef",
        "vscode-file://evil",
        "http://127.0.0.1:8765, http://evil.example",
    ],
)
def test_a_foreign_page_is_refused_even_with_a_valid_token(origin: str) -> None:
    assert status(ask(token_gate(), token=SECRET, origin=origin)) == 403
    assert status(ask(open_gate(), origin=origin)) == 403


@pytest.mark.parametrize("host", ["evil.example:8765", "evil.example", "10.0.0.5:8765"])
def test_a_page_whose_name_was_rebound_to_this_machine_is_refused(host: str) -> None:
    # The attacker's name resolves to 127.0.0.1: Origin and Host agree, and neither is ours.
    assert status(ask(open_gate(), host=host, origin=f"http://{host}")) == 403
    assert status(ask(open_gate(), host=host)) == 403
    assert status(ask(token_gate(), token=SECRET, host=host, origin=f"http://{host}")) == 403


def test_without_a_token_the_port_must_be_ours_and_the_header_present() -> None:
    assert status(ask(open_gate(), host="127.0.0.1:9999")) == 403
    assert status(ask(open_gate(), host="localhost")) == 403
    assert status(ask(open_gate(), host=None)) == 403
    assert status(ask(open_gate(), host="a b")) == 403
    at_80 = Gate(None, bound_hosts=["127.0.0.1:80"])
    assert ask(at_80, host="localhost", origin="http://localhost") == LOCAL_OWNER


def test_without_a_token_only_this_machine_is_served() -> None:
    assert status(ask(open_gate(), peer="192.168.1.7")) == 403
    assert ask(open_gate(), peer="::1") == LOCAL_OWNER
    assert ask(open_gate(), peer="::ffff:127.0.0.1") == LOCAL_OWNER
    assert ask(open_gate(), peer="") == LOCAL_OWNER


def test_with_a_token_a_tunnel_may_use_another_port() -> None:
    tunnel = "localhost:9000"
    assert ask(token_gate(), token=SECRET, host=tunnel, origin=f"http://{tunnel}") == LOCAL_OWNER


def test_an_allowed_origin_may_connect_whatever_the_host_header() -> None:
    gate = token_gate(allowed_origins=["https://Agents.example.org"])
    for host in ("agents.example.org", "127.0.0.1:8765", None):
        answer = ask(gate, token=SECRET, host=host, origin="https://agents.example.org")
        assert answer == LOCAL_OWNER
    for origin in ("http://agents.example.org", "https://agents.example.org:444"):
        assert status(ask(gate, token=SECRET, origin=origin)) == 403
    assert status(ask(gate, origin="https://agents.example.org")) == 401


def test_allowing_an_origin_makes_its_name_ours_without_a_token_too() -> None:
    gate = open_gate(allowed_origins=["http://devbox.local:8765"])
    assert ask(gate, host="devbox.local:8765", origin="http://devbox.local:8765") == LOCAL_OWNER
    assert ask(gate, host="devbox.local:8765") == LOCAL_OWNER
    assert status(ask(gate, host="devbox.local:9999")) == 403


def test_the_window_of_an_installed_vs_code_may_connect_without_any_option() -> None:
    origin = "vscode-file://vscode-app"
    assert ask(token_gate(), token=SECRET, origin=origin) == LOCAL_OWNER
    assert ask(open_gate(), origin=origin) == LOCAL_OWNER
    assert status(ask(token_gate(), origin=origin)) == 401


def test_webviews_may_be_allowed_by_their_scheme() -> None:
    gate = token_gate(allowed_origins=["vscode-webview://*"])
    assert ask(gate, token=SECRET, origin="vscode-webview://0A1b2c") == LOCAL_OWNER
    assert status(ask(gate, token=SECRET, origin="http://evil.example")) == 403


@pytest.mark.parametrize(
    "origin", ["*", "http://*", "HTTPS://*", "https://*.example.org", "example.org", "null", ""]
)
def test_an_allowance_for_every_web_site_is_refused_at_the_start(origin: str) -> None:
    with pytest.raises(StartupError, match="is not an origin to allow"):
        token_gate(allowed_origins=[origin])


def test_a_host_on_all_addresses_accepts_its_page_by_address_but_not_by_unknown_name() -> None:
    gate = token_gate("0.0.0.0:8765")
    for name in ("192.168.1.5:8765", "[fe80::1]:8765", "localhost:8765"):
        assert ask(gate, token=SECRET, host=name, origin=f"http://{name}") == LOCAL_OWNER
    assert status(ask(gate, token=SECRET, host="box:8765", origin="http://box:8765")) == 403
    gate.serve_at("BOX", 8765)
    assert ask(gate, token=SECRET, host="box:8765", origin="http://box:8765") == LOCAL_OWNER


def test_a_port_that_is_known_only_once_the_host_listens_can_be_added() -> None:
    gate = Gate(None)
    assert status(ask(gate, host="127.0.0.1:50123")) == 403
    gate.serve_at("127.0.0.1", 50123)
    assert ask(gate, host="127.0.0.1:50123", origin="http://127.0.0.1:50123") == LOCAL_OWNER


def test_a_refusal_quotes_a_strangers_header_harmlessly() -> None:
    refusal = ask(token_gate(), token=SECRET, origin="http://e\r\nX: y\x1b[31m" + "z" * 5_000)
    assert isinstance(refusal, Refusal)
    assert "--allow-origin" in refusal.text
    assert refusal.text.isprintable()
    assert len(refusal.text) < 400


# --- pages


def page(gate: Gate, path: str, token: str | None = None, host: str = "127.0.0.1:8765") -> int:
    if is_open_page(path):
        return 200
    return status(ask(gate, token=token, host=host)) or 200


@pytest.mark.parametrize("path", ["/", "/healthz", "/favicon.ico", "/assets/index-1a2b.js"])
def test_pages_without_secrets_are_open_to_all(path: str) -> None:
    assert page(token_gate(), path) == 200
    assert page(open_gate(), path) == 200


@pytest.mark.parametrize("path", ["/metrics", "//metrics", "/Metrics", "/anything", "", "/asset"])
def test_every_other_page_needs_the_token(path: str) -> None:
    assert page(token_gate(), path) == 401
    assert page(token_gate(), path, token="wrong") == 401
    assert page(token_gate(), path, token=SECRET) == 200


def test_without_a_token_metrics_are_for_this_machine_under_its_own_name() -> None:
    assert page(open_gate(), "/metrics") == 200
    assert page(open_gate(), "/metrics", host="evil.example:8765") == 403


# --- where the host may listen


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.2"])
def test_loopback_needs_no_token(host: str) -> None:
    check_bind(host, has_token=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.5", "example.org", "*"])
def test_any_other_address_without_a_token_is_refused_at_the_start(host: str) -> None:
    with pytest.raises(StartupError, match="without a token") as caught:
        check_bind(host, has_token=False)
    assert isinstance(caught.value, AgentHostError)
    assert "--no-token" in str(caught.value)
    check_bind(host, has_token=True)
