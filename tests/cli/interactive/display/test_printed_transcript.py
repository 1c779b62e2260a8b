"""The transcript: every line once, when it is final; all else live."""

from __future__ import annotations

from typing import Any

from agenthost.cli.interactive.display.printed_transcript import Shown, Transcript
from agenthost.cli.interactive.display.styled_text import StyledLine, line, text_of
from tests.cli.interactive.samples import (
    active,
    call,
    chat,
    markdown,
    pending_call,
    reasoning,
    request,
    shown,
    tool,
    turn,
)

WIDTH = 60

Json = dict[str, Any]


class Screen:
    """Collects what a transcript prints."""

    def __init__(self, **options: Any) -> None:
        self.transcript = Transcript(**options)
        self.printed: list[str] = []
        self.live: list[str] = []

    def update(self, state: dict[str, Any]) -> Shown:
        result = self.transcript.update(state, WIDTH)
        self.printed += [text for text in shown(result.printed) if text]
        self.live = [text for text in shown(result.live) if text]
        return result


def test_a_chat_that_is_attached_to_is_printed_as_a_whole() -> None:
    screen = Screen()
    screen.update(chat(turn(markdown("one")), turn(markdown("two"), id="2", state="cancelled")))
    assert screen.printed == ["› hi", "one", "› hi", "two", "■ cancelled"]
    assert screen.live == []


def test_an_answer_is_printed_line_by_line_and_its_last_line_is_live() -> None:
    screen = Screen()
    screen.update(chat(running=active(markdown("first\nsec"))))
    assert (screen.printed, screen.live) == (["› hi", "first"], ["sec"])
    screen.update(chat(running=active(markdown("first\nsecond\nth"))))
    assert (screen.printed, screen.live) == (["› hi", "first", "second"], ["th"])
    screen.update(chat(turn(markdown("first\nsecond\nthird"))))
    assert (screen.printed, screen.live) == (["› hi", "first", "second", "third"], [])


def test_a_state_that_says_nothing_new_prints_nothing() -> None:
    screen = Screen()
    state = chat(turn(markdown("one")), running=active(markdown("tw"), id="2"))
    screen.update(state)
    assert screen.update(state).printed == []
    assert screen.live == ["tw"]


def test_turns_that_came_and_went_between_two_looks_are_printed() -> None:
    screen = Screen()
    screen.update(chat(running=active(markdown("o"))))
    screen.update(
        chat(
            turn(markdown("one")),
            turn(markdown("two"), id="2"),
            running=active(markdown("thr"), id="3"),
        )
    )
    assert screen.printed == ["› hi", "one", "› hi", "two", "› hi"]
    assert screen.live == ["thr"]


def test_a_tool_call_is_live_until_it_has_ended() -> None:
    screen = Screen()
    running = call("running", content=[{"type": "text", "text": "a\nb\n"}], confirmed="setting")
    screen.update(chat(running=active(tool(running))))
    assert screen.printed == ["› hi"]
    assert screen.live == ["● Shell · Run ls", "  │ a", "  │ b"]
    screen.update(chat(running=active(tool(call(content=[{"type": "text", "text": "a\n"}])))))
    # What was run is not in the line any more, so it is below it.
    assert screen.printed == ["› hi", "✓ Shell · Ran it", "  ls", "  │ a"]
    assert screen.live == []


def test_what_follows_a_running_call_waits_for_it() -> None:
    screen = Screen()
    screen.update(chat(running=active(tool(call("running")), markdown("meanwhile\nmore"))))
    assert screen.printed == ["› hi"]
    assert screen.live == ["● Shell · Run ls", "meanwhile", "more"]
    screen.update(chat(running=active(tool(), markdown("meanwhile\nmore"))))
    assert screen.printed == ["› hi", "✓ Shell · Ran it", "  ls", "meanwhile"]
    assert screen.live == ["more"]


def test_what_waits_for_approval_is_left_to_the_card() -> None:
    screen = Screen()
    screen.update(chat(running=active(tool(pending_call()))))
    assert screen.live == []


def test_of_a_long_output_the_tail_is_live_and_both_ends_stay() -> None:
    output = [{"type": "text", "text": "\n".join(f"row {n}" for n in range(40))}]
    screen = Screen()
    screen.update(chat(running=active(tool(call("running", content=output)))))
    assert screen.live[1] == "  │ … 34 more rows"
    assert screen.live[-1] == "  │ row 39"
    screen.update(chat(turn(tool(call(content=output)))))
    assert screen.printed[3:8] == [
        *(f"  │ row {n}" for n in range(4)),
        "  │ … 28 more rows · /show",
    ]
    assert screen.printed[-1] == "  │ row 39"


