"""All terminals of the host: started for clients and tool calls, listed, ended.

They are listed on the root channel from their start until somebody disposes of them; those of tool
calls leave the list a while after their end, and can still be opened. Their sessions, the clients
that hold them and the host take them along when they go.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shlex
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from msgspec import Struct

from agenthost.agents.api import AgentError
from agenthost.agents.processes import command_environment
from agenthost.errors import AlreadyExists, InternalError, PermissionDenied, WireError
from agenthost.host.channels.terminal.claims import session_of
from agenthost.host.channels.terminal.kind import (
    TERMINAL,
    FitTerminal,
    HoldTerminal,
    ListTerminal,
    TypeInto,
    extra_of,
)
from agenthost.host.channels.terminal.stored import StoredTerminals
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.writer import Writer
from agenthost.host.store import Store
from agenthost.host.trust import Limits
from agenthost.protocol.uris import terminal_uri
from agenthost.tasks import Tasks
from agenthost.workspace import file_path
from agenthost.workspace.pty.shells import ShellLaunch, find_shell, interactive, one_command

if TYPE_CHECKING:
    from agenthost.host.channels.terminal.host_terminal import HostTerminal
    from agenthost.protocol.common import Action
    from agenthost.protocol.terminal import (
        TerminalClaim,
        TerminalInfo,
        TerminalSessionClaim,
        TerminalState,
    )

log = logging.getLogger(__name__)

# Seconds that a tool call's terminal stays listed once it has ended, and how many of them do.
LINGER = 60.0
MOST_LINGERING = 32
# Seconds in which a shell must have printed something, or its client is answered anyway.
PROMPT_SECONDS = 10.0
# Seconds that all terminals together get to end with the host.
CLOSE_SECONDS = 3.0
# Seconds between two lists that differ in nothing but titles.
TITLE_SECONDS = 1.0
# Seconds after which a command's output is kept, and then after twice as long each time.
KEEP_SECONDS = 1.0
# The exit code of what SIGKILL has ended.
KILLED = 137
# Bytes that wait for a follower before the program waits for it as well.
BEHIND = 512 * 1024
# Seconds that a client may be away before its terminals go: those that wait for it, and those in
# which something runs.
CLIENT_GRACE = 30.0
BUSY_GRACE = 3600.0
# Seconds between two looks for clients that are away.
CLIENT_INTERVAL = 5.0
# What commands are written for; other shells read something else into them.
_FOR_COMMANDS = frozenset({"ash", "bash", "dash", "ksh", "sh", "zsh"})
STOPPING = "the host is shutting down"


class _Start(Struct):
    """A terminal that is being started, and who it will count for."""

    session: str | None
    maker: str | None
    # Not, once its session is gone.
    is_wanted: bool = True


class HostTerminals:
    """Starts, lists and ends terminals."""

    def __init__(
        self,
        *,
        store: Store,
        writer: Writer,
        directory: Directory,
        effects: Effects,
        tasks: Tasks,
        limits: Limits,
        is_here: Callable[[str], bool],
    ) -> None:
        self._writer = writer
        self._directory = directory
        self._tasks = tasks
        self._limits = limits
        # Whether a client is connected.
        self._is_here = is_here
        self._stored = StoredTerminals(store, writer.ledger, directory)
        # All that are listed, in the order in which they were made.
        self._listed: dict[str, HostTerminal] = {}
        # Those that are being started, by their URIs.
        self._starting: dict[str, _Start] = {}
        # Those of tool calls that have ended and are still listed -> what takes them off the list.
        self._lingering: dict[str, asyncio.TimerHandle] = {}
        # Those of tool calls that run -> what keeps what they show.
        self._keeping: dict[str, asyncio.TimerHandle] = {}
        self._list_timer: asyncio.TimerHandle | None = None
        # Terminal -> since when its client is away.
        self._away: dict[str, float] = {}
        self._is_closed = False
        effects.on(TypeInto, lambda e: self._type(e.channel.uri, e.text))
        effects.on(FitTerminal, lambda e: self._fit(e.channel.uri))
        effects.on(HoldTerminal, _hold)
        effects.on(ListTerminal, self._list_one)

    @property
    def shell(self) -> str:
        """The shell of this host, as its settings or its user have it."""
        config = self._directory.root.state.get("config")
        wanted = config["values"].get("defaultShell") if config else None
        return find_shell(wanted or None, os.environ)

    def get(self, uri: str) -> HostTerminal | None:
        """Return a terminal that is listed."""
        return self._listed.get(uri)

    # Starting them.

    async def create(
        self,
        uri: str,
        claim: TerminalClaim,
        *,
        maker: str,
        name: str | None = None,
        folder: int,
        cwd: str,
        cols: int,
        rows: int,
    ) -> HostTerminal:
        """Start a shell for a client in a folder, given by a descriptor; it shows something by now.

        Raises:
            WireError: the name is in use, there are too many, or the shell cannot be started.
        """
        with self._place(uri, session_of(claim), maker) as start:
            if await self._directory.find(uri) is not None:
                raise AlreadyExists(f"there is a channel {uri} already")
            shell = self.shell
            launch = interactive(shell, command_environment())
            terminal = self._new(uri, nonce=launch.nonce)
            state = _first_state(name or os.path.basename(shell), cwd, claim, cols, rows)
            try:
                await self._start(terminal, start, launch, folder, state)
            except OSError as error:
                log.error("%s could not be started in a terminal: %s", shell, error)
                raise InternalError(f"the shell could not be started: {error}") from error
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PROMPT_SECONDS):
                await terminal.ready.wait()
        return terminal

    async def run(
        self,
        chat: str,
        session: str,
        command: str | Sequence[str],
        *,
        turn_id: str,
        tool_call_id: str | None,
        title: str,
        cwd: str,
        env: Mapping[str, str] | None = None,
        cols: int = 120,
        rows: int = 30,
    ) -> HostTerminal:
        """Run a command for a tool call: a line for the shell, or a program and its arguments.

        Not every agent says which call it is for, and then its turn has it.

        Raises:
            AgentError: there are too many, or it cannot be started.
        """
        line = command if isinstance(command, str) else shlex.join(command)
        terminal = self._new(terminal_uri(str(uuid.uuid4())), command=line)
        claim: TerminalSessionClaim = {
            "kind": "session",
            "session": session,
            "chat": chat,
            "turnId": turn_id,
        }
        if tool_call_id is not None:
            claim["toolCallId"] = tool_call_id
        path = str(file_path(cwd) or cwd)
        state = _first_state(title, file_uri(path), claim, cols, rows)
        launch = one_command(command, self._shell_for_commands(), command_environment(), env)
        try:
            with self._place(terminal.uri, session, None) as start:
                await self._start(terminal, start, launch, path, state)
        except OSError as error:
            reason = error.strerror or str(error)
            raise AgentError(f"the command could not be started: {reason}", "notStarted") from error
        except WireError as error:
            raise AgentError(error.message, "tooManyTerminals") from error
        self._keep(terminal)
        self._keep_again(terminal, 0, KEEP_SECONDS)
        return terminal

    def _shell_for_commands(self) -> str:
        shell = self.shell
        return shell if os.path.basename(shell) in _FOR_COMMANDS else find_shell(None, {})

    @contextlib.contextmanager
    def _place(self, uri: str, session: str | None, maker: str | None) -> Iterator[_Start]:
        """Count a terminal before it runs, so that no more are started than there may be."""
        if uri in self._starting:
            raise AlreadyExists(f"there is a channel {uri} already")
        refusal = self._refusal(session, maker)
        if refusal is not None:
            raise PermissionDenied(refusal)
        start = self._starting[uri] = _Start(session, maker)
        try:
            yield start
        finally:
            del self._starting[uri]

    async def _start(
        self,
        terminal: HostTerminal,
        start: _Start,
        launch: ShellLaunch,
        folder: str | int,
        state: TerminalState,
    ) -> None:
        # Loaded with the first terminal, and not with the host.
        from agenthost.workspace.pty.process import Pty

        pty = await Pty.start(
            launch.words,
            env=launch.env,
            cwd=folder,
            cols=state["cols"],
            rows=state["rows"],
            on_output=terminal.take,
            behind=lambda: terminal.is_ahead_of(BEHIND),
            busy=lambda: terminal.is_telling,
        )
        # Nothing is awaited from here on, or what it prints would be lost.
        if self._is_closed or not start.is_wanted:
            terminal.drop(pty)
            raise OSError(STOPPING if self._is_closed else "its session is gone")
        channel = self._directory.create(terminal.uri, TERMINAL, state)
        extra = extra_of(channel)
        extra.maker, extra.program = start.maker, terminal
        channel.holds += 1
        self._listed[terminal.uri] = terminal
        terminal.start(channel, pty)
        self._tell_list()
        self._tasks.start(self._attend(terminal), f"terminal {terminal.uri}")

    def _refusal(self, session: str | None, maker: str | None) -> str | None:
        if self._is_closed:
            return STOPPING
        limits = self._limits
        counted = list(self._counted())
        if len(counted) >= limits.max_terminals:
            return f"this host has at most {limits.max_terminals} terminals: end one first"
        of_session = sum(each.session == session for each in counted)
        if session is not None and of_session >= limits.max_session_terminals:
            most = limits.max_session_terminals
            return f"a session has at most {most} terminals: end one first"
        of_maker = sum(each.maker == maker for each in counted)
        if maker is not None and of_maker >= limits.max_principal_terminals:
            return f"you may have at most {limits.max_principal_terminals} terminals: end one first"
        return None

    def _counted(self) -> Iterator[_Start]:
        """Name whom the terminals count for; those of tool calls count until they have ended."""
        yield from self._starting.values()
        for terminal in self._listed.values():
            if terminal.command is None or not terminal.over.is_set():
                channel = terminal.channel
                yield _Start(session_of(channel.state["claim"]), extra_of(channel).maker)

    # While they run.

    def _new(
        self, uri: str, *, nonce: str | None = None, command: str | None = None
    ) -> HostTerminal:
        # Late: many a host never has one.
        from agenthost.host.channels.terminal.host_terminal import HostTerminal

        most = self._limits.max_terminal_input
        return HostTerminal(self._writer, uri, nonce=nonce, command=command, most_input=most)

    async def _attend(self, terminal: HostTerminal) -> None:
        """Wait for the end of a terminal's program, and tell it."""
        exit_code = await terminal.pty.ended()
        await terminal.all_told()
        if exit_code is None:
            # Somebody killed its keeper, so the host killed it. Without a code older clients would
            # take it for running.
            exit_code = KILLED
        self._stop_keeping(terminal)
        extra_of(terminal.channel).program = None
        terminal.finish(exit_code)
        self._keep(terminal)
        terminal.finished()
        if terminal.command is not None and terminal.uri in self._listed:
            self._linger(terminal)

    def _type(self, uri: str, text: str) -> None:
        terminal = self._listed.get(uri)
        if terminal is not None:
            terminal.type(text)

    def _fit(self, uri: str) -> None:
        terminal = self._listed.get(uri)
        if terminal is not None:
            terminal.fit()

    def _keep(self, terminal: HostTerminal) -> None:
        session = session_of(terminal.channel.state["claim"])
        if terminal.is_kept and session is not None:
            self._stored.keep(terminal.channel, session)

    def _keep_again(self, terminal: HostTerminal, printed: int, seconds: float) -> None:
        """Keep what a command has printed so far, more and more rarely, should the host crash."""
        if terminal.printed != printed:
            self._keep(terminal)
        again = (terminal, terminal.printed, 2 * seconds)
        loop = asyncio.get_running_loop()
        self._keeping[terminal.uri] = loop.call_later(seconds, self._keep_again, *again)

    def follow_chats(self, chats: Collection[str], session: str) -> None:
        """Let the terminals of chats that move to another session belong to that one."""
        for terminal in list(self._listed.values()):
            claim = terminal.channel.state["claim"]
            if claim["kind"] == "session" and claim["chat"] in chats:
                moved: Action = {"type": "terminal/claimed", "claim": {**claim, "session": session}}
                self._writer.apply(terminal.channel, moved)

    # Their list.

    def _list_one(self, effect: ListTerminal) -> None:
        terminal = self._listed.get(effect.channel.uri)
        if terminal is None:
            return
        if effect.is_detached:
            terminal.detach()
        if not effect.at_leisure:
            self._tell_list()
        elif self._list_timer is None:
            loop = asyncio.get_running_loop()
            self._list_timer = loop.call_later(TITLE_SECONDS, self._tell_list)

    def _tell_list(self) -> None:
        if self._list_timer is not None:
            self._list_timer.cancel()
            self._list_timer = None
        root = self._directory.root
        terminals = [_info(terminal) for terminal in self._listed.values()]
        if root.state.get("terminals") != terminals:
            action: Action = {"type": "root/terminalsChanged", "terminals": terminals}
            self._writer.apply(root, action)

    # Ending them.

    async def dispose(self, terminal: HostTerminal) -> None:
        """End a terminal and take it off the list, also if nobody waits for it any more."""
        await asyncio.shield(self._tasks.start(self._dispose(terminal), f"end {terminal.uri}"))

    async def _dispose(self, terminal: HostTerminal) -> None:
        await terminal.kill()
        self._remove(terminal)

    def end_session(self, session: str, keep: bool = False) -> None:
        """End the terminals of a session that goes; ``keep`` what they showed if it may come back.

        Nothing is waited for: clients are told when they have ended.
        """
        for start in self._starting.values():
            start.is_wanted &= start.session != session
        for terminal in list(self._listed.values()):
            if session_of(terminal.channel.state["claim"]) == session:
                terminal.is_kept &= keep
                self._tasks.start(self._dispose(terminal), f"end {terminal.uri}")

    async def leave_clients(self) -> None:
        """End the terminals of clients that do not come back, again and again."""
        while True:
            await asyncio.sleep(CLIENT_INTERVAL)
            for terminal in self._deserted(asyncio.get_running_loop().time()):
                self._tasks.start(self._dispose(terminal), f"end {terminal.uri}")

    def _deserted(self, now: float) -> Iterator[HostTerminal]:
        away, self._away = self._away, {}
        for uri, terminal in list(self._listed.items()):
            claim = terminal.channel.state["claim"]
            if claim["kind"] != "client" or self._is_here(claim["clientId"]):
                continue
            since = self._away[uri] = away.get(uri, now)
            if now - since >= (BUSY_GRACE if terminal.is_busy else CLIENT_GRACE):
                yield terminal

    async def close(self) -> None:
        """End all terminals, with some patience; what is left ends by itself."""
        self._is_closed = True
        terminals = list(self._listed.values())
        for terminal in terminals:
            terminal.end()
        ends = [asyncio.ensure_future(terminal.over.wait()) for terminal in terminals]
        if ends:
            await asyncio.wait(ends, timeout=CLOSE_SECONDS)
        for end, terminal in zip(ends, terminals, strict=True):
            if not end.done():
                end.cancel()
                self._keep(terminal)
                terminal.pty.insist()
        timers = (*self._lingering.values(), *self._keeping.values(), self._list_timer)
        for timer in timers:
            if timer is not None:
                timer.cancel()

    def _stop_keeping(self, terminal: HostTerminal) -> None:
        timer = self._keeping.pop(terminal.uri, None)
        if timer is not None:
            timer.cancel()

    def _linger(self, terminal: HostTerminal) -> None:
        loop = asyncio.get_running_loop()
        self._lingering[terminal.uri] = loop.call_later(LINGER, self._remove, terminal)
        while len(self._lingering) > MOST_LINGERING:
            self._remove(self._listed[next(iter(self._lingering))])

    def _remove(self, terminal: HostTerminal) -> None:
        timer = self._lingering.pop(terminal.uri, None)
        if timer is not None:
            timer.cancel()
        if self._listed.pop(terminal.uri, None) is None:
            return
        channel = terminal.channel
        channel.holds -= 1
        # Who follows one that is kept goes on to see it; it can be opened again.
        if not (terminal.is_kept and channel.subscriptions):
            self._directory.drop(channel)
        self._tell_list()


def _hold(effect: HoldTerminal) -> None:
    extra_of(effect.channel).holder = effect.holder


def _first_state(title: str, cwd: str, claim: TerminalClaim, cols: int, rows: int) -> TerminalState:
    return {
        "title": title,
        "cwd": cwd,
        "cols": cols,
        "rows": rows,
        "content": [],
        "lifecycle": {"status": "running"},
        "claim": claim,
        "isPty": True,
    }


def _info(terminal: HostTerminal) -> TerminalInfo:
    state = terminal.channel.state
    return {
        "resource": terminal.uri,
        "title": state["title"],
        "claim": state["claim"],
        "lifecycle": state["lifecycle"],
    }


def file_uri(path: str) -> str:
    """Return the URI of a path, whatever bytes it is made of."""
    return "file://" + quote(os.fsencode(path))
