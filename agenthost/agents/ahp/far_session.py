"""A session here and the one at the far host that does its work: which chat is which.

What it takes to find them again is kept with the session here. A turn has the same id on both
hosts, so either can be asked what became of it.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from agenthost.agents.acp.sessions.history_text import transcript
from agenthost.agents.ahp.far_host import FAR, FarHost, told
from agenthost.agents.api import AgentError
from agenthost.agents.turn import Turn
from agenthost.client import ChannelGone, Chat, Client, ClientError, Session
from agenthost.client.resuming import find_turn
from agenthost.errors import NotFound, SessionNotFound, WireError
from agenthost.protocol.uris import session_uri

# Turns of a far chat that are looked at.
WINDOW = 20
# Turns that were sent by this host and are remembered as such.
MOST_SENT = 200
# Seconds that a far turn gets to end when it is cancelled.
CANCEL_PATIENCE = 2.0

Json = Mapping[str, Any]


class FarSession:
    """The far side of one session here, as long as one connection's client lives."""

    def __init__(self, host: FarHost, client: Client) -> None:
        self.host = host
        self.client = client
        # How many turns are worked on in it.
        self.users = 0
        self._session: Session | None = None
        # By the URI of the chat here.
        self._chats: dict[str, Chat] = {}
        # Chats are found one after the other: the first one makes the session.
        self._lock = asyncio.Lock()

    async def chat(self, turn: Turn) -> tuple[Session, Chat]:
        """Return the far session and chat in which a turn is worked on, made if need be.

        Raises:
            AgentError: the far host does not make them.
        """
        try:
            async with self._lock:
                try:
                    return await self._open_both(turn)
                except ChannelGone:
                    # It was disposed of there meanwhile: then there is another one.
                    return await self._open_both(turn)
        except (ClientError, WireError, TimeoutError) as error:
            raise AgentError(f"{self.host.name}: {told(error)}", "farRefused") from error

    def close(self) -> None:
        """Stop following them."""
        for chat in self._chats.values():
            chat.close()
        self._chats.clear()
        if self._session is not None:
            self._session.close()
            self._session = None

    async def _open_both(self, turn: Turn) -> tuple[Session, Chat]:
        session = await self._open(turn)
        return session, await self._open_chat(turn, session)

    async def _open(self, turn: Turn) -> Session:
        if self._session is not None and self._session.channel.gone is None:
            return self._session
        self.close()
        kept = turn.resume_state or {}
        uri = kept.get("session")
        if uri is not None:
            try:
                self._session = await self.client.sessions.get(uri)
                return await self._session.ready()
            except (NotFound, SessionNotFound):
                # It was disposed of there, or never made: then there is another one.
                pass
        uri = session_uri(str(uuid.uuid4()))
        # Before it is made: whoever is killed in between finds it, or makes it.
        turn.keep({"session": uri, "chats": {}, "sent": []})
        spec = self.host.spec
        self._session = await self.client.sessions.create(
            self.host.provider,
            directories=turn.session.working_directories if spec.shares_files else (),
            config=settings_of(self.host, turn) or None,
            uri=uri,
            keep=True,
        )
        place = {"host": self.host.name, "session": uri, "url": spec.place.shown}
        await turn.set_meta(FAR, place)
        return self._session

    async def _open_chat(self, turn: Turn, session: Session) -> Chat:
        known = self._chats.get(turn.chat)
        if known is not None and known.channel.gone is None:
            return known
        kept = dict(turn.resume_state or {})
        chats: dict[str, str] = dict(kept.get("chats") or {})
        if turn.chat in chats:
            chat = await session.chat(chats[turn.chat], turns=WINDOW)
        elif not chats:
            chat = await session.chat(turns=WINDOW)
        else:
            chat = await self._branch(turn, session, chats)
        self._chats[turn.chat] = chat
        if chats.get(turn.chat) != chat.uri:
            turn.keep({**kept, "chats": {**chats, turn.chat: chat.uri}})
        return chat

    async def _branch(self, turn: Turn, session: Session, chats: Mapping[str, str]) -> Chat:
        """Make one more chat: one that continues another where this one does, if that is there."""
        for past in reversed(turn.history):
            for near, far in chats.items():
                source = self._chats.get(near) or await session.chat(far, turns=WINDOW)
                self._chats.setdefault(near, source)
                if find_turn(source.state, past["id"]) is not None:
                    return await session.fork_chat(far, past["id"])
        return await session.create_chat()


def settings_of(host: FarHost, turn: Turn, *, mutable: bool = False) -> dict[str, Any]:
    """Return the settings of a session here that the far session has as well.

    ``mutable`` leaves out those that cannot be changed once there is a session.
    """
    known = host.settings["properties"]
    return {
        name: value
        for name, value in turn.config.items()
        if name in known and (not mutable or known[name].get("sessionMutable"))
    }


async def make_room(turn: Turn, chat: Chat, name: str) -> None:
    """Let a far chat stand where the one here does, before the next turn begins in it.

    A turn of ours that still runs there is cancelled, and turns of ours that were cut off here are
    cut off there. What others did there stays.
    """
    sent = set((turn.resume_state or {}).get("sent") or ())
    active = chat.active_turn
    if active is not None:
        if active["id"] not in sent:
            raise AgentError(f"somebody else works in this chat at {name}", "farBusy")
        await cancel(chat, active["id"])
    past = {each["id"] for each in turn.history}
    while (last := _last_common(chat, past)) is None and past and await chat.load_earlier():
        pass
    there = [each["id"] for each in chat.state["turns"]]
    behind = there if last is None else there[there.index(last) + 1 :]
    if behind and set(behind) <= sent:
        await chat.truncate(last)


def _last_common(chat: Chat, past: Collection[str]) -> str | None:
    turns = reversed(chat.state["turns"])
    return next((each["id"] for each in turns if each["id"] in past), None)


async def cancel(chat: Chat, turn_id: str) -> None:
    """Cancel a far turn and wait a little for its end; whether it ends is the far host's affair."""
    active = chat.active_turn
    if active is None or active["id"] != turn_id:
        return
    try:
        async with asyncio.timeout(CANCEL_PATIENCE):
            cancelling = chat.cancel()
            if cancelling is not None:
                await cancelling
    except (ClientError, WireError, TimeoutError):
        return


def introduction(turn: Turn, chat: Chat) -> str:
    """Return what came before a turn, for a far chat that does not know it."""
    return transcript(turn.history) if not chat.state["turns"] else ""


def with_sent(kept: Json | None, turn_id: str) -> dict[str, Any]:
    """Return what is kept for a session with one more turn that this host has sent."""
    state = dict(kept or {})
    sent: Sequence[str] = state.get("sent") or ()
    return {**state, "sent": [*(id for id in sent if id != turn_id), turn_id][-MOST_SENT:]}
