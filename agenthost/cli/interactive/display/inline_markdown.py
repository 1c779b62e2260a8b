"""Marks within one line of Markdown: emphasis, code, links.

Pure. The rules are CommonMark's, and markdown-it-py knows them; which lines belong together is
``markdown``'s to say. The library is loaded with the first line.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from agenthost.cli.interactive.display.styled_text import Fragment, clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONGEST_MARKED = 2048
"""Characters of a line within which marks are looked for; longer ones are no prose, and stay plain.

An agent writes the line, so what it takes to find its marks has to have a limit.
"""

MARK_CHARACTERS = frozenset("\\`*_[<~\n")
"""What every mark has one of; a line without any of them is plain."""

_STYLES = {"strong_open": "bold", "em_open": "italic", "s_open": "strike", "link_open": "link"}


def inline(text: str, style: str = "") -> list[Fragment]:
    """Style emphasis, code and links within a line."""
    if len(text) > LONGEST_MARKED or MARK_CHARACTERS.isdisjoint(text):
        return [(style, text)] if text else []
    return list(_marked(text, style))


# The line that is being written is drawn again and again, and most of it is the same.
@lru_cache(512)
def _marked(text: str, style: str) -> tuple[Fragment, ...]:
    styles = [style]
    # Where the open links lead, and how many fragments there were when each began.
    links: list[tuple[str, int]] = []
    shown: list[Fragment] = []
    for token in _tokens(text):
        if token.nesting > 0:
            styles.append(f"{styles[-1]} {_STYLES.get(token.type, '')}".strip())
            if token.type == "link_open":
                _drop_image_mark(shown)
                links.append((clean(str(token.attrs.get("href", ""))), len(shown)))
        elif token.nesting < 0:
            styles.pop()
            if token.type == "link_close":
                target, begin = links.pop()
                label = "".join(part for _, part in shown[begin:])
                _add(shown, f"{styles[-1]} dim", _target(label, target))
        elif token.type == "code_inline":
            _add(shown, f"{styles[-1]} code", token.content)
        elif token.type in ("softbreak", "hardbreak"):
            _add(shown, styles[-1], " ")
        else:
            _add(shown, styles[-1], token.content)
    return tuple(shown)


def _target(label: str, target: str) -> str:
    """Return what is shown of where a link leads."""
    if not target or target in (label, f"mailto:{label}"):
        return ""
    return f" ({target})" if label else target


def _drop_image_mark(shown: list[Fragment]) -> None:
    """Make a link of an image, which a terminal cannot show."""
    if shown and shown[-1][1].endswith("!"):
        style, text = shown.pop()
        _add(shown, style, text[:-1])


def _add(shown: list[Fragment], style: str, text: str) -> None:
    style = style.strip()
    if shown and shown[-1][0] == style:
        shown[-1] = (style, shown[-1][1] + text)
    elif text:
        shown.append((style, text))


def _tokens(text: str) -> list[Token]:
    return _parser().parseInline(text)[0].children or []


@lru_cache(1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    class Parser(MarkdownIt):
        """Leaves the targets of links as they were written; nothing follows them here."""

        def validateLink(self, url: str) -> bool:
            return True

        def normalizeLink(self, url: str) -> str:
            return url

        def normalizeLinkText(self, link: str) -> str:
            # The library's own would decode `%1b`.
            return link

    return Parser("commonmark").enable("strikethrough").disable(["html_inline", "entity", "image"])
