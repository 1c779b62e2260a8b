"""Automations, as people use them: make them, change them, run them, see what became of it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from agenthost.client.errors import ConnectionLost, Unsupported
from agenthost.client.handle import Handle
from agenthost.errors import NotFound
from agenthost.protocol.uris import AUTOMATIONS

if TYPE_CHECKING:
    from agenthost.client.state.channel import Channel
    from agenthost.client.state.client_core import ClientCore
    from agenthost.client.state.dispatches import Dispatch
    from agenthost.protocol.automation.definition import AutomationDefinition
    from agenthost.protocol.automation.run import AutomationRunState, AutomationRunSummary
    from agenthost.protocol.automation.state import AutomationEntry, AutomationState
    from agenthost.protocol.common import ModelSelection

_MOST_TRIES = 10
_ACTIVE = ("pending", "running")


class Automations:
    """The automations of a host."""

    def __init__(self, core: ClientCore) -> None:
        self._core = core

    async def list(self) -> list[AutomationEntry]:
        """Return all automations of the host."""
        async with self._followed() as catalogue:
            return catalogue.confirmed["entries"]

    async def get(self, resource: str) -> AutomationEntry:
        """Return one automation.

        Raises:
            NotFound: there is none of that name.
        """
        async with self._followed() as catalogue:
            return _entry(catalogue, resource)

    async def watch(self) -> AsyncIterator[Sequence[AutomationEntry]]:
        """Yield all automations, now and after every change."""
        async with self._followed() as catalogue:
            async for state in catalogue:
                yield state["entries"]

    async def create(
        self, definition: AutomationDefinition, *, resource: str | None = None
    ) -> AutomationEntry:
        """Make an automation; ``define_automation`` makes the definition of an ordinary one.

        Raises:
            Rejected: the host refuses it, and says why.
        """
        # The name is ours: asked for again after an answer was lost, it is the same automation.
        resource = resource or f"ahp-automation:/{uuid.uuid4()}"
        action = {"type": "automation/createRequested", "resource": resource}
        async with self._followed() as catalogue:
            await self._core.dispatch(AUTOMATIONS, {**action, "definition": dict(definition)})
            async with asyncio.timeout(self._core.request_timeout):
                await catalogue.until(lambda state: _find(state, resource))
            return _entry(catalogue, resource)

    async def update(self, resource: str, changes: Mapping[str, Any]) -> AutomationEntry:
        """Change an automation; each member of its definition that is named is replaced whole.

        Raises:
            Rejected: the host refuses it, and says why.
        """
        action = {"type": "automation/updateRequested", "resource": resource}
        async with self._followed() as catalogue:
            await self._core.dispatch(AUTOMATIONS, {**action, "changes": dict(changes)})
            # What came of it follows right behind.
            await self._core.request("ping", {})
            return _entry(catalogue, resource)

    async def remove(self, resource: str) -> None:
        """Remove an automation; the sessions that it made stay.

        Raises:
            NotFound: there is none of that name.
        """
        async with self._followed() as catalogue:
            _entry(catalogue, resource)
            action = {"type": "automation/removed", "resource": resource}
            await self._core.dispatch(AUTOMATIONS, action)

    async def run(self, resource: str, *, request: str | None = None) -> str:
        """Run an automation now and return the URI of the run.

        The same ``request`` is the same run, however often it is asked for.
        """
        self._check()
        params = {
            "channel": AUTOMATIONS,
            "automation": resource,
            "requestId": request or str(uuid.uuid4()),
        }
        for tries_left in reversed(range(_MOST_TRIES)):
            try:
                result = await self._core.request("runAutomation", params)
                return str(result["resource"])
            except ConnectionLost:
                if not tries_left:
                    raise
        raise AssertionError("the last try returns or raises")

    async def runs(
        self, resource: str, *, limit: int | None = None
    ) -> Sequence[AutomationRunSummary]:
        """Return the runs of an automation that the host still knows, the newest first."""
        async with self._followed() as catalogue:
            entry = _entry(catalogue, resource)
            while "runsNextCursor" in entry and (limit is None or len(entry["runs"]) < limit):
                cursor = entry["runsNextCursor"]
                params = {"channel": AUTOMATIONS, "automation": resource, "cursor": cursor}
                await self._core.request("fetchAutomationRuns", params)
                entry = _entry(catalogue, resource)
                if entry.get("runsNextCursor") == cursor:
                    # The host has nothing more to show.
                    break
            return entry["runs"][:limit]

    async def follow_run(self, run: str) -> AutomationRun:
        """Follow a run."""
        return AutomationRun(self._core, await self._core.subscribe(run))

    async def cancel(self, run: str) -> None:
        """Ask the host to stop a run; the run itself tells whether it was.

        Raises:
            Rejected: it is over already.
        """
        async with await self.follow_run(run) as followed:
            await followed.cancel()

    @asynccontextmanager
    async def _followed(self) -> AsyncIterator[Channel[AutomationState]]:
        self._check()
        catalogue: Channel[AutomationState] = await self._core.subscribe(AUTOMATIONS)
        try:
            yield catalogue
        finally:
            self._core.unfollow(catalogue)

    def _check(self) -> None:
        if self._core.host["protocolVersion"] and self._core.host.get("automations") is None:
            raise Unsupported("this host has no automations")


class AutomationRun(Handle["AutomationRunState"]):
    """One run of an automation that the client follows."""

    @property
    def status(self) -> str:
        """How far it is: pending, running, completed, failed or cancelled."""
        return self.state["lifecycle"]["status"]

    def cancel(self) -> Dispatch:
        """Ask the host to stop it."""
        return self._dispatch({"type": "automationRun/cancelRequested"})

    async def ended(self) -> AutomationRunState:
        """Wait until it is over, and return how it ended."""
        return await self.channel.until(lambda run: run["lifecycle"]["status"] not in _ACTIVE)


def define_automation(
    title: str,
    message: str,
    *,
    cron: Sequence[str] = (),
    zone: str = "UTC",
    skip_missed: bool = False,
    provider: str | None = None,
    model: ModelSelection | None = None,
    directories: Sequence[str] = (),
    config: Mapping[str, Any] | None = None,
    after_runs: int | None = None,
    until: str | None = None,
    enabled: bool = True,
) -> AutomationDefinition:
    """Make the definition of an automation that begins a session with a message.

    Args:
        title: its name; sessions that it makes are called so.
        message: what the agent is told.
        cron: when it runs, each as five fields; without any, by hand only.
        zone: the time zone in which these are read, by its IANA name.
        skip_missed: whether what was missed is left out, rather than made up for by one run.
        provider: the agent; without one, the host's first.
        model: the model to ask for.
        directories: URIs of the folders to work in.
        config: settings of the sessions.
        after_runs: after how many runs of its own accord it switches itself off.
        until: when it switches itself off, as ISO 8601.
        enabled: whether it runs of its own accord.
    """
    session: dict[str, Any] = {
        "provider": provider,
        "model": model,
        "workingDirectories": list(directories) or None,
        "config": dict(config) if config is not None else None,
    }
    conditions: list[Any] = []
    if after_runs is not None:
        conditions.append({"kind": "afterRuns", "max": after_runs})
    if until is not None:
        conditions.append({"kind": "afterDate", "date": until})
    definition: Any = {
        "title": title,
        "message": {"text": message, "origin": {"kind": "automation"}},
        "session": {key: value for key, value in session.items() if value is not None},
        "enabled": enabled,
        "triggers": [
            {
                "id": f"schedule-{number}",
                "kind": "schedule",
                "schedule": {"expression": expression, "timeZone": zone},
                "misfirePolicy": "skip" if skip_missed else "runOnce",
            }
            for number, expression in enumerate(cron, 1)
        ],
    }
    if conditions:
        definition["disableConditions"] = conditions
    result: AutomationDefinition = definition
    return result


def _find(state: AutomationState, resource: str) -> AutomationEntry | None:
    return next((entry for entry in state["entries"] if entry["resource"] == resource), None)


def _entry(catalogue: Channel[AutomationState], resource: str) -> AutomationEntry:
    entry = _find(catalogue.confirmed, resource)
    if entry is None:
        raise NotFound(f"there is no automation {resource}")
    return entry
