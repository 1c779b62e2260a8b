"""Resources that clients serve: what a client of a session has published, the host asks it for.

Published is what lies at or below the URI of a customization that an active client of the session
brings, and what a client has attached to a message: nobody else is asked for that, or whoever
attaches a URI could have others' editors read it out. Nothing else is asked for, and never a file
of a client's machine. Clients may read what was published in a session that they take part in; to
change it is its client's own affair. Awaited in the host's own event loop, and never in a handler
with ``Beside.NO``.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import unquote

from msgspec import Struct

from agenthost.errors import NotFound, PermissionDenied, WireError
from agenthost.host.channels.chat.attachments import attached_uris
from agenthost.host.channels.chat.extra import extra_of
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.session.kind import SESSION, SessionChannel
from agenthost.host.channels.session.participants import Participants
from agenthost.host.clients.client_records import Clients
from agenthost.host.log.directory import Directory
from agenthost.host.trust import Limits

if TYPE_CHECKING:
    from agenthost.host.channels.chat.extra import ChatChannel
    from agenthost.host.clients.connection import Connection
    from agenthost.protocol.chat.messages import Message
    from agenthost.protocol.common import JsonObject

# What clients may have asked of each other.
READING = frozenset({"resourceRead", "resourceList", "resourceResolve"})
# Clients that are asked for one thing, one after the other.
MOST_ASKED = 3
# Customizations of a client that count: all are looked at whenever somebody asks for something.
MOST_BROUGHT = 1000
# Turns of a chat, the newest, whose attachments count.
MOST_TURNS = 100
# Characters of what a client says about its refusal.
LONGEST_REFUSAL = 300
# The host's own; all other schemes are for clients.
_OWN_SCHEMES = frozenset({"file", "git-blob"})


class ClientContent(Struct, frozen=True):
    """What a client answered to be the content of a resource."""

    data: bytes
    content_type: str | None


def is_clients(uri: str) -> bool:
    """Say whether a URI is for a client to look up, by its scheme."""
    scheme, colon, _ = uri.partition(":")
    scheme = scheme.lower()
    return bool(colon) and scheme not in _OWN_SCHEMES and not scheme.startswith("ahp-")


class ClientResources:
    """Asks clients for what they have published."""

    def __init__(
        self, clients: Clients, participants: Participants, directory: Directory, limits: Limits
    ) -> None:
        self._clients = clients
        self._participants = participants
        self._directory = directory
        self._limits = limits

    async def pass_on(self, asking: Connection, method: str, params: JsonObject) -> JsonObject:
        """Carry out a client's request by asking the client that has published what it names."""
        uri = params["uri"]
        for session in self._participants.sessions(asking.principal):
            publishers = list(self._publishers(session, uri))
            if publishers and method not in READING:
                raise PermissionDenied(f"only its own client may change {uri}")
            if publishers:
                return await self._ask(publishers, method, params)
        raise NotFound(f"nobody here knows {uri}")

    async def read(self, session: str, uri: str, *, sender: str | None = None) -> ClientContent:
        """Return the content of what was published in a session, or sent by one of its clients.

        Raises:
            NotFound: nobody answers in time, or with anything of use.
            PermissionDenied: the client refuses.
        """
        result = await self._ask_of(session, sender, "resourceRead", {"uri": uri})
        return ClientContent(decoded_content(result), result.get("contentType"))

    async def read_bytes(self, session: str, uri: str, sender: str | None) -> bytes:
        """Return the same for a turn, which asks for nothing else of it."""
        return (await self.read(session, uri, sender=sender)).data

    async def list_folder(self, session: str, uri: str, *, sender: str | None = None) -> JsonObject:
        """Return the entries of a published folder."""
        return await self._ask_of(session, sender, "resourceList", {"uri": uri})

    async def resolve(self, session: str, uri: str, *, sender: str | None = None) -> JsonObject:
        """Return what is known of a published resource without reading it."""
        return await self._ask_of(session, sender, "resourceResolve", {"uri": uri})

    async def write(
        self, session: str, uri: str, data: bytes, *, sender: str | None = None
    ) -> None:
        """Have its client replace the content of a published resource."""
        text = base64.b64encode(data).decode()
        params = {"uri": uri, "data": text, "encoding": "base64"}
        await self._ask_of(session, sender, "resourceWrite", params)

    def principal(self, client_id: str) -> str | None:
        """Return who a client that is here belongs to; None for one that is not."""
        connection = self._clients.connection(client_id)
        return connection.principal.name if connection is not None else None

    async def ask_publisher(self, client_id: str, method: str, uri: str) -> JsonObject:
        """Ask one client, and nobody in its place, for what it has published itself.

        Raises:
            TimeoutError: it does not answer in time.
            NotFound: it is not here, knows no such thing, or answers with nothing of use.
            PermissionDenied: it refuses.
        """
        seconds = self._limits.reverse_call_seconds
        async with asyncio.timeout(seconds):
            # Its own clock is slower, so that not to answer is told from not to have.
            return await self._ask([client_id], method, {"uri": uri}, seconds * 2)

    async def _ask_of(
        self, session: str, sender: str | None, method: str, params: JsonObject
    ) -> JsonObject:
        channel = await self._directory.find(session, SESSION)
        if channel is None or not is_clients(params["uri"]):
            raise NotFound(f"nobody here knows {params['uri']}")
        publishers = [sender] if sender is not None else []
        publishers += self._publishers(channel, params["uri"])
        return await self._ask(list(dict.fromkeys(publishers)), method, params)

    def _publishers(self, session: SessionChannel, uri: str) -> Iterator[str]:
        """Yield the clients of a session to ask for a URI, those who brought it first."""
        if not is_clients(uri):
            return
        for client in session.state["activeClients"]:
            brought = (each["uri"] for each in client.get("customizations", ())[:MOST_BROUGHT])
            if any(_lies_below(uri, prefix) for prefix in brought):
                yield client["clientId"]
        for chat in self._chats(session):
            senders = extra_of(chat).senders.get(uri, ())
            if senders and _attaches(chat, uri):
                yield from senders

    def _chats(self, session: SessionChannel) -> Iterator[ChatChannel]:
        for listed in session.state["chats"]:
            chat = self._directory.get(listed["resource"], CHAT)
            if chat is not None:
                yield chat

    async def _ask(
        self,
        publishers: list[str],
        method: str,
        params: JsonObject,
        seconds: float | None = None,
    ) -> JsonObject:
        uri, refusal = params["uri"], NotFound(f"nobody here knows {params['uri']}")
        for client_id in islice(dict.fromkeys(publishers), MOST_ASKED):
            connection = self._clients.connection(client_id)
            if connection is None:
                refusal = NotFound(f"the client that knows {uri} is not here")
                continue
            try:
                result = await connection.call(method, params, seconds)
            except WireError as error:
                if isinstance(error, PermissionDenied):
                    raise PermissionDenied(_said(error, uri)) from error
                refusal = NotFound(_said(error, uri))
                continue
            return self._within_limits(result, uri)
        raise refusal

    def _within_limits(self, result: JsonObject, uri: str) -> JsonObject:
        limits = self._limits
        # In base64 it is longer than it is.
        if len(result.get("data", "")) > limits.max_resource_bytes * 4 // 3 + 4:
            raise NotFound(f"{uri} is more than this host takes from a client")
        if len(result.get("entries", ())) > limits.max_list_entries:
            raise NotFound(f"{uri} has more entries than this host takes from a client")
        return result


