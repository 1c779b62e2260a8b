"""Colours of code, line by line, so that a finished line never has to be shown again.

Pure. Pygments knows the languages; what it has to remember from one line to the next is a
``CodeState``. Where lines cannot be told apart that way, such as in a string over several lines,
some of them are coloured wrongly, and none differently later. Pygments is loaded with the first
code.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from agenthost.cli.interactive.display.styled_text import StyledLine, line

if TYPE_CHECKING:
    from pygments.lexer import Lexer

LONGEST_COLOURED = 240
"""Characters of a line that are coloured; longer ones are no code that people read.

An agent writes the line, so what it takes to colour it has to have a limit.
"""

MOST_COLOURED = 2000
"""Lines of a block of code that are coloured."""

DEEPEST_STATE = 64
"""States within states that are remembered; what opens more of them is no code."""

PLAIN = "code"
"""The style of code in no known language."""

WORDS = ("keyword", "string", "comment", "number", "name", "type", "tag")
"""The styles of coloured code."""

_BRACES = ("/*", "*/")
_ANGLES = ("<!--", "-->")

# Known languages: what people call them, Pygments' name, and how comments over several lines begin
# and end where its rules want all of such a comment at once. Not all of Pygments' languages: most
# of them nobody writes, and each is one more set of patterns for hostile text.
_LANGUAGES: dict[str, tuple[str, tuple[str, str] | None]] = {
    **dict.fromkeys(("python", "py", "python3"), ("python", None)),
    **dict.fromkeys(("bash", "sh", "shell", "zsh"), ("bash", None)),
    **dict.fromkeys(("console", "shell-session"), ("bash", None)),
    **dict.fromkeys(("javascript", "js", "jsx", "mjs"), ("javascript", _BRACES)),
    **dict.fromkeys(("typescript", "ts"), ("typescript", _BRACES)),
    "tsx": ("tsx", _BRACES),
    "c": ("c", _BRACES),
    **dict.fromkeys(("cpp", "c++", "cc", "hpp"), ("cpp", _BRACES)),
    **dict.fromkeys(("csharp", "cs", "c#"), ("csharp", _BRACES)),
    "java": ("java", _BRACES),
    **dict.fromkeys(("kotlin", "kt"), ("kotlin", _BRACES)),
    "swift": ("swift", _BRACES),
    **dict.fromkeys(("go", "golang"), ("go", _BRACES)),
    **dict.fromkeys(("rust", "rs"), ("rust", _BRACES)),
    "css": ("css", _BRACES),
    "scss": ("scss", _BRACES),
    "sql": ("sql", _BRACES),
    **dict.fromkeys(("html", "vue"), ("html", _ANGLES)),
    **dict.fromkeys(("xml", "svg"), ("xml", _ANGLES)),
    **dict.fromkeys(("json", "jsonc", "json5", "jsonl"), ("json", None)),
    **dict.fromkeys(("yaml", "yml"), ("yaml", None)),
    "toml": ("toml", None),
    **dict.fromkeys(("ini", "cfg"), ("ini", None)),
    **dict.fromkeys(("make", "makefile"), ("make", None)),
    **dict.fromkeys(("dockerfile", "docker"), ("docker", None)),
    **dict.fromkeys(("ruby", "rb"), ("ruby", None)),
    "lua": ("lua", None),
}

_QUOTE_OR_COMMENT = re.compile(r"[\"'`]|//|--")


@dataclass(frozen=True, slots=True)
class CodeState:
    """What is to be remembered from one line of code to the next."""

    # The language, as Pygments calls it; empty for one that is not known.
    language: str = ""
    # How comments over several lines begin and end.
    comment: tuple[str, str] | None = None
    # The lexer's states, innermost last.
    stack: tuple[str, ...] = ("root",)
    # Whether the line begins within a comment.
    in_comment: bool = False
    # Lines that were coloured.
    lines: int = 0


def code_state(language: str) -> CodeState:
    """Return the state before the first line of code in a language, as a fence names it."""
    name, comment = _LANGUAGES.get(language.strip().lower(), ("", None))
    return CodeState(name, comment)


def colour(source: str, state: CodeState) -> tuple[StyledLine, CodeState]:
    """Return a line of code with its styles, and the state behind it."""
    if not state.language or len(source) > LONGEST_COLOURED or state.lines >= MOST_COLOURED:
        return line((PLAIN, source)), state
    state = replace(state, lines=state.lines + 1)
    if state.comment is None:
        return _lexed(source, state)
    begin, end = state.comment
    if state.in_comment:
        place = source.find(end)
        if place < 0:
            return line(("comment", source)), state
        place += len(end)
        rest, after = _lexed(source[place:], replace(state, in_comment=False))
        return line(("comment", source[:place]), *rest), after
    place = source.find(begin)
    if place < 0 or end in source[place:] or _QUOTE_OR_COMMENT.search(source, 0, place):
        return _lexed(source, state)
    start, after = _lexed(source[:place], state)
    return line(*start, ("comment", source[place:])), replace(after, in_comment=True)


def _lexed(source: str, state: CodeState) -> tuple[StyledLine, CodeState]:
    if not source:
        return line(), state
    lexer = _lexer(state.language)
    tokens: list[tuple[Any, str]]
    try:
        tokens, stack = _tokens(lexer, f"{source}\n", state.stack)
    except Exception:
        # A rule of another library failed on text that somebody wrote.
        return line((PLAIN, source)), state
    pieces: list[tuple[str, str]] = []
    for kind, text in tokens:
        style = _style(kind)
        if pieces and pieces[-1][0] == style:
            pieces[-1] = (style, pieces[-1][1] + text)
        else:
            pieces.append((style, text))
    if pieces:
        pieces[-1] = (pieces[-1][0], pieces[-1][1].removesuffix("\n"))
    return line(*pieces), replace(state, stack=stack)


def _tokens(
    lexer: Lexer, source: str, stack: tuple[str, ...]
) -> tuple[list[tuple[Any, str]], tuple[str, ...]]:
    from pygments.lexer import ExtendedRegexLexer, RegexLexer

    if not isinstance(lexer, RegexLexer) or isinstance(lexer, ExtendedRegexLexer):
        # These keep no stack that could be taken up again.
        return [(kind, text) for _, kind, text in lexer.get_tokens_unprocessed(source)], stack
    context = _line_context()(source, 0, stack=list(stack))
    tokens: list[tuple[Any, str]] = []
    # It is the public way to give a stack and to take it back, and asks nothing else of the lexer.
    with suppress(_LineEnd):
        found: Any = ExtendedRegexLexer.get_tokens_unprocessed
        for _, kind, text in found(lexer, context=context):
            tokens.append((kind, text))
    return tokens, tuple(context.stack[:DEEPEST_STATE]) or ("root",)


class _LineEnd(Exception):
    """All of the line is read."""


@lru_cache(1)
def _line_context() -> Any:
    """Return the lexers' context that ends with the line.

    A lexer goes on at the end of its text, from state to state as long as one may be empty; but
    what comes next is not nothing, it is the next line.
    """
    from pygments.lexer import LexerContext

    class LineContext(LexerContext):
        @property
        def pos(self) -> int:
            if self._position >= self.end:
                raise _LineEnd
            return self._position

        @pos.setter
        def pos(self, position: int) -> None:
            self._position = position

    return LineContext


@lru_cache(len(_LANGUAGES))
def _lexer(language: str) -> Lexer:
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(language, stripnl=False, ensurenl=False)


@lru_cache(512)
def _style(kind: Any) -> str:
    """Return the style of a kind of token."""
    from pygments.token import Comment, Keyword, Name, Number, String

    styles = (
        (Comment, "comment"),
        (String, "string"),
        (Number, "number"),
        (Keyword.Type, "type"),
        (Name.Class, "type"),
        (Keyword, "keyword"),
        (Name.Tag, "tag"),
        (Name.Function, "name"),
        (Name.Decorator, "name"),
        (Name.Attribute, "name"),
    )
    return next((style for known, style in styles if kind in known), "")
