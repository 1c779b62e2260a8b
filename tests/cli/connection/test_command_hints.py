"""What people are told to type next, and where to point a browser."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from agenthost.cli.connection.command_hints import command_line, reachable_addresses
from tests.cli.running import Cli
from tests.wire.client import open_client
from tests.wire.hosting import serve


def test_a_data_directory_is_named_unless_it_is_found_anyway(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("AGENTHOST_DATA_DIR", str(tmp_path / "mine"))
    monkeypatch.chdir(tmp_path)
    usual = tmp_path / "agenthost"
    assert command_line("chat", data_dir=usual) == "agenthost chat"
    # Another terminal does not have the variable, nor this directory.
    mine = f"agenthost chat --data-dir {tmp_path}/mine"
    assert command_line("chat", data_dir=tmp_path / "mine") == mine
    assert command_line("chat", data_dir=Path("mine")) == mine
    spaced = command_line("chat", "3f2a", data_dir=Path("my own"))
    assert shlex.split(spaced)[-1] == f"{tmp_path}/my own"


def test_an_address_is_repeated_and_a_secret_is_not() -> None:
    assert command_line("chat", url="ws://there:1") == "agenthost chat --url ws://there:1"
    asked = "agenthost chat --url http://there:1 --token TOKEN"
    assert command_line("chat", url="http://there:1/?tkn=secret") == asked
    assert command_line("chat", url="http://there:1", token="secret") == asked


def test_who_listens_everywhere_is_reached_at_real_addresses() -> None:
    assert reachable_addresses("127.0.0.1:80") == ["127.0.0.1:80"]
    assert reachable_addresses("[::1]:80") == ["[::1]:80"]
    for everywhere, here in (("0.0.0.0:80", "127.0.0.1:80"), ("[::]:80", "[::1]:80")):
        first, *others = reachable_addresses(everywhere)
        assert first == here
        for other in others:
            assert other not in (everywhere, here)
            assert other.endswith(":80")


async def test_what_serve_prints_can_be_opened_and_typed(tmp_path: Path) -> None:
    async with serve(tmp_path / "data", "--host", "0.0.0.0") as host:
        assert "agenthost is listening on 0.0.0.0:" in host.output
        for address in re.findall(r"ws://(\S+)", host.output):
            assert not address.startswith("0.0.0.0")
            async with open_client(f"ws://{address}") as client:
                await client.initialize()
        assert "http://0.0.0.0" not in host.output
        found = re.search(r"next +agenthost chat (.+)", host.output)
        assert found is not None
        done = await Cli(tmp_path / "elsewhere", tmp_path)("sessions", *shlex.split(found[1]))
        assert done.code == 0
