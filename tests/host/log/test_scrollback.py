"""A kind may limit how long its states become: the oldest goes, also while nobody looks."""

from __future__ import annotations

from typing import Any

from agenthost.host.log.channel import LiveChannel
from agenthost.host.log.kind import ChannelKind, Kept, Resumed
from agenthost.protocol.jsonrpc import loads
from agenthost.protocol.terminal import TerminalState

NOW = "2026-01-02T03:04:05.006Z"
Json = dict[str, Any]


class Screens(ChannelKind[Any]):
    """Terminals that keep 80 characters of 100."""

    name = "terminal"
    kept = Kept.MEMORY
    resumed = Resumed.SNAPSHOT
    scrollback = 100
    keeps = 80

    def __init__(self) -> None:
        self.trims = 0

    def length(self, state: TerminalState) -> int:
        return len(text_of(state))

    def growth(self, action: Any) -> int:
        return len(action.get("data", ""))

    def trimmed(self, state: TerminalState) -> TerminalState:
        self.trims += 1
        kept = text_of(state)[-self.keeps :] if self.keeps else text_of(state)
        return {**state, "content": [{"type": "unclassified", "value": kept}]}


class Stubborn(Screens):
    """Terminals that cannot be cut."""

    keeps = 0


def text_of(state: Any) -> str:
    return "".join(part["value"] for part in state["content"])


def terminal(text: str = "") -> Any:
    content = [{"type": "unclassified", "value": text}] if text else []
    claim = {"kind": "client", "clientId": "c"}
    return {"title": "t", "content": content, "claim": claim, "lifecycle": {"kind": "running"}}


def opened(kind: Screens, text: str = "") -> LiveChannel[Any]:
    return LiveChannel("ahp-terminal:/1", kind, terminal(text))


def printed(channel: LiveChannel[Any], text: str) -> None:
    assert channel.apply({"type": "terminal/data", "data": text}, NOW) is not None


def test_a_run_of_text_that_nobody_looks_at_is_trimmed() -> None:
    channel = opened(Screens())
    for number in range(1000):
        printed(channel, f"{number:05}")
        # What is held besides the state counts as well.
        waiting = str(channel._run.text) if channel._run is not None else ""
        assert len(text_of(channel.settled)) + len(waiting) <= 100
    text = text_of(channel.state)
    assert text.endswith("0099800999")
    assert 80 <= len(text) <= 100


def test_the_text_is_the_end_of_all_that_was_printed_at_every_moment() -> None:
    channel, everything = opened(Screens()), ""
    for number in range(200):
        piece = "abcdefghij"[: number % 11]
        channel.apply({"type": "terminal/data", "data": piece}, NOW)
        everything += piece
        text = text_of(channel.state)
        assert everything.endswith(text)
        assert len(text) >= min(80, len(everything))


def test_one_piece_that_is_too_long_is_trimmed_at_once() -> None:
    channel = opened(Screens())
    printed(channel, "x" * 500 + "end")
    assert text_of(channel.state) == "x" * 77 + "end"


def test_a_state_that_is_long_already_counts_from_the_beginning() -> None:
    channel = opened(Screens(), "x" * 99)
    printed(channel, "ab")
    assert len(text_of(channel.state)) == 80


def test_an_action_that_prints_nothing_is_counted_too() -> None:
    channel = opened(Screens(), "x" * 99)
    channel.apply({"type": "terminal/cleared"}, NOW)
    printed(channel, "a" * 60)
    printed(channel, "b" * 40)
    assert text_of(channel.state) == "a" * 60 + "b" * 40


def test_a_snapshot_after_a_trim_shows_the_trimmed_state() -> None:
    channel = opened(Screens())
    printed(channel, "x" * 90)
    assert len(text_of(loads(b"".join(channel.snapshot_json())))) == 90
    printed(channel, "y" * 20)
    assert text_of(loads(b"".join(channel.snapshot_json()))) == "x" * 60 + "y" * 20


def test_the_whole_state_is_not_looked_at_for_every_piece_of_what_cannot_be_cut() -> None:
    kind = Stubborn()
    channel = opened(kind)
    for _ in range(1000):
        printed(channel, "x")
    assert len(text_of(channel.state)) == 1000
    assert kind.trims <= 1000 // 20


def test_other_kinds_are_never_trimmed() -> None:
    class Endless(Screens):
        scrollback = None  # type: ignore[assignment]

    kind = Endless()
    channel = opened(kind)
    for _ in range(1000):
        printed(channel, "x")
    assert len(text_of(channel.state)) == 1000
    assert kind.trims == 0