def test_reasoning_is_folded_into_one_line() -> None:
    screen = Screen()
    screen.update(chat(running=active(reasoning("let me see\nwell"))))
    assert screen.live == ["∴ thinking: let me see well"]
    assert screen.printed == ["› hi"]
    screen.update(chat(running=active(reasoning("let me see\nwell"), markdown("yes"))))
    assert screen.printed == ["› hi", "∴ thought, 4 words · /reasoning shows them"]


def test_reasoning_can_be_shown_in_full() -> None:
    screen = Screen(unfold=True)
    screen.update(chat(turn(reasoning("let me see\n\nwell"), markdown("yes"))))
    assert screen.printed == ["› hi", "let me see", "well", "yes"]


def test_settled_questions_are_printed_with_their_answers() -> None:
    answers = {
        "name": {"state": "submitted", "value": {"kind": "text", "value": "Ada"}},
        "age": {"state": "skipped"},
        "happy": {"state": "submitted", "value": {"kind": "boolean", "value": False}},
        "fruit": {"state": "submitted", "value": {"kind": "selected-many", "value": ["a", "p"]}},
    }
    screen = Screen()
    screen.update(chat(running=active(request())))
    assert screen.printed == ["› hi"]
    screen.update(chat(running=active(request("accept", answers=answers))))
    assert screen.printed[1:] == [
        "? Some questions",
        "  Name? Ada",
        "  Age? —",
        "  Height? —",
        "  Happy? no",
        "  Colour? —",
        "  Fruit? apple, pear",
    ]


def test_a_question_that_was_asked_alone_stands_in_one_line_with_its_answer() -> None:
    alone = {"id": "a", "kind": "text", "message": "Who are you?"}
    answers = {"a": {"state": "submitted", "value": {"kind": "text", "value": "Ada"}}}
    asked = {"message": "Who are you?", "questions": [alone], "answers": answers}
    screen = Screen()
    screen.update(chat(turn(request("accept", **asked), request("decline", **asked))))
    assert screen.printed[1:] == ["? Who are you?  Ada", "? Who are you?  declined"]


def test_questions_that_nobody_answered_are_printed_when_the_turn_ends() -> None:
    screen = Screen()
    screen.update(chat(running=active(request())))
    screen.update(chat(turn(request(), state="cancelled")))
    assert screen.printed == ["› hi", "? Some questions  not answered", "■ cancelled"]


def failure(error: Json, **members: Any) -> Json:
    return {"kind": "error", "error": error, **members}


def test_a_failure_without_a_reason_is_shown() -> None:
    screen = Screen()
    screen.update(chat(turn(markdown("so far"), state="error")))
    assert screen.printed == ["› hi", "so far", "✗ no reason given"]


BROKE: Json = {"errorType": "x", "message": "it broke"}
FAILED = (markdown("so far"), failure(BROKE, resumable=True))
FAILED_LINES = ["› hi", "so far", "✗ it broke", "/resume goes on from here"]


def test_a_resumed_turn_goes_on_below_what_is_printed_of_it() -> None:
    screen = Screen()
    screen.update(chat(turn(*FAILED, state="error")))
    assert screen.printed == FAILED_LINES
    screen.update(chat(running=active(*FAILED)))
    screen.update(chat(running=active(*FAILED, markdown("and on", id="q"))))
    screen.update(chat(turn(*FAILED, markdown("and on", id="q"), state="complete")))
    assert screen.printed == [*FAILED_LINES, "── resumed ──", "and on"]


def test_a_turn_that_was_resumed_unseen_is_shown_to_its_end() -> None:
    screen = Screen()
    screen.update(chat(turn(*FAILED, state="error")))
    screen.update(chat(turn(*FAILED, failure(BROKE), state="error")))
    assert screen.printed == [*FAILED_LINES, "── resumed ──", "✗ it broke"]


def test_a_question_that_a_resumed_turn_drops_does_not_repeat_the_turn() -> None:
    asked = {"kind": "inputRequest", "request": {"id": "q", "message": "Who?"}}
    dropped = {**asked, "response": "cancel"}
    broke = failure(BROKE, resumable=True)
    screen = Screen()
    screen.update(chat(turn(asked, broke, state="error")))
    before = list(screen.printed)
    screen.update(chat(running=active(dropped, broke, markdown("on", id="z"))))
    screen.update(chat(turn(dropped, broke, markdown("on", id="z"), state="complete")))
    assert screen.printed == [*before, "── resumed ──", "on"]


