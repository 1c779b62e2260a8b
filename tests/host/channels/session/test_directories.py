"""What a chat does when its session puts a directory in the place of another."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.channels.session.directories import replaced_in
from agenthost.protocol import reduce

NAMES = "abcd"
State = Any


def after(folders: list[str], old: str, new: str) -> list[str]:
    state: State = {"resource": "c:/1", "turns": [], "workingDirectories": folders}
    for action in replaced_in(folders, old, new):
        state = reduce("chat", state, action, now="")
    result: list[str] = state["workingDirectories"]
    return result


@given(st.permutations(NAMES), st.integers(0, 4), st.sampled_from(NAMES), st.sampled_from("abcde"))
def test_a_chat_comes_out_as_a_session_with_the_same_directories_does(
    names: list[str], count: int, old: str, new: str
) -> None:
    folders = names[:count]
    action = {"type": "session/workingDirectoryReplaced", "directory": old, "replacement": new}
    session: State = {"chats": [], "workingDirectories": folders}
    expected = reduce("session", session, action, now="")["workingDirectories"]
    assert after(folders, old, new) == expected


def test_a_chat_that_is_not_concerned_does_nothing() -> None:
    assert replaced_in(["a", "b"], "c", "d") == []
    assert replaced_in([], "c", "d") == []
