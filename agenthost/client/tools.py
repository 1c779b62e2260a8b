"""Client tools: plain async functions that an agent on the host may call.

Owns announcing this client with its tools to a session, again after every reconnect that lost it;
running the calls that are this client's; and ending each of them, one way or another. A result
whose arrival is uncertain is sent again as long as the host still waits for it: a call can be
completed only once.
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
from agenthost.client.needs import sessions_list_needs
from agenthost.errors import AgentHostError
from agenthost.protocol.session.input_needed import needs_of
from agenthost.tasks import Tasks

if TYPE_CHECKING:
    from agenthost.client.state.channel import Channel
    from agenthost.client.state.client_core import Core
    from agenthost.protocol.chat.tool_state import ToolCallRunningState

log = logging.getLogger(__name__)

Json = dict[str, Any]
_CallKey = tuple[str, str]


class ToolFailure(Exception):
    """A tool cannot do what it was asked for; the message is for the agent."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool brought, where a text alone does not say it."""

    content: Sequence[Mapping[str, Any]] = ()
    structured: Mapping[str, Any] | None = None
    # What was done, for people: "Read 3 files".
    summary: str | None = None


class ToolRun:
    """One call while it runs: what a tool may want to know, and a way to show progress."""

    def __init__(self, core: Core, entry: Mapping[str, Any]) -> None:
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
        action = actions.content_change(self.turn_id, self.id, _blocks(content))
        while True:
            try:
                await self._core.dispatch(self.chat, action)
                return
            except Uncertain:
                # Showing the same a second time changes nothing.
                continue

    async def arguments(self) -> Json:
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
    definition: Json
    function: ToolFunction
    takes_run: bool


@dataclass(slots=True)
class _Bench:
    """The tools of one session, and the calls under way."""

    channel: Channel[Any]
    tools: dict[str, _Tool] = field(default_factory=dict)
    running: dict[_CallKey, asyncio.Task[None]] = field(default_factory=dict)
    # Calls that have ended here and that the host has not taken off its list yet.
    ended: set[_CallKey] = field(default_factory=set)
    # Chats followed for their calls, on hosts that list them nowhere else.
    chats: dict[str, Channel[Any]] = field(default_factory=dict)
    # Whether the announcement is on its way, and whether the host would not have it.
    announcing: bool = False
    refused: bool = False


