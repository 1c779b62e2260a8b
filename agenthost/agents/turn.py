"""One turn, as its agent sees it: what was asked, what came before, and ways to answer.

Every method that writes becomes actions on the chat. Does not know how they travel: the host
gives each turn a ``TurnPort``. When the turn is cancelled or the host stops, whatever an agent
awaits here raises ``asyncio.CancelledError``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from agenthost.agents import inputs
from agenthost.agents.api import AgentError, SessionContext
from agenthost.agents.attachments import MOST_BYTES, read_attachment
from agenthost.agents.background_work import BackgroundWork, start_shell
from agenthost.agents.canvas import Canvas, open_canvas
from agenthost.agents.inputs import Answers, check_request, read_answers
from agenthost.agents.mcp_tools import BridgeAddress, BridgedCall, TurnMcp
from agenthost.agents.processes import CommandResult
from agenthost.agents.sanitize import (
    as_bytes,
    checked_action,
    emit,
    json_copy,
    kept_state,
    text_pieces,
    valid_text,
)
from agenthost.agents.terminal_run import command_line, title_of
from agenthost.agents.tool_call import ToolCall
from agenthost.agents.tracing import TracingProviders
from agenthost.agents.turn_customizations import TurnCustomizations
from agenthost.agents.turn_port import AgentTerminal, Interactivity, TurnPort, Worker
from agenthost.protocol.chat.active_turn import find_request

# Seconds that a client's tool may take.
CLIENT_TOOL_TIMEOUT = 300.0


class Turn:
    """The agent's side of one turn."""

    def __init__(
        self,
        port: TurnPort,
        *,
        id: str,
        chat: str,
        message: Mapping[str, Any],
        history: Sequence[Mapping[str, Any]],
        session: SessionContext,
        models: Sequence[Mapping[str, Any]] = (),
        is_resumed: bool = False,
        parts_so_far: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self._port = port
        self.id = id
        # The URI of the chat that this turn is in.
        self.chat = chat
        # The whole message that started the turn.
        self.message = message
        # Completed turns before this one, oldest first, with attachments as they were given.
        self.history = history
        self.session = session
        # Whether the turn failed before and goes on now, and what it has written until then: that
        # stands, and what the agent writes now follows it.
        self.is_resumed = is_resumed
        self.parts_so_far = parts_so_far
        self._models = models
        # The part that text is being appended to: its kind and id.
        self._open_part: tuple[str, str] | None = None

    @property
    def port(self) -> TurnPort:
        """What the host does for the turn, for agents that pass on another host's actions whole."""
        return self._port

    @property
    def text(self) -> str:
        """The text of the message that started the turn."""
        text: str = self.message["text"]
        return text

    @property
    def attachments(self) -> Sequence[Mapping[str, Any]]:
        """What was attached to the message."""
        attached: Sequence[Mapping[str, Any]] = self.message.get("attachments", ())
        return attached

    @property
    def model(self) -> str | None:
        """The id of the model to use: the message's, or the agent's first."""
        chosen = self.message.get("model")
        if chosen is not None:
            return str(chosen["id"])
        return str(self._models[0]["id"]) if self._models else None

    @property
    def model_config(self) -> dict[str, Any]:
        """The options of that model: the message's, and the schema's defaults for the rest."""
        chosen = (self.message.get("model") or {}).get("config") or {}
        model = next((item for item in self._models if item["id"] == self.model), {})
        properties = (model.get("configSchema") or {}).get("properties", {})
        defaults = {key: item["default"] for key, item in properties.items() if "default" in item}
        return {**defaults, **chosen}

    @property
    def config(self) -> Mapping[str, Any]:
        """The session's settings as they are now; people may change them while a turn runs."""
        config = self._port.session_state.get("config") or {}
        values: Mapping[str, Any] = config.get("values", {})
        return values

    @property
    def locale(self) -> str | None:
        """The language of the client that started the turn."""
        return self._port.locale

    @property
    def client_tools(self) -> dict[str, Mapping[str, Any]]:
        """The tools that attached clients offer, by name."""
        return {
            tool["name"]: tool
            for client in self._port.session_state["activeClients"]
            for tool in client["tools"]
        }

    @property
    def customizations(self) -> TurnCustomizations:
        """What people brought for this turn: instructions, skills, prompts, a custom agent."""
        return self._port.customizations

    @property
    def mcp(self) -> TurnMcp:
        """The tools of MCP servers; without any in a turn of an agent without ``uses_mcp``."""
        return self._port.mcp

    async def open_bridges(self, run: BridgedCall) -> Sequence[BridgeAddress]:
        """Open local MCP servers by which a program reaches the tools of this turn; see ``acp``.

        One for each server of ``mcp``, and one for ``client_tools`` if there are any. They are the
        same for all turns of the chat, and stay until the session ends. What a program calls over
        them while this turn runs comes to ``run``, on the agent's own loop.

        Raises:
            AgentError: this host cannot open any.
        """
        return await self._port.open_bridges(run)

    @property
    def trace(self) -> str | None:
        """This turn's place in a trace, as a W3C ``traceparent``; None while nobody traces."""
        return self._port.trace

    @property
    def tracing(self) -> TracingProviders | None:
        """What a library that traces by itself needs to take part; None while nobody traces."""
        return self._port.tracing

    @property
    def usage_so_far(self) -> Mapping[str, Any]:
        """What the turn was last reported to have used: before it failed too, if it goes on."""
        active = self._port.state.get("activeTurn") or {}
        usage: Mapping[str, Any] = active.get("usage") or {}
        return usage

    @property
    def resume_state(self) -> Mapping[str, Any] | None:
        """What this agent last kept for the session, in whichever chat of it; None if nothing."""
        return self._port.resume_state

    def keep(self, state: Mapping[str, Any] | None) -> None:
        """Keep what it takes to go on with the session, also after a restart; None for nothing.

        It is stored with what the turn wrote before. Nobody but this agent is ever shown it. Raises
        AgentError for what is not JSON data, or more than ``sanitize.MOST_RESUME_STATE`` of it.
        """
        self._port.keep(None if state is None else kept_state(state))

    def credential(self, resource: str) -> str | None:
        """Return the token that a client brought for a protected resource; never log it."""
        return self._port.credential(resource)

    def reject_credential(self, resource: str) -> None:
        """Forget a token that no longer works, and ask whoever brought it for another."""
        self._port.reject_credential(resource)

    async def read_attachment(
        self, attachment: Mapping[str, Any], *, most: int = MOST_BYTES
    ) -> bytes:
        """Return what something contains that is attached to a message, this one or an older one.

        A file is read inside the session's folders only. What only a client knows, such as
        ``virtual://…``, that client is asked for, which may take seconds.

        Raises:
            AgentError: it has no content, that is not to be had, or it is more than ``most`` bytes.
        """
        folders = self.session.working_directories
        return await read_attachment(self._port, attachment, folders, most)

    async def write(self, markdown: str) -> None:
        """Stream markdown into the answer."""
        for piece in text_pieces(markdown):
            self._append("markdown", "chat/delta", piece)
            await self._port.flow()

    async def think(self, text: str) -> None:
        """Stream reasoning, which clients fold away."""
        for piece in text_pieces(text):
            self._append("reasoning", "chat/reasoning", piece)
            await self._port.flow()

    async def notify(self, content: str) -> None:
        """Add a notice of the system to the answer."""
        self._emit_part({"kind": "systemNotification", "content": content})
        await self._port.flow()

    async def attach(self, data: bytes, content_type: str | None = None) -> None:
        """Add large content to the answer by reference; clients fetch it when they want it."""
        ref = await self.store(data, content_type)
        self._emit_part({"kind": "contentRef", **ref})
        await self._port.flow()

    async def store(
        self, data: bytes, content_type: str | None = None, *, name: str | None = None
    ) -> dict[str, Any]:
        """Keep content with the session and return a reference to it.

        ``name`` is how clients may call it, for instance the path of the file that it is of.
        """
        kind = None if content_type is None else valid_text(content_type)
        return await self._port.store_content(as_bytes(data), kind, name)

    async def report_usage(self, usage: Mapping[str, Any]) -> None:
        """Report what the turn used so far; the last report counts."""
        emit(self._port, {"type": "chat/usage", "turnId": self.id, "usage": usage})
        await self._port.flow()

    async def set_activity(self, activity: str | None) -> None:
        """Say in a few words what is going on; None clears it."""
        action: dict[str, Any] = {"type": "chat/activityChanged"}
        if activity is not None:
            action["activity"] = activity
        emit(self._port, action)
        await self._port.flow()

    async def set_title(self, title: str) -> None:
        """Name the chat, and the session where this is its default chat."""
        self._port.rename(valid_text(title))
        await self._port.flow()

    async def set_meta(self, key: str, value: Any) -> None:
        """Tell programs more about the session under a key of yours; None takes it back."""
        self._port.set_meta(valid_text(key), json_copy(value))
        await self._port.flow()

    async def annotate(
        self,
        resource: str,
        text: str,
        *,
        range: Mapping[str, Any] | None = None,
        id: str | None = None,
    ) -> str:
        """Leave a remark on a file as this turn leaves it; return its id, to change it by.

        ``resource`` is the file's URI, ``range`` a TextRange in it; without, the whole file.
        """
        id = self._port.new_id("note") if id is None else valid_text(id)
        annotation: dict[str, Any] = {
            "id": id,
            "origin": {"session": self.session.session, "chat": self.chat, "turnId": self.id},
            "resource": resource,
            "resolved": False,
            "entries": [{"id": f"{id}-1", "text": text}],
        }
        if range is not None:
            annotation["range"] = dict(range)
        action = checked_action({"type": "annotations/set", "annotation": annotation})
        await self._port.annotate(action["annotation"])
        return id

    @property
    def background_work(self) -> Sequence[Mapping[str, Any]]:
        """What runs beside the turns of this chat now: its ``id``, ``label`` and the like."""
        works: Sequence[Mapping[str, Any]] = self._port.state.get("backgroundWork") or ()
        return works

    async def background_shell(
        self,
        label: str,
        command: str | Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        terminal: str | None = None,
        run: Callable[[], Awaitable[CommandResult]] | None = None,
    ) -> BackgroundWork[CommandResult]:
        """Run a command that may outlive the turn, in the session's folder, and return at once.

        It runs in a terminal, where the host has any, with ``env`` added to the host's environment
        without its secrets. Who runs the command by other means gives ``run``, which returns when
        the command has ended, and perhaps the URI of a ``terminal`` in which people can follow it.
        Raises AgentError when it cannot be run, or too much runs already.
        """
        cwd = self.session.folder if cwd is None else cwd
        return await start_shell(
            self._port, label, command, cwd=cwd, env=env, terminal=terminal, run=run
        )

    async def open_terminal(
        self,
        command: str | Sequence[str],
        *,
        title: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> AgentTerminal:
        """Run a command in a terminal that people can watch and type into.

        For agents that run commands on their own terms; a tool call does it by itself, see
        ``ToolCall.run_in_terminal``. Show it by ``call.show(content.terminal(uri, title))``. The
        command runs in the session's folder without ``cwd``, with ``env`` added to the host's
        environment without its secrets, and ends with the turn unless it is let ``run_on``.

        Raises:
            TerminalsUnsupported: this host has none.
            AgentError: there are too many, or the command cannot be run.
        """
        title = valid_text(title) if title is not None else title_of(command_line(command))
        return await self._port.open_terminal(
            command, title=title, tool_call_id=None, cwd=cwd, env=env
        )

    async def background_worker(
        self, label: str, text: str, *, interactivity: Interactivity = "read-only"
    ) -> BackgroundWork[Worker]:
        """Let a worker chat of the same agent answer ``text``, maybe beyond the turn.

        It is shown as a tool call that has done its part once the worker has begun.
        """
        async with self.tool("worker", display_name=label, input={"text": text}) as call:
            return await call.delegate_in_background(text, title=label, interactivity=interactivity)

    async def stop_background_work(self, id: str) -> bool:
        """Stop what runs beside the turns of this chat, whichever began it; False if it does not.

        Who holds the work itself can ``stop`` it as well.
        """
        return await self._port.stop_work(id)

    async def open_canvas(
        self,
        kind: str,
        *,
        title: str | None = None,
        status: str | None = None,
        url: str | None = None,
        instance_id: str | None = None,
    ) -> Canvas:
        """Show a web page beside the chat: ``canvas = await turn.open_canvas("preview", url=url)``.

        It stays after the turn; the same ``kind`` and ``instance_id`` open the same one again.
        Raises AgentError for a ``url`` that is not http or https, or too many canvases in the chat.
        """
        return await open_canvas(
            self._port, kind, title=title, status=status, url=url, instance_id=instance_id
        )

    def tool(
        self,
        name: str,
        *,
        input: Any = None,
        display_name: str | None = None,
        intention: str | None = None,
        invocation: str | None = None,
        meta: Mapping[str, Any] | None = None,
        contributor: Mapping[str, Any] | None = None,
    ) -> ToolCall:
        """Begin a tool call: ``async with turn.tool("shell", input={"cmd": "ls"}) as call``.

        ``meta`` is for programs that know what to make of it; ``contributor`` says whose the tool
        is, where it is not the agent's own.
        """
        self._open_part = None
        return ToolCall(
            self._port,
            self.id,
            name,
            input=input,
            display_name=display_name,
            intention=intention,
            invocation=invocation,
            meta=meta,
            contributor=contributor,
            folders=self.session.working_directories,
        )

    async def call_client_tool(
        self, name: str, input: Any = None, *, timeout: float = CLIENT_TOOL_TIMEOUT
    ) -> Mapping[str, Any]:
        """Let an attached client run one of its tools; return the call as it ended.

        Look at its ``success``, ``content`` and ``error``. Raises AgentError when no client offers
        the tool.
        """
        owner = self._owner_of(name)
        if owner is None:
            raise AgentError(f"no attached client offers the tool {name}", "unknownTool")
        self._open_part = None
        title = self.client_tools[name].get("title", name)
        contributor = {"kind": "client", "clientId": owner}
        call = ToolCall(
            self._port, self.id, name, input=input, display_name=title, contributor=contributor
        )
        async with call:
            return await call.wait_for_owner(timeout)

    async def ask(self, message: str, *, default: str | None = None) -> str | None:
        """Ask people one thing; None when they decline."""
        question = inputs.text("answer", message, default=default)
        answers = await self.ask_all([question], message=message)
        return answers.get("answer") if answers else None

    async def ask_all(
        self,
        questions: Sequence[Mapping[str, Any]] = (),
        *,
        message: str | None = None,
        url: str | None = None,
    ) -> Answers:
        """Ask people several things at once, or send them to a web page, and wait.

        Raises AgentError for what nobody could answer.
        """
        self._open_part = None
        request: dict[str, Any] = {"id": self._port.new_id("input")}
        if questions:
            request["questions"] = list(questions)
        if message is not None:
            request["message"] = message
        if url is not None:
            request["url"] = url
        action = checked_action({"type": "chat/inputRequested", "request": request})
        check_request(action["request"])
        self._port.emit(action)
        id = request["id"]
        with contextlib.suppress(TimeoutError):
            try:
                async with asyncio.timeout(self._port.prompt_timeout):
                    await self._port.wait_for(lambda state: find_request(state, id, answered=True))
            finally:
                # Nobody came, or nobody waits any more; what is completed takes no notice.
                cancel = {"type": "chat/inputCompleted", "requestId": id, "response": "cancel"}
                self._port.emit(cancel)
        part = find_request(self._port.state, id, answered=True)
        return read_answers(part) if part is not None else Answers("cancel", {})

    async def next_steering(self) -> str:
        """Wait for a message with which somebody steers the turn, and return its text."""
        text: str = (await self.next_steering_message())["text"]
        return text

    async def next_steering_message(self) -> Mapping[str, Any]:
        """Wait for a message that steers the turn, and return all of it, attachments too."""
        return await self._port.next_steering()

    def _owner_of(self, tool: str) -> str | None:
        owners: list[str] = [
            client["clientId"]
            for client in self._port.session_state["activeClients"]
            if any(offered["name"] == tool for offered in client["tools"])
        ]
        # Of several, the one at which the turn was started.
        return self._port.client if self._port.client in owners else next(iter(owners), None)

    def _append(self, kind: str, action_type: str, text: str) -> None:
        if self._open_part is None or self._open_part[0] != kind:
            # All text comes as deltas, so that whoever collects those alone has all of it.
            id = self._port.new_id("part")
            self._emit_part({"kind": kind, "id": id, "content": ""})
            # Before anything is awaited: another task of the agent may write as well.
            self._open_part = (kind, id)
        part_id = self._open_part[1]
        # Nothing but the text comes from the agent, so this, the most frequent of all, is sound.
        self._port.emit(
            {"type": action_type, "turnId": self.id, "partId": part_id, "content": text}
        )

    def _emit_part(self, part: dict[str, Any]) -> None:
        self._open_part = None
        emit(self._port, {"type": "chat/responsePart", "turnId": self.id, "part": part})
