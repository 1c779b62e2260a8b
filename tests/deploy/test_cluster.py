"""The files of a cluster: real servers take the configuration, and the rest fits together."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
import yaml

from agenthost.cli.main import build_parser
from tests.deploy.proxying import DEPLOY, free_port, program

CLUSTER = DEPLOY / "cluster"
SERVERS, NODES = ("n1", "n2", "n3"), ("alder", "birch", "cedar")
SERVER = Path(sys.executable).with_name("nats-server")
PATIENCE = 60.0

needs_a_server = pytest.mark.skipif(not SERVER.exists(), reason="nats-server is not installed")


@pytest.fixture
def composed() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((CLUSTER / "compose.yaml").read_text())
    return loaded


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


def configuration(client: int, route: int, monitor: int, routes: list[int]) -> str:
    """Return the file with ports of this machine in place of names."""
    return replaced(
        (CLUSTER / "nats.conf").read_text(),
        ("0.0.0.0:4222", f"127.0.0.1:{client}"),
        ("0.0.0.0:6222", f"127.0.0.1:{route}"),
        ("127.0.0.1:8222", f"127.0.0.1:{monitor}"),
        *(
            (f"nats://{name}:6222", f"nats://127.0.0.1:{port}")
            for name, port in zip(SERVERS, routes, strict=True)
        ),
    )


@asynccontextmanager
async def server(folder: Path, name: str, text: str) -> AsyncIterator[None]:
    """Run one server until the block ends."""
    (folder / f"{name}.conf").write_text(text)
    with open(folder / f"{name}.log", "wb") as output:  # noqa: ASYNC230
        process = await asyncio.create_subprocess_exec(
            str(SERVER),
            "-c",
            str(folder / f"{name}.conf"),
            stdout=output,
            stderr=output,
            env={
                "NATS_NAME": name,
                "NATS_FOLDER": str(folder / name),
                "NATS_PASSWORD": "secret",
            },
        )
    try:
        yield
    finally:
        process.kill()
        await process.wait()


async def told(monitor: int, page: str) -> dict[str, Any]:
    """Return what a server says of itself, or nothing while it is not there."""

    def fetch() -> dict[str, Any]:
        try:
            with urlopen(f"http://127.0.0.1:{monitor}/{page}", timeout=5) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except (URLError, OSError):
            return {}

    return await asyncio.to_thread(fetch)


@needs_a_server
async def test_three_servers_with_this_file_are_one_jetstream_that_syncs_always(
    tmp_path: Path,
) -> None:
    ports = [[free_port() for _ in SERVERS] for _ in range(3)]
    clients, routes, monitors = ports
    async with AsyncExitStack() as stack, asyncio.timeout(PATIENCE):
        for index, name in enumerate(SERVERS):
            text = configuration(clients[index], routes[index], monitors[index], routes)
            await stack.enter_async_context(server(tmp_path, name, text))
        while True:
            pages = [await told(monitor, "jsz") for monitor in monitors]
            metas = [page.get("meta_cluster", {}) for page in pages]
            if all(meta.get("leader") and meta.get("cluster_size") == 3 for meta in metas):
                break
            # Nothing tells when they have agreed.
            await asyncio.sleep(0.1)
        assert [page["config"].get("sync_always") for page in pages] == [True] * 3
        varz = await told(monitors[0], "varz")
        assert varz["auth_required"] is True


def test_compose_starts_three_servers_and_three_nodes_with_one_token(
    composed: dict[str, Any], tmp_path: Path
) -> None:
    services = composed["services"]
    assert set(services) == {*SERVERS, *NODES}
    text = (CLUSTER / "nats.conf").read_text()
    assert all(f"nats://{name}:6222" in text for name in SERVERS)
    for name in SERVERS:
        assert "ports" not in services[name]
        assert services[name]["environment"]["NATS_NAME"] == name
        assert set(services[name]["environment"]) == set(re.findall(r"\$(NATS_\w+)", strip(text)))
    for name in NODES:
        node = services[name]
        words = [str(tmp_path) if word == "/work" else word for word in node["command"]]
        args = build_parser("serve").parse_args(words[1:] if words[0] != "serve" else words)
        assert (args.host, args.node) == ("0.0.0.0", name)
        assert str(args.token_file) == "/tokens/token"
        urls = node["environment"]["AGENTHOST_CLUSTER"].split(",")
        assert [url.rpartition("@")[2] for url in urls] == [f"{each}:4222" for each in SERVERS]
        assert "cluster" in node["build"]["args"]["EXTRAS"].split(",")
        # Nobody beyond this machine speaks plain HTTP to it.
        assert all(port.startswith("127.0.0.1:") for port in node["ports"])


def strip(text: str) -> str:
    """Return a configuration without its comments."""
    return re.sub(r"^\s*#.*$", "", text, flags=re.M)


def test_compose_names_only_what_there_is(composed: dict[str, Any]) -> None:
    sources = set()
    for service in composed["services"].values():
        sources |= {volume.partition(":")[0] for volume in service["volumes"]}
        if "build" in service:
            context = CLUSTER / service["build"]["context"]
            file = context / service["build"]["dockerfile"]
            assert file.samefile(DEPLOY / "Containerfile")
    files = {source for source in sources if source.startswith(".")}
    assert all((CLUSTER / source).is_file() for source in files)
    assert sources - files == set(composed["volumes"])
    # A volume belongs to the user of the container where its folder does.
    [made] = re.findall(r"install -d .*", (DEPLOY / "Containerfile").read_text())
    assert {"/data", "/work", "/tokens"} <= set(made.split())


def test_the_unit_is_the_one_of_a_single_host_but_for_the_realm(tmp_path: Path) -> None:
    unit = (CLUSTER / "agenthost-node.service").read_text()
    [line] = re.findall(r"^ExecStart=(.+)$", unit, re.M)
    program_path, *words = shlex.split(line)
    assert program_path.endswith("/bin/agenthost")
    placed = [re.sub(r"^/var/lib/[\w-]+$", str(tmp_path), word) for word in words]
    args = build_parser("serve").parse_args(placed)
    assert (args.host, args.root) == ("127.0.0.1", [tmp_path])
    single = (DEPLOY / "agenthost.service").read_text()
    assert closed(unit) == closed(single)


def closed(unit: str) -> str:
    """Return what a unit is not allowed."""
    return unit.partition("NoNewPrivileges")[2]


def test_systemd_understands_every_line_of_the_unit(tmp_path: Path) -> None:
    text = (CLUSTER / "agenthost-node.service").read_text()
    path = tmp_path / "agenthost-node.service"
    # It looks whether the program is there, which it is not here.
    path.write_text(replaced(text, ("/opt/agenthost/bin/agenthost", "/bin/true")))
    command = [program("systemd-analyze"), "verify", "--man=no", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "agenthost-node.service" not in done.stdout + done.stderr