class Toolbox:
    """All client tools of one client."""

    def __init__(self, core: Core, display_name: str | None = None) -> None:
        self._core = core
        self._display_name = display_name
        self._tasks = Tasks()
        self._benches: dict[str, _Bench] = {}
        core.on_up.append(self._on_up)

    async def add(
        self,
        session: str,
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
        definition: Json = {"name": name, "inputSchema": dict(schema or {"type": "object"})}
        if description:
            definition["description"] = description
        tool = _Tool(definition, function, _parameters(function) > 1)
        bench = await self._bench(session)
        bench.tools[name] = tool
        try:
            await self._announce(bench)
        except DispatchFailed:
            bench.tools.pop(name, None)
            raise
        except BaseException:
            # It may have been announced all the same.
            self._remove(bench, name, tool)
            raise
        return lambda: self._remove(bench, name, tool)

    async def _bench(self, session: str) -> _Bench:
        """Return the bench of a session, which it gets with its first tool."""
        if session in self._benches:
            return self._benches[session]
        bench = _Bench(await self._core.subscribe(session))
        try:
            await self._follow_chats(bench)
        except BaseException:
            self._let_go(bench)
            raise
        if session in self._benches:
            # Another tool of this session was faster.
            self._let_go(bench)
            return self._benches[session]
        self._benches[session] = bench
        # Calls of an earlier life of this client: whether they were begun nobody knows.
        self._disown(bench)
        self._tasks.start(self._work(bench), name=f"tools of {session}")
        return bench

    def _let_go(self, bench: _Bench) -> None:
        for channel in (bench.channel, *bench.chats.values()):
            self._core.release(channel)

    async def close(self) -> None:
        """Stop all calls, and tell the host that nobody will run them any more."""
        await self._tasks.close()
        for bench in self._benches.values():
            if self._core.link is not None and bench.channel.live:
                self._core.link.notify("unsubscribe", {"channel": bench.channel.uri})

    def _on_up(self) -> None:
        for bench in self._benches.values():
            bench.refused = False
            bench.channel.changed.send()

    def _remove(self, bench: _Bench, name: str, tool: _Tool) -> None:
        if bench.tools.get(name) is not tool:
            # Taken back already, or another one goes by this name now.
            return
        del bench.tools[name]
        if bench.channel.gone is None:
            self._core.dispatch(bench.channel.uri, self._announcement(bench))

    async def _announce(self, bench: _Bench) -> None:
        bench.announcing, bench.refused = True, False
        try:
            while True:
                try:
                    await self._core.dispatch(bench.channel.uri, self._announcement(bench))
                    return
                except Uncertain:
                    # Announcing a second time changes nothing.
                    continue
        except DispatchFailed:
            # Not again before something changes: a host that refuses has its reasons.
            bench.refused = True
            raise
        finally:
            bench.announcing = False
            # The host may have taken us off again meanwhile.
            bench.channel.changed.send()

    def _announcement(self, bench: _Bench) -> Json:
        client: Json = {
            "clientId": self._core.client_id,
            "tools": [tool.definition for tool in bench.tools.values()],
        }
        if self._display_name is not None:
            client["displayName"] = self._display_name
        return {"type": "session/activeClientSet", "activeClient": client}

    async def _work(self, bench: _Bench) -> None:
        """Watch a session: run what is this client's, stop what is not any more."""
        channel = bench.channel
        while channel.gone is None:
            counts = [(c, c.changed.count) for c in (channel, *bench.chats.values())]
            await self._follow_chats(bench)
            self._keep_announced(bench)
            self._take_calls(bench)
            await _any_beyond(counts)
        for task in bench.running.values():
            task.cancel()
        self._benches.pop(channel.uri, None)

    def _keep_announced(self, bench: _Bench) -> None:
        clients = bench.channel.state["activeClients"]
        absent = all(client["clientId"] != self._core.client_id for client in clients)
        if absent and bench.tools and not bench.announcing and not bench.refused:
            self._tasks.start(self._announce_again(bench), name="announce tools")

    async def _announce_again(self, bench: _Bench) -> None:
        try:
            await self._announce(bench)
        except ClientError as error:
            log.warning("the tools cannot be offered any more: %s", error)

    async def _follow_chats(self, bench: _Bench) -> None:
        if sessions_list_needs(self._core.version):
            return
        for chat in bench.channel.state["chats"]:
            if chat["resource"] not in bench.chats:
                try:
                    followed = await self._core.subscribe(chat["resource"])
                except (AgentHostError, TimeoutError):
                    continue
                bench.chats[chat["resource"]] = followed

    def _take_calls(self, bench: _Bench) -> None:
        calls = {_key(entry): entry for entry in self._calls(bench)}
        for key, task in bench.running.items():
            if key not in calls:
                # Somebody else ended it: the turn was cancelled, or the host gave up on us.
                task.cancel()
        bench.ended &= calls.keys()
        for key, entry in calls.items():
            if key not in bench.running and key not in bench.ended:
                name = f"tool {entry['toolCall']['toolName']}"
                bench.running[key] = self._tasks.start(self._run(bench, key, entry), name=name)

    def _calls(self, bench: _Bench) -> Iterator[Mapping[str, Any]]:
        """Yield the calls that the host waits for this client to run."""
        listed = bench.channel.confirmed.get("inputNeeded") or ()
        unlisted = (need for c in bench.chats.values() for need in needs_of(c.uri, c.confirmed))
        for entry in (*listed, *unlisted):
            if entry["kind"] == "toolClientExecution" and entry["clientId"] == self._core.client_id:
                yield entry

    def _disown(self, bench: _Bench) -> None:
        for entry in self._calls(bench):
            bench.ended.add(_key(entry))
            failure = _failed("the client that was to run this tool was restarted")
            run = ToolRun(self._core, entry)
            self._core.dispatch(run.chat, actions.completion(run.turn_id, run.id, failure))

    async def _run(self, bench: _Bench, key: _CallKey, entry: Mapping[str, Any]) -> None:
        run = ToolRun(self._core, entry)
        try:
            result = await self._result(bench, run)
            await self._complete(bench, key, run, result)
        except DispatchFailed as error:
            log.info("%s: the host did not take the result: %s", run.id, error)
        finally:
            bench.ended.add(key)
            bench.running.pop(key, None)

    async def _result(self, bench: _Bench, run: ToolRun) -> Json:
        tool = bench.tools.get(run.call["toolName"])
        if tool is None:
            return _failed(f"this client has no tool {run.call['toolName']!r}")
        try:
            arguments = await run.arguments()
            given = (arguments, run) if tool.takes_run else (arguments,)
            return _succeeded(run, await tool.function(*given))
        except ToolFailure as failure:
            return _failed(str(failure))
        except Exception as error:
            log.exception("the tool %s failed", run.call["toolName"])
            return _failed(f"{type(error).__name__}: {error}")

    async def _complete(self, bench: _Bench, key: _CallKey, run: ToolRun, result: Json) -> None:
        while True:
            try:
                await self._core.dispatch(run.chat, actions.completion(run.turn_id, run.id, result))
                return
            except Uncertain:
                # A call can be completed only once, so a second time does no harm.
                if all(_key(entry) != key for entry in self._calls(bench)):
                    return


def _key(entry: Mapping[str, Any]) -> _CallKey:
    return entry["chat"], entry["toolCall"]["toolCallId"]


def _parameters(function: ToolFunction) -> int:
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional for p in inspect.signature(function).parameters.values())


def _blocks(content: str | Sequence[Mapping[str, Any]]) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [dict(block) for block in content]


def _succeeded(run: ToolRun, returned: Any) -> Json:
    made = returned if isinstance(returned, ToolResult) else _made(returned)
    name = run.call.get("displayName") or run.call["toolName"]
    result: Json = {"success": True, "pastTenseMessage": made.summary or f"Ran {name}"}
    if made.content:
        result["content"] = [dict(block) for block in made.content]
    if made.structured is not None:
        result["structuredContent"] = dict(made.structured)
    return result


def _made(returned: Any) -> ToolResult:
    if returned is None:
        return ToolResult()
    if isinstance(returned, str):
        return ToolResult(_blocks(returned))
    if isinstance(returned, Mapping):
        return ToolResult(_blocks(json.dumps(returned)), structured=returned)
    return ToolResult(_blocks(returned))


def _failed(message: str) -> Json:
    return {
        "success": False,
        "pastTenseMessage": message,
        "error": {"message": message},
    }


async def _any_beyond(counts: Sequence[tuple[Channel[Any], int]]) -> None:
    """Wait until one of several channels has changed since it was looked at."""
    waits = [asyncio.ensure_future(channel.changed.beyond(count)) for channel, count in counts]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
