"""What ``agenthost serve`` prints: addresses, agents, the next step; and why it cannot start."""

from __future__ import annotations

import errno
import re
import shlex
from pathlib import Path

import pytest

from agenthost.cli.commands.serve_messages import ServingHost, why_not_served
from agenthost.cli.connection import network_addresses
from agenthost.cli.connection.command_hints import use_data_dir
from agenthost.cli.main import build_parser
from agenthost.host.store.contract import StoreBusy
from agenthost.host.transports.listening_sockets import CannotListen

DATA = Path("/srv/agent's data")


@pytest.fixture(autouse=True)
def two_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_addresses, "_outward", lambda family: "192.168.1.5")
    monkeypatch.setattr(
        network_addresses, "_interface_addresses", lambda family: ["127.0.0.1", "10.8.0.2"]
    )
    use_data_dir(DATA)


def told(url: str, **more: object) -> str:
    host = ServingHost(url, "s3cret", DATA, **more)  # type: ignore[arg-type]
    return "\n".join(host.lines())


def test_agents_are_named_and_what_another_one_needs() -> None:
    text = told("ws://127.0.0.1:80", agents=["greeter", "demo"], unusable={"llm": "set a key"})
    assert "  agents     greeter, demo\n             not llm: set a key\n" in text
    hostile = told("ws://127.0.0.1:80", agents=["\x1b[2Jx\ny"])
    assert "\x1b" not in hostile
    assert "\ny" not in hostile


def test_sentences_are_wrapped_and_what_is_copied_is_not() -> None:
    host = ServingHost("ws://0.0.0.0:80", "s3cret" * 9, DATA, ["demo"], {"llm": "set a key " * 9})
    narrow = host.lines(40)
    assert len(narrow) > len(host.lines())
    sentences = [row for row in narrow if "key" in row or "HTTP" in row or "chats" in row]
    assert max(map(len, sentences)) <= 40
    assert [row for row in narrow if "next" in row] == [
        row for row in host.lines() if "next" in row
    ]


def test_there_is_one_next_step_and_it_is_for_this_host() -> None:
    (line,) = re.findall(r"^  next +agenthost (.*)$", told("ws://127.0.0.1:80"), re.MULTILINE)
    args = build_parser().parse_args(shlex.split(line))
    assert (args.command, args.data_dir) == ("chat", DATA)


def test_beyond_this_machine_every_address_is_told_and_what_plain_http_means() -> None:
    text = told("ws://0.0.0.0:80")
    for address in ("127.0.0.1", "192.168.1.5", "10.8.0.2"):
        assert text.count(f"http://{address}:80/#tkn=s3cret") == 1
        assert text.count(f"ws://{address}:80/?tkn=s3cret") == 1
    assert "//0.0.0.0" not in text
    assert "Plain HTTP" in text
    assert "Plain HTTP" in told("ws://box.example:80")


@pytest.mark.parametrize("url", ["wss://0.0.0.0:80", "ws://127.0.0.1:80", "ws://[::1]:80"])
def test_nothing_is_said_about_plain_http_where_nobody_can_read_along(url: str) -> None:
    assert "Plain HTTP" not in told(url)


def test_why_it_cannot_start_comes_with_what_to_do() -> None:
    taken = CannotListen("127.0.0.1 port 80: in use")
    taken.__cause__ = OSError(errno.EADDRINUSE, "in use")
    assert "choose another --port" in why_not_served(taken, 80)
    closed = CannotListen("127.0.0.1 port 80: no")
    closed.__cause__ = PermissionError(errno.EACCES, "no")
    assert "below 1024" in why_not_served(closed, 80)
    busy = why_not_served(StoreBusy("x is in use"), 80)
    assert f"`agenthost chat --data-dir {shlex.quote(str(DATA))}` talks to it" in busy
    assert "--data-dir of your own" in why_not_served(PermissionError(13, "no", "/x"), 80)
    assert why_not_served(OSError(28, "disk full", "/x"), 80) == "/x: disk full"


def test_the_settings_of_vs_code_say_when_a_host_speaks_tls(tmp_path: Path) -> None:
    # Without a scheme it would not encrypt, and not connect.
    for url, address in (
        ("ws://127.0.0.1:8765", "127.0.0.1:8765"),
        ("wss://127.0.0.1:8765", "wss://127.0.0.1:8765"),
    ):
        text = "\n".join(ServingHost(url, "secret", tmp_path).lines())
        assert f'"address": "{address}", "connectionToken": "secret"' in text
