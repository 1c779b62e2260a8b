"""Colours of code, which are found line by line and stay."""

from __future__ import annotations

import pytest
from pygments.lexers import get_lexer_by_name

from agenthost.cli.interactive.display import code_colours
from agenthost.cli.interactive.display.code_colours import (
    LONGEST_COLOURED,
    MOST_COLOURED,
    WORDS,
    code_state,
    colour,
)
from agenthost.cli.interactive.display.styled_text import StyledLine, text_of

SAMPLES = {
    "python": '@cached\ndef f(x: int) -> str:\n    """One\n    two."""\n    return f"{x}"  # 3\n',
    "bash": 'for x in 1 2; do\n  echo "a $x\nb" | grep -v c  # comment\ndone\n',
    "css": "/* one\n two */\na:hover { color: #fff; margin: 1px }\n",
    "typescript": "/** one\n * two */\nexport const f = (a: number) => `x ${a}`; // c\n",
    "tsx": "export function A() {\n  return <div className='a'>{b}</div>;\n}\n",
    "c": '/* one\n two */\nint main(void) {\n  return "a"[0];\n}\n\nint g(int a) {\n}\n',
    "java": '/** one\n * two */\npublic class A {\n  String s = "a"; int b = 1;\n}\n',
    "json": '{\n  "a": [1, true, null],\n  "b": "c"\n}\n',
}


def coloured(source: str, language: str) -> list[StyledLine]:
    state, lines = code_state(language), []
    for row in source.removesuffix("\n").split("\n"):
        styled, state = colour(row, state)
        lines.append(styled)
    return lines


def style_of_each_character(pieces: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the style of each character that can be seen."""
    return [(style, mark) for style, text in pieces for mark in text if not mark.isspace()]


@pytest.mark.parametrize("language", SAMPLES)
def test_lines_are_coloured_as_if_all_of_the_code_were_known(language: str) -> None:
    source = SAMPLES[language]
    lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    tokens = lexer.get_tokens_unprocessed(source)
    whole = [(code_colours._style(kind), text) for _, kind, text in tokens]
    lines = coloured(source, language)
    assert [text_of(item) for item in lines] == source.splitlines()
    pieces = [piece for item in lines for piece in item]
    assert style_of_each_character(pieces) == style_of_each_character(whole)


def test_kinds_of_code_have_styles() -> None:
    assert coloured("return 1  # one", "py") == [
        (("keyword", "return"), ("", " "), ("number", "1"), ("", "  "), ("comment", "# one"))
    ]
    used = {
        style for name in SAMPLES for item in coloured(SAMPLES[name], name) for style, _ in item
    }
    assert used <= {"", *WORDS}


@pytest.mark.parametrize("language", ["", "klingon", "markdown", "../python"])
def test_code_in_no_known_language_is_plain(language: str) -> None:
    assert coloured("return 1", language) == [(("code", "return 1"),)]


@pytest.mark.parametrize("language", sorted(code_colours._LANGUAGES))
def test_every_language_is_one_that_pygments_knows(language: str) -> None:
    assert [text_of(item) for item in coloured("a = 1\n\n'b'", language)] == ["a = 1", "", "'b'"]


def test_a_line_that_is_no_code_is_plain_and_so_is_what_follows_very_much_code() -> None:
    long = "x" * (LONGEST_COLOURED + 1)
    assert coloured(long, "py") == [(("code", long),)]
    *_, last, beyond = coloured("return\n" * (MOST_COLOURED + 1), "py")
    assert (last, beyond) == ((("keyword", "return"),), (("code", "return"),))


def test_no_code_can_make_what_is_remembered_grow_without_end() -> None:
    state = code_state("scss")
    for _ in range(20):
        _, state = colour("{" * LONGEST_COLOURED, state)
    assert len(state.stack) <= code_colours.DEEPEST_STATE


def test_a_lexer_that_fails_leaves_the_line_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(code_colours, "_tokens", fail)
    assert coloured("return 1", "py") == [(("code", "return 1"),)]
