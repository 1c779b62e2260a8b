"""Client tools: plain async functions that an agent on the host may call.

Owns announcing this client with its tools and plugins to a session, again after every reconnect
that lost it; running the calls that are this client's; and ending each of them, one way or another.
A result whose arrival is uncertain is sent again as long as the host still waits for it: a call can
be completed only once.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agenthost.client import actions
from agenthost.client.errors import ClientError, DispatchFailed, Uncertain
from agenthost.client.tool_results import blocks, failed, succeeded
from agenthost.errors import AgentHostError
from agenthost.protocol.session.input_needed import input_needed_in
from agenthost.tasks import Tasks

if TYPE_CHECKING:
    from agenthost.client.state.channel import Channel
    from agenthost.client.state.client_core import ClientCore
    from agenthost.protocol.chat.tool_state import ToolCallRunningState
    from agenthost.protocol.common import JsonObject

log = logging.getLogger(__name__)

_CallKey = tuple[str, str]


class ToolFailure(Exception):
    """A tool cannot do what it was asked for; the message is for the agent."""


class ToolRun:
    """One call while it runs: what a tool may want to know, and a way to show progress."""

    def __init__(self, core: ClientCore, entry: Mapping[str, Any]) -> None:
        self._core = core
        # The chat, the turn and the call in it.
        self.chat: str = entry["chat"]
        self.turn_id: str = entry["turnId"]
        self.call: ToolCallRunningState = entry["toolCall"]

    @property
    def id(self) -> str:
        """The id of the call."""
        return self.call["toolCallId"]

    async def show(self, content: str | Sequence[Mapping[str, Any]]) -> None:
        """Show what there is so far, in place of what was shown before.

        Raises:
            Rejected: the call has ended otherwise.
        """
        action = actions.content_change(self.turn_id, self.id, blocks(content))
        while True:
            try:
                await self._core.dispatch(self.chat, action)
                return
            except Uncertain:
                # Showing the same a second time changes nothing.
                continue

    async def arguments(self) -> JsonObject:
        """Return the call's arguments."""
        given = self.call.get("toolInput")
        if isinstance(given, Mapping):
            read = await self._core.request("resourceRead", {"uri": given["uri"]})
            given = read["data"]
        try:
            parsed = json.loads(given or "{}")
        except ValueError as error:
            raise ToolFailure(f"the arguments are not JSON: {error}") from error
        if not isinstance(parsed, dict):
            raise ToolFailure("the arguments are not an object")
        return parsed


ToolFunction = Callable[..., Awaitable[Any]]
"""Takes the arguments as a mapping and, if it has a second parameter, the ``ToolRun``."""


@dataclass(slots=True)
class _Tool:
    definition: JsonObject
    function: ToolFunction
    takes_run: bool


@dataclass(slots=True)
class _SessionTools:
    """The tools of one session, and the calls under way."""

    channel: Channel[Any]
    tools: dict[str, _Tool] = field(default_factory=dict)
    # The plugins that the client publishes there, by URI.
    plugins: dict[str, JsonObject] = field(default_factory=dict)
    running: dict[_CallKey, asyncio.Task[None]] = field(default_factory=dict)
    # Calls that have ended here and that the host has not taken off its list yet.
    ended: set[_CallKey] = field(default_factory=set)
    # Chats followed for their calls, on hosts that list them nowhere else.
    chats: dict[str, Channel[Any]] = field(default_factory=dict)
    # Whether the announcement is on its way, and whether the host would not have it.
    announcing: bool = False
    refused: bool = False


