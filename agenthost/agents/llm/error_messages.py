"""Error messages for model failures, without secrets: no bodies, no headers, no keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic_ai import exceptions as ai

from agenthost.agents.api import AgentError
from agenthost.protocol.markdown import without_code_marks

# Of what a provider says, about two lines are shown.
MOST_SAID: Final = 240
# Anything this long without a space may be a key, or a part of one.
_MAYBE_SECRET: Final = re.compile(r"[^\s\"'`]{24,}|\bsk-\S+")


# What goes away with time or by somebody's doing, so that the turn can go on afterwards.
_PASSING: Final = frozenset(
    {
        "authentication",
        "connectionLost",
        "modelError",
        "modelTimeout",
        "modelUnavailable",
        "quotaExceeded",
        "rateLimited",
        "usageLimit",
    }
)


def explain(error: Exception) -> AgentError | None:
    """Return the AgentError for a pydantic-ai error; None for any other error."""
    told = _explain(error)
    if told is not None:
        told.resumable = told.error_type in _PASSING
    return told


def _explain(error: Exception) -> AgentError | None:
    if isinstance(error, ai.FallbackExceptionGroup):
        last = error.exceptions[-1]
        return _explain(last) if isinstance(last, Exception) else None
    if isinstance(error, ai.ModelAPIError):
        return _explain_request(error)
    if isinstance(error, ai.UsageLimitExceeded):
        return AgentError("the turn reached its limit of model requests or tokens", "usageLimit")
    if isinstance(error, ai.UnexpectedModelBehavior):
        return AgentError(f"the model misbehaved: {_harmless(error.message)}", "modelBehavior")
    if isinstance(error, ai.AgentRunError):
        return AgentError(f"the model's run failed: {_harmless(error.message)}", "modelError")
    return None


# Subclasses stand before their bases.
_Sentence = Callable[[ai.ModelAPIError], str]
_KINDS: Final[list[tuple[type[ai.ModelAPIError], str, _Sentence]]] = [
    (
        ai.ModelAuthenticationError,
        "authentication",
        lambda error: (
            f"the provider of {error.model_name} refused the credentials"
            f"{_status(error)}; check the API key"
        ),
    ),
    (
        ai.ModelQuotaExceededError,
        "quotaExceeded",
        lambda error: f"the quota for {error.model_name} is used up{_status(error)}",
    ),
    (
        ai.ModelRateLimitError,
        "rateLimited",
        lambda error: (
            f"the rate limit of {error.model_name} is reached{_status(error)}; {_when(error)}"
        ),
    ),
    (
        ai.ModelContextWindowExceededError,
        "contextTooLong",
        lambda error: f"the conversation is too long for {error.model_name}",
    ),
    (
        ai.ModelNotFoundError,
        "modelNotFound",
        lambda error: f"the provider does not know {error.model_name}{_status(error)}",
    ),
    (
        ai.ModelRequestRejectedError,
        "requestRejected",
        lambda error: (
            f"the provider of {error.model_name} rejected the request{_status(error)}{_said(error)}"
        ),
    ),
    (
        ai.ModelTimeoutError,
        "modelTimeout",
        lambda error: f"{error.model_name} did not answer in time",
    ),
    (
        ai.ModelConnectionError,
        "connectionLost",
        lambda error: (
            f"{error.model_name} cannot be reached"
            if getattr(error, "phase", None) == "connect"
            else f"the connection to {error.model_name} was lost"
        ),
    ),
    (
        ai.ModelUnavailableError,
        "modelUnavailable",
        lambda error: f"{error.model_name} is not available now{_status(error)}; {_when(error)}",
    ),
    (
        ai.ModelRequestTimeout,
        "modelTimeout",
        lambda error: f"{error.model_name} did not answer in time",
    ),
]


def _explain_request(error: ai.ModelAPIError) -> AgentError:
    for kind, error_type, sentence in _KINDS:
        if isinstance(error, kind):
            return AgentError(sentence(error), error_type)
    return AgentError(f"{error.model_name} failed{_status(error)}{_said(error)}", "modelError")


def _status(error: ai.ModelAPIError) -> str:
    return f" (HTTP {error.status_code})" if isinstance(error, ai.ModelHTTPError) else ""


def _when(error: ai.ModelAPIError) -> str:
    if error.retry_after is None:
        return "try again later"
    seconds = max(1, round(error.retry_after))
    return f"try again in {seconds} second{'' if seconds == 1 else 's'}"


def _said(error: ai.ModelAPIError) -> str:
    """Return what the provider said about a request it did not like, if it said it in words."""
    body: Any = error.body
    if isinstance(body, Mapping) and isinstance(body.get("error"), Mapping):
        body = body["error"]
    said = body.get("message") if isinstance(body, Mapping) else None
    return f": {_harmless(said)}" if isinstance(said, str) and said.strip() else ""


def _harmless(text: str) -> str:
    line = without_code_marks(_MAYBE_SECRET.sub("…", " ".join(text.split())))
    return line if len(line) <= MOST_SAID else line[:MOST_SAID] + "…"
