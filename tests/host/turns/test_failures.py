"""How a turn's failure is told and logged."""

from __future__ import annotations

import logging

import pytest

from agenthost.agents import AgentError
from agenthost.host.trust.credentials import Credentials
from agenthost.host.turns.failures import TurnFailure, describe_failure


def test_a_failure_is_logged_and_told_without_tokens(caplog: pytest.LogCaptureFixture) -> None:
    credentials = Credentials()
    credentials.put("ann", "https://api.example.org", "tok-5d2f")
    mask = credentials.mask
    try:
        raise ValueError("no tok-5d2f") from KeyError("tok-5d2f")
    except ValueError as error:
        told = describe_failure(error, "chat:/1", mask)
    message = "the agent failed (ValueError); the host's log says more"
    assert told == TurnFailure("ValueError", message)
    (record,) = caplog.records
    assert (record.levelno, record.exc_info) == (logging.ERROR, None)
    assert record.message.startswith("the agent failed in chat:/1\n")
    assert "KeyError: '[redacted]'" in caplog.text
    assert caplog.text.rstrip().endswith("ValueError: no [redacted]")
    assert "tok-5d2f" not in record.message
    said = describe_failure(AgentError("no tok-5d2f", "refused"), "chat:/1", mask)
    assert said == TurnFailure("refused", "no [redacted]")