def test_only_the_last_turn_is_said_to_be_resumable() -> None:
    screen = Screen()
    failed = turn(*FAILED, state="error")
    screen.update(chat(failed, {**turn(markdown("later"), state="complete"), "id": "u"}))
    assert "/resume goes on from here" not in screen.printed


def test_an_error_ends_a_turn_with_its_message() -> None:
    screen = Screen()
    error = {"errorType": "x", "message": "it\x1b[31m broke"}
    screen.update(chat(turn(markdown("so far"), failure(error), state="error")))
    assert screen.printed == ["› hi", "so far", "✗ it broke"]


def test_an_error_of_several_lines_keeps_them() -> None:
    screen = Screen()
    error = {"errorType": "x", "message": "it ended; it last said:\n  first\n\nsecond"}
    screen.update(chat(turn(failure(error), state="error")))
    assert screen.printed == ["› hi", "✗ it ended; it last said:", "  first", "  second"]


def test_a_command_that_its_turn_cancelled_was_not_skipped() -> None:
    screen = Screen()
    screen.update(chat(running=active(tool(call("running")))))
    cut = call("cancelled", reason="skipped")
    screen.update(chat(turn(tool(cut), state="cancelled")))
    assert screen.printed == ["› hi", "⊘ Shell · Run ls — cancelled", "■ cancelled"]


def test_a_plan_is_a_list() -> None:
    plan = "Plan\n\n- [x] read\n- [ ] write `it` (in progress)\n- [ ] check"
    screen = Screen()
    screen.update(chat(turn({"kind": "systemNotification", "content": plan})))
    assert screen.printed[1:] == [
        "· Plan",
        "  ✓ read",
        "  ○ write it (in progress)",
        "  ○ check",
    ]


def test_text_added_to_an_earlier_part_is_not_lost() -> None:
    screen = Screen()
    screen.update(chat(running=active(markdown("one\n", "a"), markdown("two\n", "b"))))
    screen.update(chat(running=active(markdown("one\nmore\n", "a"), markdown("two\n", "b"))))
    assert screen.printed == ["› hi", "one", "two", "… further above it goes on:", "more"]


def test_a_turn_that_was_changed_is_printed_again() -> None:
    screen = Screen()
    screen.update(chat(running=active(markdown("one\ntwo"))))
    screen.update(chat(running=active(markdown("other\nthree"))))
    assert screen.printed == [
        "› hi",
        "one",
        "── this turn changed; here it is again ──",
        "› hi",
        "other",
    ]
    assert screen.live == ["three"]


def test_turns_that_were_cut_off_are_said_to_be_gone() -> None:
    screen = Screen()
    screen.update(chat(turn(markdown("one")), turn(markdown("two"), id="2"), turn(id="3")))
    screen.update(chat(turn(markdown("one")), running=active(id="4", text="anew")))
    assert screen.printed[-2:] == ["── the last 2 turns were removed ──", "› anew"]


def test_a_running_turn_that_vanishes_is_said_to_be_gone() -> None:
    screen = Screen()
    screen.update(chat(running=active(markdown("o"))))
    screen.update(chat())
    assert screen.printed == ["› hi", "── that turn was removed ──"]


def test_older_turns_that_are_loaded_later_are_not_printed_again() -> None:
    screen = Screen()
    screen.update(chat(turn(id="2"), turn(id="3")))
    before = list(screen.printed)
    screen.update(chat(turn(id="1"), turn(id="2"), turn(id="3")))
    assert screen.printed == before


def test_unknown_parts_are_mentioned_rather_than_dropped() -> None:
    screen = Screen()
    screen.update(chat(turn({"kind": "hologram"}, {"kind": "contentRef", "uri": "ahp-content:/x"})))
    assert screen.printed[1:] == [
        "· something this version cannot show (hologram)",
        "⇢ ahp-content:/x",
    ]


def test_every_printed_row_fits_the_screen() -> None:
    screen = Transcript()
    state = chat(
        turn(
            reasoning("think " * 50),
            tool(call(toolInput="x" * 200, content=[{"type": "text", "text": "y" * 300}])),
            markdown("word " * 80 + "\n```\n" + "z" * 200 + "\n```"),
            request("accept"),
            tool(call("cancelled", reasonMessage="no " * 60)),
            state="error",
            error={"errorType": "x", "message": "bad " * 60},
        )
    )
    for item in screen.update(state, 40).printed:
        assert len(text_of(item)) <= 40


def edited(**fields: Any) -> dict[str, Any]:
    edit = {"type": "fileEdit", "after": {"uri": "file:///a", "content": {"uri": "x"}}}
    return tool(call(content=[edit], toolInput="", **fields))


