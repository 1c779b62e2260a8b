"""What a terminal answers: once, and not without end."""

from __future__ import annotations

from agenthost.workspace.pty.interpreter import OutputInterpreter
from agenthost.workspace.pty.osc import Printed
from agenthost.workspace.pty.replies import MOST_ANSWERS


def test_who_asks_without_end_is_not_answered_without_end() -> None:
    answers: list[str] = []
    interpreter = OutputInterpreter(answers.append)
    flood = b"\x1b[c\x1b[6n" * MOST_ANSWERS + b"text"
    assert list(interpreter.feed(flood, 10.0)) == [Printed("text")]
    assert len(answers) == MOST_ANSWERS
    list(interpreter.feed(b"\x1b[5n", 10.5))
    assert len(answers) == MOST_ANSWERS
    list(interpreter.feed(b"\x1b[5n", 11.5))
    assert answers[-1] == "\x1b[0n"
    # Also when somebody has set the clock back.
    list(interpreter.feed(b"\x1b[5n" * MOST_ANSWERS, 3.0))
    assert len(answers) == 2 * MOST_ANSWERS + 1


def test_those_who_follow_are_not_asked_without_end_either() -> None:
    interpreter = OutputInterpreter(lambda text: None, followed=lambda: True)
    shown = list(interpreter.feed(b"\x1b[6n" * 5000, 10.0))
    assert shown == [Printed("\x1b[6n")] * MOST_ANSWERS