class ClientTools:
    """All client tools of one client."""

    def __init__(self, core: ClientCore, display_name: str | None = None) -> None:
        self._core = core
        self._display_name = display_name
        self._tasks = Tasks()
        self._sessions: dict[str, _SessionTools] = {}
        core.on_up.append(self._on_up)

    async def add(
        self,
        uri: str,
        name: str,
        function: ToolFunction,
        *,
        description: str = "",
        schema: Mapping[str, Any] | None = None,
    ) -> Callable[[], None]:
        """Offer a function to a session's agent; return what takes it back.

        Raises:
            Rejected: the host does not take it.
        """
        definition: JsonObject = {"name": name, "inputSchema": dict(schema or {"type": "object"})}
        if description:
            definition["description"] = description
        tool = _Tool(definition, function, _parameters(function) > 1)
        session = await self._session(uri)
        session.tools[name] = tool
        try:
            await self._announce(session)
        except DispatchFailed:
            session.tools.pop(name, None)
            raise
        except BaseException:
            # It may have been announced all the same.
            self._remove(session, name, tool)
            raise
        return lambda: self._remove(session, name, tool)

    async def publish(self, uri: str, plugin: JsonObject) -> Callable[[], None]:
        """Announce a plugin to a session; return what takes it back.

        Raises:
            Rejected: the host does not take it.
        """
        session = await self._session(uri)
        former = session.plugins.get(plugin["uri"])
        session.plugins[plugin["uri"]] = plugin
        try:
            await self._announce(session)
        except BaseException:
            session.plugins.pop(plugin["uri"], None)
            if former is not None:
                session.plugins[plugin["uri"]] = former
            raise
        return lambda: self._unpublish(session, plugin)

    def _unpublish(self, session: _SessionTools, plugin: JsonObject) -> None:
        if session.plugins.get(plugin["uri"]) is not plugin:
            # Taken back already, or published anew since.
            return
        del session.plugins[plugin["uri"]]
        if session.channel.gone is None:
            self._core.dispatch(session.channel.uri, self._announcement(session))

    async def _session(self, uri: str) -> _SessionTools:
        """Return a session's tools; it is followed from the first one on."""
        if uri in self._sessions:
            return self._sessions[uri]
        session = _SessionTools(await self._core.subscribe(uri))
        try:
            await self._follow_chats(session)
        except BaseException:
            self._unfollow(session)
            raise
        if uri in self._sessions:
            # Another tool of this session was faster.
            self._unfollow(session)
            return self._sessions[uri]
        self._sessions[uri] = session
        # Calls of an earlier life of this client: whether they were begun nobody knows.
        self._fail_orphans(session)
        self._tasks.start(self._work(session), name=f"tools of {uri}")
        return session

    def _unfollow(self, session: _SessionTools) -> None:
        for channel in (session.channel, *session.chats.values()):
            self._core.unfollow(channel)

    async def close(self) -> None:
        """Stop all calls, and tell the host that nobody will run them any more."""
        await self._tasks.close()
        for session in self._sessions.values():
            if self._core.link is not None and session.channel.live:
                self._core.link.notify("unsubscribe", {"channel": session.channel.uri})

    def _on_up(self) -> None:
        for session in self._sessions.values():
            session.refused = False
            session.channel.changed.send()

    def _remove(self, session: _SessionTools, name: str, tool: _Tool) -> None:
        if session.tools.get(name) is not tool:
            # Taken back already, or another one goes by this name now.
            return
        del session.tools[name]
        if session.channel.gone is None:
            self._core.dispatch(session.channel.uri, self._announcement(session))

    async def _announce(self, session: _SessionTools) -> None:
        session.announcing, session.refused = True, False
        try:
            while True:
                try:
                    await self._core.dispatch(session.channel.uri, self._announcement(session))
                    return
                except Uncertain:
                    # Announcing a second time changes nothing.
                    continue
        except DispatchFailed:
            # Not again before something changes: a host that refuses has its reasons.
            session.refused = True
            raise
        finally:
            session.announcing = False
            # The host may have taken us off again meanwhile.
            session.channel.changed.send()

    def _announcement(self, session: _SessionTools) -> JsonObject:
        client: JsonObject = {
            "clientId": self._core.client_id,
            "tools": [tool.definition for tool in session.tools.values()],
        }
        if session.plugins:
            client["customizations"] = list(session.plugins.values())
        if self._display_name is not None:
            client["displayName"] = self._display_name
        return {"type": "session/activeClientSet", "activeClient": client}

    async def _work(self, session: _SessionTools) -> None:
        """Run and stop this client's calls in a session as its state changes."""
        channel = session.channel
        while channel.gone is None:
            counts = [(c, c.changed.count) for c in (channel, *session.chats.values())]
            await self._follow_chats(session)
            self._announce_if_missing(session)
            self._take_calls(session)
            await _any_changed(counts)
        for task in session.running.values():
            task.cancel()
        self._sessions.pop(channel.uri, None)

    def _announce_if_missing(self, session: _SessionTools) -> None:
        clients = session.channel.state["activeClients"]
        absent = all(client["clientId"] != self._core.client_id for client in clients)
        offered = session.tools or session.plugins
        if absent and offered and not session.announcing and not session.refused:
            self._tasks.start(self._announce_again(session), name="announce tools")

    async def _announce_again(self, session: _SessionTools) -> None:
        try:
            await self._announce(session)
        except ClientError as error:
            log.warning("the tools cannot be offered any more: %s", error)

    async def _follow_chats(self, session: _SessionTools) -> None:
        if self._core.lists_input_needed:
            return
        for chat in session.channel.state["chats"]:
            if chat["resource"] not in session.chats:
                try:
                    followed = await self._core.subscribe(chat["resource"])
                except (AgentHostError, TimeoutError):
                    continue
                session.chats[chat["resource"]] = followed

    def _take_calls(self, session: _SessionTools) -> None:
        calls = {_key(entry): entry for entry in self._calls(session)}
        for key, task in session.running.items():
            if key not in calls:
                # Somebody else ended it: the turn was cancelled, or the host gave up on us.
                task.cancel()
        session.ended &= calls.keys()
        for key, entry in calls.items():
            if key not in session.running and key not in session.ended:
                name = f"tool {entry['toolCall']['toolName']}"
                session.running[key] = self._tasks.start(self._run(session, key, entry), name=name)

    def _calls(self, session: _SessionTools) -> Iterator[Mapping[str, Any]]:
        """Yield the calls that the host waits for this client to run."""
        listed = session.channel.confirmed.get("inputNeeded") or ()
        chats = session.chats.values()
        unlisted = (need for chat in chats for need in input_needed_in(chat.uri, chat.confirmed))
        for entry in (*listed, *unlisted):
            if entry["kind"] == "toolClientExecution" and entry["clientId"] == self._core.client_id:
                yield entry

    def _fail_orphans(self, session: _SessionTools) -> None:
        """Fail calls left over from an earlier process of this client."""
        for entry in self._calls(session):
            session.ended.add(_key(entry))
            failure = failed("the client that was to run this tool was restarted")
            run = ToolRun(self._core, entry)
            self._core.dispatch(run.chat, actions.completion(run.turn_id, run.id, failure))

    async def _run(self, session: _SessionTools, key: _CallKey, entry: Mapping[str, Any]) -> None:
        run = ToolRun(self._core, entry)
        try:
            result = await self._result(session, run)
            await self._complete(session, key, run, result)
        except DispatchFailed as error:
            log.info("%s: the host did not take the result: %s", run.id, error)
        finally:
            session.ended.add(key)
            session.running.pop(key, None)

    async def _result(self, session: _SessionTools, run: ToolRun) -> JsonObject:
        tool = session.tools.get(run.call["toolName"])
        if tool is None:
            return failed(f"this client has no tool {run.call['toolName']!r}")
        try:
            arguments = await run.arguments()
            given = (arguments, run) if tool.takes_run else (arguments,)
            return succeeded(run.call, await tool.function(*given))
        except ToolFailure as failure:
            return failed(str(failure))
        except Exception as error:
            log.exception("the tool %s failed", run.call["toolName"])
            return failed(f"{type(error).__name__}: {error}")

    async def _complete(
        self, session: _SessionTools, key: _CallKey, run: ToolRun, result: JsonObject
    ) -> None:
        while True:
            try:
                await self._core.dispatch(run.chat, actions.completion(run.turn_id, run.id, result))
                return
            except Uncertain:
                # A call can be completed only once, so a second time does no harm.
                if all(_key(entry) != key for entry in self._calls(session)):
                    return


def _key(entry: Mapping[str, Any]) -> _CallKey:
    return entry["chat"], entry["toolCall"]["toolCallId"]


def _parameters(function: ToolFunction) -> int:
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional for p in inspect.signature(function).parameters.values())


async def _any_changed(counts: Sequence[tuple[Channel[Any], int]]) -> None:
    """Wait until one of several channels has changed since it was looked at."""
    waits = [asyncio.ensure_future(channel.changed.wait_past(count)) for channel, count in counts]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