def test_what_was_changed_is_printed_once_it_is_known() -> None:
    known: list[StyledLine] = []
    screen = Screen(
        edit_lines=lambda edit, width, most: known[:most] or None,
        is_loading=lambda call: not known,
    )
    done = chat(turn(edited(), markdown("done")), running=active(id="2", text="next"))
    screen.update(done)
    assert screen.printed == ["› hi"]
    assert screen.live == ["✓ Shell · Ran it", "  │ new /a", "done"]
    known += [line(f"+{n}") for n in range(20)]
    screen.update(done)
    printed = screen.printed
    assert printed[1:6] == ["✓ Shell · Ran it", "  │ new /a", "  │ +0", "  │ +1", "  │ +2"]
    assert printed[-3:] == ["  │ +11", "done", "› next"]


def test_of_an_output_as_long_as_a_log_only_the_end_is_looked_at_while_it_runs() -> None:
    output = [{"type": "text", "text": "".join(f"row {n}\n" for n in range(100_000))}]
    screen = Screen()
    screen.update(chat(running=active(tool(call("running", content=output)))))
    assert screen.live[1] == "  │ … 99,994 more rows"
    assert screen.live[-1] == "  │ row 99999"


def test_an_agents_traceback_is_shown_below_its_error_where_the_host_tells_it() -> None:
    stack = "\n".join([*(f"  frame {n}\x1b[2J" for n in range(30)), "ValueError: no"])
    error = {"errorType": "agentFailed", "message": "the agent failed", "stack": stack}
    screen = Screen()
    screen.update(chat(turn({"kind": "error", "id": "e", "error": error}, state="error")))
    assert screen.printed[1:4] == [
        "✗ the agent failed",
        "  … 11 earlier rows",
        "    frame 11\\x1b[2J",
    ]
    assert screen.printed[22] == "  ValueError: no"


def test_several_edits_share_the_rows_and_each_keeps_its_heading() -> None:
    edits = [
        {"type": "fileEdit", "after": {"uri": f"file:///{n}", "content": {"uri": "x"}}}
        for n in range(10)
    ]
    asked: list[int | None] = []

    def rows(edit: Json, width: int, most: int | None = None, /) -> list[StyledLine]:
        asked.append(most)
        return [line("+")] if len(asked) == 1 else [line("+")] * (most or 0)

    screen = Screen(edit_lines=rows)
    screen.update(chat(turn(tool(call(content=edits[:3], toolInput="")))))
    # The first needed little of its share.
    assert asked == [4, 5, 6]
    assert [text for text in screen.printed if "new" in text] == [f"  │ new /{n}" for n in range(3)]
    screen.update(chat(turn(tool(call(content=edits, toolInput="")), id="2")))
    assert screen.printed[-1] == "  │ … 2 more files · /show"


def test_of_a_long_path_the_end_and_the_counts_are_seen() -> None:
    uri = f"file:///{'folder/' * 20}name.txt"
    edit = {
        "type": "fileEdit",
        "after": {"uri": uri, "content": {"uri": "x"}},
        "diff": {"added": 1, "removed": 60},
    }
    screen = Screen()
    screen.update(chat(turn(tool(call(content=[edit])))))
    assert screen.printed[-1].startswith("  │ new …")
    assert screen.printed[-1].endswith("folder/name.txt +1 −60")
    assert len(screen.printed[-1]) == WIDTH


def terminal_call(status: str, **result: Any) -> Json:
    block: Json = {"type": "terminal", "resource": "ahp-terminal:/1", "title": "make"}
    if result:
        block["result"] = result
    return tool(
        call(status=status, toolInput="make", content=[block], success=True, pastTenseMessage="Ran")
    )


def test_the_end_of_what_a_running_terminal_prints_is_live() -> None:
    printed = "".join(f"line {number}\r\n" for number in range(20)) + "50 %\r60 %\x1b[0m"
    screen = Screen(terminal_tail=lambda uri: printed if uri == "ahp-terminal:/1" else None)
    screen.update(chat(running=active(terminal_call("running"))))
    rows = [row.strip() for row in screen.live if "│" in row]
    assert rows == ["│ … 11 more rows", *(f"│ line {n}" for n in range(11, 20)), "│ 60 %"]


def test_what_a_terminal_printed_is_shown_once_and_then_how_it_ended() -> None:
    screen = Screen()
    part = terminal_call("completed", exitCode=3, preview="a\r\nb\r\n")
    part["toolCall"]["content"].append({"type": "text", "text": "a\nb\n"})
    screen.update(chat(turn(part)))
    assert [row for row in screen.printed if "│" in row] == ["  │ a", "  │ b", "  │ exit code 3"]


