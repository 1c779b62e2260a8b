from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agenthost.cli.connection.host_lookup import HOST_FILE, NoHost, NoToken, announce, find_host
from agenthost.tokens import load_or_create_owner_token


def test_a_running_host_and_its_token_are_found_without_options(tmp_path: Path) -> None:
    secret = load_or_create_owner_token(tmp_path / "token")
    with announce(tmp_path, "ws://127.0.0.1:1", tmp_path / "token"):
        found = find_host(data_dir=tmp_path)
        assert (found.url, found.token, found.pid) == ("ws://127.0.0.1:1", secret, os.getpid())
        assert secret not in (tmp_path / HOST_FILE).read_text()
        assert (tmp_path / HOST_FILE).stat().st_mode & 0o077 == 0
    assert not (tmp_path / HOST_FILE).exists()


def test_a_host_without_a_token_is_found_without_one(tmp_path: Path) -> None:
    with announce(tmp_path, "ws://127.0.0.1:1", None):
        assert find_host(data_dir=tmp_path).token is None


def test_a_token_that_is_gone_or_open_to_others_is_told_apart_from_no_host(tmp_path: Path) -> None:
    token = tmp_path / "token"
    with announce(tmp_path, "ws://127.0.0.1:1", token):
        with pytest.raises(NoToken, match="is gone"):
            find_host(data_dir=tmp_path)
        load_or_create_owner_token(token)
        token.chmod(0o644)
        with pytest.raises(NoToken, match="chmod 600"):
            find_host(data_dir=tmp_path)


def test_no_host_says_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(NoHost, match="agenthost serve"):
        find_host(data_dir=tmp_path)


def test_a_host_that_died_is_not_taken_for_a_running_one(tmp_path: Path) -> None:
    told = {"url": "ws://127.0.0.1:1", "pid": 2**22 + 1, "tokenFile": None}
    (tmp_path / HOST_FILE).write_text(json.dumps(told))
    with pytest.raises(NoHost, match="crashed or was killed"):
        find_host(data_dir=tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"url": 1}', "not json"])
def test_a_garbled_file_is_a_clear_error(tmp_path: Path, text: str) -> None:
    (tmp_path / HOST_FILE).write_text(text)
    with pytest.raises(NoHost, match="cannot be read"):
        find_host(data_dir=tmp_path)


def test_the_file_of_a_newer_host_is_left_alone(tmp_path: Path) -> None:
    with announce(tmp_path, "ws://127.0.0.1:1", None):
        newer = {"url": "ws://127.0.0.1:2", "pid": os.getppid(), "tokenFile": None}
        (tmp_path / HOST_FILE).write_text(json.dumps(newer))
    assert json.loads((tmp_path / HOST_FILE).read_text()) == newer


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("127.0.0.1:8765", "ws://127.0.0.1:8765"),
        ("http://box:1/", "ws://box:1/"),
        ("https://box/", "wss://box/"),
        ("wss://box/ahp", "wss://box/ahp"),
    ],
)
def test_an_address_is_read_as_people_write_it(written: str, meant: str) -> None:
    assert find_host(written, "secret").url == meant
    assert find_host(written, "secret").token == "secret"
