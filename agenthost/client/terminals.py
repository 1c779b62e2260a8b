"""Terminals of the host: list them, open one, watch it, type into it, wait for its end.

Owns what can be done with a terminal. How its output is told once and only once, also across
reconnects, is in ``terminal_output``; processes live on the host.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from agenthost.client.handle import Handle
from agenthost.client.optional_requests import ask_until_done
from agenthost.client.state.scrollback import printed
from agenthost.client.terminal_output import told_output
from agenthost.errors import AlreadyExists, NotFound
from agenthost.protocol.uris import ROOT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agenthost.client.state.channel import Channel
    from agenthost.client.state.client_core import ClientCore
    from agenthost.client.state.dispatches import Dispatch
    from agenthost.protocol.root import RootState
    from agenthost.protocol.terminal import (
        TerminalClaim,
        TerminalCommandPart,
        TerminalInfo,
        TerminalState,
    )

_LACKING = "terminals"

# Characters that go to the host as one action; hosts take 64 KiB, and one may need four bytes.
_PASTED_AT_ONCE = 16_000


class ClientTerminals:
    """The terminals of a session, or all of a host where it is the client's.

    One that is made for a session is the session's and ends with it; one that is made for the
    client is the client's, and a host may end it some time after the client has left.
    """

    def __init__(
        self,
        core: ClientCore,
        session: str | None = None,
        chat: Callable[[], Awaitable[str]] | None = None,
    ) -> None:
        """Reach terminals; ``chat`` finds the chat that holds those made for a session."""
        self._core = core
        self._session = session
        self._chat = chat

    async def list(self) -> list[TerminalInfo]:
        """Return the terminals, those that have ended and are still listed among them."""
        root: Channel[RootState] = await self._core.subscribe(ROOT)
        try:
            listed = root.confirmed.get("terminals") or []
        finally:
            self._core.unfollow(root)
        return [info for info in listed if self._is_ours(info["claim"])]

    async def open(self, uri: str) -> TerminalView:
        """Follow a terminal, listed or named by a tool call.

        Raises:
            NotFound: there is none of that name.
        """
        channel = await self._core.subscribe(uri, owner=self._session)
        return TerminalView(self._core, channel)

    async def create(
        self,
        *,
        name: str | None = None,
        cwd: str | None = None,
        cols: int | None = None,
        rows: int | None = None,
        uri: str | None = None,
    ) -> TerminalView:
        """Start a shell in a new terminal, and follow it.

        Args:
            name: its title; the shell's name by default.
            cwd: the URI of the folder to begin in; the session's, or the host's own by default.
            cols: its width in characters.
            rows: its height in lines.
            uri: how it is called; a name that nobody has by default.

        Raises:
            PermissionDenied: this client may have no terminal, or not there.
            Unsupported: the host has no terminals.
        """
        # The name is ours: if it is taken after an answer was lost, then by us.
        uri = uri or f"ahp-terminal:/{uuid.uuid4()}"
        given = {"name": name, "cwd": cwd, "cols": cols, "rows": rows}
        params: dict[str, Any] = {"channel": uri, "claim": await self._claim()}
        params |= {key: value for key, value in given.items() if value is not None}
        await ask_until_done(self._core, "createTerminal", params, AlreadyExists, lacking=_LACKING)
        return await self.open(uri)

    async def _claim(self) -> TerminalClaim:
        if self._session is None or self._chat is None:
            return {"kind": "client", "clientId": self._core.client_id}
        return {"kind": "session", "session": self._session, "chat": await self._chat()}

    def _is_ours(self, claim: TerminalClaim) -> bool:
        if self._session is None:
            return True
        return claim["kind"] == "session" and claim["session"] == self._session


class TerminalView(Handle["TerminalState"]):
    """One terminal that the client follows."""

    @property
    def title(self) -> str:
        """Its title."""
        return self.state["title"]

    @property
    def running(self) -> bool:
        """Whether its process has not ended, as far as this client knows."""
        return self.channel.confirmed["lifecycle"]["status"] != "exited"

    @property
    def exit_code(self) -> int | None:
        """How its process ended; None while it runs, and where nobody knows."""
        return _exit_code(self.channel.confirmed)

    @property
    def text(self) -> str:
        """What it shows, and what scrolled out of sight as far as that is kept."""
        return printed(self.channel.confirmed)

    def commands(self) -> list[TerminalCommandPart]:
        """Return the commands that were detected, with their output, exit codes and durations.

        Only where the state's ``supportsCommandDetection`` says so.
        """
        content = self.channel.confirmed["content"]
        return [part for part in content if part["type"] == "command"]

    def output(self) -> AsyncIterator[str]:
        """Yield what it has printed and then what it prints, until its process has ended.

        The text is that of the program with its escape sequences. Nothing is told twice after a
        reconnect, and nothing left out but what the host itself threw away meanwhile; whoever
        reads too slowly misses what scrolled out of the state.

        Raises:
            ChannelGone: somebody disposed of the terminal while it ran.
        """
        return told_output(self.channel)

    async def wait(self) -> int | None:
        """Wait until its process has ended; return the exit code, None where nobody knows.

        Raises:
            ChannelGone: somebody disposed of the terminal while it ran.
        """
        ended = await self.channel.until(lambda state: state["lifecycle"]["status"] == "exited")
        return _exit_code(ended)

    def type(self, text: str) -> Dispatch:
        r"""Type something; Enter is ``\r``, and Ctrl-C is ``\x03``.

        Awaiting what this returns says whether the terminal took it, not what came of it. A host
        takes some 64 KiB at once; ``paste`` takes any amount.

        Raises, when awaited:
            Rejected: the process has ended or does not read, or this client may not type here.
        """
        return self._dispatch({"type": "terminal/input", "data": text})

    async def paste(self, text: str) -> None:
        """Type a text of any length, piece by piece as the terminal takes it."""
        for start in range(0, len(text), _PASTED_AT_ONCE):
            await self.type(text[start : start + _PASTED_AT_ONCE])

    def resize(self, cols: int, rows: int) -> Dispatch:
        """Give it another size, in characters; with several viewers the last one counts."""
        return self._dispatch({"type": "terminal/resized", "cols": cols, "rows": rows})

    def rename(self, title: str) -> Dispatch:
        """Give it another title."""
        return self._dispatch({"type": "terminal/titleChanged", "title": title})

    def clear(self) -> Dispatch:
        """Throw away what was printed so far, for everybody."""
        return self._dispatch({"type": "terminal/cleared"})

    def claim(self) -> Dispatch:
        """Take it over for this client.

        Raises, when awaited:
            Rejected: another client or a running tool call holds it.
        """
        return self._claimed({"kind": "client", "clientId": self._core.client_id})

    def hand_over(self, session: str, chat: str) -> Dispatch:
        """Leave it to a chat of a session, whose background work it is then."""
        return self._claimed({"kind": "session", "session": session, "chat": chat})

    def detach(self) -> Dispatch:
        """Let the tool call that runs in it end now, and its process go on in the background.

        Raises:
            LookupError: no tool call runs in it.
        """
        claim = self.state["claim"]
        if claim["kind"] != "session" or "toolCallId" not in claim:
            raise LookupError("no tool call runs in this terminal")
        return self.hand_over(claim["session"], claim["chat"])

    async def dispose(self) -> None:
        """End its process and remove it."""
        params = {"channel": self.uri}
        await ask_until_done(self._core, "disposeTerminal", params, NotFound, lacking=_LACKING)

    def _claimed(self, claim: TerminalClaim) -> Dispatch:
        return self._dispatch({"type": "terminal/claimed", "claim": claim})


def _exit_code(state: TerminalState) -> int | None:
    match state["lifecycle"]:
        case {"status": "exited", "exitCode": int(code)}:
            return code
    return None
