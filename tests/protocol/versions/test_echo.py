"""What a client gets back for its own action."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.protocol.versions import SUPPORTED_VERSIONS, changes_nothing, echo, reduce
from tests.protocol.versions.samples import NOW, Json, chat, on_call, tool_part

OLDER = SUPPORTED_VERSIONS[1:]
# Those that take an edit of input that there was none of.
BEFORE_0_7_0 = SUPPORTED_VERSIONS[SUPPORTED_VERSIONS.index("0.6.0") :]
APPROVAL = on_call("Confirmed", approved=True, confirmed="user-action")
DONE = on_call("Complete", result={"success": True, "pastTenseMessage": ""})


def echoed(version: str, before: Json, words: Any, meant: Json) -> list[Json]:
    return echo(version, "chat", words, before, meant, reduce("chat", before, meant, now=NOW))


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
def test_own_words_come_back_with_whatever_they_hold(version: str) -> None:
    state = chat(tool_part("pending-confirmation"), status=24)
    words = {**APPROVAL, "future": {"kept": None}}
    (told,) = echoed(version, state, words, words)
    assert told is words
    # What the newest version cannot keep of them changes nothing either.
    (told,) = echoed(version, state, words, APPROVAL)
    assert told is words


@pytest.mark.parametrize("version", BEFORE_0_7_0)
def test_an_edit_that_was_not_taken_does_not_come_back(version: str) -> None:
    state = chat(tool_part("pending-confirmation"), status=24)
    words = {**APPROVAL, "editedToolInput": "mine"}
    assert echoed(version, state, words, words) == [APPROVAL]


@pytest.mark.parametrize("version", OLDER)
def test_words_that_no_reducer_understands_come_back_as_they_were_understood(version: str) -> None:
    state = chat(tool_part("pending-confirmation"), status=24)
    assert echoed(version, state, {**APPROVAL, "toolCallId": []}, APPROVAL) == [APPROVAL]
    misshapen = {"type": "chat/toolCallConfirmed"}
    assert echoed(version, state, misshapen, APPROVAL) == [APPROVAL]


def test_what_changes_nothing_here_may_change_something_for_its_sender() -> None:
    paused = chat(tool_part("auth-required", confirmed="setting"), status=24)
    assert reduce("chat", paused, DONE, now=NOW) is paused
    changed = [v for v in SUPPORTED_VERSIONS if not changes_nothing(v, "chat", DONE, paused)]
    assert changed == ["0.5.2", "0.5.1", "0.5.0"]
    assert not changes_nothing("0.5.0", "chat", {"type": "chat/toolCallComplete"}, paused)
