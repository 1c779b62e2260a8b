"""Rules for what clients ask of automations and their runs (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from agenthost.errors import shortened
from agenthost.host.channels.automation.cron import CronError, parse, time_zone
from agenthost.host.channels.automation.scheduler import instant_of
from agenthost.host.trust.message_bounds import check_lengths
from agenthost.protocol.jsonrpc import dumps
from agenthost.protocol.uris import is_automation, is_nameable

if TYPE_CHECKING:
    from agenthost.protocol.automation.definition import (
        AutomationDefinition,
        AutomationDisableCondition,
        AutomationTrigger,
    )
    from agenthost.protocol.automation.run import AutomationRunLifecycle, AutomationRunState
    from agenthost.protocol.automation.state import AutomationEntry, AutomationState
    from agenthost.protocol.common import Action

# Everybody who follows the catalogue holds all of it.
MOST_AUTOMATIONS = 200
MOST_DEFINITION_BYTES = 64 * 1024
MOST_CATALOGUE_BYTES = 4 * 1024 * 1024
MOST_TRIGGERS = 20

_POLICIES = (None, "skip", "runOnce")
_REQUESTS = ("automation/createRequested", "automation/updateRequested")
ACTIVE = ("pending", "running")


def check_request(state: AutomationState, action: Action) -> str | None:
    """Return why a client's request about automations is refused, or None when it is fine."""
    too_long = check_lengths(action)
    if too_long is not None:
        return too_long
    if action["type"] not in _REQUESTS:
        return None
    resource = action["resource"]
    entry = find_entry(state, resource)
    definition = requested_definition(state, action)
    if definition is None:
        return f"there is no automation {shortened(resource)}"
    if action["type"] == "automation/createRequested":
        refusal = _check_new(state, resource, entry, definition)
        if refusal is not None:
            return refusal
    return check_definition(definition) or _check_size(state, resource, definition)


def requested_definition(state: AutomationState, action: Action) -> AutomationDefinition | None:
    """Return the definition that a request asks for; None where there is nothing to change."""
    if action["type"] == "automation/createRequested":
        return cast("AutomationDefinition", action["definition"])
    entry = find_entry(state, action["resource"])
    if entry is None:
        return None
    return cast("AutomationDefinition", {**entry["definition"], **action["changes"]})


def find_entry(state: AutomationState, resource: str) -> AutomationEntry | None:
    """Return the entry of an automation."""
    return next((entry for entry in state["entries"] if entry["resource"] == resource), None)


def _check_new(
    state: AutomationState,
    resource: str,
    entry: AutomationEntry | None,
    definition: AutomationDefinition,
) -> str | None:
    if not is_automation(resource) or not is_nameable(resource):
        return "an automation's URI begins with ahp-automation:"
    if entry is not None:
        # Who lost the answer asks again.
        same = entry["definition"] == definition
        return None if same else f"there is an automation {shortened(resource)} already"
    if len(state["entries"]) >= MOST_AUTOMATIONS:
        return f"this host keeps at most {MOST_AUTOMATIONS} automations; remove one first"
    return None


def _check_size(
    state: AutomationState, resource: str, definition: AutomationDefinition
) -> str | None:
    size = len(dumps(definition))
    if size > MOST_DEFINITION_BYTES:
        return f"an automation may take {MOST_DEFINITION_BYTES:,} bytes, and this takes {size:,}"
    others = (entry for entry in state["entries"] if entry["resource"] != resource)
    if size + sum(len(dumps(entry["definition"])) for entry in others) > MOST_CATALOGUE_BYTES:
        return f"all automations together may take {MOST_CATALOGUE_BYTES:,} bytes"
    return None


def check_definition(definition: AutomationDefinition) -> str | None:
    """Return what is wrong with a definition whatever its session is like, or None."""
    if definition["message"]["origin"]["kind"] != "automation":
        return "the message of an automation is of origin automation"
    if definition["session"].get("customizations"):
        return "this host cannot take customizations into automations"
    return _check_triggers(definition["triggers"]) or _check_conditions(
        definition.get("disableConditions") or ()
    )


def _check_triggers(triggers: Sequence[AutomationTrigger]) -> str | None:
    if len(triggers) > MOST_TRIGGERS:
        return f"an automation has at most {MOST_TRIGGERS} triggers"
    ids = [trigger["id"] for trigger in triggers]
    if "" in ids or len(set(ids)) < len(ids):
        return "each trigger needs an id of its own"
    for trigger in triggers:
        refusal = _check_trigger(trigger)
        if refusal is not None:
            return f"trigger {shortened(trigger['id'])}: {refusal}"
    return None


def _check_trigger(trigger: AutomationTrigger) -> str | None:
    if trigger["kind"] != "schedule":
        return "this host knows no events that could start an automation"
    if trigger.get("misfirePolicy") not in _POLICIES:
        return f"there is no misfirePolicy {shortened(str(trigger.get('misfirePolicy')))}"
    try:
        parse(trigger["schedule"]["expression"])
        time_zone(trigger["schedule"]["timeZone"])
    except CronError as error:
        return str(error)
    return None


def _check_conditions(conditions: Sequence[AutomationDisableCondition]) -> str | None:
    kinds = [condition["kind"] for condition in conditions]
    if len(set(kinds)) < len(kinds):
        return "each kind of disable condition may be given once"
    unknown = set(kinds) - {"afterRuns", "afterDate"}
    if unknown:
        return f"there is no disable condition {shortened(min(unknown))}"
    for condition in conditions:
        if condition["kind"] == "afterDate":
            try:
                instant_of(condition["date"])
            except ValueError:
                return f"{shortened(condition['date'])} is no date"
    return None


def check_cancel(run: AutomationRunState) -> str | None:
    """Return why a run cannot be cancelled, or None when it can."""
    return None if is_active(run["lifecycle"]) else "the run is over"


def is_active(lifecycle: AutomationRunLifecycle) -> bool:
    """Say whether a run has not ended yet."""
    return lifecycle["status"] in ACTIVE
