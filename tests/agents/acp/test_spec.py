"""``acp:NAME=COMMAND``, and what people are told when that is not what they wrote."""

from __future__ import annotations

import sys

import pytest

from agenthost.agents import AgentError, SessionContext
from agenthost.agents.acp import AcpAgent, AcpUnavailable, BadAcpSpec, parse_acp_spec


def test_a_command_is_split_as_a_shell_would() -> None:
    agent = parse_acp_spec(f"acp:my-agent={sys.executable} -m 'some module' --x=y")
    assert isinstance(agent, AcpAgent)
    assert (agent.provider, agent.display_name) == ("my-agent", "my-agent")
    assert agent._command == (sys.executable, "-m", "some module", "--x=y")
    assert agent.info()["capabilities"]["multipleChats"]


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("acp:", "say acp:NAME=COMMAND"),
        ("acp:name", "say acp:NAME=COMMAND"),
        ("acp:=sh", "the name before '='"),
        ("acp:a b=sh", "the name before '='"),
        ("acp:a=", "no command after '='"),
        ("acp:a=sh 'x", "No closing quotation"),
        ("other:a=sh", "say acp:NAME=COMMAND"),
    ],
)
def test_what_names_no_agent_is_refused_with_the_reason(spec: str, reason: str) -> None:
    with pytest.raises(BadAcpSpec, match=reason):
        parse_acp_spec(spec)


def test_a_program_that_is_missing_is_named() -> None:
    with pytest.raises(AcpUnavailable, match="needs the program 'no-such-program'"):
        parse_acp_spec("acp:a=no-such-program --acp")


async def test_without_the_package_it_is_said_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "acp", None)
    with pytest.raises(AcpUnavailable, match=r"'agenthost\[acp\]', or in a checkout pip install"):
        parse_acp_spec("acp:a=sh")
    for name in [name for name in sys.modules if name.startswith("agenthost.agents.acp.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(AgentError, match=r"pip install 'agenthost\[acp\]'"):
        await AcpAgent("a", ["sh"]).start_session(SessionContext("s"))


def test_a_command_cannot_be_empty() -> None:
    with pytest.raises(ValueError, match="empty"):
        AcpAgent("a", [])
