"""An agent whose code is read again between turns, for whoever is writing it.

Before each turn the files of its modules are compared with what was loaded. If one has changed, all
modules of its folder are imported anew and a new agent is made; turns under way keep the one they
began with. Where that fails the old one goes on, and the next turn says what is wrong. Modules of
installed packages, of Python and of agenthost are left alone.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import importlib.util
import linecache
import logging
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agenthost.agents.api import Agent, SessionContext, SlashCommand
from agenthost.agents.loader import ENTRY_POINTS, UnknownAgent, load_agent

if TYPE_CHECKING:
    from agenthost.agents.turn import Turn

log = logging.getLogger(__name__)

# Path -> what changes with its content, as far as one can tell without reading it.
Stamps = dict[Path, tuple[int, int] | None]

# What people do not write here, wherever it lies.
_OURS = Path(__file__).resolve().parents[1]
_PYTHON = Path(sysconfig.get_path("stdlib")).resolve()
_PACKAGES = ("site-packages", "dist-packages")


def module_folder(spec: str) -> Path | None:
    """Return the folder that the modules of an agent lie in; None if they are not to be reloaded.

    Only for ``module:name`` and for entry points; what is installed otherwise than for editing does
    not change while a host runs.
    """
    module = _module_of(spec)
    if module is None:
        return None
    try:
        found = importlib.util.find_spec(module.partition(".")[0])
    except (ImportError, ValueError):
        return None
    if found is None:
        return None
    package = list(found.submodule_search_locations or ())
    # A package without __init__.py has no file of its own.
    origin = found.origin or (f"{package[0]}/__init__.py" if package else None)
    if origin in (None, "built-in", "frozen"):
        return None
    # Of a package, the folder around it; of a single module, the one it lies in.
    file = Path(origin).resolve()
    folder = file.parent.parent if package else file.parent
    return folder if _is_theirs(file, folder) else None


@dataclass(eq=False)
class _Generation:
    """One agent that was made, and what it is used for."""

    agent: Agent
    # Sessions that were started with it, and turns that are under way.
    sessions: set[str] = field(default_factory=set)
    running: int = 0
    # Held while a session is started, which several turns of it may want at once.
    starting: asyncio.Lock = field(default_factory=asyncio.Lock)


class ReloadingAgent(Agent):
    """The agent of a spec, as its files have it now."""

    def __init__(self, spec: str) -> None:
        """Load the agent; raise UnknownAgent when it cannot be, or cannot be reloaded."""
        folder = module_folder(spec)
        if folder is None:
            raise UnknownAgent(f"agent {spec} cannot be reloaded: it is installed, not a file here")
        self._spec = spec
        self._folder = folder
        self._now = _Generation(_load(spec))
        self._old: list[_Generation] = []
        self._stamps = _stamps(self._modules().values())
        # What is wrong with the files as they are, and whether people were told.
        self._problem: str | None = None
        self._is_told = True
        # Neither may change: a host knows the agent by it.
        self.provider = self._now.agent.provider
        self.display_name = self._now.agent.display_name
        self._take_over()

    async def run(self, turn: Turn) -> None:
        """Answer with the newest agent that works."""
        await self._refresh()
        if self._problem is not None and not self._is_told:
            self._is_told = True
            await turn.notify(f"The agent was not reloaded: {self._problem}")
        generation = self._now
        generation.running += 1
        try:
            await self._start(generation, turn.session)
            await generation.agent.run(turn)
        finally:
            generation.running -= 1
            await self._retire()

    async def start_session(self, session: SessionContext) -> None:
        """Start a session with the newest agent that works."""
        await self._refresh()
        await self._start(self._now, session)

    async def change_directory(self, session: str, directory: str, replacement: str) -> None:
        """Have every agent that works in the session do so."""
        for generation in self._with(session):
            await generation.agent.change_directory(session, directory, replacement)

    async def end_session(self, session: str) -> None:
        """Have every agent let go of the session."""
        for generation in self._with(session):
            generation.sessions.discard(session)
            await generation.agent.end_session(session)

    async def close(self) -> None:
        """Close all agents."""
        for generation in [*self._old, self._now]:
            await generation.agent.close()

    async def offered(self) -> None:
        """Begin what goes on while a host offers the agent."""
        await self._now.agent.offered()

    def info(self) -> dict[str, Any]:
        """Return what the newest agent says of itself."""
        return self._now.agent.info()

    def config_schema(
        self, values: Mapping[str, Any], working_directory: str | None
    ) -> Mapping[str, Any]:
        """Return the settings that the newest agent has."""
        return self._now.agent.config_schema(values, working_directory)

    async def complete_config(
        self, setting: str, query: str, values: Mapping[str, Any], working_directory: str | None
    ) -> Sequence[Mapping[str, Any]]:
        """Offer what the newest agent offers."""
        return await self._now.agent.complete_config(setting, query, values, working_directory)

    async def check_token(self, resource: str, token: str) -> None:
        """Check a token as the newest agent does."""
        await self._now.agent.check_token(resource, token)

    async def sample(self, params: Mapping[str, Any], turn: Turn) -> Mapping[str, Any]:
        """Answer an MCP server as the newest agent does."""
        return await self._now.agent.sample(params, turn)

    async def _refresh(self) -> None:
        """Load the agent anew if its files have changed; one that is broken is tried each time."""
        if self._problem is None and _stamps(self._stamps) == self._stamps:
            return
        try:
            made = self._load_anew()
        except UnknownAgent as error:
            if str(error) != self._problem:
                log.warning("the agent %s was not reloaded", self._spec, exc_info=True)
                self._problem, self._is_told = str(error), False
            return
        log.info("the agent %s was reloaded", self._spec)
        self._problem, self._is_told = None, True
        self._stamps = _stamps(self._modules().values())
        before = self._now.agent.info()
        self._old.append(self._now)
        self._now = _Generation(made)
        self._take_over()
        await made.offered()
        await self._retire()
        if made.info() != before:
            self.changed()

    def _load_anew(self) -> Agent:
        """Import everything of the folder again; if that fails, all is as it was."""
        kept = self._modules()
        for name in kept:
            del sys.modules[name]
        importlib.invalidate_caches()
        linecache.checkcache()
        try:
            made = _load(self._spec)
            if made.provider != self.provider:
                raise UnknownAgent(
                    f"it calls itself {made.provider!r} instead of {self.provider!r} now;"
                    " restart the host"
                )
            return made
        except BaseException:
            for name in self._modules():
                del sys.modules[name]
            sys.modules.update(kept)
            raise

    def _modules(self) -> dict[str, ModuleType]:
        """Return the modules of the folder that are loaded, by name."""
        return {
            name: module
            for name, module in list(sys.modules.items())
            if name != "__main__"
            and (file := _file_of(module)) is not None
            and _is_theirs(file, self._folder)
        }

    def _take_over(self) -> None:
        """Show what the newest agent has, as a host asks for it, and pass on what it says."""
        agent = self._now.agent
        self.display_name = agent.display_name
        self.description = agent.description
        self.models = agent.models
        self.tools = agent.tools
        self.slash_commands: Sequence[SlashCommand] = agent.slash_commands
        self.protected_resources = agent.protected_resources
        self.capabilities = agent.capabilities
        self.customizations = agent.customizations
        self.uses_mcp = agent.uses_mcp
        self.resumable = agent.resumable
        agent.on_changed = self._agent_changed
        agent.on_offered = lambda other: self.on_offered and self.on_offered(other)
        agent.on_withdrawn = lambda provider: self.on_withdrawn and self.on_withdrawn(provider)

    def _agent_changed(self) -> None:
        self._take_over()
        self.changed()

    async def _start(self, generation: _Generation, session: SessionContext) -> None:
        async with generation.starting:
            if session.session not in generation.sessions:
                await generation.agent.start_session(session)
                generation.sessions.add(session.session)

    def _with(self, session: str) -> list[_Generation]:
        """Return the agents that were started for a session, and the newest in any case."""
        old = [each for each in self._old if session in each.sessions]
        return [*old, self._now]

    async def _retire(self) -> None:
        """Close the old agents that nothing runs with any more."""
        over = [each for each in self._old if not each.running]
        self._old = [each for each in self._old if each.running]
        for generation in over:
            generation.agent.on_changed = None
            try:
                for session in generation.sessions:
                    await generation.agent.end_session(session)
                await generation.agent.close()
            except Exception:
                log.warning("an old %s did not close", self._spec, exc_info=True)


def _load(spec: str) -> Agent:
    """Load an agent without leaving compiled files.

    Those are told apart by the second and the size, and somebody may be faster than that.
    """
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        return load_agent(spec)
    finally:
        sys.dont_write_bytecode = before


def _module_of(spec: str) -> str | None:
    """Return the module that a spec leads to; None if to none that people write here."""
    for point in entry_points(group=ENTRY_POINTS, name=spec):
        return point.module
    module, colon, _ = spec.partition(":")
    return module if colon and module not in ("acp", "ahp") else None


def _file_of(module: object) -> Path | None:
    file = getattr(module, "__file__", None)
    return _resolved(file) if isinstance(file, str) else None


@functools.lru_cache(maxsize=8192)
def _resolved(file: str) -> Path:
    # There are thousands, and looking each up takes longer than all the rest.
    return Path(file).resolve()


def _is_theirs(file: Path, folder: Path) -> bool:
    """Return whether a module's file is of an agent's folder, and nobody else's."""
    if not file.is_relative_to(folder):
        return False
    others = file.is_relative_to(_OURS) or file.is_relative_to(_PYTHON)
    return not others and not any(part in _PACKAGES for part in file.parts)


def _stamps(of: Iterable[ModuleType | Path]) -> Stamps:
    """Return when each file was last written, and how long it is; None for one that is gone."""
    files = (each if isinstance(each, Path) else _file_of(each) for each in of)
    stamps: Stamps = {}
    for file in files:
        if file is None:
            continue
        try:
            info = file.stat()
        except OSError:
            stamps[file] = None
        else:
            stamps[file] = (info.st_mtime_ns, info.st_size)
    return stamps