def _lies_below(uri: str, prefix: str) -> bool:
    plain = prefix.rstrip("/")
    below = uri in (prefix, plain) or uri.startswith(f"{plain}/")
    # What the path says about going up, the client that looks it up may take literally.
    return below and is_clients(prefix) and ".." not in unquote(uri).split("/")


def _attaches(chat: ChatChannel, uri: str) -> bool:
    state = chat.state
    messages: list[Message] = [turn["message"] for turn in state["turns"][-MOST_TURNS:]]
    if "activeTurn" in state:
        messages.append(state["activeTurn"]["message"])
    messages += [pending["message"] for pending in state.get("queuedMessages", ())]
    if "steeringMessage" in state:
        messages.append(state["steeringMessage"]["message"])
    return any(uri in attached_uris(message) for message in messages)


def decoded_content(result: JsonObject) -> bytes:
    """Return the bytes that a client answered; NotFound if they are none."""
    data: str = result["data"]
    try:
        return base64.b64decode(data, validate=True) if _is_base64(result) else data.encode()
    except (binascii.Error, ValueError):
        raise NotFound("the client answered with what is no content") from None


def _is_base64(result: JsonObject) -> bool:
    return bool(result["encoding"] == "base64")


def _said(error: WireError, uri: str) -> str:
    """Return what a client said, as others may be shown it."""
    words = "".join(c if c.isprintable() else " " for c in error.message[:LONGEST_REFUSAL])
    return f"the client does not give {uri}: {words}"
