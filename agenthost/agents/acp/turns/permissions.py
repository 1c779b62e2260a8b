"""An agent's permission request as a confirmation, and people's answer as its outcome.

The agent's own options are offered, with its ids and names: what "always" means is the agent's to
know, and its to remember.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acp.schema import AllowedOutcome, DeniedOutcome, PermissionOption, RequestPermissionResponse

from agenthost.agents.approvals import ALLOW_IN_SESSION, Confirmation, option

# What an answer means that picked no option, best first.
_APPROVALS = ("allow_once", "allow_always")
_REFUSALS = ("reject_once", "reject_always")


def as_options(options: Sequence[PermissionOption]) -> list[dict[str, Any]]:
    """Return the agent's options as those of a confirmation, approvals set apart from refusals."""
    return [
        option(
            _our_id(item.option_id),
            item.name,
            approve=item.kind in _APPROVALS,
            group=0 if item.kind in _APPROVALS else 1,
        )
        for item in options
    ]


def may_allow_once(options: Sequence[PermissionOption]) -> bool:
    """Return whether the agent offers to be allowed just this once."""
    return any(item.kind == "allow_once" for item in options)


def verdict(answer: Confirmation, options: Sequence[PermissionOption]) -> RequestPermissionResponse:
    """Return what to tell the agent; a reason and a suggestion travel as metadata."""
    kinds = _APPROVALS if answer else _REFUSALS
    picked = [item for item in options if _our_id(item.option_id) == answer.option]
    implied = [item for kind in kinds for item in options if item.kind == kind]
    chosen = next(iter([*picked, *implied]), None)
    if chosen is None:
        # The agent left no way to say this.
        return cancelled()
    told = {"reason": answer.reason_message, "suggestion": answer.suggestion}
    meta = {key: value for key, value in told.items() if value is not None}
    outcome = AllowedOutcome(outcome="selected", option_id=chosen.option_id)
    return RequestPermissionResponse(
        outcome=outcome, field_meta={"agenthost": meta} if meta else None
    )


def cancelled() -> RequestPermissionResponse:
    """Return the answer to a request that nobody will decide on any more."""
    return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))


def _our_id(option_id: str) -> str:
    # The one id by which the host itself would remember an approval.
    return f"agent:{option_id}" if option_id == ALLOW_IN_SESSION else option_id
