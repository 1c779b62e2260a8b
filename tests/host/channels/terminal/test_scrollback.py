"""How much of a terminal's output is kept: the newest, in whole lines where there are lines."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.channels.terminal.kind import SCROLLBACK, TERMINAL
from agenthost.host.channels.terminal.scrollback import PART_LENGTH, length_of, without_oldest
from agenthost.host.log.channel import LiveChannel

NOW = "2026-01-01T00:00:00.000Z"


def state_of(*content: Any) -> Any:
    claim = {"kind": "client", "clientId": "c"}
    lifecycle = {"status": "running"}
    return {"title": "t", "content": list(content), "lifecycle": lifecycle, "claim": claim}


def printed(text: str) -> Any:
    return {"type": "unclassified", "value": text}


def command(output: str, number: int = 1, *, complete: bool = True) -> Any:
    return {
        "type": "command",
        "commandId": f"cmd-{number}",
        "commandLine": "ls",
        "output": output,
        "timestamp": 1,
        "isComplete": complete,
    }


def text_of(state: Any) -> str:
    return "".join(part.get("value", part.get("output", "")) for part in state["content"])


parts = st.lists(
    st.one_of(
        st.text("ab\n", max_size=400).map(printed), st.text("ab\n", max_size=400).map(command)
    ),
    min_size=1,
    max_size=12,
)


@given(parts, st.integers(PART_LENGTH + 10, 3000))
def test_what_is_kept_is_the_end_and_no_more_than_there_may_be(content: Any, most: int) -> None:
    state = state_of(*content)
    kept = without_oldest(state, most)
    assert length_of(kept) <= max(most, 0) or len(kept["content"]) == 1
    assert text_of(state).endswith(text_of(kept))
    assert kept["content"][-1]["type"] == content[-1]["type"]
    if length_of(state) <= most:
        assert kept == state


def test_lines_stay_whole_and_a_command_that_runs_stays() -> None:
    lines = "".join(f"line {number}\n" for number in range(1000))
    state = state_of(printed("before\n"), command(lines, complete=False))
    kept: Any = without_oldest(state, 2000)
    (part,) = kept["content"]
    assert (part["commandId"], part["isComplete"]) == ("cmd-1", False)
    assert part["output"].startswith("line ")
    assert lines.endswith(part["output"])
    endless = without_oldest(state_of(command("x" * 50_000, complete=False)), 2000)
    assert 1000 < len(text_of(endless)) <= 2000


def test_a_channel_that_nobody_looks_at_does_not_grow() -> None:
    channel = LiveChannel("t:/1", TERMINAL, state_of())
    for _ in range(40):
        channel.apply({"type": "terminal/data", "data": "y\n" * 25_000}, NOW)
        assert length_of(channel.state) <= SCROLLBACK
    for number in range(3000):
        executed = {"type": "terminal/commandExecuted", "commandId": f"cmd-{number}"}
        channel.apply({**executed, "commandLine": "true", "timestamp": 1}, NOW)
        channel.apply({"type": "terminal/commandFinished", "commandId": f"cmd-{number}"}, NOW)
    assert len(channel.state["content"]) < 1000
