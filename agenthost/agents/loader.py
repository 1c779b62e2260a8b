"""Loading agents: built-in, installed, configured, or named as ``module:name``.

A spec is one of ``demo``, ``llm``, ``acp:NAME=COMMAND``, ``ahp:NAME=ADDRESS`` for an agent of
another host, the name of an entry point in the group ``agenthost.agents``, or ``module:name``; the
last two lead to a class, or to an agent that is made already. Knows how to make agents and why one
cannot be made; what they do is their own affair.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from agenthost.agents.api import Agent
from agenthost.agents.demo import Demo
from agenthost.agents.optional_dependencies import how_to_install
from agenthost.agents.sanitize import json_copy
from agenthost.errors import AgentHostError, InvalidParams
from agenthost.protocol.schema.validation import validate_as

ENTRY_POINTS = "agenthost.agents"
CONFIG_FILE = "agenthost.toml"


class UnknownAgent(AgentHostError):
    """An agent cannot be loaded; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class AgentCandidate:
    """An available agent, or why it is not available."""

    spec: str
    # Where it comes from: built in, installed, configured, named.
    source: str
    agent: Agent | None = None
    problem: str | None = None


def load_agent(spec: str) -> Agent:
    """Make the agent that a spec names, or raise UnknownAgent."""
    if spec in _BUILT_IN:
        return _BUILT_IN[spec]()
    if spec.startswith("acp:"):
        return _make_acp(spec)
    if spec.startswith("ahp:"):
        return _make_far(spec)
    for point in entry_points(group=ENTRY_POINTS, name=spec):
        return _made(spec, point.load)
    module, colon, name = spec.partition(":")
    if not colon:
        known = ", ".join([*_BUILT_IN, *sorted(entry_points(group=ENTRY_POINTS).names)])
        raise UnknownAgent(
            f"there is no agent {spec!r}; there are {known}, acp:NAME=COMMAND, ahp:NAME=ADDRESS"
            " and module:name"
        )
    return _made(spec, lambda: getattr(importlib.import_module(module), name))


def load_agents(
    specs: Sequence[str], *, reload: bool = False, unusable: list[AgentCandidate] | None = None
) -> list[Agent]:
    """Make all agents to offer: the named ones first, then those that are there by themselves.

    One that was named must work; one that was not is left out when it cannot. With ``reload``,
    those whose code people write here are read again whenever it has changed. ``unusable`` gets
    those that are left out, each with its problem.
    """
    agents: dict[str, Agent] = {}
    for found in find_agents(specs, reload=reload):
        if found.agent is None:
            if found.spec in specs:
                raise UnknownAgent(found.problem or f"agent {found.spec} is not available")
            if unusable is not None:
                unusable.append(found)
            continue
        provider = found.agent.provider
        if provider in agents and found.spec in specs:
            raise UnknownAgent(f"two agents are called {provider!r}")
        agents.setdefault(provider, found.agent)
    return list(agents.values())


def find_agents(specs: Sequence[str] = (), *, reload: bool = False) -> list[AgentCandidate]:
    """Return every agent that could be offered, with the reason where it cannot."""
    installed = sorted(entry_points(group=ENTRY_POINTS).names)
    sources = dict.fromkeys(specs, "named")
    sources |= {spec: "built in" for spec in _BUILT_IN if spec not in sources}
    sources |= {spec: "installed" for spec in installed if spec not in sources}
    return [_look(spec, source, reload) for spec, source in sources.items()]


def configured_specs(path: Path) -> list[str]:
    """Read the agents that a configuration file names; none when there is no file.

    ``agents = ["llm", "acp:helper=helper --acp"]`` at the top of the file.
    """
    try:
        text = path.read_text()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise UnknownAgent(f"{path} cannot be read: {error}") from error
    try:
        # Late: most hosts have no such file.
        import tomllib

        config: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UnknownAgent(f"{path} cannot be read: {error}") from error
    specs = config.get("agents", [])
    if not isinstance(specs, list) or not all(isinstance(spec, str) for spec in specs):
        raise UnknownAgent(f"{path}: agents must be a list of words such as 'llm'")
    unknown = sorted(set(config) - {"agents"})
    if unknown:
        raise UnknownAgent(f"{path}: there is no setting {unknown[0]!r}; there is only 'agents'")
    return specs


