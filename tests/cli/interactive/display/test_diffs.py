"""Diffs on the screen and in the pager: coloured, bounded, with nothing hidden in them."""

from __future__ import annotations

from agenthost.cli.format.diff_rows import diff_rows
from agenthost.cli.interactive.display import diffs
from agenthost.cli.interactive.display.styled_text import StyledLine, text_of
from tests.cli.interactive.samples import shown


def marked(lines: list[StyledLine]) -> list[str]:
    """Return the marked words, line by line."""
    return ["|".join(text for style, text in row if "marked" in style) for row in lines]


def test_of_a_long_diff_the_beginning_is_shown_and_how_much_is_left_out() -> None:
    rows = diff_rows(None, "".join(f"line {n}\n" for n in range(10_000)))
    lines = diffs.beginning(rows, 40, 12)
    assert shown(lines) == [
        "@@ -0,0 +1,10000 @@",
        *(f"+line {n}" for n in range(11)),
        "… 9,989 more · /show",
    ]
    assert lines[1][0][0] == "good"


def test_a_single_line_is_not_hidden() -> None:
    rows = [f"+{n}" for n in range(13)]
    assert shown(diffs.beginning(rows, 40, 12)) == rows


def test_a_line_as_long_as_a_file_takes_no_more_rows_than_others() -> None:
    lines = diffs.beginning(["@@ -1 +1 @@", "+" + "x" * 100_000, "+y"], 40, 12)
    assert len(lines) == 13
    assert text_of(lines[-1]) == "… 2 more · /show"


def test_counts_are_of_the_rows_themselves() -> None:
    assert diffs.counts(diff_rows("a\nb\nc\n", "a\nB\nc\nd\n")) == (2, 1)


def test_words_that_differ_within_a_changed_line_are_marked() -> None:
    rows = diff_rows("def total(items, tax):\n    x\n", "def total(items, rate):\n    x\n")
    lines = list(diffs.whole(rows, 80))
    assert marked(lines) == ["", "tax", "rate", ""]
    assert shown(lines) == [*rows]


def test_lines_are_compared_with_those_whose_place_they_took() -> None:
    rows = ["-one = 1", "-two = 2", "+one = 10", "+two = 20", "-three = 3", "+three = 30"]
    assert marked(list(diffs.whole(rows, 80))) == ["1", "2", "10", "20", "3", "30"]


def test_lines_that_were_written_anew_are_not_marked() -> None:
    for rows in (["-one = 1", "+one = 1", "+two"], ["-all of it", "+nothing left"], ["+a", "-b"]):
        assert not any(marked(list(diffs.whole(rows, 80))))


def test_marks_stay_in_place_beside_hidden_characters_and_broken_lines() -> None:
    rows = ["-a\tsafe\x1b[8m value = 1", "+a\tsafe\x1b[8m value = 2"]
    lines = list(diffs.whole(rows, 80))
    assert marked(lines) == ["1", "2"]
    assert "\\x1b[8m" in text_of(lines[0])
    narrow = list(diffs.whole(rows, 10))
    assert "".join(row if row[0] in "-+" else row[1:] for row in shown(narrow)) == (
        "".join(shown(lines))
    )


def test_what_goes_on_in_the_next_row_does_not_pass_for_a_line_of_its_own() -> None:
    rows = ["+echo 12345-rm everything", "-a line that is long"]
    for lines in (diffs.styled(rows, 12), list(diffs.whole(rows, 12))):
        assert shown(lines) == [
            "+echo 12345",
            " -rm everyth",
            " ing",
            "-a line tha",
            " t is long",
        ]
        assert lines[1][0][0] == lines[2][0][0] == "good"
    assert shown(diffs.styled(["+ab"], 2)) == ["+a", "b"]


def test_long_changes_are_shown_as_they_are_made() -> None:
    rows = (f"{'-' if n < 1_000_000 else '+'}{n}" for n in range(2_000_000))
    first = next(diffs.whole(rows, 80))
    assert text_of(first) == "-0"
    # Only as much as is compared at once was taken.
    assert int(next(rows)[1:]) <= 2 * diffs.LONGEST_PAIRED + 1
