"""An agent on the official package that does what it is told by slash commands.

With ``ACP_STORE`` it keeps its sessions in that folder and can load them. It remembers every prompt
of a session, and ``/recall`` tells those before, ``/recall all`` itself too.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NoReturn, cast

from acp import (
    PROTOCOL_VERSION,
    RequestError,
    image_block,
    plan_entry,
    resource_link_block,
    run_agent,
    start_tool_call,
    text_block,
    tool_content,
    tool_diff_content,
    tool_terminal_ref,
    update_agent_message,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
    update_tool_call,
    update_user_message_text,
)
from acp.interfaces import Agent, Client
from acp.schema import (
    AgentCapabilities,
    AllowedOutcome,
    Cost,
    CurrentModeUpdate,
    EnvVariable,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PermissionOption,
    PromptCapabilities,
    PromptResponse,
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
    ToolCallLocation,
    ToolCallUpdate,
    Usage,
    UsageUpdate,
)

# It is run as a program, and finds its modules by itself.
sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.agents.acp.mcp_client import McpClient

OPTIONS = [
    PermissionOption(option_id="yes", name="Allow", kind="allow_once"),
    # The id by which the host itself would remember an approval.
    PermissionOption(option_id="allow-in-session", name="Always allow", kind="allow_always"),
    PermissionOption(option_id="no", name="Reject", kind="reject_once"),
    PermissionOption(option_id="never", name="Never", kind="reject_always"),
]
# The modes that it offers, the one it begins in first.
MODES = [mode for mode in os.environ.get("ACP_MODES", "ask,code").split(",") if mode]
MODE_NAMES = {"ask": "Ask first", "code": "Write code"}


class Conversation:
    """One session: what it was asked, where it works, what was chosen."""

    def __init__(self, id: str, cwd: str) -> None:
        self.id = id
        self.cwd = cwd
        self.prompts: list[str] = []
        self.mode = MODES[0] if MODES else ""
        self.options: dict[str, Any] = {"llm": "small", "fast": False}
        self.cancelled = asyncio.Event()
        # The MCP servers that it may start, by their names.
        self.servers: dict[str, Any] = {}
        # What its last prompt said beside the prompt.
        self.meta: dict[str, Any] = {}


class AgentUnderTest:
    def __init__(self) -> None:
        self._store = os.environ.get("ACP_STORE")
        self._sessions: dict[str, Conversation] = {}

    def on_connect(self, conn: Client) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **kwargs: Any) -> InitializeResponse:
        if "ACP_MUTE" in os.environ:
            await asyncio.Event().wait()
        return InitializeResponse(
            protocol_version=int(os.environ.get("ACP_VERSION", PROTOCOL_VERSION)),
            agent_capabilities=AgentCapabilities(
                load_session=self._store is not None,
                prompt_capabilities=PromptCapabilities(image=True, embedded_context=True),
            ),
        )

    async def new_session(self, cwd: str, **kwargs: Any) -> NewSessionResponse:
        if "ACP_LOGIN" in os.environ:
            raise RequestError.auth_required()
        session = Conversation(f"s-{os.getpid()}-{len(self._sessions)}", cwd)
        session.servers = {server.name: server for server in kwargs.get("mcp_servers") or ()}
        self._sessions[session.id] = session
        return NewSessionResponse(
            session_id=session.id, modes=_modes(session), config_options=_options(session)
        )

    async def load_session(self, cwd: str, session_id: str, **kwargs: Any) -> LoadSessionResponse:
        session = self._sessions[session_id] = Conversation(session_id, cwd)
        session.servers = {server.name: server for server in kwargs.get("mcp_servers") or ()}
        session.prompts = self._stored(session_id)
        if session.prompts == ["/crash"]:
            os._exit(7)
        if session.prompts == ["/hang"]:
            await self._hang()
        for prompt in session.prompts:
            await self._client.session_update(session_id, update_user_message_text(prompt))
            await self._client.session_update(session_id, update_agent_message_text("replayed"))
        return LoadSessionResponse(modes=_modes(session), config_options=_options(session))

    async def set_session_mode(
        self, session_id: str, mode_id: str, **kwargs: Any
    ) -> SetSessionModeResponse:
        self._sessions[session_id].mode = mode_id
        return SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: Any, **kwargs: Any
    ) -> SetSessionConfigOptionResponse:
        session = self._sessions[session_id]
        session.options[config_id] = value
        return SetSessionConfigOptionResponse(config_options=_options(session))

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        self._sessions[session_id].cancelled.set()

    async def prompt(self, session_id: str, prompt: list[Any], **kwargs: Any) -> PromptResponse:
        session = self._sessions[session_id]
        session.cancelled.clear()
        session.meta = {key: kwargs[key] for key in kwargs if key == "traceparent"}
        told = "\n".join(getattr(block, "text", f"<{block.type}>") for block in prompt)
        session.prompts.append(told)
        self._keep(session)
        text = next(block.text for block in reversed(prompt) if block.type == "text")
        word, _, rest = text.partition(" ")
        command = getattr(self, f"_{word[1:].replace('-', '_')}", None)
        if not word.startswith("/") or command is None:
            await self._say(session, f"You said: {text}")
            return PromptResponse(stop_reason="end_turn")
        return await self._unless_cancelled(session, command, rest)

    async def _hang(self) -> None:
        assert self._store is not None
        Path(self._store, "hanging").write_text("now")  # noqa: ASYNC240
        await asyncio.Event().wait()

    def _keep(self, session: Conversation) -> None:
        if self._store is not None:
            Path(self._store, session.id).write_text(json.dumps(session.prompts))

    def _stored(self, session_id: str) -> list[str]:
        assert self._store is not None
        file = Path(self._store, session_id)
        if not file.exists():
            raise RequestError.resource_not_found(session_id)
        prompts: list[str] = json.loads(file.read_text())
        return prompts

    async def _unless_cancelled(
        self,
        session: Conversation,
        command: Callable[[Conversation, str], Awaitable[PromptResponse | None]],
        rest: str,
    ) -> PromptResponse:
        work = asyncio.ensure_future(command(session, rest))
        cancel = asyncio.ensure_future(session.cancelled.wait())
        stubborn = command in (self._stubborn, self._patient)
        await asyncio.wait({work} if stubborn else {work, cancel}, return_when="FIRST_COMPLETED")
        cancel.cancel()
        if work.done():
            return work.result() or PromptResponse(stop_reason="end_turn")
        work.cancel()
        return PromptResponse(stop_reason="cancelled")

    async def _say(self, session: Conversation, text: str, **fields: Any) -> None:
        chunk = update_agent_message_text(text)
        await self._client.session_update(session.id, chunk.model_copy(update=fields))

    async def _tell(self, session: Conversation, update: Any) -> None:
        await self._client.session_update(session.id, update)

    # The commands.

    async def _pid(self, session: Conversation, rest: str) -> None:
        await self._say(session, f"{session.id} {os.getpid()}")

    async def _recall(self, session: Conversation, rest: str) -> None:
        await self._say(session, json.dumps(session.prompts if rest else session.prompts[:-1]))

    async def _chosen(self, session: Conversation, rest: str) -> None:
        await self._say(session, json.dumps({"mode": session.mode, **session.options}))

    async def _servers(self, session: Conversation, rest: str) -> None:
        await self._say(session, json.dumps({"servers": sorted(session.servers), **session.meta}))

    async def _tools(self, session: Conversation, rest: str) -> None:
        client = await McpClient.start(session.servers[rest])
        answer = await client.ask("tools/list")
        await client.close()
        await self._say(session, json.dumps(answer["result"]["tools"]))

    async def _use(self, session: Conversation, rest: str) -> None:
        """SERVER TOOL JSON: uses a tool and shows that, as agents do, under its name."""
        await self._use_tool(session, rest, shown=True)

    async def _use_unseen(self, session: Conversation, rest: str) -> None:
        await self._use_tool(session, rest, shown=False)

    async def _use_tool(self, session: Conversation, rest: str, *, shown: bool) -> None:
        server, tool, text = rest.split(" ", 2)
        client = await McpClient.start(session.servers[server])
        if shown:
            start = start_tool_call(
                "use-1", f"mcp__{server}__{tool}", status="pending", raw_input=json.loads(text)
            )
            await self._tell(session, start)
        answer = await client.ask("tools/call", name=tool, arguments=json.loads(text))
        await client.close()
        result = answer.get("result") or {"content": [{"text": answer["error"]["message"]}]}
        words = "".join(block.get("text", "") for block in result["content"])
        if shown:
            status = "failed" if result.get("isError") else "completed"
            content = [tool_content(text_block(words[:200]))]
            await self._tell(session, update_tool_call("use-1", status=status, content=content))  # type: ignore[arg-type]
        await self._say(session, f"{bool(result.get('isError'))} {len(words)} {words[:200]}")

    async def _think(self, session: Conversation, rest: str) -> None:
        await self._tell(session, update_agent_thought_text("Let me see. "))
        await self._tell(session, update_agent_thought_text("Yes."))
        await self._say(session, "I have ", message_id="m1")
        await self._say(session, "thought.", message_id="m1")
        await self._say(session, "And again.", message_id="m2")

    async def _image(self, session: Conversation, rest: str) -> None:
        await self._tell(session, update_agent_message(image_block("aW1hZ2U=", "image/png")))

    async def _plan(self, session: Conversation, rest: str) -> None:
        for statuses in (("in_progress", "pending"), ("completed", "in_progress")):
            entries = [plan_entry(f"step {n}", status=s) for n, s in enumerate(statuses, 1)]  # type: ignore[arg-type]
            await self._tell(session, update_plan(entries))
        await self._say(session, "planned")

    async def _usage(self, session: Conversation, rest: str) -> PromptResponse:
        cost = Cost(amount=0.5, currency="EUR")
        update = UsageUpdate(session_update="usage_update", used=10, size=100, cost=cost)
        await self._tell(session, update)
        usage = Usage(total_tokens=12, input_tokens=9, output_tokens=3, cached_read_tokens=2)
        return PromptResponse(stop_reason="end_turn", usage=usage)

    async def _stop(self, session: Conversation, rest: str) -> PromptResponse:
        return PromptResponse(stop_reason=rest)  # type: ignore[arg-type]

    async def _switch(self, session: Conversation, rest: str) -> None:
        session.mode = rest
        update = CurrentModeUpdate(session_update="current_mode_update", current_mode_id=rest)
        await self._tell(session, update)

    async def _error(self, session: Conversation, rest: str) -> NoReturn:
        if rest:
            print(rest, file=sys.stderr, flush=True)
        raise RequestError(-32050, "It cannot be done", {"details": "api_key=hunter2hunter2"})

    async def _noise(self, session: Conversation, rest: str) -> None:
        sys.stdout.write("this is no message\n[1, 2]\n\n")
        update = {"sessionUpdate": "of_the_future", "colour": "blue"}
        params = {"sessionId": session.id, "update": update}
        sys.stdout.write(
            json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params})
        )
        sys.stdout.write("\n")
        sys.stdout.flush()
        await self._say(session, "and on")

    async def _stream(self, session: Conversation, rest: str) -> None:
        while True:
            await self._say(session, "more ")
            await asyncio.sleep(0.005)

    async def _many(self, session: Conversation, rest: str) -> None:
        for number in range(int(rest)):
            await self._say(session, f"{number} ")

    async def _wait(self, session: Conversation, rest: str) -> None:
        await self._say(session, f"waiting {os.getpid()}")
        await asyncio.Event().wait()

    async def _stubborn(self, session: Conversation, rest: str) -> None:
        await self._wait(session, rest)

    async def _crash(self, session: Conversation, rest: str) -> NoReturn:
        await self._say(session, "goodbye")
        print("something broke", file=sys.stderr)
        print(f"the key is {os.environ['TEST_API_KEY']}", file=sys.stderr, flush=True)
        os._exit(3)

    async def _environment(self, session: Conversation, rest: str) -> None:
        await self._say(session, " ".join(str(os.environ.get(name)) for name in rest.split()))

    async def _child(self, session: Conversation, rest: str) -> None:
        # It inherits the pipes, as careless programs let their children do.
        child = subprocess.Popen(["sleep", "600"])  # noqa: ASYNC220
        await self._say(session, f"pids {os.getpid()} {child.pid}")
        if rest:
            await asyncio.Event().wait()

    async def _read(self, session: Conversation, rest: str) -> None:
        path, _, lines = rest.partition(" ")
        line, limit = (int(number) for number in lines.split()) if lines else (None, None)
        try:
            answer = await self._client.read_text_file(session.id, path, line, limit)
        except RequestError as error:
            await self._say(session, f"{error.code} {error.data}")
        else:
            await self._say(session, answer.content)

    async def _write(self, session: Conversation, rest: str) -> None:
        path, _, text = rest.partition(" ")
        try:
            await self._client.write_text_file(session.id, path, text)
        except RequestError as error:
            await self._say(session, f"{error.code} {error.data}")
        else:
            await self._say(session, "written")

    async def _edit(self, session: Conversation, rest: str) -> None:
        name, _, text = rest.partition(" ")
        path = str(Path(session.cwd, name))
        diff = tool_diff_content(path, f"{text}\n", _text_of(path))
        start = start_tool_call(
            "edit-1",
            f"Edit {name}",
            kind="edit",
            status="pending",
            content=[diff],
            locations=[ToolCallLocation(path=path, line=1)],
            raw_input={"path": path, "text": text},
        )
        await self._tell(session, start)
        outcome = await self._permission(session, "edit-1")
        if outcome not in ("yes", "allow-in-session"):
            await self._tell(session, update_tool_call("edit-1", status="failed"))
            await self._say(session, f"outcome {outcome}")
            return
        await self._tell(session, update_tool_call("edit-1", status="in_progress"))
        await self._client.write_text_file(session.id, path, f"{text}\n")
        await self._tell(session, update_tool_call("edit-1", status="completed"))
        await self._say(session, f"outcome {outcome}")

    async def _permission(self, session: Conversation, call: str) -> str:
        answer = await self._client.request_permission(
            session.id, ToolCallUpdate(tool_call_id=call), OPTIONS
        )
        outcome = answer.outcome
        meta = json.dumps(answer.field_meta) if answer.field_meta else ""
        if isinstance(outcome, AllowedOutcome):
            return f"{outcome.option_id} {meta}".strip()
        return f"cancelled{meta}"

    async def _patient(self, session: Conversation, rest: str) -> PromptResponse:
        """Wait for the answer whatever is cancelled, and remember it."""
        await self._tell(session, start_tool_call("patient-1", "Wait", kind="other"))
        session.prompts.append(await self._permission(session, "patient-1"))
        return PromptResponse(stop_reason="cancelled")

    async def _insist(self, session: Conversation, rest: str) -> None:
        """Ask again about a call that was refused."""
        await self._tell(session, start_tool_call("insist-1", "Insist", kind="delete"))
        for _ in range(2):
            await self._say(session, await self._permission(session, "insist-1") + " ")
        await self._tell(session, update_tool_call("insist-1", status="completed"))

    async def _withdraw(self, session: Conversation, rest: str) -> None:
        """Ask, and end the call before anybody can answer."""
        await self._tell(session, start_tool_call("withdrawn-1", "Withdraw", kind="move"))
        asking = asyncio.ensure_future(self._permission(session, "withdrawn-1"))
        await asyncio.sleep(0)
        status = "failed" if rest else "completed"
        await self._tell(session, update_tool_call("withdrawn-1", status=status))  # type: ignore[arg-type]
        await self._say(session, await asking)

    async def _hasty(self, session: Conversation, rest: str) -> None:
        """Ask, and begin before anybody has answered."""
        await self._tell(session, start_tool_call("hasty-1", "Hurry", kind="execute"))
        asking = asyncio.ensure_future(self._permission(session, "hasty-1"))
        await asyncio.sleep(0)
        text = [tool_content(text_block("going"))]
        await self._tell(session, update_tool_call("hasty-1", status="in_progress", content=text))
        await self._say(session, "going")
        await self._say(session, f" {await asking}")
        await self._tell(session, update_tool_call("hasty-1", status="completed"))

    async def _tool(self, session: Conversation, rest: str) -> None:
        """A call that shows more and more, and leaves another one open."""
        where = ToolCallLocation(path=str(Path(session.cwd, "found.txt")), line=7)
        await self._tell(session, start_tool_call("tool-1", "Look around", kind="search"))
        for text in ("one", "one, two"):
            shown = [tool_content(text_block(text))]
            progress = update_tool_call("tool-1", status="in_progress", content=shown)
            await self._tell(session, progress)
        more = [
            tool_content(text_block("one, two")),
            tool_content(image_block("eA==", "image/png")),
            tool_content(resource_link_block("a page", "https://example.org/")),
        ]
        done = update_tool_call(
            "tool-1", status="completed", content=more, locations=[where], raw_output={"hits": 2}
        )
        await self._tell(session, done)
        start = start_tool_call("open-1", "Left open", kind="think", status="in_progress")
        await self._tell(session, start)

    async def _long(self, session: Conversation, rest: str) -> None:
        text = tool_content(text_block("x" * int(rest) + "end"))
        start = start_tool_call("long-1", "Long", status="completed", content=[text])
        await self._tell(session, start)

    async def _titled(self, session: Conversation, rest: str) -> None:
        await self._tell(session, start_tool_call("titled-1", rest, status="completed"))

    async def _ask(self, session: Conversation, rest: str) -> None:
        # A call that was never announced, and text while people think.
        update = ToolCallUpdate(tool_call_id="ask-1", title="May I?", kind="fetch")
        asking = asyncio.ensure_future(
            self._client.request_permission(session.id, update, OPTIONS[:1] + OPTIONS[2:3])
        )
        # Another moment, so that the request is sent first.
        await asyncio.sleep(0)
        await self._say(session, "meanwhile")
        answer = await asking
        await self._say(session, f" {answer.outcome.outcome}")

    async def _run(self, session: Conversation, rest: str) -> None:
        start = start_tool_call(
            "run-1", f"Run `{rest}`", kind="execute", raw_input={"command": rest}
        )
        await self._tell(session, start)
        terminal = await self._client.create_terminal(
            session.id, rest, env=[EnvVariable(name="FROM_AGENT", value="agent")]
        )
        id = terminal.terminal_id
        content: list[Any] = [tool_terminal_ref(id), tool_content(text_block("note"))]
        progress = update_tool_call("run-1", status="in_progress", content=content)
        await self._tell(session, progress)
        exit = await self._client.wait_for_terminal_exit(session.id, id)
        output = await self._client.terminal_output(session.id, id)
        await self._client.release_terminal(session.id, id)
        status = "completed" if exit.exit_code == 0 else "failed"
        await self._tell(session, update_tool_call("run-1", status=status))  # type: ignore[arg-type]
        await self._say(session, f"{exit.exit_code} {output.output!r} {output.truncated}")

    async def _arguments(self, session: Conversation, rest: str) -> None:
        """Run a program with arguments that a shell would take for something else."""
        words = ["%s|", *rest.split()]
        terminal = await self._client.create_terminal(session.id, "printf", words)
        await self._client.wait_for_terminal_exit(session.id, terminal.terminal_id)
        printed = await self._client.terminal_output(session.id, terminal.terminal_id)
        await self._say(session, printed.output)

    async def _forget(self, session: Conversation, rest: str) -> None:
        """Start a command and end the turn without another word about it."""
        terminal = await self._client.create_terminal(session.id, rest)
        await self._say(session, terminal.terminal_id)

    async def _look(self, session: Conversation, rest: str) -> None:
        """Tell how a terminal of an earlier turn ended, as far as it is known."""
        exit = await self._client.wait_for_terminal_exit(session.id, rest)
        await self._say(session, f"{exit.exit_code} {exit.signal}")

    async def _hoard(self, session: Conversation, rest: str) -> None:
        """Start far too many commands, and tell how many there were and why no more."""
        started, reasons = 0, set()
        for _ in range(1000):
            try:
                await self._client.create_terminal(session.id, rest)
                started += 1
            except RequestError as error:
                reasons.add((error.data or {}).get("details", ""))
        await self._say(session, json.dumps([started, sorted(reasons)]))

    async def _terminals(self, session: Conversation, rest: str) -> None:
        """Start, look at, kill and release terminals; tell what came of it."""
        client = self._client
        told: list[Any] = []
        long = await client.create_terminal(session.id, "sleep", ["600"])
        await client.kill_terminal(session.id, long.terminal_id)
        killed = await client.terminal_output(session.id, long.terminal_id)
        assert killed.exit_status is not None
        told.append(killed.exit_status.signal)
        few = await client.create_terminal(session.id, "echo 1234567890", output_byte_limit=4)
        await client.wait_for_terminal_exit(session.id, few.terminal_id)
        short = await client.terminal_output(session.id, few.terminal_id)
        told += [short.output, short.truncated]
        none = await client.create_terminal(session.id, "no-such-program", ["x"])
        missing = await client.wait_for_terminal_exit(session.id, none.terminal_id)
        told.append(missing.exit_code)
        for terminal in (long, few, none):
            await client.release_terminal(session.id, terminal.terminal_id)
        for refused in (
            client.create_terminal(session.id, "true", cwd="/"),
            client.terminal_output(session.id, few.terminal_id),
        ):
            try:
                await refused
            except RequestError as error:
                details = (error.data or {}).get("details", "")
                told.append(details.replace(few.terminal_id, "ID"))
        await self._say(session, json.dumps(told))


def _text_of(path: str) -> str | None:
    return Path(path).read_text() if Path(path).exists() else None


def _modes(session: Conversation) -> SessionModeState | None:
    if not MODES:
        return None
    modes = [SessionMode(id=mode, name=MODE_NAMES.get(mode, mode)) for mode in MODES]
    return SessionModeState(current_mode_id=session.mode, available_modes=modes)


def _options(session: Conversation) -> list[Any]:
    sizes = [SessionConfigSelectOption(value=size, name=size.title()) for size in ("small", "big")]
    return [
        SessionConfigOptionSelect(
            id="llm",
            name="Model",
            category="model",
            type="select",
            current_value=session.options["llm"],
            options=sizes,
        ),
        SessionConfigOptionBoolean(
            id="fast", name="Fast", type="boolean", current_value=session.options["fast"]
        ),
    ]


if __name__ == "__main__":
    asyncio.run(run_agent(cast(Agent, AgentUnderTest())))
