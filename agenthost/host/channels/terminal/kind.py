"""The terminal kind of channel: who may type, what follows from what clients do, how long it gets.

A terminal is the host's; its claim says who holds it. Nothing of it reaches the log. What is typed
reaches the program and nobody else: it may be a password.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from msgspec import Struct

from agenthost.host.channels.session.participants import takes_part
from agenthost.host.channels.terminal.claims import is_in_call, session_of, why_not_changed
from agenthost.host.channels.terminal.scrollback import growth_by, length_of, without_oldest
from agenthost.host.log.channel import LiveChannel, OwnerChannel
from agenthost.host.log.effects import Consequence
from agenthost.host.log.kind import (
    Applied,
    ChannelKind,
    DeclinedAction,
    Find,
    Kept,
    PreparedAction,
    Resumed,
    Surroundings,
)
from agenthost.host.trust import Role
from agenthost.host.trust.message_bounds import check_lengths
from agenthost.protocol.versions import Whereabouts
from agenthost.workspace.pty.sizes import clamped

if TYPE_CHECKING:
    from agenthost.host.trust import Principal
    from agenthost.protocol.common import Action
    from agenthost.protocol.terminal import TerminalState

TerminalChannel: TypeAlias = "LiveChannel[TerminalState]"

# Characters that a terminal keeps before its oldest output goes.
SCROLLBACK = 100_000
BELONGS_TO_OTHERS = "this terminal belongs to somebody else, or to a session that is not yours"


class TerminalProgram(Protocol):
    """What runs in a terminal."""

    def why_not_typed(self, text: str) -> str | None:
        """Return why a text cannot be typed now."""
        ...


class TerminalExtra(Struct):
    """What is known of a terminal besides its state."""

    # Who made it; None where a tool call did.
    maker: str | None = None
    # Who has claimed it for a client since; None where nobody has.
    holder: str | None = None
    # None once it has ended.
    program: TerminalProgram | None = None


class TypeInto(Consequence, frozen=True):
    """Give a terminal's program what somebody typed."""

    channel: TerminalChannel
    text: str


class FitTerminal(Consequence, frozen=True):
    """Give the pty the size that the state says."""

    channel: TerminalChannel


class HoldTerminal(Consequence, frozen=True):
    """Remember who has claimed a terminal for a client."""

    channel: TerminalChannel
    holder: str


class ListTerminal(Consequence, frozen=True):
    """Tell the root channel of a terminal whose line there has changed."""

    channel: TerminalChannel
    # Whether the tool call that uses it is to go on without it.
    is_detached: bool = False
    # Whether it may wait: a program can change its title many times a second.
    at_leisure: bool = False


class Asker(Struct, frozen=True):
    """Who asks for something, and what it names."""

    client_id: str
    is_allowed: bool
    # Why the claim that is asked for names nothing.
    refusal: str | None = None


