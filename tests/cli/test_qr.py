"""A code that lets a phone in: a token of its own, behind the page's address."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import segno

from agenthost.cli.commands import qr
from agenthost.cli.connection import network_addresses
from agenthost.host.trust import Authenticator, open_tokens
from agenthost.local_host import announce
from agenthost.tokens import OWNER_FILE, Role, TokenBook, load_or_create_owner_token
from tests.cli.in_process import CommandInProcess
from tests.wire.client import open_client
from tests.wire.hosting import serve


class Command(CommandInProcess):
    """Runs ``agenthost qr …`` in this process."""

    def __init__(self, data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
        super().__init__("qr", qr.register, data_dir, capsys)

    @contextmanager
    def host(
        self, listening: str | None, *, tokens: bool = True, scheme: str = "ws"
    ) -> Iterator[None]:
        """Leave the traces of a host that runs."""
        file = (self.data_dir / OWNER_FILE).absolute()
        load_or_create_owner_token(file)
        with announce(
            self.data_dir, f"{scheme}://127.0.0.1:8765", file if tokens else None, listening
        ):
            yield

    @property
    def book(self) -> TokenBook:
        return TokenBook(self.data_dir / "tokens.json")

    @property
    def tokens(self) -> Authenticator:
        return open_tokens(self.data_dir)[1]


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(tmp_path / "data", capsys)


def drawn(url: str) -> str:
    text = io.StringIO()
    segno.make(url, error="m", micro=False).terminal(out=text, compact=True)
    return text.getvalue().rstrip("\n")


def test_the_code_is_the_printed_address_which_holds_a_token_of_its_own(command: Command) -> None:
    with command.host("192.168.7.20:8765"):
        code, out, err = command()
    *picture, url = out.splitlines()
    base, _, secret = url.partition("/#tkn=")
    assert (code, base) == (0, "http://192.168.7.20:8765")
    assert "\n".join(picture) == drawn(url)
    principal = command.tokens.authenticate(secret, 0.0)
    assert principal is not None
    assert (principal.name, principal.role) == ("phone", Role.OPERATOR)
    entry = command.book.list()[0]
    assert entry.expires is not None
    assert (entry.expires - entry.created).days == 90
    assert secret not in err
    assert f"token revoke phone --data-dir {command.data_dir}" in err
    assert "not shown again" in err
    assert "plain HTTP" in err
    assert "--allow-origin" not in err


def test_a_host_on_all_addresses_is_scanned_by_its_address_on_the_network(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network_addresses, "_outward", lambda family: "10.1.2.3")
    with command.host("0.0.0.0:9000"):
        assert command()[1].splitlines()[-1].startswith("http://10.1.2.3:9000/#tkn=")


def test_a_host_that_speaks_tls_is_scanned_as_such(command: Command) -> None:
    with command.host("box.example:8765", scheme="wss"):
        code, out, err = command()
    assert code == 0
    assert out.splitlines()[-1].startswith("https://box.example:8765/#tkn=")
    assert "plain HTTP" not in err


def test_a_host_that_listens_at_a_name_knows_it_for_its_own(command: Command) -> None:
    with command.host("box.example:8765"):
        code, out, err = command()
    assert code == 0
    assert out.splitlines()[-1].startswith("http://box.example:8765/#tkn=")
    assert "--allow-origin" not in err


@pytest.mark.parametrize("listening", ["127.0.0.1:8765", "[::1]:8765", "localhost:8765", None])
def test_a_host_for_this_machine_alone_says_what_to_start_instead(
    command: Command, listening: str | None
) -> None:
    with command.host(listening):
        code, out, err = command()
    assert (code, out) == (1, "")
    assert f"serve --host 0.0.0.0 --data-dir {command.data_dir}" in err
    assert "--url" in err
    assert not command.book.list()


def test_a_machine_without_a_network_has_no_code(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network_addresses, "_outward", lambda family: None)
    monkeypatch.setattr(network_addresses, "_interface_addresses", lambda family: [])
    with command.host("0.0.0.0:9000"):
        assert command()[0] == 1


def test_without_a_host_or_without_tokens_there_is_no_code(command: Command) -> None:
    code, _, err = command()
    assert (code, "no host is running" in err) == (1, True)
    with command.host("0.0.0.0:8765", tokens=False):
        code, _, err = command()
    assert (code, "without a token" in err) == (1, True)
    assert not command.book.list()


def test_an_address_that_is_named_needs_no_running_host(command: Command) -> None:
    code, out, err = command(
        "--url", "https://agents.example/", "--name", "ana", "--role", "viewer"
    )
    assert code == 0
    assert out.splitlines()[-1].startswith("https://agents.example/#tkn=")
    assert command.book.list()[0].name == "ana"
    assert "--allow-origin https://agents.example" in err
    assert "plain HTTP" not in err


@pytest.mark.parametrize(
    "options",
    [
        ("--url", "ftp://x"),
        ("--url", "https://user:word@x"),
        ("--url", "//"),
        ("--url", "http://[::1"),
        ("--url", "http://x:99999"),
        ("--url", "http://x:abc"),
        ("--url", "https://a b"),
        ("--url", "https://a\nb"),
        ("--url", "https://a\x1b[2J"),
        ("--url", "http://a", "--expires", "soon"),
        ("--url", "http://a", "--expires", "2020-01-01"),
        ("--url", "http://a", "--name", "a b"),
        ("--role", "king"),
    ],
)
def test_what_cannot_be_meant_is_wrong_usage(command: Command, options: tuple[str, ...]) -> None:
    assert command(*options)[0] == 2
    assert not command.book.list()


def test_each_code_gets_a_name_of_its_own_but_a_given_name_is_kept_to(command: Command) -> None:
    for _ in range(3):
        assert command("--url", "10.0.0.1:8765", "--expires", "never")[0] == 0
    assert [entry.name for entry in command.book.list()] == ["phone", "phone-2", "phone-3"]
    assert {entry.expires for entry in command.book.list()} == {None}
    code, _, err = command("--url", "10.0.0.1:8765", "--name", "PHONE")
    assert (code, "revoke it first" in err) == (1, True)


def test_a_picture_is_for_its_owner_alone(command: Command, tmp_path: Path) -> None:
    picture = tmp_path / "code.png"
    picture.write_bytes(b"x" * 100_000)
    picture.chmod(0o644)
    code, out, err = command("--url", "10.0.0.1:8765", "--png", str(picture))
    assert code == 0
    expected = io.BytesIO()
    segno.make(out.strip(), error="m", micro=False).save(expected, "png", scale=qr.DOT_PIXELS)
    assert picture.read_bytes() == expected.getvalue()
    assert stat.S_IMODE(picture.stat().st_mode) == 0o600
    assert str(picture) in err


def test_a_token_that_nobody_could_be_shown_is_withdrawn(command: Command, tmp_path: Path) -> None:
    code, out, err = command("--url", "10.0.0.1:8765", "--png", str(tmp_path / "no" / "code.png"))
    assert (code, out) == (1, "")
    assert "No such file" in err
    assert not command.book.list()


def test_json_has_the_address_and_no_code(command: Command) -> None:
    code, out, _ = command("--url", "10.0.0.1:8765", "--json", "--expires", "never")
    told = json.loads(out)
    assert (code, told["name"], told["role"], told["expires"]) == (0, "phone", "operator", None)
    assert told["url"].startswith("http://10.0.0.1:8765/#tkn=")


def test_a_terminal_gets_the_colours_that_readers_know(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    out = command("--url", "10.0.0.1:8765")[1].splitlines()
    assert all(line.startswith("\x1b[97;40m") and line.endswith("\x1b[0m") for line in out[:-1])
    assert "\x1b" not in out[-1]


async def test_a_real_host_tells_where_it_listens_and_lets_the_phone_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network_addresses, "_outward", lambda family: "10.1.2.3")
    command = Command(tmp_path / "data", capsys)
    async with serve(command.data_dir, "--host", "0.0.0.0") as host:
        url = command()[1].splitlines()[-1]
        port, _, secret = url.removeprefix("http://10.1.2.3:").partition("/#tkn=")
        assert port == host.address.rpartition(":")[2]
        async with open_client(f"ws://{host.address}/?tkn={secret}") as phone:
            told = (await phone.initialize())["_meta"]["agenthost/me"]
            assert told == {"name": "phone", "role": "operator"}
    assert os.listdir(command.data_dir)
