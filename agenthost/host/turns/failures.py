"""Why turns fail: as people are told it, and as the action that ends them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from agenthost.agents.api import agent_message
from agenthost.host.log_files import FAILURE, describe_error
from agenthost.host.turns.agent_loops import AgentQuit
from agenthost.host.turns.agent_traceback import agent_traceback
from agenthost.protocol.chat.parts import tool_calls

if TYPE_CHECKING:
    from agenthost.protocol.chat.state import ActiveTurn
    from agenthost.protocol.common import Action, JsonMapping, JsonObject

log = logging.getLogger(__name__)


class TurnFailure(Struct, frozen=True):
    """Why a turn ended with an error, as people are told it."""

    error_type: str
    message: str
    # Whether it can be taken up again.
    resumable: bool = False
    # How the agent came there, where whoever writes it is to be shown that.
    stack: str | None = None


def error_action(turn_id: str, duration: int, failure: TurnFailure) -> Action:
    """Build the action that ends a turn with an error."""
    error = {"errorType": failure.error_type, "message": failure.message}
    if failure.stack:
        error["stack"] = failure.stack
    part: JsonObject = {"kind": "error", "error": error}
    if failure.resumable:
        part["resumable"] = True
    return {"type": "chat/error", "turnId": turn_id, "duration": duration, "part": part}


def calls_cut_off(active: ActiveTurn, failure: TurnFailure) -> Iterator[Action]:
    """Build the actions that end calls whose commands end with the host, before their turn ends.

    A call that ends with its turn shows nothing any more, and what a command has printed until then
    is what people look for.
    """
    for call in tool_calls(active):
        if call["status"] != "running":
            continue
        shown = call.get("content") or ()
        if not any(block["type"] == "terminal" for block in shown):
            continue
        result: JsonObject = {
            "success": False,
            "pastTenseMessage": "The command was cut off",
            "content": [_ended(block) for block in shown],
            "error": {"message": failure.message, "code": failure.error_type},
        }
        ids = {"turnId": active["id"], "toolCallId": call["toolCallId"]}
        yield {"type": "chat/toolCallComplete", **ids, "result": result}


def _ended(block: JsonMapping) -> JsonMapping:
    is_open = block["type"] == "terminal" and "result" not in block
    return {**block, "result": {}} if is_open else block


def describe_failure(
    error: BaseException,
    where: str,
    mask: Callable[[str], str] = str,
    about: Mapping[str, str] | None = None,
    *,
    dev: bool = False,
) -> TurnFailure:
    """Return an agent's failure as people are told it: its own words, or that the log has them.

    What is told and what is logged goes through ``mask``, for agents quote whatever they hold.
    ``about`` are fields of the log's line. With ``dev`` people are shown the traceback as well.
    """
    if isinstance(error, AgentQuit) and error.__cause__ is not None:
        error = error.__cause__
    said = agent_message(error)
    if said is not None:
        # An agent that says why it gives up has not gone wrong, unless something else did before.
        stack = agent_traceback(said, mask) if dev and said.__cause__ is not None else None
        return TurnFailure(said.error_type, mask(str(said)), said.resumable, stack)
    told = describe_error(error, mask)
    # By the fields, programs and `agenthost logs`; below the first line, people at a terminal.
    fields = {FAILURE: told, "chat": where, **(about or {})}
    log.error("the agent failed in %s\n%s", where, told["traceback"].rstrip(), extra=fields)
    name = type(error).__name__
    if dev and (stack := agent_traceback(error, mask)):
        return TurnFailure(name, f"the agent failed ({name})", stack=stack)
    return TurnFailure(name, f"the agent failed ({name}); the host's log says more")
