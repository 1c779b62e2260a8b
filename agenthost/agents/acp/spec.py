"""Parses ``acp:NAME=COMMAND`` into an agent."""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil

from agenthost.agents.acp.agent import AcpAgent
from agenthost.agents.optional_dependencies import how_to_install
from agenthost.errors import AgentHostError

_PREFIX = "acp:"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class BadAcpSpec(AgentHostError):
    """An agent spec is malformed; the message says what is wrong."""


class AcpUnavailable(AgentHostError):
    """The ACP agent cannot run here; the message says what is missing."""


def parse_acp_spec(spec: str) -> AcpAgent:
    """Make the agent that ``acp:NAME=COMMAND`` names; the command is split as a shell would.

    Raises:
        BadAcpSpec: the spec is not of that form.
        AcpUnavailable: the ACP package or the command's program is missing.
    """
    name, command = _split(spec)
    if importlib.util.find_spec("acp") is None:
        raise AcpUnavailable(f"the agent {name} needs: {how_to_install('acp')}")
    if shutil.which(command[0]) is None:
        raise AcpUnavailable(f"the agent {name} needs the program {command[0]!r}, which is missing")
    return AcpAgent(name, command)


def _split(spec: str) -> tuple[str, list[str]]:
    name, equals, line = spec.removeprefix(_PREFIX).partition("=")
    name = name.strip()
    if not spec.startswith(_PREFIX) or not equals:
        raise BadAcpSpec(f"{spec!r} names no ACP agent: say acp:NAME=COMMAND")
    if not _NAME.fullmatch(name):
        raise BadAcpSpec(
            f"{spec!r}: the name before '=' may have letters, digits, dots, dashes and underscores"
        )
    try:
        command = shlex.split(line)
    except ValueError as error:
        raise BadAcpSpec(f"{spec!r}: the command cannot be read: {error}") from error
    if not command:
        raise BadAcpSpec(f"{spec!r}: there is no command after '='")
    return name, command
