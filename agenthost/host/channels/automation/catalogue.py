"""Automations: the catalogue of them, their schedules, and the history of their runs.

The one writer of the catalogue, and the only scheduler there is. What is claimed is stored in one
commit with what it was claimed for; what then becomes of a run is ``runs``' affair.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from agenthost.clock import Clock
from agenthost.errors import Conflict, NotFound
from agenthost.host.channels.automation.book import (
    ACTIVE_RUNS,
    AUTOMATIONS_BUCKET,
    SHOWN_RUNS,
    Book,
)
from agenthost.host.channels.automation.cron import CronError
from agenthost.host.channels.automation.entries import (
    build_entry,
    origin_of,
    outdated_runs,
    page_after,
    summarize_run,
    with_runs,
)
from agenthost.host.channels.automation.kinds import (
    CATALOGUE,
    RUN,
    CatalogueChannel,
    ForgetAutomation,
    RunChannel,
    SetAutomation,
)
from agenthost.host.channels.automation.rules import find_entry, requested_definition
from agenthost.host.channels.automation.runs import MOST_ACTIVE, AutomationRuns
from agenthost.host.channels.automation.scheduler import (
    Decision,
    decide,
    edited_cursors,
    edited_run_count,
    has_ended,
    instant_of,
)
from agenthost.host.channels.automation.templates import Templates
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.stored_values import stored_value
from agenthost.host.log.writer import Writer
from agenthost.host.store import DropRecord, PutRecord, Store, StoreDamaged, StoreError
from agenthost.host.trust.principals import Principal
from agenthost.protocol.uris import AUTOMATIONS

if TYPE_CHECKING:
    from agenthost.protocol.automation.commands import AutomationCapabilities
    from agenthost.protocol.automation.definition import AutomationDefinition
    from agenthost.protocol.automation.run import (
        AutomationRunOrigin,
        AutomationRunState,
        AutomationRunSummary,
    )
    from agenthost.protocol.automation.state import AutomationEntry, AutomationState
    from agenthost.protocol.common import Action

log = logging.getLogger(__name__)

# Runs that are over, of one automation, of which something is kept.
RUN_HISTORY = 100
# Seconds after which the clock is looked at again: it may have been set, or the machine asleep.
LONGEST_SLEEP = 30.0
# What clients are told that this host can do.
CAPABILITIES: AutomationCapabilities = {
    "create": {},
    "schedules": {},
    "runCancellation": {},
    "runHistoryLimit": RUN_HISTORY,
}

# Seconds for which whoever asks waits for what is stored.
OPEN_SECONDS = 10.0


class AutomationCatalogue:
    """All automations of the host."""

    def __init__(
        self,
        *,
        store: Store,
        writer: Writer,
        directory: Directory,
        effects: Effects,
        clock: Clock,
        templates: Templates,
        runs: AutomationRuns,
    ) -> None:
        self._store = store
        self._writer = writer
        self._directory = directory
        self._clock = clock
        self._templates = templates
        self._runs = runs
        self._books: dict[str, Book] = {}
        # Set when there may be something to do earlier than was thought.
        self._edited = asyncio.Event()
        self._closed = False
        # Set once what is stored has been taken up; a node does so when it begins to lead.
        self._opened = asyncio.Event()
        runs.serve(self)
        effects.on(SetAutomation, lambda e: self._set_as_asked(e.action, e.principal))
        effects.on(ForgetAutomation, lambda e: self._forget(e.resource))

    async def open(self) -> None:
        """Take up what is stored, and go on with the runs that are not over."""
        self._opened.clear()
        try:
            await self._take_up()
        finally:
            self._opened.set()

    async def _wait_until_open(self) -> None:
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                await self._opened.wait()
        except TimeoutError:
            raise Conflict("the machine that keeps automations is about to; ask again") from None

    async def _take_up(self) -> None:
        self._closed = False
        self._books.clear()
        self._runs.open()
        try:
            catalogue = await self._directory.find(AUTOMATIONS, CATALOGUE)
        except StoreDamaged as error:
            log.error("there are no automations until this is repaired: %s", error)
            return
        if catalogue is None:
            nothing: AutomationState = {"entries": []}
            self._directory.create(AUTOMATIONS, CATALOGUE, nothing)
        for resource, stored in (await self._store.records(AUTOMATIONS_BUCKET)).items():
            try:
                self._books[resource] = Book.decode(stored_value(stored, resource))
            except (StoreDamaged, KeyError, ValueError):
                log.error("the schedule of %s cannot be read, so it does not run", resource)
        now = self._now()
        for entry in self._catalogue.state["entries"]:
            book = self._books.get(entry["resource"])
            if book is not None:
                # Whatever was missed is decided on first of all.
                book.wake_at = now if entry["definition"]["enabled"] else None
        for run in await self._store.records(ACTIVE_RUNS):
            await self._runs.resume(run)

    @property
    def capabilities(self) -> AutomationCapabilities | None:
        """What clients are told that this host can do; None when there are no automations."""
        there = self._directory.get(AUTOMATIONS, CATALOGUE) is not None
        return CAPABILITIES if there else None

    def close(self) -> None:
        """Start nothing more."""
        self._closed = True
        self._runs.close()

    @property
    def _catalogue(self) -> CatalogueChannel:
        catalogue = self._directory.get(AUTOMATIONS, CATALOGUE)
        if catalogue is None:
            # It never leaves memory, so it was never there.
            raise StoreDamaged("what is stored of the automations is damaged")
        return catalogue

    def _now(self) -> datetime:
        return instant_of(self._clock.now())

    # What runs ask for.

    def definition(self, automation: str) -> AutomationDefinition | None:
        """Return what an automation does now; None when it was removed."""
        entry = find_entry(self._catalogue.state, automation)
        return entry["definition"] if entry is not None else None

    def book(self, automation: str) -> Book | None:
        """Return the bookkeeping of an automation."""
        return self._books.get(automation)

    def run_changed(self, run: AutomationRunState) -> None:
        """Show in the catalogue what a run is like now."""
        self._show(run["automation"], [summarize_run(run)])

    def run_ended(self, run: RunChannel) -> None:
        """Keep a run that is over as long as there are not too many."""
        automation = run.state["automation"]
        book = self._books.get(automation)
        if book is None or run.uri not in book.runs:
            # Its automation was removed, and perhaps made anew since.
            self._runs.drop(run.uri)
        else:
            self._prune(automation, book)

    # What clients ask for.

    async def template_refusal(
        self, principal: Principal, definition: AutomationDefinition
    ) -> str | None:
        """Return why an automation cannot do what is asked on somebody's behalf, or None."""
        return await self._templates.refusal(principal, definition)

    def _set_as_asked(self, action: Action, principal: Principal) -> None:
        """Make or change an automation; what is asked for was found to be fine."""
        state, resource, now = self._catalogue.state, action["resource"], self._now()
        definition = requested_definition(state, action)
        if definition is None:
            return
        entry = find_entry(state, resource)
        former = entry["definition"] if entry is not None else None
        count = entry.get("runCount") if entry is not None else None
        book = self._books.get(resource)
        if book is None:
            book = self._books[resource] = Book(principal)
        elif former is None or _what_is_done(former) != _what_is_done(definition):
            # Who says what is done answers for it.
            book.owner = principal
        book.cursors = edited_cursors(former, definition, book.cursors, now)
        count = edited_run_count(former, definition, count)
        if definition["enabled"] and has_ended(definition, count, now):
            definition = {**definition, "enabled": False}
        self._store_book(resource, book)
        self._set(build_entry(entry, resource, definition, count, book, now))
        self._edited.set()

    def _forget(self, resource: str) -> None:
        """Forget an automation that is gone; its runs that are under way go on to their end."""
        book = self._books.pop(resource, None)
        if book is not None:
            self._writer.ledger.write(DropRecord(AUTOMATIONS_BUCKET, resource))
            active = self._runs.of(resource)
            for run in book.runs:
                if run not in active:
                    self._runs.drop(run)

    async def run_now(self, resource: str, request: str) -> str:
        """Start a run that somebody asks for, or return the one that this request has started."""
        await self._wait_until_open()
        entry, book = find_entry(self._catalogue.state, resource), self._books.get(resource)
        if entry is None or book is None:
            raise NotFound(f"there is no automation {resource}")
        known = book.requests.get(request)
        if known is None:
            if len(self._runs.of(resource)) >= MOST_ACTIVE:
                raise Conflict(f"{MOST_ACTIVE} runs of this automation are under way already")
            (run,) = self._claim(entry, book, [{"kind": "manual"}], request=request)
            known = book.requests[request]
            self._runs.begin(run)
        # Whoever is told of a run finds it after a crash too.
        await self._writer.ledger.settle()
        return known[0]

    async def show_older(self, resource: str, cursor: str | None) -> None:
        """Show one page of runs more than up to a cursor, or than are shown, to everybody."""
        await self._wait_until_open()
        book = self._books.get(resource)
        if book is None:
            raise NotFound(f"there is no automation {resource}")
        wanted = page_after(book, cursor, SHOWN_RUNS)
        entry = find_entry(self._catalogue.state, resource)
        shown = {run["resource"] for run in entry["runs"]} if entry is not None else set()
        loaded: list[AutomationRunSummary] = []
        for uri in book.runs[:wanted]:
            run = await self._directory.find(uri, RUN) if uri not in shown else None
            if run is not None:
                loaded.append(summarize_run(run.state))
        if loaded and resource in self._books:
            book.shown = max(book.shown, wanted)
            self._show(resource, loaded)

    # Schedules.

    async def run(self) -> None:
        """Start what is due, for as long as the host runs."""
        while True:
            self._edited.clear()
            if self._closed:
                return
            try:
                await self._look()
            except StoreError:
                # Nothing can be recorded any more; the host is stopping.
                return
            await self._sleep()

    async def _look(self) -> None:
        """Look at the clock once, and start what is due."""
        now = self._now()
        for resource, book in list(self._books.items()):
            if book.wake_at is not None and book.wake_at <= now and not self._closed:
                entry = find_entry(self._catalogue.state, resource)
                if entry is not None:
                    self._look_at(entry, book, now)
                # Others have their turn, also when everything is due at midnight.
                await asyncio.sleep(0)

    def _look_at(self, entry: AutomationEntry, book: Book, now: datetime) -> None:
        book.wake_at = None
        try:
            decision = decide(entry["definition"], book.cursors, entry.get("runCount"), now)
        except CronError as error:
            log.error("%s cannot run any more: %s", entry["resource"], error)
            return
        if not decision.runs and decision.enabled and decision.cursors == book.cursors:
            # Nothing has happened; mostly, a host has started.
            now_shown = build_entry(
                entry, entry["resource"], entry["definition"], decision.run_count, book, now
            )
            if now_shown != entry:
                self._set(now_shown)
            return
        runs = self._claim(entry, book, [origin_of(each) for each in decision.runs], decision)
        for run in runs:
            self._runs.begin(run)

    async def _sleep(self) -> None:
        waiting: list[asyncio.Future[object]] = [asyncio.ensure_future(self._edited.wait())]
        moments = [book.wake_at for book in self._books.values() if book.wake_at is not None]
        if moments:
            seconds = (min(moments) - self._now()).total_seconds()
            pause = self._clock.sleep(min(max(seconds, 0.0), LONGEST_SLEEP))
            waiting.append(asyncio.ensure_future(pause))
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()

    # What is stored and shown.

    def _claim(
        self,
        entry: AutomationEntry,
        book: Book,
        origins: Sequence[AutomationRunOrigin],
        decision: Decision | None = None,
        request: str | None = None,
    ) -> list[RunChannel]:
        """Register runs together with what led to them, in one commit."""
        resource, definition, now = entry["resource"], entry["definition"], self._now()
        count = entry.get("runCount")
        if decision is not None:
            book.cursors, count = dict(decision.cursors), decision.run_count
            if not decision.enabled:
                definition = {**definition, "enabled": False}
        runs = [self._runs.claim(resource, origin) for origin in origins]
        for run in runs:
            book.runs.insert(0, run.uri)
            # What somebody has paged to stays in sight.
            book.shown += 1 if book.shown > SHOWN_RUNS else 0
            if request is not None:
                book.remember(request, run.uri, now)
        self._store_book(resource, book)
        known: AutomationEntry = {
            **entry,
            "runs": [*(summarize_run(run.state) for run in reversed(runs)), *entry["runs"]],
        }
        self._set(build_entry(known, resource, definition, count, book, now))
        self._prune(resource, book)
        return runs

    def _prune(self, resource: str, book: Book) -> None:
        """Forget the oldest runs where there are too many."""
        outdated = set(outdated_runs(book, self._runs.of(resource), RUN_HISTORY))
        if outdated:
            for run in outdated:
                self._runs.drop(run)
            book.runs = [run for run in book.runs if run not in outdated]
            book.shown = min(book.shown, max(len(book.runs), SHOWN_RUNS))
            self._store_book(resource, book)
            self._show(resource)

    def _show(self, resource: str, runs: Sequence[AutomationRunSummary] = ()) -> None:
        """Show runs of an automation as they are now."""
        entry, book = find_entry(self._catalogue.state, resource), self._books.get(resource)
        if entry is not None and book is not None:
            self._set(with_runs(entry, [*entry["runs"], *runs], book))

    def _set(self, entry: AutomationEntry) -> None:
        self._writer.apply(self._catalogue, {"type": "automation/set", "automation": entry})

    def _store_book(self, resource: str, book: Book) -> None:
        self._writer.ledger.write(PutRecord(AUTOMATIONS_BUCKET, resource, book.encode()))


def _what_is_done(definition: AutomationDefinition) -> tuple[object, object]:
    return definition["message"], definition["session"]
