"""Finding the host of this machine, and where it keeps its data."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agenthost.local_host import (
    HOST_FILE,
    NoHost,
    NoToken,
    announce,
    default_data_dir,
    find_local_host,
)
from agenthost.tokens import load_or_create_owner_token


def test_a_running_host_and_its_token_are_found_without_options(tmp_path: Path) -> None:
    secret = load_or_create_owner_token(tmp_path / "token")
    with announce(tmp_path, "ws://127.0.0.1:1", tmp_path / "token"):
        found = find_local_host(data_dir=tmp_path)
        assert (found.url, found.token, found.pid) == ("ws://127.0.0.1:1", secret, os.getpid())
        assert secret not in (tmp_path / HOST_FILE).read_text()
        assert (tmp_path / HOST_FILE).stat().st_mode & 0o077 == 0
    assert not (tmp_path / HOST_FILE).exists()


def test_a_host_without_a_token_is_found_without_one(tmp_path: Path) -> None:
    with announce(tmp_path, "ws://127.0.0.1:1", None):
        assert find_local_host(data_dir=tmp_path).token is None


def test_a_token_that_is_gone_or_open_to_others_is_told_apart_from_no_host(tmp_path: Path) -> None:
    token = tmp_path / "token"
    with announce(tmp_path, "ws://127.0.0.1:1", token):
        with pytest.raises(NoToken, match="is gone"):
            find_local_host(data_dir=tmp_path)
        load_or_create_owner_token(token)
        token.chmod(0o644)
        with pytest.raises(NoToken, match="chmod 600"):
            find_local_host(data_dir=tmp_path)


def test_no_host_says_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(NoHost, match="agenthost serve"):
        find_local_host(data_dir=tmp_path)


def test_a_host_that_died_is_not_taken_for_a_running_one(tmp_path: Path) -> None:
    told = {"url": "ws://127.0.0.1:1", "pid": 2**22 + 1, "tokenFile": None}
    (tmp_path / HOST_FILE).write_text(json.dumps(told))
    with pytest.raises(NoHost, match="crashed or was killed"):
        find_local_host(data_dir=tmp_path)


def _told(**other: object) -> str:
    return json.dumps({"url": "ws://127.0.0.1:1", "pid": os.getpid(), "tokenFile": None, **other})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"url": 1}',
        "not json",
        "[" * 60_000,
        _told(pid="1"),
        _told(pid=-1),
        _told(pid=10**30),
        _told(url="ws://127.0.0.1:1\x1b[2J"),
        _told(url=None),
        _told(tokenFile="a\0b"),
        _told(tokenFile="\ud800"),
        _told(listening=[1]),
    ],
    # By number: the texts name this process, and each worker has its own.
    ids=range(14),
)
def test_a_garbled_file_is_a_clear_error(tmp_path: Path, text: str) -> None:
    (tmp_path / HOST_FILE).write_text(text)
    with pytest.raises(NoHost, match="is damaged: start"):
        find_local_host(data_dir=tmp_path)


def test_a_pipe_in_its_place_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / HOST_FILE)
    with pytest.raises(NoHost, match="is damaged"):
        find_local_host(data_dir=tmp_path)


def test_a_file_that_others_may_write_sends_no_token_anywhere(tmp_path: Path) -> None:
    load_or_create_owner_token(tmp_path / "token")
    path = tmp_path / HOST_FILE
    path.write_text(_told(url="ws://203.0.113.1", tokenFile=str(tmp_path / "token")))
    path.chmod(0o666)
    with pytest.raises(NoHost, match="is damaged"):
        find_local_host(data_dir=tmp_path)


def test_another_user_s_file_sends_nobody_s_token_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_or_create_owner_token(tmp_path / "token")
    (tmp_path / HOST_FILE).write_text(
        _told(url="ws://203.0.113.1", tokenFile=str(tmp_path / "token"))
    )
    _seem_of(monkeypatch, "local_host", os.getuid() + 1)
    monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 2)
    for token in (None, "given"):
        with pytest.raises(NoHost, match="another user's"):
            find_local_host(tmp_path, token)


def test_root_gives_one_user_s_token_to_no_other_s_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_or_create_owner_token(tmp_path / "token")
    (tmp_path / HOST_FILE).write_text(
        _told(url="ws://203.0.113.1", tokenFile=str(tmp_path / "token"))
    )
    _seem_of(monkeypatch, "local_host", os.getuid() + 1)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    with pytest.raises(NoToken, match="belongs to another user"):
        find_local_host(tmp_path)


def _seem_of(monkeypatch: pytest.MonkeyPatch, module: str, user: int) -> None:
    """Have what a module opens belong to another user."""

    class Os(ModuleType):
        def __getattr__(self, name: str) -> Any:
            return getattr(os, name)

        def fstat(self, descriptor: int) -> os.stat_result:
            fields = list(os.fstat(descriptor))
            fields[stat.ST_UID] = user
            return os.stat_result(fields)

    monkeypatch.setattr(f"agenthost.{module}.os", Os("os"))


def test_the_file_of_a_newer_host_is_left_alone(tmp_path: Path) -> None:
    with announce(tmp_path, "ws://127.0.0.1:1", None):
        newer = {"url": "ws://127.0.0.1:2", "pid": os.getppid(), "tokenFile": None}
        (tmp_path / HOST_FILE).write_text(json.dumps(newer))
    assert json.loads((tmp_path / HOST_FILE).read_text()) == newer


def test_the_certificate_of_a_host_is_found_with_it(tmp_path: Path) -> None:
    with announce(tmp_path, "wss://127.0.0.1:1", None, tls_cert=tmp_path / "cert.pem"):
        assert find_local_host(tmp_path).tls_cert == tmp_path / "cert.pem"
    with announce(tmp_path, "ws://127.0.0.1:1", None):
        assert find_local_host(tmp_path).tls_cert is None


def test_a_host_of_the_user_s_own_directory_needs_no_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTHOST_DATA_DIR", str(tmp_path))
    with pytest.raises(NoHost, match=r"`agenthost serve`, or set \$AGENTHOST_URL"):
        find_local_host()
    with pytest.raises(NoHost, match=f"`agenthost serve --data-dir {tmp_path}/other`"):
        find_local_host(tmp_path / "other")


def test_the_variable_wins_everywhere() -> None:
    named = {"AGENTHOST_DATA_DIR": "/srv/agents", "XDG_DATA_HOME": "/xdg"}
    assert default_data_dir(named, "linux") == Path("/srv/agents")
    assert default_data_dir(named, "darwin") == Path("/srv/agents")
    assert default_data_dir({"AGENTHOST_DATA_DIR": "~/a"}, "linux") == Path.home() / "a"


def test_linux_follows_xdg_and_ignores_what_xdg_says_to_ignore() -> None:
    home = Path.home() / ".local" / "share" / "agenthost"
    assert default_data_dir({"XDG_DATA_HOME": "/xdg"}, "linux") == Path("/xdg/agenthost")
    for ignored in ({}, {"XDG_DATA_HOME": ""}, {"XDG_DATA_HOME": "relative"}):
        assert default_data_dir(ignored, "linux") == home


def test_macos_has_its_own_place() -> None:
    expected = Path.home() / "Library" / "Application Support" / "agenthost"
    assert default_data_dir({"XDG_DATA_HOME": "/xdg"}, "darwin") == expected