class TerminalKind(ChannelKind["TerminalState"]):
    """Terminals."""

    name = "terminal"
    kept = Kept.MEMORY
    resumed = Resumed.SNAPSHOT
    scrollback = SCROLLBACK

    def extra(self) -> TerminalExtra:
        """Make what a terminal keeps besides its state."""
        return TerminalExtra()

    def length(self, state: TerminalState) -> int:
        """Return how many characters of output there are."""
        return length_of(state)

    def growth(self, action: Action) -> int:
        """Return by how many characters an action makes the output longer, at most."""
        return growth_by(action)

    def trimmed(self, state: TerminalState) -> TerminalState:
        """Return a state without its oldest output."""
        return without_oldest(state, SCROLLBACK * 4 // 5)

    async def place(
        self, channel: TerminalChannel, owner: OwnerChannel | None, sent: Action, find: Find
    ) -> Whereabouts:
        """Find the chat that a session holds a terminal for, which older versions do not name."""
        claim = sent.get("claim")
        uri = claim.get("session") if isinstance(claim, dict) else None
        if not isinstance(uri, str):
            return Whereabouts()
        current = channel.state["claim"]
        if current["kind"] == "session" and current["session"] == uri:
            return around_chat(uri, current["chat"])
        return await around_session(uri, find)

    async def gather(
        self,
        channel: TerminalChannel,
        owner: OwnerChannel | None,
        action: Action,
        around: Surroundings,
    ) -> Asker:
        """Look up the session that holds the terminal, and what a new claim names."""
        principal = around.connection.principal
        allowed = await may_use(channel, principal, around.find)
        refusal = None
        if action["type"] == "terminal/claimed" and action["claim"]["kind"] == "session":
            claim = action["claim"]
            refusal = await why_no_chat(claim["session"], claim["chat"], around.find)
            if refusal is None and not takes_part(await around.find(claim["session"]), principal):
                refusal = "you take no part in that session"
        return Asker(around.connection.client_id, allowed, refusal)

    def judge(
        self, channel: TerminalChannel, action: Action, context: Asker
    ) -> DeclinedAction | None:
        """Refuse what is for others, and what a terminal that has ended cannot do."""
        refusal = self._refusal(channel, action, context)
        return DeclinedAction(refusal) if refusal is not None else None

    def _refusal(self, channel: TerminalChannel, action: Action, asker: Asker) -> str | None:
        if not asker.is_allowed:
            return BELONGS_TO_OTHERS
        match action["type"]:
            case "terminal/input":
                return _why_not_typed(channel, action["data"])
            case "terminal/resized":
                is_pty = channel.state.get("isPty", True)
                if extra_of(channel).program is None or not is_pty:
                    return "nothing runs in this terminal that could be told"
            case "terminal/claimed":
                if extra_of(channel).program is None:
                    return "nothing runs in this terminal that could be held"
                changed = why_not_changed(channel.state["claim"], action["claim"], asker.client_id)
                return changed or asker.refusal
        return check_lengths(action)

    def prepare(
        self,
        channel: TerminalChannel,
        owner: OwnerChannel | None,
        action: Action,
        as_sent: Action,
        now: str,
    ) -> PreparedAction:
        """Type without telling anybody, and keep sizes sane."""
        if action["type"] == "terminal/input":
            return PreparedAction(None, first=(TypeInto(channel, action["data"]),))
        if action["type"] == "terminal/resized":
            fitting = {name: clamped(action[name]) for name in ("cols", "rows")}
            fits = all(action[name] == size for name, size in fitting.items())
            return PreparedAction({**action, **fitting}, rewritten=not fits)
        return PreparedAction(action)

    def follow(
        self, applied: Applied[TerminalState], owner: OwnerChannel | None
    ) -> Sequence[Consequence]:
        """Let the pty and the root channel's list follow."""
        channel = applied.channel
        match applied.action["type"]:
            case "terminal/resized":
                return (FitTerminal(channel),)
            case "terminal/claimed":
                if applied.dispatch is None:
                    return (ListTerminal(channel),)
                holder = applied.dispatch.connection.principal.name
                detached = is_in_call(applied.before["claim"])
                return HoldTerminal(channel, holder), ListTerminal(channel, is_detached=detached)
            case "terminal/titleChanged":
                return (ListTerminal(channel, at_leisure=True),)
            case "terminal/exited":
                return (ListTerminal(channel),)
        return ()


TERMINAL = TerminalKind()


def extra_of(terminal: TerminalChannel) -> TerminalExtra:
    """Return what is known of a terminal besides its state."""
    extra = terminal.extra
    assert isinstance(extra, TerminalExtra)
    return extra


async def may_use(terminal: TerminalChannel, principal: Principal, find: Find) -> bool:
    """Say whether somebody may type into a terminal, or end it; the role is asked elsewhere."""
    extra = extra_of(terminal)
    if principal.role is Role.OWNER or extra.maker == principal.name:
        return True
    session = session_of(terminal.state["claim"])
    if session is None:
        return extra.holder == principal.name
    return takes_part(await find(session), principal)


async def why_no_chat(session: str, chat: str, find: Find) -> str | None:
    """Return why a session cannot hold a terminal for a chat."""
    if await _session(session, find) is None:
        return f"there is no session {session}"
    found = await find(chat)
    if found is None or found.kind.name != "chat" or found.session != session:
        return f"the session has no chat {chat}"
    return None


async def around_session(uri: str, find: Find) -> Whereabouts:
    """Say which chat of a session is meant where none is named."""
    session = await _session(uri, find)
    if session is None:
        return around_chat(uri, None)
    chats = [chat["resource"] for chat in session.state["chats"]]
    only = chats[0] if len(chats) == 1 else None
    return around_chat(uri, session.state.get("defaultChat") or only)


def around_chat(session: str, chat: str | None) -> Whereabouts:
    """Say which chat is meant where none is named."""
    return Whereabouts(session, default_chat=lambda: chat)


async def _session(uri: str, find: Find) -> OwnerChannel | None:
    found = await find(uri)
    return found if found is not None and found.kind.name == "session" else None


def _why_not_typed(channel: TerminalChannel, text: str) -> str | None:
    if not channel.state.get("isPty", True):
        return "this terminal takes no input"
    program = extra_of(channel).program
    return "the program has ended" if program is None else program.why_not_typed(text)
