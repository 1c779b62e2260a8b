"""Sessions, as people use them: find, create, fork, rename, archive, dispose, and their chats."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from agenthost.client import actions
from agenthost.client.annotations import Annotations
from agenthost.client.chat import Chat, move_chat
from agenthost.client.errors import ConnectionLost, CreationFailed
from agenthost.client.handle import Handle
from agenthost.client.optional_requests import ask_until_done
from agenthost.client.state.session_list import SessionList
from agenthost.client.state.turn_window import TurnWindow
from agenthost.errors import AlreadyExists, SessionAlreadyExists, SessionNotFound
from agenthost.protocol.session.input_needed import input_needed_in
from agenthost.protocol.uris import annotations_uri, chat_uri, session_uri

if TYPE_CHECKING:
    from agenthost.client.changes import ChangesCatalogue
    from agenthost.client.customizations import CustomizationCatalogue
    from agenthost.client.files import SessionFiles
    from agenthost.client.mcp import McpServerView
    from agenthost.client.state.client_core import ClientCore
    from agenthost.client.state.dispatches import Dispatch
    from agenthost.client.terminals import ClientTerminals
    from agenthost.protocol.chat.state import ChatSummary
    from agenthost.protocol.commands import (
        ListSessionsResult,
        ListTrashResult,
        ResolveSessionConfigResult,
        TrashEntry,
    )
    from agenthost.protocol.session.state import (
        SessionConfigSchema,
        SessionInputRequest,
        SessionState,
        SessionSummary,
    )


class Sessions:
    """The sessions of a host."""

    def __init__(self, core: ClientCore) -> None:
        self._core = core

    async def page(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> ListSessionsResult:
        """Return one page of the sessions, newest first; ``nextCursor`` leads to the next."""
        given = {"limit": limit, "cursor": cursor}
        params = {key: value for key, value in given.items() if value is not None}
        result: ListSessionsResult = await self._core.request("listSessions", params)
        return result

    async def __aiter__(self) -> AsyncIterator[SessionSummary]:
        """Yield every session of the host once, newest first, page by page."""
        seen: set[str] = set()
        cursor: str | None = None
        while True:
            try:
                page = await self.page(cursor=cursor)
            except ConnectionLost:
                if cursor is None:
                    raise
                cursor = None
                continue
            link = self._core.link
            for summary in page["items"]:
                # Entries may move to a later page while we read.
                if summary["resource"] not in seen:
                    seen.add(summary["resource"])
                    yield summary
            if "nextCursor" not in page:
                return
            # A cursor is worth nothing on another connection; there the list begins anew.
            cursor = page["nextCursor"] if self._core.link is link else None

    async def list(self) -> list[SessionSummary]:
        """Return all sessions, newest first."""
        return [summary async for summary in self]

    async def watch(self) -> AsyncIterator[Mapping[str, SessionSummary]]:
        """Yield all sessions by URI, now and after every change."""
        async for summaries in SessionList(self._core, self.list):
            yield summaries

    async def get(self, uri: str) -> Session:
        """Follow a session that exists."""
        return Session(self._core, await self._core.subscribe(uri))

    async def create(
        self,
        provider: str | None = None,
        *,
        directories: Sequence[str] = (),
        config: Mapping[str, Any] | None = None,
        uri: str | None = None,
        keep: bool = False,
        wait: bool = True,
    ) -> Session:
        """Create a session and follow it, once it is ready or, without ``wait``, at once.

        A host may remove a session that nobody follows and nobody has used; this one asks to
        ``keep`` it.

        Raises:
            CreationFailed: the agent could not be started.
        """
        params: dict[str, Any] = {}
        if provider is not None:
            params["provider"] = provider
        if directories:
            params["workingDirectories"] = list(directories)
        if config is not None:
            params["config"] = dict(config)
        if keep:
            params["_meta"] = {"agenthost.keep": True}
        return await self._create(uri, params, wait)

    async def fork(self, session: str, turn_id: str, *, uri: str | None = None) -> Session:
        """Create a session that continues another one after one of its turns."""
        source = {"session": session, "turnId": turn_id}
        return await self._create(uri, {"_meta": {"agenthost/fork": source}}, True)

    async def trash(self) -> Sequence[TrashEntry]:
        """Return the disposed sessions that this host can still give back; for owners."""
        result: ListTrashResult = await self._core.request("agenthost/listTrash", {})
        return result["items"]

    async def restore(self, uri: str) -> None:
        """Take a session back from the host's trash; for owners."""
        await self._core.request("agenthost/restoreSession", {"channel": uri})

    async def purge(self, uri: str) -> None:
        """Delete a session in the host's trash for good; for owners."""
        await self._core.request("agenthost/purgeSession", {"channel": uri})

    async def dispose(self, uri: str) -> None:
        """Give up a session; the host may keep it in its trash for a while."""
        await ask_until_done(
            self._core, "disposeSession", {"channel": uri}, SessionNotFound, lacking="sessions"
        )

    def archive(self, uri: str, archived: bool = True) -> Dispatch:
        """Put a session among the archived ones, or take it back."""
        action = {"type": "session/isArchivedChanged", "isArchived": archived}
        return self._core.dispatch(uri, action)

    async def move_chat(
        self, chat: str, *, session: str | None = None, after: str | None = None
    ) -> str:
        """Move a chat as ``chat.move`` does, but to a new session where none is named.

        Returns the URI of the session that it is in then. The chat need not be followed.
        """
        if session is None:
            return await move_chat(self._core, chat, {"kind": "newSession"}, repeat=False)
        destination = {"kind": "session", "session": session}
        if after is not None:
            destination["after"] = after
        return await move_chat(self._core, chat, destination, repeat=True)

    async def config(
        self,
        provider: str | None = None,
        *,
        directory: str | None = None,
        values: Mapping[str, Any] | None = None,
    ) -> ResolveSessionConfigResult:
        """Ask which settings a session can be created with, given what is chosen so far."""
        given = {"provider": provider, "workingDirectory": directory, "config": values}
        params = {key: value for key, value in given.items() if value is not None}
        result: ResolveSessionConfigResult = await self._core.request(
            "resolveSessionConfig", params
        )
        return result

    async def _create(self, uri: str | None, params: dict[str, Any], wait: bool) -> Session:
        uri = uri or session_uri(str(uuid.uuid4()))
        # The name is ours: if it is taken after an answer was lost, then by us.
        params = {"channel": uri, **params}
        await ask_until_done(
            self._core, "createSession", params, SessionAlreadyExists, lacking="sessions"
        )
        session = await self.get(uri)
        try:
            return await session.ready() if wait else session
        except BaseException:
            session.close()
            raise


