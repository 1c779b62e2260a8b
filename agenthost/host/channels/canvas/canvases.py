"""All canvases of the host: opened, changed and closed for the agents that show them.

A canvas belongs to a chat, which lists it, and is kept with it; its address is not. That is in
memory only, for as long as the agent is there to serve it: it goes when the turn that set it fails
or is cancelled, when the canvas or its chat goes, and before the host does. What is left can still
be looked at, without the page, and the agent can give it another address.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from agenthost.agents.api import AgentError
from agenthost.host.channels.canvas.kind import CANVAS, CanvasChannel
from agenthost.host.channels.chat.consequences import CloseCanvases
from agenthost.host.channels.chat.extra import ChatChannel
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.writer import Writer
from agenthost.host.store import DropChannel, SaveSnapshot
from agenthost.host.trust.redaction import REDACTED
from agenthost.protocol.jsonrpc import dumps
from agenthost.protocol.uris import canvas_uri

if TYPE_CHECKING:
    from agenthost.protocol.canvas import CanvasReference, CanvasState
    from agenthost.protocol.common import Action

# How many of the newest addresses are kept out of what is said of agents that failed.
MOST_MASKED = 256
# How many canvases a chat may have: more than anybody could look at.
MOST_CANVASES = 32


class _Open(Struct, frozen=True):
    """A canvas that has an address; it and its chat stay in memory."""

    canvas: CanvasChannel
    chat: ChatChannel
    # The turn that set the address, if that was still running.
    turn: str | None


class Canvases:
    """Opens, changes and closes canvases."""

    def __init__(self, writer: Writer, directory: Directory, effects: Effects) -> None:
        self._writer = writer
        self._directory = directory
        # Those with an address, by their URIs.
        self._open: dict[str, _Open] = {}
        # The newest addresses, gone or not.
        self._addresses: deque[str] = deque(maxlen=MOST_MASKED)
        self._closed = False
        # Canvases that nobody has stored yet -> their sessions; filled where somebody asks.
        self._new: dict[str, str] | None = None
        effects.on(CloseCanvases, lambda effect: self.close_all_of(effect.chat))

    async def open(self, chat: ChatChannel, state: CanvasState, turn: str | None) -> str:
        """Show a canvas in a chat and return its URI; one that it has already is changed.

        Raises:
            AgentError: the chat has too many, or is gone.
        """
        await self._load(chat)
        # Nothing is awaited from here on.
        self._check(chat)
        canvas = next((c for c in self._loaded(chat) if _is_same(c.state, state)), None)
        if canvas is None:
            canvas = self._create(chat, state)
        self._show(canvas, chat, state, turn)
        return canvas.uri

    async def update(
        self, chat_uri: str, uri: str, changes: Mapping[str, str | None], turn: str | None
    ) -> None:
        """Change what a canvas shows; None takes something away.

        Raises:
            AgentError: the canvas is closed.
        """
        chat, canvas = await self._find(chat_uri, uri)
        merged = {**canvas.state, **changes}
        state = {key: value for key, value in merged.items() if value is not None}
        opened = self._open.get(uri)
        if opened is not None and "url" not in changes:
            turn = opened.turn
        self._show(canvas, chat, cast("CanvasState", state), turn)

    async def close(self, chat_uri: str, uri: str) -> None:
        """Take a canvas away; one that is closed already stays so."""
        try:
            chat, canvas = await self._find(chat_uri, uri)
        except AgentError:
            return
        self._clear(canvas)
        self._list(chat, [each for each in _references(chat) if each["resource"] != uri])
        self._drop(uri)

    def close_all_of(self, chat: ChatChannel) -> None:
        """Take all canvases of a chat away."""
        references = _references(chat)
        for reference in references:
            canvas = self._directory.get(reference["resource"], CANVAS)
            if canvas is not None:
                self._clear(canvas)
        if references:
            self._list(chat, [])
        for reference in references:
            self._drop(reference["resource"])

    def tell_homes(self) -> Callable[[str], str | None]:
        """Return what says, once, to which session a new canvas belongs; no record does."""
        new = self._new = {}

        def home(canvas: str) -> str | None:
            return new.pop(canvas, None)

        return home

    def turn_failed(self, chat: ChatChannel, turn: str) -> None:
        """Take away the addresses that a turn has set and whose agent is gone."""
        for each in list(self._open.values()):
            if each.chat is chat and each.turn == turn:
                self._clear(each.canvas)

    def shut_down(self) -> None:
        """Take away all addresses: what they lead to goes with the host."""
        self._closed = True
        for each in list(self._open.values()):
            self._clear(each.canvas)

    def mask(self, text: str) -> str:
        """Return a text without the addresses of canvases, for agents quote whatever they hold."""
        # The longest first: one may be the beginning of another.
        for address in sorted(self._addresses, key=len, reverse=True):
            text = text.replace(address, REDACTED)
        return text

    # Finding them.

    async def _find(self, chat_uri: str, uri: str) -> tuple[ChatChannel, CanvasChannel]:
        canvas = await self._directory.find(uri, CANVAS)
        chat = await self._directory.find(chat_uri, CHAT)
        if canvas is None or chat is None or not self._directory.has(canvas):
            raise AgentError("this canvas is closed", "canvasClosed")
        self._check(chat)
        return chat, canvas

    def _check(self, chat: ChatChannel) -> None:
        if self._closed or not self._directory.has(chat):
            raise AgentError("there is nobody any more to show a canvas to", "canvasClosed")

    async def _load(self, chat: ChatChannel) -> None:
        """Have all canvases of a chat in memory, those too that are opened meanwhile."""
        looked_for: set[str] = set()
        while missing := [
            each["resource"]
            for each in _references(chat)
            if each["resource"] not in looked_for and self._directory.get(each["resource"]) is None
        ]:
            looked_for.add(missing[0])
            await self._directory.find(missing[0], CANVAS)

    def _loaded(self, chat: ChatChannel) -> Iterator[CanvasChannel]:
        for reference in _references(chat):
            canvas = self._directory.get(reference["resource"], CANVAS)
            if canvas is not None:
                yield canvas

    # Changing them.

    def _create(self, chat: ChatChannel, state: CanvasState) -> CanvasChannel:
        references = _references(chat)
        if len(references) >= MOST_CANVASES:
            message = f"a chat shows at most {MOST_CANVASES} canvases: close one before the next"
            raise AgentError(message, "tooManyCanvases")
        canvas = self._directory.create(canvas_uri(str(uuid.uuid4())), CANVAS, _kept(state))
        if self._new is not None and chat.session is not None:
            self._new[canvas.uri] = chat.session
        self._save(canvas)
        self._list(chat, [*references, {"resource": canvas.uri}])
        return canvas

    def _show(
        self, canvas: CanvasChannel, chat: ChatChannel, state: CanvasState, turn: str | None
    ) -> None:
        before = _kept(canvas.state)
        self._writer.apply(canvas, _changed_to(state))
        if _kept(state) != before:
            self._save(canvas)
        self._release(canvas.uri)
        if "url" in state:
            self._open[canvas.uri] = _Open(canvas, chat, turn)
            if state["url"] not in self._addresses:
                self._addresses.append(state["url"])
            # Out of memory its address would be lost.
            canvas.holds += 1
            chat.holds += 1

    def _clear(self, canvas: CanvasChannel) -> None:
        self._writer.apply(canvas, _changed_to(_kept(canvas.state)))
        self._release(canvas.uri)

    def _release(self, uri: str) -> None:
        opened = self._open.pop(uri, None)
        if opened is not None:
            opened.canvas.holds -= 1
            opened.chat.holds -= 1

    def _list(self, chat: ChatChannel, references: list[CanvasReference]) -> None:
        action: Action = {"type": "chat/canvasesChanged"}
        if references:
            action["canvases"] = references
        self._writer.apply(chat, action)

    def _save(self, canvas: CanvasChannel) -> None:
        state = dumps(_kept(canvas.state))
        self._writer.ledger.write(SaveSnapshot(canvas.uri, CANVAS.name, canvas.seq, state))

    def _drop(self, uri: str) -> None:
        canvas = self._directory.get(uri, CANVAS)
        if canvas is not None:
            self._directory.drop(canvas)
        self._writer.ledger.write(DropChannel(uri))


def _references(chat: ChatChannel) -> list[CanvasReference]:
    return chat.state.get("canvases") or []


def _is_same(one: CanvasState, other: CanvasState) -> bool:
    names = ("extensionId", "canvasId", "instanceId")
    return all(one.get(name) == other.get(name) for name in names)


def _kept(state: CanvasState) -> CanvasState:
    """Return what may be stored of a canvas: all but its address."""
    kept = {key: value for key, value in state.items() if key != "url"}
    return cast("CanvasState", kept)


def _changed_to(state: CanvasState) -> Action:
    return {"type": "canvas/stateChanged", "canvas": dict(state)}
