"""Automations and their runs as text and as ``--json`` objects.

Pure: no clock, no terminal, no connection. Whatever makes a line here has made it safe to print.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agenthost.cli.format.state_format import age, directory_text, error_text, short_id
from agenthost.cli.format.terminal_text import Ink, Style, one_line, table, text_lines

if TYPE_CHECKING:
    from agenthost.protocol.automation.definition import AutomationDefinition
    from agenthost.protocol.automation.run import AutomationRunState, AutomationRunSummary
    from agenthost.protocol.automation.state import AutomationEntry

_STYLES: Mapping[str, Style] = {
    "pending": "yellow",
    "running": "green",
    "needs input": "yellow",
    "failed": "red",
    "cancelled": "dim",
}
# Runs that are shown with their automation.
_SHOWN_RUNS = 5


def moment(text: str | None, now: datetime) -> str:
    """Return a time as the reader's clock shows it, to the minute; empty where there is none."""
    if text is None:
        return ""
    try:
        then = datetime.fromisoformat(text)
    except ValueError:
        return one_line(text)
    then = then if then.tzinfo is not None else then.replace(tzinfo=UTC)
    return then.astimezone(now.tzinfo).strftime("%Y-%m-%d %H:%M")


def schedule_words(definition: AutomationDefinition) -> list[str]:
    """Return when an automation runs, one line for each trigger."""
    words: list[str] = []
    for trigger in definition["triggers"]:
        if trigger["kind"] == "schedule":
            schedule = trigger["schedule"]
            missed = ", skips what it missed" if trigger.get("misfirePolicy") == "skip" else ""
            zone = one_line(schedule["timeZone"])
            words.append(f"{one_line(schedule['expression'])} ({zone}){missed}")
        else:
            words.append(f"on {one_line(str(trigger.get('title') or trigger['kind']))}")
    return words


def state_word(definition: AutomationDefinition) -> str:
    """Return whether an automation runs of its own accord."""
    if not definition["triggers"]:
        return "by hand"
    return "on" if definition["enabled"] else "paused"


def end_words(entry: AutomationEntry, now: datetime) -> list[str]:
    """Return when an automation pauses itself."""
    words: list[str] = []
    for condition in entry["definition"].get("disableConditions") or ():
        if condition["kind"] == "afterRuns":
            words.append(f"after {condition['max']} runs ({entry.get('runCount', 0)} so far)")
        elif condition["kind"] == "afterDate":
            words.append(f"on {moment(condition['date'], now)}")
    return words


def run_word(run: AutomationRunSummary, waiting: Collection[str] = ()) -> str:
    """Return how a run is; ``waiting`` are the sessions in which somebody has to answer."""
    status = run["lifecycle"]["status"]
    waits = status == "running" and run.get("primarySession") in waiting
    return "needs input" if waits else one_line(status)


def automation_table(
    entries: Sequence[AutomationEntry],
    now: datetime,
    width: int | None,
    colour: bool,
    waiting: Collection[str] = (),
) -> list[str]:
    """Lay out a list of automations."""
    rows: list[Sequence[str]] = [("ID", "TITLE", "STATE", "NEXT RUN", "LAST RUN")]
    styles: list[Sequence[Style | None]] = [("dim",) * 5]
    for entry in entries:
        definition, runs = entry["definition"], entry["runs"]
        last = runs[0] if runs else None
        status = run_word(last, waiting) if last is not None else ""
        when = age(last["lifecycle"]["createdAt"], now) if last is not None else ""
        rows.append(
            (
                short_id(entry["resource"]),
                one_line(definition["title"]) or "(no title)",
                state_word(definition),
                moment(entry.get("nextRunAt"), now) or "-",
                f"{status}, {when}" if last is not None else "-",
            )
        )
        paused: Style | None = "dim" if state_word(definition) == "paused" else None
        styles.append(("dim", paused, paused, None, _STYLES.get(status)))
    return table(rows, width=width, flexible=1, styles=styles, ink=Ink(colour))


