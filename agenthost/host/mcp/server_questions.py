"""What servers ask while one of their calls runs: people are asked in the call's turn."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from agenthost.agents import inputs
from agenthost.agents.api import AgentError
from agenthost.errors import shortened
from agenthost.host.log.writer import Writer
from agenthost.host.mcp.elicitation import DECLINED, UnaskableQuestion, request_of, result_of
from agenthost.host.mcp.server_context import RunningMcpCall
from agenthost.host.mcp.session_server import SessionServer
from agenthost.host.mcp.turn_questions import ask_in_turn, new_request_id
from agenthost.mcp.types import McpFailed

if TYPE_CHECKING:
    from agenthost.agents.inputs import Answers
    from agenthost.protocol.common import JsonObject

# Questions of servers in one turn that reach a person; the next are declined.
MOST_IN_TURN = 64
# Characters of what a server wants to ask a model that people are shown.
_LONGEST = 2000
_METHOD_NOT_FOUND = -32601
_SAMPLING = [
    {"id": "once", "label": "Allow once"},
    {"id": "session", "label": "Allow in this session"},
    {"id": "no", "label": "Do not allow"},
]


class CallQuestions:
    """Asks people what servers want to know, and whether they may ask a model."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        # Chat and turn -> how much was asked in it.
        self._asked: Counter[tuple[str, str]] = Counter()
        # Session, server and digest of those that may ask the model without a question.
        self._may_sample: set[tuple[str, str, str]] = set()

    async def elicit(
        self, server: SessionServer, call: RunningMcpCall, params: JsonObject
    ) -> JsonObject:
        """Ask people what a server wants to know, and return an elicitation result."""
        try:
            request = request_of(server.name, params)
        except UnaskableQuestion as error:
            raise McpFailed(str(error), "refused") from error
        answers = await self._ask(call, request)
        return DECLINED if answers is None else result_of(params, answers)

    async def sample(
        self, server: SessionServer, call: RunningMcpCall, params: JsonObject
    ) -> JsonObject:
        """Let the turn's agent ask its model for a server, if people agree."""
        known = (server.session.uri, server.id, server.declared.declaration.digest)
        if known not in self._may_sample:
            answers = await self._ask(call, _sampling_request(server.name, params))
            answer = answers.get("sample") if answers else None
            if answer not in ("once", "session"):
                raise McpFailed("the user said no", "refused")
            if answer == "session":
                self._may_sample.add(known)
        try:
            return dict(await call.turn.sample(params))
        except AgentError as error:
            raise McpFailed(str(error), "refused", code=_METHOD_NOT_FOUND) from error

    def turn_ended(self, chat: str, turn_id: str) -> None:
        """Forget how much was asked in a turn."""
        self._asked.pop((chat, turn_id), None)

    def session_ends(self, session: str) -> None:
        """Forget what was allowed in a session."""
        self._may_sample = {known for known in self._may_sample if known[0] != session}

    async def _ask(self, call: RunningMcpCall, request: JsonObject) -> Answers | None:
        """Ask in the call's turn; None when that was asked too much already."""
        turn = call.turn
        named = (turn.chat.uri, turn.turn_id)
        self._asked[named] += 1
        if self._asked[named] > MOST_IN_TURN:
            return None
        try:
            return await ask_in_turn(self._writer, turn, {"id": new_request_id("mcp-"), **request})
        except AgentError as error:
            raise McpFailed(str(error), "refused") from error


def _sampling_request(server: str, params: JsonObject) -> JsonObject:
    asked = "\n".join(_said(params))
    shown = f"{asked[:_LONGEST]}…" if len(asked) > _LONGEST else asked
    question = inputs.choice("sample", shown or "(nothing)", _SAMPLING, title="Allow it?")
    return {"message": f"{shortened(server)} asks your model:", "questions": [question]}


def _said(params: JsonObject) -> list[str]:
    """Return the texts of a sampling request, its instructions first."""
    system = params.get("systemPrompt")
    texts = [system] if isinstance(system, str) else []
    for message in params.get("messages") or ():
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else [content]:
            if isinstance(block, dict):
                text = block.get("text")
                texts.append(text if isinstance(text, str) else f"({block.get('type')})")
    return texts
