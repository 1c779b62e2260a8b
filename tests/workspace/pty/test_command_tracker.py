"""Commands from marks: which count, when they end, and what a program cannot pretend."""

from __future__ import annotations

from agenthost.workspace.pty.command_tracker import (
    CommandBegan,
    CommandEnded,
    CommandTracker,
    DetectionAvailable,
    TerminalEvent,
)
from agenthost.workspace.pty.interpreter import OutputInterpreter
from agenthost.workspace.pty.osc import FolderMark, OscParser, Printed, TitleMark
from agenthost.workspace.pty.replies import LATE


def osc(body: str) -> str:
    return f"\x1b]{body}\x07"


class Terminal:
    """A tracker with the parser before it, and a clock that goes on by ten with each piece."""

    def __init__(self, nonce: str | None = None) -> None:
        self.tracker = CommandTracker(nonce)
        self.parser = OscParser()
        self.now = 1000

    def prints(self, text: str) -> list[TerminalEvent]:
        self.now += 10
        segments = self.parser.feed(text)
        return [event for segment in segments for event in self.tracker.feed(segment, self.now)]


def test_a_command_has_its_line_its_output_its_code_and_its_time() -> None:
    terminal = Terminal("N")
    assert terminal.prints(osc("633;A") + "$ " + osc("633;B")) == [
        DetectionAvailable(),
        Printed("$ "),
    ]
    assert terminal.prints(osc("633;E;make all;N") + osc("633;C;N") + "out") == [
        CommandBegan("cmd-1", "make all", 1020),
        Printed("out"),
    ]
    assert terminal.tracker.busy
    assert terminal.prints("put" + osc("633;D;2;N") + osc("633;P;Cwd=/x")) == [
        Printed("put"),
        CommandEnded("cmd-1", 2, 10),
        FolderMark("/x"),
    ]
    # An empty line ends nothing, and the same folder is no news.
    assert terminal.prints(osc("633;D;0;N") + osc("633;P;Cwd=/x") + osc("633;A")) == []


def test_what_a_program_prints_neither_begins_nor_ends_a_command() -> None:
    terminal = Terminal("N")
    terminal.prints(osc("633;E;cat log;N") + osc("633;C;N"))
    for fake in ("633;D;9", "633;D;9;M", "633;C", "633;C;M", "633;A", "133;D;9", "133;C"):
        assert terminal.prints(osc(fake)) == [], fake
    assert terminal.prints(osc("633;E;rm -rf /") + osc("633;E;rm;M")) == []
    assert terminal.prints(osc("633;D;0;N")) == [CommandEnded("cmd-1", 0, 90)]
    # Nor does it say what the next one is.
    assert terminal.prints(osc("633;E;;N") + osc("633;C;N")) == [CommandBegan("cmd-2", "", 1110)]


def test_a_shell_without_our_script_is_believed_in_its_own_dialect() -> None:
    terminal = Terminal()
    assert terminal.prints(osc("133;A"))[0] == DetectionAvailable()
    terminal.tracker.typed("ls")
    assert terminal.prints(osc("133;C")) == [CommandBegan("cmd-1", "ls", 1020)]
    assert terminal.prints(osc("633;D;1")) == []
    # Its end was lost: the next prompt is one.
    assert terminal.prints(osc("133;A")) == [CommandEnded("cmd-1", None, 20)]
    terminal.prints(osc("133;C"))
    assert terminal.prints(osc("133;C")) == [
        CommandEnded("cmd-2", None, 10),
        CommandBegan("cmd-3", "", 1060),
    ]
    assert list(terminal.tracker.finish(2000)) == [CommandEnded("cmd-3", None, 940)]
    assert list(terminal.tracker.finish(2000)) == []


def test_our_script_beside_a_theme_counts_each_command_once() -> None:
    terminal = Terminal("N")
    terminal.prints(osc("133;A") + osc("633;A"))
    marks = osc("133;C") + osc("633;E;ls;N") + osc("633;C;N")
    assert terminal.prints(marks) == [CommandBegan("cmd-1", "ls", 1020)]
    assert terminal.prints(osc("633;D;0;N") + osc("133;D;0")) == [CommandEnded("cmd-1", 0, 10)]


def interpreted(data: bytes, *, followed: bool = False) -> tuple[list[TerminalEvent], list[str]]:
    answers: list[str] = []
    interpreter = OutputInterpreter(answers.append, followed=lambda: followed)
    events = [event for byte in data for event in interpreter.feed(bytes((byte,)), 1.0)]
    return [*events, *interpreter.finish(1.0)], answers


def test_characters_that_come_in_halves_and_bytes_that_are_none() -> None:
    events, _ = interpreted("é€\U0001f600".encode() + b"\xff\xc3")
    text = "".join(event.text for event in events if isinstance(event, Printed))
    assert text == "é€\U0001f600\ufffd\ufffd"


def test_a_program_is_answered_once_and_nobody_sees_the_question() -> None:
    events, answers = interpreted(b"a\x1b[c\x1b[5n\x1b]11;?\x07\x1b[6nb")
    assert events == [Printed("a"), Printed("b")]
    assert answers == ["\x1b[?62;22c", "\x1b[0n", "\x1b]11;rgb:0000/0000/0000\x1b\\", "\x1b[1;1R"]


def test_where_the_cursor_is_the_first_of_those_who_look_says() -> None:
    answers: list[str] = []
    interpreter = OutputInterpreter(answers.append, followed=lambda: True)
    assert list(interpreter.feed(b"\x1b[6n", 1.0)) == [Printed("\x1b[6n")]
    assert answers == []
    typed = interpreter.replies.typed
    assert typed("\x1b[3;4R", 1.1) == "\x1b[3;4R"
    assert typed("x\x1b[5;6R", 1.2) == "x"
    # Later it is a key with a modifier.
    assert typed("\x1b[1;2R", 1.1 + LATE) == "\x1b[1;2R"


def test_a_title_is_told_when_it_changes() -> None:
    events, _ = interpreted(b"\x1b]2;a\x07" * 2 + b"\x1b]0;b\x07")
    assert [event for event in events if isinstance(event, TitleMark)] == [
        TitleMark("a"),
        TitleMark("b"),
    ]
