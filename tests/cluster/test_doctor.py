"""``agenthost doctor --cluster``: what is wrong with servers, copies, clocks, room and nodes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agenthost.cli.cluster_checks import judge_realm
from agenthost.cluster.inspection import RealmReport, Replica
from agenthost.cluster.nodes.node_info import HeardBeat, NodeInfo
from tests.cli.running import Cli
from tests.cluster.servers import kept_port, one_server, realm_link, three_servers

WELL = RealmReport(
    format=1,
    messages=10,
    bytes=1000,
    last=10,
    wanted=3,
    replicas=(Replica("n1", True, 0), Replica("n2", True, 0), Replica("n3", True, 0)),
    limit=None,
    stored=1000,
    ahead=0.1,
    nodes=(HeardBeat("alder", "p", 1, {"sessions": 2, "position": 10}),),
)


def test_a_realm_that_is_well_has_nothing_but_good_checks() -> None:
    assert {check.verdict for check in judge_realm(WELL)} == {"ok"}


@pytest.mark.parametrize(
    ("change", "name", "verdict"),
    [
        ({"wanted": 1, "replicas": ()}, "replicas", "warning"),
        ({"replicas": WELL.replicas[:2]}, "replicas", "problem"),
        ({"replicas": (*WELL.replicas[:2], Replica("n3", False, 0))}, "replicas", "problem"),
        ({"replicas": (*WELL.replicas[:2], Replica("n3", True, 50_000))}, "replicas", "problem"),
        ({"limit": 1100}, "room", "problem"),
        ({"limit": 10_000}, "room", "ok"),
        ({"ahead": -60.0}, "clock", "warning"),
        ({"nodes": ()}, "nodes", "warning"),
        ({"last": 90_000}, "node", "warning"),
        ({"nodes": (HeardBeat("a", "p", 1, {"position": 10, "ailment": "x"}),)}, "node", "problem"),
    ],
)
def test_what_is_wrong_is_told(change: dict[str, object], name: str, verdict: str) -> None:
    checks = judge_realm(replace(WELL, **change))  # type: ignore[arg-type]
    [found] = [check for check in checks if check.name == name]
    assert found.verdict == verdict
    assert {check.verdict for check in checks if check.name != name} == {"ok"}


async def test_three_real_servers_are_looked_at_and_one_that_is_gone_is_named(
    tmp_path: Path,
) -> None:
    cli = Cli(tmp_path, tmp_path)
    async with three_servers(tmp_path) as servers, realm_link(servers) as link:
        await link.publish("beat", NodeInfo("alder", position=5).encode_beat(1))
        words = ("doctor", "--cluster", ",".join(servers.urls), "--json")
        done = await cli(*words)
        checks = {check["name"]: check["verdict"] for check in done.json["checks"]}
        assert checks["server"] == checks["realm"] == checks["replicas"] == checks["clock"] == "ok"
        servers[2].kill()
        with kept_port(servers.urls[2]):
            done = await cli(*words)
        assert done.code == 1
        [gone] = [
            check
            for check in done.json["checks"]
            if (check["name"], check["verdict"]) == ("server", "problem")
        ]
        assert servers.urls[2].removeprefix("nats://") in gone["detail"]


async def test_without_a_server_a_realm_or_jetstream_a_sentence_says_so(tmp_path: Path) -> None:
    cli = Cli(tmp_path, tmp_path)
    done = await cli("doctor", "--cluster", "nats://127.0.0.1:1")
    assert (done.code, "Traceback" in done.err) == (1, False)
    async with one_server(tmp_path, jetstream=False) as servers:
        done = await cli("doctor", "--cluster", servers.urls[0])
        assert done.code == 1
        assert "JetStream" in done.out
    folder = tmp_path / "other"
    folder.mkdir()
    async with one_server(folder) as servers:
        done = await cli("doctor", "--cluster", servers.urls[0])
        assert done.code == 1
        assert "there is no realm" in done.out
