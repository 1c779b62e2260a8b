"""Makes one short line of text from elsewhere, for lists, titles and questions."""

from __future__ import annotations


def one_line(text: str, most: int = 200) -> str:
    """Return a text in one line of at most so many characters; of a longer one the beginning.

    Characters that print nothing are left out: some turn around what stands beside them.
    """
    shown = "".join(c if c.isprintable() else " " for c in text[: most * 10])
    words = " ".join(shown.split())
    return words if len(words) <= most else f"{words[: most - 1]}…"
