"""What changes around the turns of a chat: work in the background, canvases. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agenthost.cli.format.event_format import EventLine
from agenthost.cli.format.terminal_text import one_line

Json = Mapping[str, Any]


def background_changes(before: Json, after: Json) -> Iterator[tuple[str, Json]]:
    """Yield the background work of a chat that began or was told anew, and that ended."""
    was = {work["id"]: work for work in before.get("backgroundWork") or ()}
    now = {work["id"]: work for work in after.get("backgroundWork") or ()}
    for id, work in now.items():
        if was.get(id) != work:
            yield "backgroundWork", {"work": work}
    for id, work in was.items():
        if id not in now:
            yield "backgroundWorkEnded", {"work": work}


def canvas_uris(chat: Json) -> list[str]:
    """Return the URIs of a chat's canvases."""
    return [canvas["resource"] for canvas in chat.get("canvases") or ()]


def canvas_fields(uri: str, canvas: Json) -> Json:
    """Return what a canvas shows, for people and programs."""
    told = {"canvas": uri, "kind": canvas.get("canvasId")}
    return {**told, **{key: canvas[key] for key in ("title", "status", "url") if key in canvas}}


def change_line(kind: str, fields: Json) -> EventLine:
    """Return a change as a line."""
    match kind:
        case "backgroundWork":
            return EventLine("background", work_text(fields["work"]), "cyan")
        case "backgroundWorkEnded":
            return EventLine("ended", work_text(fields["work"]), "dim")
        case "canvasClosed":
            return EventLine("canvas", f"{_canvas_name(fields)} is closed", "dim")
    shown = (_canvas_name(fields), fields.get("status"), fields.get("url"))
    return EventLine("canvas", one_line(" · ".join(str(text) for text in shown if text)), "cyan")


def work_text(work: Json) -> str:
    """Return a piece of background work in one line: its label, and its command if it has one."""
    label, command = (
        one_line(str(work.get("label") or "")),
        one_line(str(work.get("command") or "")),
    )
    if not label or label == command:
        return command or label or one_line(str(work.get("kind")))
    return f"{label}: {command}" if command else label


def _canvas_name(fields: Json) -> str:
    return one_line(str(fields.get("title") or fields.get("kind") or fields["canvas"]))
