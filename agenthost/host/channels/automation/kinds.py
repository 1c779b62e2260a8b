"""The kinds of channels for automations: the one catalogue of them, and each run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from agenthost.host.channels.automation.rules import (
    check_cancel,
    check_request,
    requested_definition,
)
from agenthost.host.log.channel import LiveChannel, OwnerChannel
from agenthost.host.log.effects import Consequence
from agenthost.host.log.kind import Applied, ChannelKind, DeclinedAction, Surroundings

if TYPE_CHECKING:
    from agenthost.host.trust.principals import Principal
    from agenthost.protocol.automation.definition import AutomationDefinition
    from agenthost.protocol.automation.run import AutomationRunState
    from agenthost.protocol.automation.state import AutomationState
    from agenthost.protocol.common import Action

CatalogueChannel: TypeAlias = "LiveChannel[AutomationState]"
RunChannel: TypeAlias = "LiveChannel[AutomationRunState]"


class SetAutomation(Consequence, frozen=True):
    """Make or change an automation as a client asked for."""

    action: Action
    principal: Principal


class ForgetAutomation(Consequence, frozen=True):
    """Forget what belonged to an automation that is gone."""

    resource: str


class CancelRun(Consequence, frozen=True):
    """Stop a run."""

    run: RunChannel


class _Checked(Struct, frozen=True):
    """What was looked up to judge a request."""

    # What its session and message would do, and why they cannot be used.
    definition: AutomationDefinition | None = None
    refusal: str | None = None


class CatalogueKind(ChannelKind["AutomationState"]):
    """The catalogue of automations."""

    name = "automation"
    leaves_memory = False
    # Requests: the answer is an action of the host's, right after them.
    events = frozenset({"automation/createRequested", "automation/updateRequested"})

    async def gather(
        self,
        channel: CatalogueChannel,
        owner: OwnerChannel | None,
        action: Action,
        around: Surroundings,
    ) -> _Checked:
        """Look whether such a session can be made on behalf of this client."""
        definition = _newly_defined(channel.state, action)
        if definition is None or check_request(channel.state, action) is not None:
            return _Checked()
        connection = around.connection
        check = connection.core.automations.template_refusal
        return _Checked(definition, await check(connection.principal, definition))

    def judge(
        self, channel: CatalogueChannel, action: Action, context: _Checked
    ) -> DeclinedAction | None:
        """Return why a request is refused."""
        refusal = check_request(channel.state, action) or context.refusal
        if refusal is None:
            wanted = _newly_defined(channel.state, action)
            if wanted is not None and not _does_the_same(wanted, context.definition):
                refusal = "the automation was changed meanwhile; try again"
        return DeclinedAction(refusal) if refusal is not None else None

    def follow(
        self, applied: Applied[AutomationState], owner: OwnerChannel | None
    ) -> Sequence[Consequence]:
        """Carry out what clients ask for."""
        action, dispatch = applied.action, applied.dispatch
        if action["type"] == "automation/removed":
            return (ForgetAutomation(action["resource"]),)
        if action["type"] in self.events and dispatch is not None:
            return (SetAutomation(action, dispatch.connection.principal),)
        return ()


class RunKind(ChannelKind["AutomationRunState"]):
    """The runs of automations."""

    name = "automationRun"
    events = frozenset({"automationRun/cancelRequested"})

    def judge(self, channel: RunChannel, action: Action, context: object) -> DeclinedAction | None:
        """Return why a run cannot be cancelled."""
        refusal = check_cancel(channel.state)
        return DeclinedAction(refusal) if refusal is not None else None

    def follow(
        self, applied: Applied[AutomationRunState], owner: OwnerChannel | None
    ) -> Sequence[Consequence]:
        """Cancel a run."""
        if applied.action["type"] in self.events:
            return (CancelRun(applied.channel),)
        return ()


def _newly_defined(state: AutomationState, action: Action) -> AutomationDefinition | None:
    """Return the definition that a request leads to, if it says anew what is done."""
    if action["type"] == "automation/updateRequested" and not (
        action["changes"].keys() & {"message", "session"}
    ):
        return None
    return requested_definition(state, action) if action["type"] in CATALOGUE.events else None


def _does_the_same(one: AutomationDefinition, other: AutomationDefinition | None) -> bool:
    return other is not None and all(one[key] == other[key] for key in ("message", "session"))


CATALOGUE = CatalogueKind()
RUN = RunKind()
