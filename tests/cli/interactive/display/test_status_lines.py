"""The lower part of the screen."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from agenthost.cli.interactive.display.status_lines import (
    ChatLocation,
    ConnectionView,
    background_lines,
    bar,
    busy_line,
    link_note,
    pending_lines,
    seconds_since,
    short_count,
    unsent_lines,
)
from agenthost.cli.interactive.display.styled_text import text_of
from agenthost.client import Closed, Connected, Connecting, Reconnecting
from agenthost.protocol import NEWEST
from tests.cli.interactive.samples import active, chat, shown

PLACE = ChatLocation("Demo", "A title", "3f2a91c0")
UP = ConnectionView(Connected(NEWEST, "fresh"))
DOWN = ConnectionView(Reconnecting("gone", 4.0, 1), since=100.0)


def row(link: ConnectionView, now: float = 0.0, *, running: bool = False, width: int = 80) -> str:
    return text_of(bar(PLACE, link, running=running, now=now, width=width))


def test_the_bar_says_where_one_is_and_what_the_keys_do() -> None:
    assert row(UP).startswith("Demo · A title · 3f2a91c0 ")
    assert row(UP).endswith("/help · Ctrl-D leaves")
    assert row(UP, running=True).endswith("!text steers · Ctrl-C cancels · Ctrl-D leaves")
    assert row(UP, running=True, width=50).endswith("Ctrl-C cancels")
    assert len(row(UP, running=True, width=20)) <= 20


def test_the_bar_names_no_key_that_does_something_else_while_something_is_asked() -> None:
    asking = text_of(bar(PLACE, UP, running=True, asking=True, now=0.0, width=80))
    assert asking.endswith(" Ctrl-C cancels · Ctrl-D leaves")
    assert "steers" not in asking
    assert "queues" not in asking


def test_on_a_narrow_screen_the_title_gives_way_to_the_keys() -> None:
    assert row(UP, running=True, width=39) == "Demo · 3f2a91c0          Ctrl-C cancels"
    assert row(DOWN, 101.0, width=39).endswith("○ connection lost")
    assert row(DOWN, 101.0, width=20) == "○ connection lost"


FULL = ChatLocation(
    "Demo", "A title", "3f2a91c0", "", "allow edits", "gpt-5", tokens=12_400, share=0.31
)


@pytest.mark.parametrize(
    ("width", "text"),
    [
        (
            119,
            "Demo · gpt-5 · allow edits · 12.4k tokens · 31 % of context · A title · 3f2a91c0",
        ),
        (80, "Demo · gpt-5 · allow edits · 12.4k tokens · 31 % of context · 3f2a91c0"),
        (70, "Demo · gpt-5 · allow edits · 12.4k tokens · 31 % of context"),
        (55, "Demo · gpt-5 · allow edits · 31 % of context"),
        (41, "Demo · gpt-5 · allow edits · 31 %"),
        (39, "Demo · allow edits · 31 %"),
        (30, "Demo · allow edits"),
        (20, "Demo"),
    ],
)
def test_the_bar_drops_the_least_important_first(width: int, text: str) -> None:
    shown = text_of(bar(FULL, UP, running=False, now=0.0, width=width))
    assert shown.split("  ")[0] == text
    assert "/help" in shown
    assert len(shown) <= width


def test_a_context_that_is_nearly_full_stands_out() -> None:
    for share, style in ((0.79, "dim"), (0.8, "busy")):
        place = replace(FULL, share=share)
        shown = bar(place, UP, running=False, now=0.0, width=119)
        assert [how for how, text in shown if text.endswith("of context")] == [style]


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.0k"),
        (12_449, "12.4k"),
        (123_456, "123k"),
        (999_900, "1.0M"),
        (2**53, "9007199255M"),
    ],
)
def test_counts_are_short(count: int, text: str) -> None:
    assert short_count(count) == text


def test_the_bar_counts_down_to_the_next_attempt() -> None:
    assert row(DOWN, 101.0).endswith("○ connection lost · trying again in 3 s")
    assert row(DOWN, 109.0).endswith("○ connection lost · trying again")
    assert row(ConnectionView(Connecting(2))).endswith("○ connecting…")
    assert row(ConnectionView(Closed())).endswith("○ disconnected")


def test_the_loss_of_the_connection_is_told_once_and_so_is_its_return() -> None:
    lost = link_note(DOWN.state, False)
    assert lost is not None
    assert text_of(lost) == "! connection lost: gone"
    assert link_note(DOWN.state, True) is None
    back = link_note(UP.state, True)
    assert back is not None
    assert text_of(back) == "✓ connected again"
    assert link_note(UP.state, False) is None


def test_a_turn_at_work_shows_what_it_does_and_for_how_long() -> None:
    state = chat(running=active(), activity="thinking hard")
    assert text_of(busy_line(state, 10.0, 22.0, UP))[2:] == "thinking hard · 12 s"
    assert text_of(busy_line(chat(), 10.0, 100.0, UP))[2:] == "working · 1 min 30 s"
    assert text_of(busy_line(chat(), 10.0, 22.0, DOWN)) == "· working, when last heard of"


def test_how_long_a_turn_has_run_is_known_to_those_who_come_later() -> None:
    now = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert seconds_since("2026-01-01T11:59:30Z", now) == 30.0
    assert seconds_since("2026-01-01T12:00:30", now) == 0.0
    assert seconds_since("", now) == 0.0


def test_a_message_is_shown_while_it_is_on_its_way() -> None:
    before, after = chat(), chat(running=active(text="hello"))
    assert shown(unsent_lines(after, before, UP, 60)) == ["", "› hello", "  sending…"]
    assert shown(unsent_lines(after, before, DOWN, 60))[-1] == "  waits for the connection"
    assert unsent_lines(after, after, UP, 60) == []


def test_what_is_queued_and_what_steers_is_shown() -> None:
    def pending(id: str, text: str) -> dict[str, object]:
        return {"id": id, "message": {"text": text, "origin": {"kind": "user"}}}

    state = chat(
        running=active(),
        steeringMessage=pending("s", "faster"),
        queuedMessages=[pending("a", "one\nmore"), pending("b", "x" * 99)],
    )
    assert shown(pending_lines(state, 40)) == [
        "steer faster",
        "queued 1 one more",
        "queued 2 " + "x" * 30 + "…",
    ]
    del state["activeTurn"]
    assert shown(pending_lines(state, 60))[-1].startswith("this waits until")


def test_what_runs_in_the_background_is_shown_whether_or_not_a_turn_runs() -> None:
    server = {"id": "a", "kind": "shell", "label": "Server", "command": "npm start"}
    worker = {"id": "b", "kind": "subagent", "label": "x" * 99, "chat": "ahp-chat:/w"}
    for state in (
        chat(backgroundWork=[server, worker]),
        chat(running=active(), backgroundWork=[server, worker]),
    ):
        first, second = shown(background_lines(state, 60))
        assert first == "⟳ in the background: Server: npm start"
        assert len(second) == 60
        assert second.endswith("…")
    assert background_lines(chat(), 60) == []
