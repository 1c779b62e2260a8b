"""One turn of an ACP agent: prompts it and shows what it sends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    PromptResponse,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
)

from agenthost.agents.acp.connection.agent_connection import AgentConnection
from agenthost.agents.acp.sessions.acp_session import AcpSession
from agenthost.agents.acp.turns.bridged_tools import BridgedTools
from agenthost.agents.acp.turns.content_blocks import Block, as_markdown, as_prompt, binary_of
from agenthost.agents.acp.turns.permissions import cancelled
from agenthost.agents.acp.turns.plan import Plan
from agenthost.agents.acp.turns.tool_calls import ShownToolCall
from agenthost.agents.acp.turns.updates import PermissionRequest, TurnUpdates
from agenthost.agents.api import AgentError
from agenthost.agents.tool_call import ToolCall
from agenthost.agents.turn import Turn

log = logging.getLogger(__name__)

# What people are told when an agent stops for another reason than being done.
_STOPPED = {
    "max_tokens": "The agent reached its limit of tokens; its answer is cut off here.",
    "max_turn_requests": (
        "The agent reached its limit of requests in one turn; its work is cut off here."
    ),
}
# What is counted of a turn's usage.
_COUNTED = ("inputTokens", "outputTokens", "cacheReadTokens")


class AcpTurn:
    """One turn of an ACP agent."""

    def __init__(
        self,
        turn: Turn,
        session: AcpSession,
        agent: AgentConnection,
        cancel_timeout: float,
        bridged: BridgedTools,
    ) -> None:
        self._turn = turn
        self._bridged = bridged
        # Set, and replaced, when there is something new of a call.
        self._news = asyncio.Event()
        bridged.follow(self)
        self._session = session
        self._agent = agent
        # Seconds that the agent gets to stop when the turn is cancelled.
        self._cancel_timeout = cancel_timeout
        self._updates = TurnUpdates(turn)
        self._calls: dict[str, ShownToolCall] = {}
        # Ends the tool calls that the agent leaves open.
        self._open_calls = AsyncExitStack()
        self._plan = Plan(turn)
        # Requests that people are asked about, and who asks.
        self._asking: dict[asyncio.Task[None], PermissionRequest] = {}
        # The message that text belongs to, as the agent counts them.
        self._message_id: str | None = None
        # What the turn had used before it failed, if it did, and so far, as it will be reported.
        self._former = {key: turn.usage_so_far.get(key, 0) for key in _COUNTED}
        self._usage: dict[str, Any] = {key: n for key, n in self._former.items() if n}
        self._meta: dict[str, Any] = session.metadata
        # What people said while the agent worked.
        self._steering: list[Mapping[str, Any]] = []

    async def run(self, prompt: list[Block]) -> None:
        """Prompt the agent until it is done.

        Raises:
            RequestError, ConnectionError: the agent answered with an error, or is gone.
            AgentError: the agent refused.
        """
        self._session.sink = self._updates
        try:
            async with self._open_calls:
                await self._report()
                response = await self._prompt(prompt)
                while self._steering:
                    said, self._steering = self._steering, []
                    prompts = [as_prompt(message, self._agent.prompts) for message in said]
                    response = await self._prompt([block for some in prompts for block in some])
                await self._conclude(response)
        finally:
            self._detach()

    async def _prompt(self, prompt: list[Block]) -> PromptResponse:
        assert self._session.session_id is not None
        work = asyncio.create_task(
            self._agent.connection.prompt(
                session_id=self._session.session_id, prompt=prompt, **self._trace()
            ),
            name=f"prompt for {self._turn.id}",
        )
        work.add_done_callback(self._prompted)
        steering = asyncio.create_task(
            self._collect_steering(), name=f"steering of {self._turn.id}"
        )
        try:
            while (item := await self._updates.next()) is not None:
                await self._handle(item)
        except BaseException:
            await self._stop_whole(work)
            raise
        finally:
            steering.cancel()
        response = work.result()
        self._session.mark_known(self._turn.id)
        return response

    def _trace(self) -> dict[str, str]:
        """Return the turn's place in a trace, under the key that ACP keeps for it."""
        return {} if self._turn.trace is None else {"traceparent": self._turn.trace}

    def shown(self) -> list[ShownToolCall]:
        """Return the agent's calls so far."""
        return list(self._calls.values())

    async def another(self) -> None:
        """Wait until there is something new of a call."""
        await self._news.wait()

    def _prompted(self, work: asyncio.Task[PromptResponse]) -> None:
        # Everything that the agent sent before its answer is in the queue already.
        self._updates.put(None)
        if not work.cancelled():
            # Looked at, so that nobody complains when the turn is over and nobody else looks.
            work.exception()

    async def _collect_steering(self) -> None:
        """Collect steering messages; an ACP agent is told once it has answered."""
        while True:
            self._steering.append(await self._turn.next_steering_message())

    async def _stop_whole(self, work: asyncio.Task[PromptResponse]) -> None:
        """Stop the agent's work; told to hurry, go on all the same.

        A turn that is over says so twice: to who writes into it, and by cancelling its task. Other
        chats share the process, so it gets its time to stop; only the end of the loop ends that.
        """
        stopping = asyncio.create_task(self._stop(work), name=f"stop {self._turn.id}")
        try:
            await asyncio.shield(stopping)
        except asyncio.CancelledError:
            await stopping

    async def _stop(self, work: asyncio.Task[PromptResponse]) -> None:
        """Cancel the agent's work on the turn; end its process if it does not stop."""
        session_id = self._session.session_id
        assert session_id is not None
        self._session.sink = None
        self._updates.leave()
        try:
            async with asyncio.timeout(self._cancel_timeout):
                # First, so that the agent does not take what ends now for answers.
                with contextlib.suppress(ConnectionError):
                    await self._agent.connection.cancel(session_id=session_id)
                self._detach()
                await self._session.terminals.end_all()
                await asyncio.wait({work})
        except TimeoutError:
            because = "was ended because it did not stop when it was told to"
            await self._agent.close(patience=0, because=because)
        finally:
            if not work.done():
                self._agent.process.kill()
                work.cancel()
        if work.done() and not work.cancelled() and work.exception() is None:
            self._session.mark_known(self._turn.id)

    def _detach(self) -> None:
        """Detach from the agent and answer its open requests as cancelled."""
        self._session.sink = None
        self._updates.leave()
        for task, request in list(self._asking.items()):
            task.cancel()
            if not request.answer.done():
                request.answer.set_result(cancelled())

    async def _handle(self, item: Any) -> None:
        if isinstance(item, AgentMessageChunk):
            await self._write(item)
            return
        self._message_id = None
        match item:
            case AgentThoughtChunk():
                await self._turn.think(as_markdown(item.content) or "")
            case ToolCallStart() | ToolCallProgress():
                await self._call(item.tool_call_id).update(item)
                self._tell_news()
            case PermissionRequest():
                await self._ask(item)
            case AgentPlanUpdate():
                await self._plan.update(item.entries)
            case CurrentModeUpdate():
                mode = self._session.choices.mode_changed(item.current_mode_id)
                if mode is not None:
                    await self._turn.notify(f"The agent switched to the mode {mode}.")
            case ConfigOptionUpdate():
                self._session.choices.update_options(item.config_options)
            case UsageUpdate():
                await self._count_context(item)

    async def _write(self, chunk: AgentMessageChunk) -> None:
        if self._message_id is not None and chunk.message_id not in (None, self._message_id):
            # Another message, which must not run into the one before.
            await self._turn.write("\n\n")
        self._message_id = chunk.message_id
        text = as_markdown(chunk.content)
        if text is not None:
            await self._turn.write(text)
        elif (found := binary_of(chunk.content)) is not None:
            await self._turn.attach(*found)

    def _tell_news(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    def _call(self, id: str) -> ShownToolCall:
        if id not in self._calls:
            self._calls[id] = ShownToolCall(
                self._turn,
                self._session.terminals,
                self._session.folders,
                self._open_calls.enter_async_context,
                self._bridged.contributor,
            )
        return self._calls[id]

    async def _ask(self, request: PermissionRequest) -> None:
        view = self._call(request.tool_call.tool_call_id)
        call = await view.request(request.tool_call)
        asking = asyncio.create_task(self._answer(request, view, call), name="ask for permission")
        self._asking[asking] = request
        asking.add_done_callback(self._asking.pop)
        # People are asked before anything that follows is shown; the agent may go on meanwhile.
        await asyncio.sleep(0)

    async def _answer(
        self, request: PermissionRequest, view: ShownToolCall, call: ToolCall
    ) -> None:
        answer = cancelled()
        try:
            answer = await view.ask(call, request.options)
        except Exception:
            log.exception("a permission request of %s failed", self._agent.name)
        finally:
            if not request.answer.done():
                request.answer.set_result(answer)
            self._tell_news()

    async def _count_context(self, update: UsageUpdate) -> None:
        self._meta |= {"contextTokens": update.used, "contextWindow": update.size}
        if update.cost is not None:
            self._meta["cost"] = {"amount": update.cost.amount, "currency": update.cost.currency}
        await self._report()

    def _count_tokens(self) -> None:
        """Count the tokens by model, where the agent says which one it uses."""
        setting = self._session.choices.offer.get("model")
        if setting is None or not isinstance(setting.current, str):
            return
        model = self._usage["model"] = setting.current
        total = {"model": model, "cachedTokens": self._usage.get("cacheReadTokens", 0)}
        total |= {key: self._usage[key] for key in ("inputTokens", "outputTokens")}
        self._meta["turnTokenTotals"] = [total]

    async def _report(self) -> None:
        await self._turn.report_usage({**self._usage, "_meta": dict(self._meta)})

    async def _conclude(self, response: PromptResponse) -> None:
        await self._plan.show_final()
        if response.usage is not None:
            used = response.usage
            counts = (used.input_tokens, used.output_tokens, used.cached_read_tokens)
            self._usage = {
                key: self._former[key] + count
                for key, count in zip(_COUNTED, counts, strict=True)
                if count is not None
            }
            self._count_tokens()
            await self._report()
        match response.stop_reason:
            case "refusal":
                raise AgentError(f"{self._agent.name} refuses to go on", "refusal")
            case "cancelled":
                raise AgentError(f"{self._agent.name} gave up the turn", "cancelled")
            case reason if reason in _STOPPED:
                await self._turn.notify(_STOPPED[reason])
