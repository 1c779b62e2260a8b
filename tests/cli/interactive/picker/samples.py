"""Sessions for the picker's tests."""

from __future__ import annotations

from typing import Any

# Parts of a status: activity, and the mark of what was read.
IDLE, RUNNING, WAITING, READ, ARCHIVED = 1, 8, 24, 32, 64


def summary(
    id: str,
    title: str,
    *,
    status: int = IDLE | READ,
    at: int = 0,
    folder: str = "/work",
    agent: str = "demo",
) -> Any:
    moment = f"2026-01-01T{at // 60:02}:{at % 60:02}:00.000Z"
    return {
        "resource": f"ahp-session:/{id}",
        "provider": agent,
        "title": title,
        "status": status,
        "createdAt": moment,
        "modifiedAt": moment,
        "workingDirectories": [f"file://{folder}"],
    }


def listed(*summaries: Any) -> dict[str, Any]:
    return {each["resource"]: each for each in summaries}