def _look(spec: str, source: str, reload: bool) -> AgentCandidate:
    try:
        return AgentCandidate(spec, source, agent=_reloading(spec) if reload else load_agent(spec))
    except UnknownAgent as error:
        return AgentCandidate(spec, source, problem=str(error))


def _reloading(spec: str) -> Agent:
    # Late: it makes its agents by this module.
    from agenthost.agents.reloading import ReloadingAgent, module_folder

    return load_agent(spec) if module_folder(spec) is None else ReloadingAgent(spec)


def _made(spec: str, find: Callable[[], Any]) -> Agent:
    try:
        found = find()
        made = found() if callable(found) and not isinstance(found, Agent) else found
    except (Exception, SystemExit) as error:
        # Whatever somebody else's module raises, the person at the terminal needs a sentence.
        raise UnknownAgent(f"agent {spec} cannot be made: {_described(error)}") from error
    if not isinstance(made, Agent):
        raise UnknownAgent(f"agent {spec} is no Agent: derive it from agenthost.agents.Agent")
    _check_info(spec, made)
    return made


def _described(error: BaseException) -> str:
    """Describe an error in an agent's module with its file and line."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        # Its own words name the file without its folder, and nothing that calls it is to blame.
        return f"{error.msg} ({_place(error.filename, error.lineno)})"
    told = str(error)
    if not told or isinstance(error, KeyError | SystemExit):
        # A bare word or number says nothing.
        told = f"{type(error).__name__}: {told}".removesuffix(": ")
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_theirs(frame)]
    if not frames:
        return told
    # Where it happened, and, if that is in a library, which line of the agent's led there.
    named = [frames[-1]]
    if frames[0].filename != frames[-1].filename:
        named.append(frames[0])
    return f"{told} ({', from '.join(_place(f.filename, f.lineno) for f in named)})"


def _is_theirs(frame: traceback.FrameSummary) -> bool:
    """Return whether a frame is of the agent's code, not of the machinery that imports it."""
    name = frame.filename
    ours = (__file__, importlib.__file__, importlib.metadata.__file__)
    return not name.startswith("<frozen importlib") and name not in ours


def _place(file: str, line: int | None) -> str:
    return f"{file}, line {line}" if line is not None else file


def _check_info(spec: str, agent: Agent) -> None:
    """Refuse an agent that clients could not be told of, before any is connected."""
    try:
        validate_as("AgentInfo", json_copy(agent.info()))
    except InvalidParams as error:
        raise UnknownAgent(f"agent {spec} describes itself wrongly: {error.message}") from error
    except Exception as error:
        raise UnknownAgent(f"agent {spec} cannot describe itself: {_described(error)}") from error


def _make_llm() -> Agent:
    try:
        from agenthost.agents.llm import LlmAgent, make_llm_agent
    except ImportError as error:
        raise UnknownAgent(f"the llm agent needs: {how_to_install('llm')}") from error
    problem = LlmAgent.availability()
    if problem is not None:
        raise UnknownAgent(problem)
    return make_llm_agent()


def _make_acp(spec: str) -> Agent:
    try:
        from agenthost.agents.acp import parse_acp_spec
    except ImportError as error:
        raise UnknownAgent(f"ACP agents need: {how_to_install('acp')}") from error
    try:
        return parse_acp_spec(spec)
    except (AgentHostError, ValueError) as error:
        raise UnknownAgent(str(error)) from error


def _make_far(spec: str) -> Agent:
    # A client, which few hosts need.
    from agenthost.agents.ahp.agent import make_far_agent

    try:
        return make_far_agent(spec)
    except AgentHostError as error:
        raise UnknownAgent(str(error)) from error


_BUILT_IN: dict[str, Callable[[], Agent]] = {"demo": Demo, "llm": _make_llm}
