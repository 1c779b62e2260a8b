from __future__ import annotations

from typing import Any

import pytest

from agenthost.cli.connection.session_lookup import match_sessions


def summary(uri: str, title: str, *, archived: bool = False) -> Any:
    return {"resource": uri, "title": title, "status": 1 | (64 if archived else 0)}


SESSIONS = [
    summary("ahp-session:/3f2a-1", "Release the parser"),
    summary("ahp-session:/3f2b-2", "Release"),
    summary("ahp-session:/77", "release", archived=True),
    summary("copilot:/9/x", "Rewrite 77 tests"),
]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ahp-session:/77", ["ahp-session:/77"]),
        ("3f2a-1", ["ahp-session:/3f2a-1"]),
        ("3f2b", ["ahp-session:/3f2b-2"]),
        ("3f2", ["ahp-session:/3f2a-1", "ahp-session:/3f2b-2"]),
        ("x", ["copilot:/9/x"]),
        # An id comes before a title that mentions it.
        ("77", ["ahp-session:/77"]),
        # A whole title comes before a part of one, and what is not archived before what is.
        ("RELEASE", ["ahp-session:/3f2b-2"]),
        ("PARSER", ["ahp-session:/3f2a-1"]),
        ("re", ["ahp-session:/3f2a-1", "ahp-session:/3f2b-2", "copilot:/9/x"]),
        ("nothing", []),
        ("", []),
    ],
)
def test_a_text_means_the_sessions_that_its_best_reading_finds(text: str, found: list[str]) -> None:
    assert [item["resource"] for item in match_sessions(SESSIONS, text)] == found
