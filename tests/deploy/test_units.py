"""The systemd units: systemd finds nothing wrong with them, and what they start starts."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from agenthost.cli.main import build_parser
from tests.deploy.proxying import DEPLOY, program

UNITS = ("agenthost.service", "agenthost-user.service")
# Of ten; what is left is what agents need: the network, programs, memory that runs.
MOST_EXPOSURE = 4.0


def command_of(unit: str) -> list[str]:
    [line] = re.findall(r"^ExecStart=(.+)$", (DEPLOY / unit).read_text(), re.M)
    return shlex.split(line)


@pytest.mark.parametrize("unit", UNITS)
def test_systemd_understands_every_line(unit: str, tmp_path: Path) -> None:
    # It looks whether the program is there, which it is not here.
    text = (DEPLOY / unit).read_text().replace(command_of(unit)[0], "/bin/true")
    (tmp_path / "agenthost.service").write_text(text)
    command = [program("systemd-analyze"), "verify", "--man=no"]
    command += ["--user"] if "user" in unit else []
    done = subprocess.run(
        [*command, str(tmp_path / "agenthost.service")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    # Units of this machine may have faults of their own.
    assert "agenthost.service" not in done.stdout + done.stderr


@pytest.mark.parametrize("unit", UNITS)
def test_the_command_line_is_one_that_agenthost_takes(unit: str, tmp_path: Path) -> None:
    program_path, *words = command_of(unit)
    assert program_path.endswith("/bin/agenthost")
    # The folders of a machine that this is not.
    placed = [re.sub(r"^(/var/lib/[\w-]+|%h)$", str(tmp_path), word) for word in words]
    args = build_parser("serve").parse_args(placed)
    assert args.host == "127.0.0.1"
    assert args.root == [tmp_path]


def test_the_unit_for_a_machine_is_closed_to_what_it_does_not_need() -> None:
    command = [program("systemd-analyze"), "security", "--offline=true", "--no-pager"]
    unit = str(DEPLOY / "agenthost.service")
    done = subprocess.run([*command, unit], capture_output=True, text=True, timeout=60, check=False)
    found = re.search(r"exposure level for \S+: ([\d.]+)", done.stdout)
    if found is None:
        pytest.skip(f"this systemd does not judge files: {done.stderr.strip()}")
    assert float(found[1]) <= MOST_EXPOSURE
