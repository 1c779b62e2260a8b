"""Runs of automations: from the claim to exactly one end, also across restarts.

A run is claimed first, durably; only then anything is done for it. Its session and its turn have
names that follow from its own, and they are made together with what the run says of them, in one
commit. So whoever goes on with a run after a crash sees where it is, and does nothing twice.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from agenthost.agents.api import AgentError
from agenthost.clock import Clock
from agenthost.errors import WireError
from agenthost.host.channels.automation.book import ACTIVE_RUNS, Book
from agenthost.host.channels.automation.entries import new_run
from agenthost.host.channels.automation.kinds import RUN, CancelRun, RunChannel
from agenthost.host.channels.automation.rules import is_active
from agenthost.host.channels.automation.templates import (
    Templates,
    automation_message,
    session_params,
)
from agenthost.host.channels.chat.consequences import CancelTurn
from agenthost.host.channels.chat.extra import ChatChannel
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.session.consequences import TellRunOfSession
from agenthost.host.channels.session.kind import SESSION, SessionChannel
from agenthost.host.channels.session.lifecycle import SessionRegistry
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.writer import Writer
from agenthost.host.store import DropChannel, DropRecord, PutRecord, StoreDamaged, StoreError
from agenthost.host.trust.principals import Starter
from agenthost.protocol.uris import automation_run_uri, session_uri
from agenthost.tasks import Tasks

if TYPE_CHECKING:
    from agenthost.protocol.automation.definition import AutomationDefinition
    from agenthost.protocol.automation.run import (
        AutomationRunLifecycle,
        AutomationRunOrigin,
        AutomationRunState,
    )
    from agenthost.protocol.chat.state import ChatState, CompletedTurn
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.session.state import SessionOrigin

log = logging.getLogger(__name__)

_T = TypeVar("_T")

# Runs of one automation that may be under way: more of them mean that nobody looks at them.
MOST_ACTIVE = 5


class Turns(Protocol):
    """What there is to know of turns that are running."""

    def is_running(self, chat: ChatChannel) -> bool:
        """Say whether a turn of the chat is running."""
        ...

    async def wait_for(self, chat: ChatChannel, look: Callable[[ChatState], _T | None]) -> _T:
        """Wait until looking at a chat's state finds something."""
        ...


class Owners(Protocol):
    """What runs need to know of their automations."""

    def definition(self, automation: str) -> AutomationDefinition | None:
        """Return what an automation does now; None when it was removed."""
        ...

    def book(self, automation: str) -> Book | None:
        """Return the bookkeeping of an automation."""
        ...

    def run_changed(self, run: AutomationRunState) -> None:
        """Show in the catalogue what a run is like now."""
        ...

    def run_ended(self, run: RunChannel) -> None:
        """Let go of a run that is over."""
        ...


