"""Automations by command: run one now, see older runs, ask what could start one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.host.clients.methods import handles

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.protocol.automation.commands import (
        FetchAutomationRunsResult,
        ListAutomationTriggerDefinitionsResult,
        RunAutomationResult,
    )
    from agenthost.protocol.common import JsonObject


@handles("runAutomation")
async def run_automation(connection: Connection, params: JsonObject) -> RunAutomationResult:
    """Start a run, or return the one that the same request has started."""
    automations = connection.core.automations
    return {"resource": await automations.run_now(params["automation"], params["requestId"])}


@handles("fetchAutomationRuns")
async def fetch_automation_runs(
    connection: Connection, params: JsonObject
) -> FetchAutomationRunsResult:
    """Show everybody who follows the catalogue a page of older runs."""
    await connection.core.automations.show_older(params["automation"], params.get("cursor"))
    return {}


@handles("listAutomationTriggerDefinitions")
async def list_automation_trigger_definitions(
    connection: Connection, params: JsonObject
) -> ListAutomationTriggerDefinitionsResult:
    """Return the events that could start automations: none, this host has only schedules."""
    return {"items": []}