class Session(Handle["SessionState"]):
    """One session that the client follows."""

    @property
    def title(self) -> str:
        """The session's title."""
        return self.state["title"]

    @property
    def chats(self) -> list[ChatSummary]:
        """The session's chats, as it lists them."""
        return self.state["chats"]

    @property
    def config(self) -> Mapping[str, Any]:
        """The values of the session's settings; ``config_schema`` says what each may be."""
        config = self.state.get("config")
        return {} if config is None else config["values"]

    @property
    def config_schema(self) -> SessionConfigSchema | None:
        """The settings that the session has; None where it has none."""
        config = self.state.get("config")
        return None if config is None else config["schema"]

    @property
    def input_needed(self) -> list[SessionInputRequest]:
        """Everything in this session that waits for somebody.

        The oldest hosts do not list it; of theirs, the chats that this client follows are known.
        """
        if self._core.lists_input_needed:
            return self.state.get("inputNeeded") or []
        followed = (self._core.channels.get(chat["resource"]) for chat in self.chats)
        known = [chat for chat in followed if chat is not None and chat.kind == "chat"]
        return [need for chat in known for need in input_needed_in(chat.uri, chat.state)]

    async def ready(self) -> Self:
        """Wait until the session takes messages.

        Raises:
            CreationFailed: it never will.
        """
        state = await self.channel.until(lambda state: state["lifecycle"] != "creating")
        if state["lifecycle"] == "failed":
            raise CreationFailed(self.uri, state.get("creationError"))
        return self

    # Chats.

    async def chat(self, uri: str | None = None, *, turns: int | None = None) -> Chat:
        """Follow a chat, the default one if none is named; ``turns`` limits how many are loaded."""
        uri = uri or await self._default_chat()
        channel = await self._core.subscribe(uri, TurnWindow(turns), owner=self.uri)
        return Chat(self._core, channel)

    async def _default_chat(self) -> str:
        state = await self.channel.until(lambda state: _default_chat(self.uri, state))
        uri = _default_chat(self.uri, state)
        assert uri is not None
        return uri

    async def create_chat(
        self,
        message: str | None = None,
        *,
        source: Mapping[str, Any] | None = None,
        directories: Sequence[str] | None = None,
        uri: str | None = None,
    ) -> Chat:
        """Create a chat, possibly with a first message, and follow it."""
        uri = uri or chat_uri(self.uri, str(uuid.uuid4()))
        params: dict[str, Any] = {"channel": self.uri, "chat": uri}
        if message is not None:
            params["initialMessage"] = actions.user_message(message)
        if source is not None:
            params["source"] = dict(source)
        if directories is not None:
            params["workingDirectories"] = list(directories)
        await ask_until_done(
            self._core, "createChat", params, AlreadyExists, lacking="further chats"
        )
        return await self.chat(uri)

    async def fork_chat(self, chat: str, turn_id: str) -> Chat:
        """Create a chat that continues another one after one of its turns."""
        return await self.create_chat(source={"kind": "fork", "chat": chat, "turnId": turn_id})

    async def side_chat(self, chat: str, turn_id: str, selection: str | None = None) -> Chat:
        """Create an empty chat whose agent knows another one up to a turn."""
        source: dict[str, Any] = {"kind": "sideChat", "chat": chat, "turnId": turn_id}
        if selection is not None:
            source["selection"] = {"text": selection}
        return await self.create_chat(source=source)

    async def annotations(self) -> Annotations:
        """Follow the session's annotations."""
        summary = self.state.get("annotations")
        uri = annotations_uri(self.uri) if summary is None else summary["resource"]
        channel = await self._core.subscribe(uri, owner=self.uri)
        return Annotations(self._core, channel)

    # What it works on. Loaded when it is asked for: most clients only talk.

    @property
    def files(self) -> SessionFiles:
        """The files of the session's folders."""
        from agenthost.client.files import SessionFiles, folder_of

        return SessionFiles(self._core, lambda: folder_of(self.state.get("workingDirectories")))

    @property
    def terminals(self) -> ClientTerminals:
        """The session's terminals; ``client.terminals`` has all of the host."""
        from agenthost.client.terminals import ClientTerminals

        return ClientTerminals(self._core, self.uri, self._default_chat)

    @property
    def changes(self) -> ChangesCatalogue:
        """What was changed in the session's folders."""
        from agenthost.client.changes import ChangesCatalogue

        return ChangesCatalogue(self._core, self.channel, self.uri)

    @property
    def customizations(self) -> CustomizationCatalogue:
        """What its folders, plugins and clients bring: skills, agents, rules, servers."""
        from agenthost.client.customizations import CustomizationCatalogue

        return CustomizationCatalogue(self._core, self.channel)

    def mcp(self, server: str) -> McpServerView:
        """Return one of its MCP servers, by id or name.

        Raises:
            LookupError: there is none, or several; the message names those that there are.
        """
        from agenthost.client.mcp import McpServerView

        found = self.customizations.find(server, "mcpServer")
        return McpServerView(self._core, self.channel, found.id)

    # The session itself.

    def rename(self, title: str) -> Dispatch:
        """Give the session another title."""
        return self._dispatch({"type": "session/titleChanged", "title": title})

    def mark_read(self, read: bool = True) -> Dispatch:
        """Mark the session as read, or as unread."""
        return self._dispatch({"type": "session/isReadChanged", "isRead": read})

    def archive(self, archived: bool = True) -> Dispatch:
        """Put the session among the archived ones, or take it back."""
        return self._dispatch({"type": "session/isArchivedChanged", "isArchived": archived})

    def configure(self, values: Mapping[str, Any]) -> Dispatch:
        """Change settings; those not named stay as they are."""
        return self._dispatch({"type": "session/configChanged", "config": dict(values)})

    def toggle(self, customization_id: str, enabled: bool, *, scope: str = "session") -> Dispatch:
        """Switch a customization on or off: for this session, a workspace's URI, or "global".

        Decisions for other scopes stay; the one for the session counts before all others.
        """
        decisions = actions.decided(self.state, customization_id, enabled, scope)
        action = {"type": "session/customizationToggled", "id": customization_id}
        return self._dispatch({**action, "enablement": decisions})

    async def fork(self, turn_id: str) -> Session:
        """Create a session that continues this one after one of its turns."""
        return await Sessions(self._core).fork(self.uri, turn_id)

    async def dispose(self) -> None:
        """Give up the session; the host may keep it in its trash for a while."""
        await Sessions(self._core).dispose(self.uri)


def _default_chat(uri: str, state: SessionState) -> str | None:
    if state["lifecycle"] == "failed":
        raise CreationFailed(uri, state.get("creationError"))
    named = state.get("defaultChat")
    if named is not None:
        return named
    # A host may name none; then the only chat is meant.
    return state["chats"][0]["resource"] if len(state["chats"]) == 1 else None
