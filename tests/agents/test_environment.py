"""What programs see of the host's environment."""

from __future__ import annotations

import pytest

from agenthost.agents.environment import PASS, command_environment, program_environment
from agenthost.agents.processes import run_command

SECRETS = [
    "AGENTHOST_TOKEN", "AGENTHOST_LLM_API_KEY", "OPENAI_API_KEY", "OPENAI_API_KEY_2", "api_key",
    "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "CLIENT_SECRET", "PGPASSWD",
]  # fmt: skip
PLAIN = [
    "PATH", "HOME", "AGENTHOST_URL", "SSH_AUTH_SOCK", "TOKENIZERS_PARALLELISM", "MAX_TOKENS",
    "PASSWORD_STORE_DIR", "KEYBOARD", "AUTHOR",
]  # fmt: skip
GIVEN = {name: f"value of {name}" for name in (*SECRETS, *PLAIN)}


def test_a_command_gets_everything_but_secrets() -> None:
    assert command_environment(given=GIVEN).keys() == set(PLAIN)


def test_a_command_gets_the_secrets_that_are_named() -> None:
    given = {**GIVEN, PASS: " GITHUB_TOKEN, AWS_*,,PA"}
    seen = command_environment({"API_KEY": "told"}, given)
    assert seen["API_KEY"] == "told"
    assert seen.keys() - set(PLAIN) == {"GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "API_KEY", PASS}


def test_a_program_gets_the_keys_that_are_not_the_hosts() -> None:
    seen = program_environment({"MORE": "x"}, GIVEN)
    ours = {"AGENTHOST_TOKEN", "AGENTHOST_LLM_API_KEY"}
    assert seen.keys() == GIVEN.keys() - ours | {"MORE"}


async def test_a_running_command_has_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTHOST_TOKEN", "hush")
    monkeypatch.setenv("SOME_API_KEY", "hush")
    monkeypatch.setenv("PLAIN", "word")
    look = "echo $AGENTHOST_TOKEN $SOME_API_KEY $PLAIN"
    assert (await run_command(look)).output == "word\n"
    monkeypatch.setenv(PASS, "SOME_*")
    assert (await run_command(look)).output == "hush word\n"
    told = {"AGENTHOST_TOKEN": "told"}
    assert (await run_command(look, env=told)).output == "told\n"
