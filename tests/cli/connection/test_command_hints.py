"""What people are told to type next, and where to point a browser."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from agenthost.cli.connection.command_hints import command, command_line, hint, use_host
from agenthost.cli.main import build_parser
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
    assert command_line("chat", url="http://there:1/#tkn=secret") == asked
    assert command_line("chat", url="http://there:1", needs_token=True) == asked
    assert "secret" not in command_line("chat", url="ws://me:secret@there:1")


def host_of(*words: str) -> None:
    """Note the host that the options of a command name."""
    use_host(build_parser("sessions").parse_args(["sessions", *words]))


def test_a_hint_is_for_the_host_that_the_command_is_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    host_of("--data-dir", "it's mine")
    named = shlex.split(command("mcp", "list"))
    assert named == ["agenthost", "mcp", "list", "--data-dir", f"{tmp_path}/it's mine"]
    assert hint("mcp", "list") == f"`{command('mcp', 'list')}`"
    host_of("--url", "wss://there:1", "--token", "secret", "--tls-ca", "ca.pem")
    far = f"--url wss://there:1 --token TOKEN --tls-ca {tmp_path}/ca.pem"
    assert command("sessions") == f"agenthost sessions {far}"
    # To be run where that host is, or about no host at all.
    assert command("token", "list") == "agenthost token list"
    assert command("help", "connecting") == "agenthost help connecting"
    assert command("sessions", "--help") == "agenthost sessions --help"


def test_what_the_shell_s_variables_say_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTHOST_URL", "wss://there:1")
    monkeypatch.setenv("AGENTHOST_TOKEN", "secret")
    host_of()
    assert command("sessions") == "agenthost sessions"
    host_of("--url", "wss://elsewhere:1")
    assert command("sessions") == "agenthost sessions --url wss://elsewhere:1"


def test_a_data_directory_that_is_named_counts_before_the_variables(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AGENTHOST_URL", "wss://there:1")
    monkeypatch.setenv("AGENTHOST_TOKEN", "theirs")
    parse = build_parser("sessions").parse_args
    for words in (["--data-dir", "d"], ["list", "--data-dir", "d"]):
        args = parse(["sessions", *words])
        assert (args.url, args.token, args.data_dir) == (None, None, Path("d")), words
    args = parse(["sessions", "--url", "ws://x:1", "--token", "mine", "--data-dir", "d"])
    assert (args.url, args.token) == ("ws://x:1", "mine")


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
