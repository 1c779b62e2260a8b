"""Terminal blocks in tool results: one block with its result in 0.7.0, two blocks in 0.6.0."""

from __future__ import annotations

from collections import deque
from typing import Any

from agenthost.protocol.json_edits import without
from agenthost.protocol.versions.node_edits import Json

# What a 0.7.0 ``result`` and a 0.6.0 ``terminalComplete`` share.
_OUTCOME = ("exitCode", "preview", "truncated")


def unfold_terminals(contents: list[Any]) -> list[Any]:
    """Return the blocks with every terminal's result in a block of its own behind it."""
    if not any(map(_is_newer, contents)):
        return contents
    return [old for block in contents for old in _unfolded(block)]


def _is_newer(block: Any) -> bool:
    if not isinstance(block, dict) or block.get("type") != "terminal":
        return False
    return "isPty" in block or "result" in block


def _is(block: Any, block_type: str) -> bool:
    return isinstance(block, dict) and block.get("type") == block_type


def _unfolded(block: Any) -> list[Any]:
    if not _is_newer(block):
        return [block]
    terminal = without(block, "isPty", "result")
    result = block.get("result")
    if not isinstance(result, dict):
        return [terminal]
    outcome = {key: result[key] for key in _OUTCOME if key in result}
    return [terminal, {"type": "terminalComplete", "resource": block.get("resource"), **outcome}]


def has_outcome(contents: Any) -> bool:
    """Say whether some block is an outcome that ``fold_terminals`` would fold."""
    return isinstance(contents, list) and any(map(_is_outcome, contents))


def _is_outcome(block: Any) -> bool:
    return _is(block, "terminalComplete")


def fold_terminals(contents: list[Any], title: str | None) -> list[Any]:
    """Return the blocks with every outcome in the terminal block that it belongs to.

    An outcome without such a block makes one, titled after the tool; one that does not even name
    its terminal can only be told as text. A block has no place for ``cwd``: the terminal says it.
    """
    if not has_outcome(contents):
        return contents
    folded: list[Any] = []
    # Terminal blocks without a result so far, by resource, the first of them first. Looked up
    # rather than searched for: a peer decides how many there are.
    waiting: dict[str, deque[int]] = {}
    for block in contents:
        resource = block.get("resource") if isinstance(block, dict) else None
        queue = waiting.setdefault(resource, deque()) if isinstance(resource, str) else deque()
        if _is_outcome(block) and queue:
            index = queue.popleft()
            folded[index] = {**folded[index], "result": _result(block)}
            continue
        if _is(block, "terminal") and "result" not in block:
            queue.append(len(folded))
        folded.append(_alone(block, title) if _is_outcome(block) else block)
    return folded


def _alone(outcome: Json, title: str | None) -> Json:
    resource = outcome.get("resource")
    if resource is None:
        return {"type": "text", "text": _as_text(outcome)}
    terminal = {"type": "terminal", "resource": resource, "title": title or "Terminal"}
    return {**terminal, "result": _result(outcome)}


def _result(outcome: Json) -> Json:
    return {key: outcome[key] for key in _OUTCOME if outcome.get(key) is not None}


def _as_text(outcome: Json) -> str:
    preview, code, cwd = (outcome.get(key) for key in ("preview", "exitCode", "cwd"))
    told = [] if preview is None else [str(preview)]
    ended = [] if code is None else [f"exit code {code}"]
    ended += [] if cwd is None else [f"in {cwd}"]
    return "\n".join([*told, f"({', '.join(ended)})"] if ended else told)