def many(count: int, text: str = "answer") -> list[Json]:
    return [turn(markdown(f"{text} {n}"), id=str(n)) for n in range(count)]


def test_of_a_long_chat_the_newest_turns_are_printed_and_how_many_stand_above() -> None:
    screen = Screen()
    screen.update(chat(*many(5_000)))
    assert screen.printed[0] == "… 4,980 earlier turns · /earlier"
    assert screen.printed[1:3] == ["› hi", "answer 4980"]
    assert screen.printed[-1] == "answer 4999"
    screen.update(chat(*many(5_001)))
    assert screen.printed[-2:] == ["› hi", "answer 5000"]


def test_long_turns_make_it_fewer() -> None:
    screen = Screen()
    screen.update(chat(*many(10, "row\n\n" * 60)))
    assert screen.printed[0] == "… 8 earlier turns · /earlier"
    assert len(screen.printed) < 300


def test_of_a_turn_that_is_too_long_itself_the_end_is_printed() -> None:
    rows = "\n\n".join(f"row {n}" for n in range(10_000))
    for state in (chat(turn(markdown(rows))), chat(running=active(markdown(rows + "\n")))):
        screen = Screen()
        result = screen.update(state)
        assert len(result.printed) <= 303
        assert screen.printed[:2] == ["› hi", "… 19,702 rows · /earlier"]
        assert screen.printed[-1] == "row 9999"
        screen.update(chat(turn(markdown(rows)), turn(markdown("next"), id="2")))
        assert screen.printed[-1] == "next"
        earlier = list(screen.transcript.earlier_lines(chat(turn(markdown(rows))), WIDTH))
        assert len(earlier) == 20_002


def test_earlier_turns_are_those_above_the_printed_ones() -> None:
    screen = Screen()
    window = many(90)[30:]
    screen.update(chat(*window, turnsNextCursor="x"))
    assert screen.printed[0] == "… more than 40 earlier turns · /earlier"
    loaded = list(screen.transcript.earlier_lines(chat(*window, turnsNextCursor="x"), WIDTH))
    assert text_of(loaded[0]) == "… still earlier turns: /earlier again"
    assert text_of(loaded[-1]) == "answer 69"
    # More were loaded: nothing is printed again, and they are there to be looked at.
    assert screen.update(chat(*many(90))).printed == []
    rows = shown(screen.transcript.earlier_lines(chat(*many(90)), 60))
    assert rows[1:4] == ["› hi", "", "answer 0"]
    assert rows[-1] == "answer 69"


def test_a_short_chat_has_no_earlier_turns() -> None:
    screen = Screen()
    state = chat(*many(3), running=active(markdown("now"), id="x"))
    screen.update(state)
    assert screen.printed[0] == "› hi"
    assert list(screen.transcript.earlier_lines(state, WIDTH)) == []


def test_many_turns_that_came_at_once_are_not_all_printed() -> None:
    screen = Screen()
    screen.update(chat(*many(1)))
    screen.update(chat(*many(100)))
    assert screen.printed[2] == "… 79 earlier turns · /earlier"
    assert screen.printed[-1] == "answer 99"


def test_what_is_left_once_the_printed_turns_were_removed_is_not_printed_again() -> None:
    screen = Screen()
    screen.update(chat(*many(50)))
    screen.update(chat(*many(10)))
    assert screen.printed[-1] == "── the last 40 turns were removed ──"
    rows = list(screen.transcript.earlier_lines(chat(*many(10)), WIDTH))
    assert text_of(rows[-1]) == "answer 9"


def test_what_is_written_at_once_is_printed_over_several_frames() -> None:
    rows = [f"row {n}" for n in range(1_000)]
    at_once = Screen()
    state = chat(turn(markdown("\n".join(rows)), tool(), markdown("end", id="n"), duration=2000))
    at_once.transcript.update(chat(), WIDTH)
    at_once.update(state)
    transcript, printed, frames = Transcript(), [], 0
    transcript.update(chat(), WIDTH)
    # It begins while the turn runs, and goes on once that is over.
    running = active(markdown("\n".join(rows)), tool())
    for now in (chat(running=running), *[state] * 10):
        result = transcript.update(now, WIDTH, most=200)
        assert len(result.printed) <= 210
        assert not (result.more and result.live)
        printed += [text for text in shown(result.printed) if text]
        frames += result.more
    assert printed == at_once.printed
    assert frames == 5