class AutomationRuns:
    """All runs that are not over."""

    def __init__(
        self,
        *,
        writer: Writer,
        directory: Directory,
        effects: Effects,
        clock: Clock,
        tasks: Tasks,
        sessions: SessionRegistry,
        turns: Turns,
        templates: Templates,
    ) -> None:
        self._writer = writer
        self._directory = directory
        self._effects = effects
        self._clock = clock
        self._tasks = tasks
        self._sessions = sessions
        self._turns = turns
        self._templates = templates
        self._owners: Owners
        # Run -> its channel, which stays in memory.
        self._active: dict[str, RunChannel] = {}
        # Set when nothing may be started any more.
        self._closed = False
        effects.on(CancelRun, lambda effect: self._cancel(effect.run))
        effects.on(TellRunOfSession, self._tell)

    def serve(self, owners: Owners) -> None:
        """Say whose runs these are."""
        self._owners = owners

    def open(self) -> None:
        """Know of no run; those that are not over are taken up one by one."""
        self._closed = False
        self._active.clear()

    def close(self) -> None:
        """Start nothing more; what is pending goes on with the next host."""
        self._closed = True

    @property
    def active(self) -> int:
        """How many runs are not over."""
        return len(self._active)

    def of(self, automation: str) -> set[str]:
        """Return the runs of an automation that are not over."""
        active = self._active.values()
        return {run.uri for run in active if run.state["automation"] == automation}

    def claim(self, automation: str, origin: AutomationRunOrigin) -> RunChannel:
        """Register a run, to be stored together with what led to it; ``begin`` starts it.

        One too many is over at once: a time has come, and people must see what became of it.
        """
        now = self._clock.now()
        lifecycle: AutomationRunLifecycle = {"status": "pending", "createdAt": now}
        if len(self.of(automation)) >= MOST_ACTIVE:
            message = f"{MOST_ACTIVE} runs of this automation are under way already"
            lifecycle = {
                "status": "failed",
                "createdAt": now,
                "completedAt": now,
                "error": {"errorType": "tooManyRuns", "message": message},
            }
        uri = automation_run_uri(str(uuid.uuid4()))
        run = self._directory.create(uri, RUN, new_run(uri, automation, origin, lifecycle))
        if is_active(lifecycle):
            self._writer.ledger.write(PutRecord(ACTIVE_RUNS, uri, automation.encode()))
            self._hold(run)
        return run

    def begin(self, run: RunChannel) -> None:
        """Work on a run that was claimed."""
        if run.uri in self._active:
            self._tasks.start(self._carry_out(run), f"run {run.uri}")

    async def resume(self, uri: str) -> None:
        """Go on with a run that was not over when the last host ended."""
        try:
            run = await self._directory.find(uri, RUN)
        except StoreDamaged as error:
            log.error("a run of an automation cannot be gone on with: %s", error)
            return
        if run is None or not is_active(run.state["lifecycle"]):
            self._writer.ledger.write(DropRecord(ACTIVE_RUNS, uri))
            return
        self._hold(run)
        self.begin(run)

    def drop(self, uri: str) -> None:
        """Forget a run that is over."""
        run = self._directory.get(uri, RUN)
        if run is not None:
            self._directory.drop(run)
        else:
            self._writer.ledger.write(DropChannel(uri))

    def _hold(self, run: RunChannel) -> None:
        self._active[run.uri] = run
        run.holds += 1

    async def _carry_out(self, run: RunChannel) -> None:
        """Bring a run to its end, from wherever it is."""
        try:
            # Nothing is done for a run that could be forgotten.
            await self._writer.ledger.settle()
            chat = await self._started(run)
            if chat is not None:
                self._finish(run, await self._turns.wait_for(chat, self._ending_in(chat, run)))
        except StoreError:
            # Nothing can be recorded any more; the host is stopping.
            return
        except (WireError, AgentError) as error:
            self._finish(run, _failed(_error_type(error), str(error)))
        except Exception:
            log.exception("%s failed", run.uri)
            self._finish(run, _failed("internalError", "the run failed; the host's log says more"))

    async def _started(self, run: RunChannel) -> ChatChannel | None:
        """Return the chat in which a run is at work; None when it is over, or must wait."""
        session = await self._directory.find(session_of_run(run.uri), SESSION)
        if session is not None and session.state.get("origin") != _origin(run):
            raise AgentError("the name of the run's session is taken", "sessionExists")
        if session is None and run.state["lifecycle"]["status"] != "pending":
            # Somebody has disposed of it.
            self._finish(run, {"status": "cancelled"})
            return None
        if not self._may_start(run):
            return None
        automation = run.state["automation"]
        definition, book = self._owners.definition(automation), self._owners.book(automation)
        starter = Starter(book.owner.name if book is not None else "")
        if session is None:
            if definition is None or book is None:
                self._finish(run, {"status": "cancelled"})
                return None
            session = await self._make_session(run, definition, book, starter)
            if session is None:
                return None
        chat = await self._directory.find(session.state.get("defaultChat") or "", CHAT)
        if not self._may_start(run):
            return None
        if chat is None:
            self._finish(run, {"status": "cancelled"})
            return None
        # From here on nothing is awaited: it is one commit.
        self._link(run, session)
        if not _has_turn(chat.state, _id(run)):
            if definition is None:
                self._finish(run, {"status": "cancelled"})
                return None
            turn: JsonObject = {
                "type": "chat/turnStarted",
                "turnId": _id(run),
                "startedAt": self._clock.now(),
                "message": automation_message(definition),
            }
            self._writer.apply(chat, turn, starter=starter)
        return chat

    async def _make_session(
        self, run: RunChannel, definition: AutomationDefinition, book: Book, starter: Starter
    ) -> SessionChannel | None:
        refusal = await self._templates.refusal(book.owner, definition)
        if not self._may_start(run):
            return None
        if refusal is not None:
            self._finish(run, _failed("invalidAutomation", refusal))
            return None
        uri = session_of_run(run.uri)
        params = session_params(uri, definition)
        origin = _origin(run)
        await self._sessions.create(
            params, starter, book.owner.role, origin=origin, title=definition["title"]
        )
        if is_active(run.state["lifecycle"]):
            return self._directory.get(uri, SESSION)
        # It was cancelled while its session was being made.
        await self._sessions.dispose(uri)
        return None

    def _tell(self, effect: TellRunOfSession) -> None:
        self._tasks.start(self._tell_of(effect), f"tell of {effect.session}")

    async def _tell_of(self, effect: TellRunOfSession) -> None:
        """Take a session that is gone off its run, or put one back that was in the trash."""
        run = await self._directory.find(effect.origin["run"], RUN)
        if run is None:
            return
        if effect.is_gone:
            removed = {"type": "automationRun/sessionRemoved", "session": effect.session}
            if self._writer.apply(run, removed):
                self._owners.run_changed(run.state)
        else:
            self._set_session(run, effect.session)

    def _may_start(self, run: RunChannel) -> bool:
        return is_active(run.state["lifecycle"]) and not self._closed

    def _link(self, run: RunChannel, session: SessionChannel) -> None:
        """Say in a run, and in the catalogue, which session works for it, and that it does."""
        self._set_session(run, session.uri)
        lifecycle = run.state["lifecycle"]
        if lifecycle["status"] == "pending":
            self._change(
                run,
                {
                    "status": "running",
                    "createdAt": lifecycle["createdAt"],
                    "startedAt": self._clock.now(),
                },
            )

    def _set_session(self, run: RunChannel, session: str) -> None:
        linked = {"type": "automationRun/sessionSet", "session": session}
        primary = {"type": "automationRun/primarySessionChanged", "primarySession": session}
        if self._writer.apply(run, linked) | self._writer.apply(run, primary):
            self._owners.run_changed(run.state)

    def _change(self, run: RunChannel, lifecycle: JsonObject) -> None:
        action = {"type": "automationRun/lifecycleChanged", "lifecycle": lifecycle}
        self._writer.apply(run, action)
        self._owners.run_changed(run.state)

    def _ending_in(
        self, chat: ChatChannel, run: RunChannel
    ) -> Callable[[ChatState], JsonObject | None]:
        """Make what finds in a chat how the run's turn ended."""
        id = _id(run)

        def look(state: ChatState) -> JsonObject | None:
            active = state.get("activeTurn")
            if active is not None and active["id"] == id and self._turns.is_running(chat):
                return None
            # People may have taken the turn or the whole session away.
            turn = next((turn for turn in reversed(state["turns"]) if turn["id"] == id), None)
            return _outcome(turn) if turn is not None else {"status": "cancelled"}

        return look

    def _cancel(self, run: RunChannel) -> None:
        """Stop a run: at once where it has not begun, else as soon as its turn has ended."""
        session = self._directory.get(run.state.get("primarySession") or "", SESSION)
        chat = None
        if session is not None:
            chat = self._directory.get(session.state.get("defaultChat") or "", CHAT)
        active = chat.state.get("activeTurn") if chat is not None else None
        if chat is not None and active is not None and active["id"] == _id(run):
            self._effects.carry_out(CancelTurn(chat))
        elif run.state["lifecycle"]["status"] == "pending":
            self._finish(run, {"status": "cancelled"})

    def _finish(self, run: RunChannel, ending: JsonObject) -> None:
        """End a run, once."""
        lifecycle = run.state["lifecycle"]
        if self._active.pop(run.uri, None) is None or not is_active(lifecycle):
            return
        times: JsonObject = {
            "createdAt": lifecycle["createdAt"],
            "completedAt": self._clock.now(),
        }
        if lifecycle["status"] == "running":
            times["startedAt"] = lifecycle["startedAt"]
        run.holds -= 1
        self._writer.ledger.write(DropRecord(ACTIVE_RUNS, run.uri))
        self._change(run, {**times, **ending})
        self._owners.run_ended(run)


