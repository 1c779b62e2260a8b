"""The step between 0.5.1 and 0.5.0.

Towards 0.5.0: no cursors and windows, no list of what needs input, no intentions. ``fetchTurns``
has the opposite meaning there, a page in the result rather than in the state: a host answers it
with ``turns_page`` for connections that have no ``chat/turnsLoaded``, and a client applies what
``result_up`` makes of the page as the payload of that action.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.errors import InvalidParams
from agenthost.protocol.json_edits import index_by, without
from agenthost.protocol.versions.node_edits import Json, dropping, put
from agenthost.protocol.versions.rewriter import Rewriter
from agenthost.protocol.versions.step import DownContext, ReducerTable, Step

if TYPE_CHECKING:
    from agenthost.protocol.reducer_registry import Reducer


def turns_page(turns: list[Json], params: Json, *, cap: int) -> Json:
    """Answer a 0.5.0 ``fetchTurns``: the turns just before one, or the newest, oldest first.

    ``turns`` is the whole retained history, in any version's form; ``cap`` bounds a page.
    """
    before, limit = params.get("before"), params.get("limit")
    end: int | None = len(turns)
    if before is not None:
        end = index_by(turns, "id", before)
    if end is None:
        raise InvalidParams("there is no such turn", path="before")
    if isinstance(limit, float) and limit.is_integer():
        limit = int(limit)
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
        raise InvalidParams("limit is not a count", path="limit")
    start = max(0, end - (cap if limit is None else min(limit, cap)))
    return {"turns": turns[start:end], "hasMore": start > 0}


class _Down(Rewriter):
    def content_ref(self, node: Json) -> Json:
        return without(node, "nonce")

    def tool_call(self, call: Json) -> Json:
        return without(call, "intention")

    def agent(self, agent: Json) -> Json:
        return without(agent, "capabilities")

    def child(self, child: Json) -> Json | None:
        return without(child, "model", "tools") if child.get("type") == "agent" else child

    def chat(self, state: Json) -> Json:
        return without(state, "turnsNextCursor")

    def session(self, state: Json) -> Json:
        return without(state, "inputNeeded")


class _Up(Rewriter):
    def chat(self, state: Json) -> Json:
        # An old host does not say whether there is more; the first fetch will tell.
        return _with_cursor(state)


def _with_cursor(node: Json) -> Json:
    turns = node.get("turns")
    oldest = turns[0] if isinstance(turns, list) and turns else None
    return put(node, "turnsNextCursor", oldest.get("id") if isinstance(oldest, dict) else None)


def _fetch_turns_down(params: Json) -> Json:
    """Name the oldest loaded turn, whose id is the cursor."""
    return without(put(params, "before", params.get("cursor")), "cursor")


def _turns_loaded(result: Json) -> Json:
    """Make a page of turns the payload of a turnsLoaded."""
    page = without(result, "hasMore")
    return _with_cursor(page) if result.get("hasMore") else page


def _tool_call_start_down(action: Json, context: DownContext) -> list[Json]:
    return [without(action, "intention")]


def _tool_call_start(newer: Reducer) -> Reducer:
    """Make the reducer of 0.5.0, which ignores ``intention``."""

    def reduce(state: Json, action: Json, now: str) -> Json:
        return newer(state, without(action, "intention"), now)  # type: ignore[no-any-return]

    return reduce


class Step051To050(Step):
    """Translates between 0.5.1 and 0.5.0."""

    newer = "0.5.1"
    older = "0.5.0"
    nodes_down = _Down()
    nodes_up = _Up()

    def __init__(self) -> None:
        self.actions_down = {"chat/toolCallStart": _tool_call_start_down}
        # A host tells ``fetchTurns`` apart by its actions.
        self.commands_down = {
            "subscribe": dropping("delivery", "view"),
            "listSessions": dropping("limit", "cursor"),
            "fetchTurns": _fetch_turns_down,
        }
        self.commands_up = {
            "subscribe": dropping("delivery", "view"),
            "listSessions": dropping("filter", "limit", "cursor"),
            "fetchTurns": dropping("cursor"),
        }
        self.results_down = {"listSessions": dropping("nextCursor")}
        self.results_up = {"fetchTurns": _turns_loaded}

    def reducers(self, newer: ReducerTable) -> ReducerTable:
        """Return the reducers that 0.5.0 has other than ``newer``."""
        return {"chat/toolCallStart": _tool_call_start(newer["chat/toolCallStart"])}
