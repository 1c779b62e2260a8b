from __future__ import annotations

import logging

import pytest

from agenthost.agents import AgentError
from agenthost.host.trust.credentials import MOST_FORMER, Credentials
from agenthost.host.turns.failures import TurnFailure, describe_failure


def holding(*tokens: str) -> Credentials:
    """Credentials of one person for as many resources as there are tokens."""
    credentials = Credentials()
    for number, token in enumerate(tokens):
        credentials.put("ann", f"https://{number}.example.org", token)
    return credentials


@pytest.mark.parametrize(
    ("tokens", "text", "masked"),
    [
        ((), "nothing is held", "nothing is held"),
        (("tok-1",), "401 for tok-1, tok-1!", "401 for [redacted], [redacted]!"),
        (("tok-1", "tok-1-long"), "tok-1-long", "[redacted]"),
        (("line\nbreak",), "KeyError: 'line\\nbreak'", "KeyError: '[redacted]'"),
        (("(.*)+",), "a (.*)+ b", "a [redacted] b"),
        # No secret, and the text would be unreadable without it.
        (("e",), "the sentence", "the sentence"),
        (("redacted", "[redacted]"), "redacted", "[redacted]"),
    ],
)
def test_every_token_that_is_held_is_taken_out(
    tokens: tuple[str, ...], text: str, masked: str
) -> None:
    assert holding(*tokens).mask(text) == masked


def test_a_token_that_no_longer_counts_is_taken_out_for_some_time() -> None:
    credentials = holding("rejected")
    credentials.drop("ann", "https://0.example.org")
    credentials.put("bob", "https://0.example.org", "replaced")
    credentials.put("bob", "https://0.example.org", "newest")
    assert credentials.mask("rejected replaced newest") == "[redacted] [redacted] [redacted]"
    assert credentials.get("ann", "https://0.example.org") is None
    for number in range(MOST_FORMER + 1):
        credentials.put("bob", "https://0.example.org", f"later-{number}")
    assert credentials.mask("rejected") == "rejected"


def test_a_failure_is_logged_and_told_without_tokens(caplog: pytest.LogCaptureFixture) -> None:
    mask = holding("tok-5d2f").mask
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