def _outcome(turn: CompletedTurn) -> JsonObject:
    """Say how a run ended whose turn ended so."""
    if turn["state"] == "complete":
        usage = turn.get("usage")
        return {"status": "completed", "usage": usage} if usage else {"status": "completed"}
    if turn["state"] == "cancelled":
        return {"status": "cancelled"}
    errors = [part["error"] for part in turn["responseParts"] if part["kind"] == "error"]
    return {"status": "failed", "error": errors[-1]} if errors else _failed("error", "it failed")


def _failed(error_type: str, message: str) -> JsonObject:
    return {"status": "failed", "error": {"errorType": error_type, "message": message}}


def _error_type(error: WireError | AgentError) -> str:
    if isinstance(error, AgentError):
        return error.error_type
    name = type(error).__name__
    return name[:1].lower() + name[1:]


def _has_turn(chat: ChatState, id: str) -> bool:
    active = chat.get("activeTurn")
    return (active is not None and active["id"] == id) or any(
        turn["id"] == id for turn in chat["turns"]
    )


def _id(run: RunChannel) -> str:
    return run.uri.removeprefix(automation_run_uri(""))


def session_of_run(run: str) -> str:
    """Return the session that works for a run, which may not have been made yet."""
    return session_uri(run.removeprefix(automation_run_uri("")))


def _origin(run: RunChannel) -> SessionOrigin:
    origin = {"kind": "automation", "automation": run.state["automation"], "run": run.uri}
    return cast("SessionOrigin", origin)
