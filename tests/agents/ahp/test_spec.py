"""``ahp:NAME=ADDRESS`` and ``ahp:NAME=@FILE``, and what people are told of anything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from agenthost.agents.ahp.spec import BadFarSpec, FarPlace, parse_far_spec
from agenthost.agents.loader import UnknownAgent, load_agent


def test_an_address_keeps_its_token_to_itself() -> None:
    spec = parse_far_spec("ahp:build=wss://build.example/ahp?tkn=s3cret&room=4&agent=llm&shared=1")
    assert spec.name == "build"
    assert spec.place == FarPlace("wss://build.example/ahp?room=4", "s3cret")
    assert spec.place.shown == "wss://build.example/ahp"
    assert spec.agent == "llm"
    assert spec.shares_files


def test_a_bare_address_is_a_websocket() -> None:
    assert parse_far_spec("ahp:b=10.0.0.7:8765").place.address == "ws://10.0.0.7:8765/"
    assert parse_far_spec("ahp:b=http://10.0.0.7").place.address == "ws://10.0.0.7/"


def test_a_machine_to_log_in_to_is_an_address_too() -> None:
    spec = parse_far_spec("ahp:b=ssh://me@Box:2022/~/data?agent=llm&shared=1")
    assert spec.place == FarPlace("ssh://me@Box:2022/~/data")
    assert spec.place.shown == "ssh://Box:2022/~/data"
    assert (spec.agent, spec.shares_files) == ("llm", True)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("ahp:", "ahp:NAME=ws://HOST:PORT"),
        ("ahp:build", "ahp:NAME=ws://HOST:PORT"),
        ("ahp:build=", "ahp:NAME=ws://HOST:PORT"),
        ("ahp:a b=ws://x", "a name has"),
        ("ahp:../x=ws://x", "a name has"),
        ("ahp:build=ftp://x?tkn=s3cret", "not the address of a host"),
        ("ahp:build=ssh://me:s3cret@x", "not the address of a host"),
        ("ahp:build=@/nowhere/at/all", "cannot be read"),
    ],
)
def test_what_is_wrong_is_said_without_the_token(spec: str, said: str) -> None:
    with pytest.raises(BadFarSpec, match=said) as refused:
        parse_far_spec(spec)
    assert "s3cret" not in str(refused.value)


def _file(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_file_is_read_again_for_a_host_that_moves(tmp_path: Path) -> None:
    path = _file(tmp_path / "host.toml", 'url = "ws://one:1"\ntoken = "a"\nshared = true\n')
    spec = parse_far_spec(f"ahp:build=@{path}")
    assert spec.shares_files
    assert spec.find() == FarPlace("ws://one:1/", "a")
    path.write_text('url = "ws://two:2"\ntoken = "b"\n')
    assert spec.find() == FarPlace("ws://two:2/", "b")


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        ('url = "ws://x"\ntoken = "s3cret"', 0o644, "others can read the token"),
        ('token = "s3cret"', 0o600, "names no url"),
        ('url = "ws://x"\npassword = "s3cret"', 0o600, "may say url, token, agent, shared"),
        ('url = "ws://x"\ntoken = 7', 0o600, "token in .* is of the wrong kind"),
        ("s3cret", 0o600, "is not TOML"),
        ("\0\1\2", 0o600, "is not TOML"),
    ],
)
def test_a_file_that_will_not_do(tmp_path: Path, text: str, mode: int, said: str) -> None:
    path = _file(tmp_path / "host.toml", text, mode)
    with pytest.raises(BadFarSpec, match=said) as refused:
        parse_far_spec(f"ahp:build=@{path}")
    assert "s3cret" not in str(refused.value)


def test_the_loader_makes_far_agents_and_says_why_not() -> None:
    agent = load_agent("ahp:build=ws://127.0.0.1:1")
    assert agent.provider == "build"
    assert agent.resumable
    assert "not reached yet" in agent.info()["description"]
    with pytest.raises(UnknownAgent, match="ahp:NAME"):
        load_agent("ahp:build")
