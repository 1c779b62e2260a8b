"""Questions that the host itself asks in a running turn, for servers and about them."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from typing import TYPE_CHECKING

from agenthost.agents.inputs import Answers, check_request, read_answers
from agenthost.agents.sanitize import checked_action
from agenthost.host.channels.chat.consequences import TRUST_QUESTION
from agenthost.host.channels.chat.turn_facts import TurnFacts
from agenthost.host.log.writer import Writer
from agenthost.protocol.chat.active_turn import find_request

if TYPE_CHECKING:
    from agenthost.protocol.common import Action, JsonObject


def new_request_id(prefix: str) -> str:
    """Return the id of a question that nobody has asked before."""
    return f"{prefix}{uuid.uuid4().hex[:12]}"


async def ask_in_turn(writer: Writer, turn: TurnFacts, request: JsonObject) -> Answers:
    """Ask the people of a turn's chat and wait for the first answer, as long as questions wait.

    Raises AgentError for what nobody could answer.
    """
    chat, id = turn.chat, request["id"]
    action: Action = {"type": "chat/inputRequested", "request": request}
    if not id.startswith(TRUST_QUESTION):
        # What a server asks is as little to be relied on as what an agent does.
        action = checked_action(action)
    check_request(action["request"])
    writer.apply(chat, action)
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(turn.prompt_timeout):
                await turn.wait_for(lambda state: find_request(state, id, answered=True))
    finally:
        if find_request(chat.state, id, answered=False) is not None:
            # Nobody came, or nobody waits any more.
            cancel = {"type": "chat/inputCompleted", "requestId": id, "response": "cancel"}
            writer.apply(chat, cancel)
    part = find_request(chat.state, id, answered=True)
    return read_answers(part) if part is not None else Answers("cancel", {})
