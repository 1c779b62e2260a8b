"""What a server asks while it works: a person, a model, or which folders there are."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from mcp.client.session import ClientRequestContext
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    ListRootsResult,
    Root,
)
from pydantic import BaseModel, FileUrl, ValidationError

from agenthost.mcp.types import McpFailed
from agenthost.mcp.worker.host_pipe import HostPipe
from agenthost.mcp.worker.running_calls import RunningCall, RunningCalls
from agenthost.protocol.common import JsonObject


class ServerQuestions:
    """Carries a server's questions to the host, as many as a call may ask."""

    def __init__(
        self, host: HostPipe, server: int, calls: RunningCalls, roots: Sequence[str]
    ) -> None:
        self._host = host
        self._server = server
        self._calls = calls
        self._roots = roots

    async def elicit(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult | ErrorData:
        """Ask a person."""
        try:
            answer = await self._ask("elicit", params)
            if answer is None:
                return ElicitResult(action="decline")
            return ElicitResult.model_validate(answer, by_name=False)
        except (McpFailed, ValidationError) as error:
            return _refusal(error)

    async def sample(
        self, context: ClientRequestContext, params: CreateMessageRequestParams
    ) -> CreateMessageResult | ErrorData:
        """Ask a model."""
        try:
            answer = await self._ask("sample", params)
            if answer is None:
                return ErrorData(code=INVALID_REQUEST, message="the user said no")
            return CreateMessageResult.model_validate(answer, by_name=False)
        except (McpFailed, ValidationError) as error:
            return _refusal(error)

    async def list_roots(self, context: ClientRequestContext) -> ListRootsResult | ErrorData:
        """Say which folders this is about."""
        return ListRootsResult(roots=[Root(uri=FileUrl(root)) for root in self._roots])

    async def _ask(self, what: str, params: BaseModel) -> JsonObject | None:
        """Ask the host; None when nobody is asked, or nobody waits for the answer any more."""
        asking = self._calls.asking()
        # Each of them is counted, so no `any`.
        allowed = [call.may_ask() for call in asking]
        if not asking or not all(allowed):
            return None
        question = {
            "ask": what,
            "server": self._server,
            "call": asking[0].id if len(asking) == 1 else None,
            "params": params.model_dump(mode="json", by_alias=True, exclude_none=True),
        }
        with contextlib.ExitStack() as held:
            for call in asking:
                held.enter_context(call.waiting_for_a_person())
            return await self._answer(question, asking)

    async def _answer(self, question: JsonObject, asking: list[RunningCall]) -> JsonObject | None:
        answer = asyncio.ensure_future(self._host.ask(question))
        over = asyncio.ensure_future(_all_over(asking))
        try:
            await asyncio.wait({answer, over}, return_when=asyncio.FIRST_COMPLETED)
            return answer.result() if answer.done() else None
        finally:
            answer.cancel()
            over.cancel()


async def _all_over(calls: list[RunningCall]) -> None:
    for call in calls:
        await call.over.wait()


def _refusal(error: McpFailed | ValidationError) -> ErrorData:
    if isinstance(error, McpFailed):
        return ErrorData(code=error.code or INTERNAL_ERROR, message=error.text)
    return ErrorData(code=INTERNAL_ERROR, message="the answer is not of the kind asked for")
