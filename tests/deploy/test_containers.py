"""The container's files: what they name is there, and what they run is a command of agenthost."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml

from agenthost.cli.main import build_parser
from tests.deploy.proxying import DEPLOY


def instructions(name: str) -> list[str]:
    """Return what stands behind an instruction of the container file, wherever it does."""
    text = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ")
    return re.findall(rf"^{name}\s+(.+)$", text, re.M)


def test_the_container_starts_a_host_that_is_reached_from_outside(tmp_path: Path) -> None:
    [entry], [command] = instructions("ENTRYPOINT"), instructions("CMD")
    words = [*json.loads(entry), *json.loads(command)]
    assert words[0] == "agenthost"
    args = build_parser("serve").parse_args(
        [str(tmp_path) if word == "/work" else word for word in words[1:]]
    )
    assert args.host == "0.0.0.0"
    assert instructions("EXPOSE") == [str(args.port)]


def test_the_container_is_nobody_s_root_and_keeps_its_data() -> None:
    assert instructions("USER") == ["agenthost"]
    [volumes] = instructions("VOLUME")
    assert "/data" in json.loads(volumes)
    assert any("AGENTHOST_DATA_DIR=/data" in line for line in instructions("ENV"))


def test_the_health_check_asks_the_host_s_own_port() -> None:
    [check] = instructions("HEALTHCHECK")
    [_, option, script] = json.loads(check[check.index("[") :])
    assert option == "-c"
    compile(script, "healthcheck", "exec")
    assert f":{instructions('EXPOSE')[0]}/healthz" in script


def test_compose_names_only_what_there_is() -> None:
    composed = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    host, caddy = composed["services"]["host"], composed["services"]["caddy"]
    context = DEPLOY / host["build"]["context"]
    assert (context / host["build"]["dockerfile"]).samefile(DEPLOY / "Containerfile")
    assert "ports" not in host
    [port] = host["expose"]
    assert [port] == instructions("EXPOSE")
    assert caddy["environment"]["AGENTHOST_UPSTREAM"] == f"host:{port}"
    for service in (host, caddy):
        for volume in service["volumes"]:
            source = volume.partition(":")[0]
            assert source in composed["volumes"] or (DEPLOY / source).is_file()
    asked = set(re.findall(r"\{\$(\w+)", (DEPLOY / "Caddyfile").read_text()))
    assert asked == set(caddy["environment"])