def automation_page(
    entry: AutomationEntry, now: datetime, ink: Ink, waiting: Collection[str] = ()
) -> list[str]:
    """Lay out one automation: what it does and when, and its last runs."""
    definition = entry["definition"]
    template, owner = definition["session"], (entry.get("_meta") or {}).get("agenthost.owner")
    facts = [
        ("id", [one_line(entry["resource"])]),
        ("state", [state_word(definition)]),
        ("runs", schedule_words(definition)),
        ("next run", [moment(entry.get("nextRunAt"), now)]),
        ("pauses", end_words(entry, now)),
        ("agent", [one_line(template.get("provider") or "")]),
        ("model", [one_line(template["model"]["id"] if "model" in template else "")]),
        ("works in", [one_line(directory_text(d)) for d in template.get("workingDirectories", ())]),
        ("owner", [one_line(str(owner or ""))]),
        ("changed", [age(entry["modifiedAt"], now)]),
        ("says", text_lines(definition["message"]["text"])),
    ]
    lines = [ink("bold", one_line(definition["title"]) or "(no title)")]
    for name, texts in facts:
        for number, text in enumerate(text for text in texts if text):
            lines.append(f"  {ink('dim', ('' if number else name).ljust(10))} {text}")
    lines += ["", ink("bold", "Runs")]
    runs = run_table(entry["runs"][:_SHOWN_RUNS], now, None, ink.on, waiting)
    return [*lines, *(f"  {line}" for line in runs or ["none yet"])]


def run_table(
    runs: Sequence[AutomationRunSummary],
    now: datetime,
    width: int | None,
    colour: bool,
    waiting: Collection[str] = (),
) -> list[str]:
    """Lay out a list of runs."""
    rows: list[Sequence[str]] = []
    styles: list[Sequence[Style | None]] = []
    for run in runs:
        status = run_word(run, waiting)
        rows.append(
            (
                short_id(run["resource"]),
                moment(run["lifecycle"]["createdAt"], now),
                status,
                _why(run),
                _outcome(run),
            )
        )
        styles.append(("dim", None, _STYLES.get(status), "dim", None))
    return table(rows, width=width, flexible=4, styles=styles, ink=Ink(colour))


def _why(run: AutomationRunSummary) -> str:
    if run["origin"]["kind"] == "manual":
        return "by hand"
    return "catching up" if run["origin"].get("catchUp") else "scheduled"


def _outcome(run: AutomationRunSummary) -> str:
    lifecycle, session = run["lifecycle"], run.get("primarySession")
    parts = [f"session {short_id(session)}"] if session is not None else []
    if lifecycle["status"] == "failed":
        parts.append(error_text(lifecycle["error"]))
    return ": ".join(parts)


def automation_json(entry: AutomationEntry) -> dict[str, Any]:
    """Return an automation as ``--json`` prints it."""
    definition = entry["definition"]
    return {
        "automation": entry["resource"],
        "title": definition["title"],
        "enabled": definition["enabled"],
        "message": definition["message"]["text"],
        "session": definition["session"],
        "triggers": definition["triggers"],
        "disableConditions": definition.get("disableConditions") or [],
        "nextRunAt": entry.get("nextRunAt"),
        "runCount": entry.get("runCount"),
        "createdAt": entry["createdAt"],
        "modifiedAt": entry["modifiedAt"],
        "runs": [run_json(run) for run in entry["runs"]],
    }


def run_json(run: AutomationRunSummary | AutomationRunState) -> dict[str, Any]:
    """Return a run as ``--json`` prints it."""
    lifecycle: Mapping[str, Any] = run["lifecycle"]
    return {
        "run": run["resource"],
        "automation": run["automation"],
        "status": lifecycle["status"],
        "origin": run["origin"],
        "session": run.get("primarySession"),
        "createdAt": lifecycle["createdAt"],
        "startedAt": lifecycle.get("startedAt"),
        "completedAt": lifecycle.get("completedAt"),
        "error": lifecycle.get("error"),
        "usage": lifecycle.get("usage"),
    }
