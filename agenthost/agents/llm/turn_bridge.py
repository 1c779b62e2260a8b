"""Shows a run of a pydantic-ai agent in a turn.

A capability of pydantic-ai, so that it sees every event, every tool call and every model request
of any agent. Does not know which agent runs, nor how it is configured.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import (
    AgentStreamEvent,
    BaseToolCallPart,
    BaseToolReturnPart,
    BinaryContent,
    FilePart,
    FinalResultEvent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelResponse,
    ModelResponsePart,
    ModelResponsePartDelta,
    NativeToolCallPart,
    NativeToolReturnPart,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
    UserContent,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import (
    DeferredToolRequests,
    DeferredToolResults,
    ToolApproved,
    ToolDefinition,
    ToolDenied,
)

from agenthost.agents import content
from agenthost.agents.api import AgentError
from agenthost.agents.approvals import Confirmation
from agenthost.agents.folders import Folders
from agenthost.agents.llm.attachments import prompt_of
from agenthost.agents.llm.history import denial
from agenthost.agents.llm.mcp_tool_use import use_mcp_tool
from agenthost.agents.mcp_calls import begin_mcp_call
from agenthost.agents.mcp_tools import OfferedTool
from agenthost.agents.tool_call import ToolCall
from agenthost.agents.turn import Turn

# A call with one of these has not ended.
_OPEN: Final = ("streaming", "pending-confirmation", "running", "auth-required")
# How the calls of an MCP server are named that the model's provider talks to itself.
_MCP: Final = "mcp_server:"
# A longer result of a tool is kept beside the chat, and the beginning shown.
MOST_INLINE_RESULT: Final = 64 * 1024
MOST_SHOWN_OF_LONG: Final = 16 * 1024


async def take_steering(turn: Turn) -> Sequence[UserContent]:
    """Return what somebody said to steer the turn, nothing if nobody did; never wait."""
    try:
        # Taking a message that is there does not suspend, so the time-out cannot lose it.
        async with asyncio.timeout(0):
            message = await turn.next_steering_message()
    except TimeoutError:
        return ()
    labels = [f"(attached: {item['label']})" for item in message.get("attachments", ())]
    await turn.notify("\n".join([message["text"], *labels]))
    folders = Folders(turn.session.working_directories)
    said = await asyncio.to_thread(prompt_of, message, folders)
    return [said] if isinstance(said, str) else said


class TurnBridge(AbstractCapability[Any]):
    """Shows a run in a turn, asks people what must be asked, and passes on what they say."""

    def __init__(
        self,
        turn: Turn,
        stack: AsyncExitStack,
        *,
        titles: Mapping[str, str],
        kinds: Mapping[str, str],
        self_driven: Collection[str],
        mcp: Mapping[str, OfferedTool] | None = None,
        model_name: str | None = None,
    ) -> None:
        self._turn = turn
        # Tools of MCP servers, by the names that the model knows them by.
        self._mcp = mcp or {}
        # How the turn reports its model, where that is not the message's.
        self._model_name = model_name
        # Ends whatever call is still open when the run ends.
        self._stack = stack
        # Tool name -> how people call it.
        self._titles = titles
        # Tool name -> its kind, such as terminal.
        self._kinds = kinds
        # Tools that ask, show and end their calls themselves.
        self._self_driven = self_driven
        # The model's id of a tool call -> the call as it is shown.
        self._calls: dict[str, ToolCall] = {}
        # The model's id of a tool call -> its arguments, once they are complete.
        self._arguments: dict[str, str] = {}
        # Which call the parts of the model's current answer belong to, by their index.
        self._streaming: dict[int, ToolCall] = {}
        # Whether the answer came through a tool, and so was not streamed as text.
        self.answered_by_tool = False

    def call(self, ctx: RunContext[Any]) -> ToolCall:
        """Return the call, as it is shown, that a tool is running for."""
        assert ctx.tool_call_id is not None
        return self._calls[ctx.tool_call_id]

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Tell the model what somebody said since its last step."""
        self._streaming.clear()
        said = await take_steering(self._turn)
        if said:
            ctx.enqueue(*said)
        return request_context

    async def after_model_request(
        self,
        ctx: RunContext[Any],
        *,
        request_context: ModelRequestContext,
        response: ModelResponse,
    ) -> ModelResponse:
        """Report what the turn used so far."""
        used = ctx.usage
        usage: dict[str, Any] = {
            "inputTokens": used.input_tokens,
            "outputTokens": used.output_tokens,
            "model": (
                self._model_name or self._turn.model or response.model_name or ctx.model.model_name
            ),
        }
        if used.cache_read_tokens:
            usage["cacheReadTokens"] = used.cache_read_tokens
        total = {"model": usage["model"], "cachedTokens": used.cache_read_tokens}
        total |= {key: usage[key] for key in ("inputTokens", "outputTokens")}
        # Of the last request: those above are of the turn, and say nothing of the context.
        context = response.usage.input_tokens + response.usage.output_tokens
        usage["_meta"] = {"turnTokenTotals": [total], "contextTokens": context}
        await self._turn.report_usage(usage)
        if response.finish_reason == "length":
            await self._turn.notify("(The model reached its limit; its answer is cut off here.)")
        return response

    async def on_event(self, ctx: RunContext[Any], *, event: AgentStreamEvent) -> None:
        """Show one event of the run."""
        match event:
            case PartStartEvent(index=index, part=part):
                await self._part_started(ctx, index, part)
            case PartDeltaEvent(index=index, delta=delta):
                await self._part_grew(index, delta)
            case FinalResultEvent(tool_name=name):
                self.answered_by_tool = name is not None
            case FunctionToolCallEvent(part=part):
                self._arguments[part.tool_call_id] = _arguments(part)
                await self._ensure_call(ctx, part)
            case FunctionToolResultEvent(part=part):
                await self._ended(part)

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Any,
    ) -> Any:
        """Show that a tool runs; one that needs approval does so only once it has it."""
        if call.tool_name not in self._self_driven:
            shown = self._calls.get(call.tool_call_id)
            if shown is not None and shown.status == "streaming":
                await shown.start(_arguments(call))
        return await handler(args)

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[Any], *, requests: DeferredToolRequests
    ) -> DeferredToolResults:
        """Ask people about calls that need approval, and let clients run those that are theirs."""
        async with asyncio.TaskGroup() as group:
            approvals = {
                part.tool_call_id: group.create_task(self._ask(ctx, part))
                for part in requests.approvals
            }
            results = {
                part.tool_call_id: group.create_task(self._run_elsewhere(ctx, part))
                for part in requests.calls
            }
        return DeferredToolResults(
            approvals={id: task.result() for id, task in approvals.items()},
            calls={id: task.result() for id, task in results.items()},
        )

    async def _part_started(
        self, ctx: RunContext[Any], index: int, part: ModelResponsePart
    ) -> None:
        match part:
            case TextPart(content=text):
                await self._turn.write(text)
            case ThinkingPart(content=text):
                await self._turn.think(text)
            case FilePart(content=BinaryContent() as file):
                await self._turn.attach(file.data, file.media_type)
            case ToolCallPart() | NativeToolCallPart():
                call = await self._ensure_call(ctx, part)
                if call is not None:
                    self._streaming[index] = call
                    await _stream_arguments(call, part.args)
            case NativeToolReturnPart():
                await self._ended(part)

    async def _part_grew(self, index: int, delta: ModelResponsePartDelta) -> None:
        match delta:
            case TextPartDelta(content_delta=text):
                await self._turn.write(text)
            case ThinkingPartDelta(content_delta=str() as text):
                await self._turn.think(text)
            case ToolCallPartDelta(args_delta=args):
                call = self._streaming.get(index)
                if call is not None:
                    await _stream_arguments(call, args)

    async def _ensure_call(self, ctx: RunContext[Any], part: BaseToolCallPart) -> ToolCall | None:
        """Return the call that shows a model's one; None for those that are not shown as such."""
        shown = self._calls.get(part.tool_call_id)
        if shown is not None and shown.status in _OPEN:
            return shown
        definition = ctx.tools.get(part.tool_name)
        kind = definition.kind if definition is not None else "function"
        offered = self._mcp.get(part.tool_name)
        is_clients = offered is None and part.tool_name in self._turn.client_tools
        if kind == "output" or (kind == "external" and is_clients):
            # The answer itself, or a call that is shown once its owner runs it.
            return None
        if offered is not None:
            call = begin_mcp_call(self._turn, offered)
        else:
            title = self._titles.get(part.tool_name)
            meta = self._meta(part.tool_name)
            call = self._turn.tool(part.tool_name, display_name=title, meta=meta)
        self._calls[part.tool_call_id] = call
        return await self._stack.enter_async_context(call)

    def _meta(self, name: str) -> dict[str, str] | None:
        """Return a tool's metadata for programs."""
        if name.startswith(_MCP):
            return {"mcpServerName": name.removeprefix(_MCP)}
        return {"toolKind": self._kinds[name]} if name in self._kinds else None

    async def _ended(self, part: BaseToolReturnPart) -> None:
        """Show the result of a call, unless the tool has done so itself."""
        call = self._calls.get(part.tool_call_id)
        if call is None or call.status not in _OPEN:
            return
        if call.status == "streaming":
            await call.start(self._arguments.get(part.tool_call_id))
        text = part.model_response_str(wrap_if_error=False)
        if part.outcome == "success":
            await call.complete(content=await self._shown(text, part))
        else:
            await call.fail(text or part.outcome)

    async def _shown(self, text: str, part: BaseToolReturnPart) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        if len(text) > MOST_INLINE_RESULT:
            ref = await self._turn.store(text.encode(), "text/plain")
            blocks += [content.text(text[:MOST_SHOWN_OF_LONG]), content.resource(ref)]
        elif text:
            blocks.append(content.text(text))
        for file in part.files:
            if isinstance(file, BinaryContent):
                ref = await self._turn.store(file.data, file.media_type)
                blocks.append(content.resource(ref))
        return blocks

    async def _ask(self, ctx: RunContext[Any], part: ToolCallPart) -> ToolApproved | ToolDenied:
        call = await self._ensure_call(ctx, part)
        if call is None:
            return ToolDenied("This cannot be approved here.")
        before = _arguments(part)
        title = f"Allow {self._titles.get(part.tool_name, part.tool_name)}?"
        answer = await call.confirm(title, input=before, editable=True)
        if not answer:
            return ToolDenied(denial(answer.reason_message, answer.suggestion))
        return await _approved(call, before, answer)

    async def _run_elsewhere(self, ctx: RunContext[Any], part: ToolCallPart) -> Any:
        name = part.tool_name
        offered = self._mcp.get(name)
        call = await self._ensure_call(ctx, part) if offered is not None else None
        if offered is not None and call is not None:
            return await use_mcp_tool(self._turn, offered, call, _arguments(part))
        if name not in self._turn.client_tools:
            return ToolFailed(f"nobody here can run {name}")
        try:
            ended = await self._turn.call_client_tool(name, part.args_as_dict())
        except AgentError as error:
            return ToolFailed(str(error))
        blocks = ended.get("content") or ()
        text = "\n".join(block["text"] for block in blocks if block.get("type") == "text")
        if ended.get("success"):
            return text or "done"
        return ToolFailed((ended.get("error") or {}).get("message") or text or "the client failed")


async def _approved(call: ToolCall, before: str, answer: Confirmation) -> ToolApproved | ToolDenied:
    if answer.input is None or answer.input == before:
        return ToolApproved()
    try:
        edited = json.loads(answer.input)
    except ValueError:
        edited = None
    if not isinstance(edited, dict):
        await call.fail("the edited input is not a JSON object")
        return ToolDenied("The user edited the arguments, but not into a JSON object.")
    return ToolApproved(override_args=edited)


async def _stream_arguments(call: ToolCall, args: str | Mapping[str, Any] | None) -> None:
    if args:
        await call.stream_input(args if isinstance(args, str) else json.dumps(dict(args)))


def _arguments(part: BaseToolCallPart) -> str:
    return part.args if isinstance(part.args, str) else part.args_as_json_str()
