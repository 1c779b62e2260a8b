"""A node that cannot start says why in a sentence, and leaves nothing half-done."""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from agenthost.cli.commands import serve_cluster
from agenthost.cli.main import main
from agenthost.cluster.realm import Appender, stream
from agenthost.errors import AgentHostError
from tests.cluster.servers import one_server, realm_link
from tests.wire.hosting import ServedHost, refusal

pytestmark = pytest.mark.timeout(120)


async def complaint(folder: Path, *options: str) -> str:
    """Return the one sentence with which a node does not start."""
    code, out, err = await refusal("--port", "0", "--data-dir", str(folder / "data"), *options)
    assert (code, out) == (1, ""), (code, out, err)
    assert "Traceback" not in err
    (line,) = [line for line in err.splitlines() if line.startswith("agenthost: ")]
    return line


async def test_where_nobody_answers_the_address_is_named(tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        told = await complaint(tmp_path, "--cluster", f"nats://user:secret@127.0.0.1:{port}")
    assert f"127.0.0.1:{port}" in told
    assert "secret" not in told


async def test_a_server_without_jetstream_is_named_as_such(tmp_path: Path) -> None:
    async with one_server(tmp_path, jetstream=False) as servers:
        told = await complaint(tmp_path, "--cluster", servers.urls[0])
    assert "JetStream" in told


async def test_two_nodes_of_one_name_are_one_too_many(tmp_path: Path) -> None:
    async with one_server(tmp_path) as servers:
        first = ServedHost(tmp_path / "first", "--cluster", servers.urls[0], "--node", "twin")
        await first.start()
        try:
            told = await complaint(tmp_path, "--cluster", servers.urls[0], "--node", "twin")
        finally:
            await first.kill()
    assert "twin" in told
    assert "--node" in told


async def test_a_realm_of_a_newer_agenthost_is_refused_before_anything_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "FORMAT", 99)
    async with one_server(tmp_path) as servers, realm_link(servers):
        told = await complaint(tmp_path, "--cluster", servers.urls[0])
    assert "format 99" in told
    assert "update" in told
    assert not (tmp_path / "data" / "realm").exists()


async def test_what_only_a_newer_agenthost_can_read_ends_a_node_with_a_sentence(
    tmp_path: Path,
) -> None:
    async with one_server(tmp_path) as servers, realm_link(servers) as link:
        head = b'{"id":"1","u":"@realm","n":"n","w":[["from-the-future"]]}'
        body = len(head).to_bytes(4, "big") + head
        await Appender(link).append("@realm", [body], "1", 0)
        told = await complaint(tmp_path, "--cluster", servers.urls[0])
    assert "newer agenthost" in told


async def test_a_credentials_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.creds")
    told = await complaint(
        tmp_path, "--cluster", "nats://127.0.0.1:1", "--cluster-credentials", missing
    )
    assert missing in told


async def test_a_name_that_cannot_be_is_refused(tmp_path: Path) -> None:
    told = await complaint(tmp_path, "--cluster", "nats://127.0.0.1:1", "--node", "a.b")
    assert "a.b" in told


def test_without_the_extra_people_are_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(AgentHostError, match=r"pip install 'agenthost\[cluster\]'"):
        serve_cluster.require_cluster()


@pytest.mark.parametrize(
    "text", ["", ",", "http://x:1", "nats://", "nats://x:port", "nats://x:4222/path"]
)
def test_what_is_no_server_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="nats://HOST:PORT"):
        serve_cluster.servers(text)


def test_addresses_are_read_with_and_without_what_can_be_left_out() -> None:
    assert serve_cluster.servers("one, tls://two:1") == ("nats://one:4222", "tls://two:1")


def test_a_host_alone_loads_nothing_of_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    assert "--cluster" in capsys.readouterr().out
    assert "agenthost.cluster.node" not in sys.modules or "nats" in sys.modules


def test_a_host_without_a_cluster_loads_nothing_of_it() -> None:
    look = (
        "import sys, agenthost.host, agenthost.cli.commands.serve;"
        "print([name for name in sys.modules if name.split('.')[0] == 'nats'"
        " or name.startswith('agenthost.cluster')])"
    )
    told = subprocess.run([sys.executable, "-c", look], capture_output=True, check=True)
    assert told.stdout.decode().strip() == "[]"
