"""What people are told when a model cannot answer."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import exceptions as ai

from agenthost.agents.llm.error_messages import explain

KEY = "sk-proj-0123456789abcdefghijklmnop"


def http(category: Any, status: int) -> ai.ModelHTTPError:
    body = {"error": {"message": f"bad key {KEY}"}}
    return ai.ModelHTTPError.for_category(
        category, status_code=status, model_name="tiny", body=body
    )


@pytest.mark.parametrize(
    ("error", "error_type", "words"),
    [
        (http(ai.ModelAuthenticationError, 403), "authentication", "(HTTP 403); check the API key"),
        (http(ai.ModelQuotaExceededError, 402), "quotaExceeded", "used up"),
        (http(ai.ModelRateLimitError, 429), "rateLimited", "try again later"),
        (http(ai.ModelContextWindowExceededError, 400), "contextTooLong", "too long for tiny"),
        (http(ai.ModelNotFoundError, 404), "modelNotFound", "does not know tiny"),
        (http(ai.ModelRequestRejectedError, 422), "requestRejected", "(HTTP 422): bad key …"),
        (http(ai.ModelOverloadedError, 529), "modelUnavailable", "not available now"),
        (http(ai.ModelServerError, 500), "modelError", "tiny failed (HTTP 500)"),
        (http(None, 418), "modelError", "tiny failed (HTTP 418)"),
        (ai.ModelTimeoutError("tiny", KEY), "modelTimeout", "in time"),
        (ai.ModelRequestTimeout("tiny", 3), "modelTimeout", "in time"),
        (ai.ModelConnectionError("tiny", KEY, phase="connect"), "connectionLost", "be reached"),
        (ai.ModelConnectionError("tiny", KEY, phase="read"), "connectionLost", "was lost"),
        (ai.UsageLimitExceeded("too many"), "usageLimit", "limit"),
        (ai.UnexpectedModelBehavior("it sang", KEY), "modelBehavior", "it sang"),
        (ai.AgentRunError(f"odd {KEY}"), "modelError", "odd …"),
        (ai.FallbackExceptionGroup("all", [ValueError(), http(ai.ModelServerError, 502)]),
         "modelError", "HTTP 502"),
    ],
)  # fmt: skip
def test_each_failure_has_a_sentence_and_none_has_a_key(
    error: Exception, error_type: str, words: str
) -> None:
    told = explain(error)
    assert told is not None
    assert told.error_type == error_type
    assert words in str(told)
    assert KEY not in str(told)


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (http(ai.ModelAuthenticationError, 403), True),
        (http(ai.ModelQuotaExceededError, 402), True),
        (http(ai.ModelRateLimitError, 429), True),
        (http(ai.ModelOverloadedError, 529), True),
        (http(ai.ModelServerError, 500), True),
        (ai.ModelTimeoutError("tiny", KEY), True),
        (ai.ModelConnectionError("tiny", KEY, phase="read"), True),
        (ai.UsageLimitExceeded("too many"), True),
        (ai.FallbackExceptionGroup("all", [ValueError(), http(ai.ModelServerError, 502)]), True),
        (http(ai.ModelContextWindowExceededError, 400), False),
        (http(ai.ModelNotFoundError, 404), False),
        (http(ai.ModelRequestRejectedError, 422), False),
        (ai.UnexpectedModelBehavior("it sang", KEY), False),
    ],
)
def test_after_what_passes_a_turn_can_go_on(error: Exception, passes: bool) -> None:
    told = explain(error)
    assert told is not None
    assert told.resumable is passes


def test_what_is_no_failure_of_a_model_is_left_to_others() -> None:
    assert explain(ValueError("x")) is None
    assert explain(ai.UserError("configure me")) is None


@pytest.mark.parametrize(
    ("seconds", "when"), [(0.2, "in 1 second"), (1, "in 1 second"), (2.4, "in 2 seconds")]
)
def test_when_to_try_again_is_told_as_people_say_it(seconds: float, when: str) -> None:
    error = http(ai.ModelRateLimitError, 429)
    error.retry_after = seconds
    assert str(explain(error)).endswith(f"; try again {when}")


def test_a_long_complaint_is_cut() -> None:
    told = explain(ai.UnexpectedModelBehavior("word " * 1000))
    assert told is not None
    assert len(str(told)) < 300
