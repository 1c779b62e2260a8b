"""Automations and runs as clients are shown them (pure)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from agenthost.host.channels.automation.cron import CronError
from agenthost.host.channels.automation.rules import is_active
from agenthost.host.channels.automation.scheduler import next_run, wake_at, write_instant

if TYPE_CHECKING:
    from datetime import datetime

    from agenthost.host.channels.automation.book import Book
    from agenthost.host.channels.automation.scheduler import Occurrence
    from agenthost.protocol.automation.definition import AutomationDefinition
    from agenthost.protocol.automation.run import (
        AutomationRunLifecycle,
        AutomationRunOrigin,
        AutomationRunState,
        AutomationRunSummary,
        AutomationTriggeredRunOrigin,
    )
    from agenthost.protocol.automation.state import AutomationEntry

# The member of an entry's ``_meta`` that says on whose behalf an automation runs.
OWNER = "agenthost.owner"


def build_entry(
    former: AutomationEntry | None,
    resource: str,
    definition: AutomationDefinition,
    run_count: int | None,
    book: Book,
    now: datetime,
) -> AutomationEntry:
    """Build an automation's entry anew, and note in its book when it must be looked at again."""
    written = write_instant(now)
    changed = former is None or former["definition"] != definition
    entry: AutomationEntry = {
        "resource": resource,
        "definition": definition,
        "runs": [],
        "operations": ["update", "remove", "run"],
        "createdAt": former["createdAt"] if former is not None else written,
        "modifiedAt": written if former is None or changed else former["modifiedAt"],
        "_meta": {OWNER: book.owner.name},
    }
    due = _next_run(definition, book, now)
    book.wake_at = wake_at(definition, due)
    if due is not None:
        entry["nextRunAt"] = write_instant(due)
    if run_count is not None:
        entry["runCount"] = run_count
    return with_runs(entry, former["runs"] if former is not None else (), book)


def _next_run(definition: AutomationDefinition, book: Book, now: datetime) -> datetime | None:
    try:
        return next_run(definition, book.cursors, now)
    except CronError:
        # A time zone that there was when it was defined.
        return None


def with_runs(
    entry: AutomationEntry, known: Iterable[AutomationRunSummary], book: Book
) -> AutomationEntry:
    """Show those of the runs that are known which are active, or among the newest."""
    newest = book.runs[: book.shown]
    shown = set(newest)
    by_uri = {
        run["resource"]: run
        for run in known
        if run["resource"] in shown or is_active(run["lifecycle"])
    }
    result: AutomationEntry = {
        **entry,
        "runs": [by_uri[uri] for uri in book.runs if uri in by_uri],
    }
    result.pop("runsNextCursor", None)
    if len(by_uri) < len(book.runs) and newest:
        result["runsNextCursor"] = newest[-1]
    return result


def page_after(book: Book, cursor: str | None, page: int) -> int:
    """Return how many runs are to be shown so that there is one page more than up to a cursor."""
    shown = book.shown
    if cursor is not None and cursor in book.runs:
        shown = book.runs.index(cursor) + 1
    return max(book.shown, min(shown + page, len(book.runs)))


def summarize_run(run: AutomationRunState) -> AutomationRunSummary:
    """Return a run as its automation lists it."""
    summary: AutomationRunSummary = {
        "resource": run["resource"],
        "automation": run["automation"],
        "origin": run["origin"],
        "lifecycle": run["lifecycle"],
        "sessionCount": len(run["sessions"]),
    }
    if "primarySession" in run:
        summary["primarySession"] = run["primarySession"]
    return summary


def new_run(
    uri: str, automation: str, origin: AutomationRunOrigin, lifecycle: AutomationRunLifecycle
) -> AutomationRunState:
    """Return the first state of a run."""
    return {
        "resource": uri,
        "automation": automation,
        "origin": origin,
        "lifecycle": lifecycle,
        "sessions": [],
    }


def origin_of(occurrence: Occurrence) -> AutomationRunOrigin:
    """Return why a run started that a schedule asked for."""
    origin: AutomationTriggeredRunOrigin = {
        "kind": "trigger",
        "triggerId": occurrence.trigger_id,
        "scheduledFor": write_instant(occurrence.scheduled_for),
    }
    if occurrence.catch_up:
        origin["catchUp"] = True
    return origin


def outdated_runs(book: Book, active: Collection[str], most: int) -> list[str]:
    """Return the runs that are over and too many to be kept, the oldest ones."""
    return [run for run in book.runs if run not in active][most:]
