"""Secrets stay out of what people and logs are shown."""

from __future__ import annotations

import pytest

from agenthost.agents.acp.redaction import Redactor

redact = Redactor({"MY_TOKEN": "abc.def", "PATH": "/usr/bin:/bin", "SHORT_KEY": "ab"})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("it is abc.def, said twice: abc.def", "it is ***, said twice: ***"),
        ("/usr/bin:/bin is no secret, nor is ab", "/usr/bin:/bin is no secret, nor is ab"),
        ("Authorization: Bearer eyJhbGciOi.x", "Authorization: Bearer ***"),
        ('{"api_key": "0123", "a": 1}', '{"api_key": "***", "a": 1}'),
        ("password=hunter2 and more", "password=*** and more"),
        ("sk-proj-0123456789abcdef failed", "*** failed"),
        ("ghp_0123456789abcdefghij", "***"),
        ("the task is skewed", "the task is skewed"),
    ],
)
def test_what_looks_like_a_secret_is_hidden(text: str, shown: str) -> None:
    assert redact(text) == shown
