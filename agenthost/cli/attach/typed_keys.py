"""What comes from the user's terminal: keys, and what the terminal answers by itself. Pure."""

from __future__ import annotations

import re

DETACH_KEY = "Ctrl-]"

QUESTION = "\x1b[5n"
"""Asked of the terminal behind a snapshot: once it is answered, so is all that was in there."""

_ANSWER = re.compile(r"\x1b\[[03]n")
# Cursor position, device attributes and status, window sizes, modes, keyboard flags; then strings.
_REPLY = re.compile(
    r"\x1b\[[?>=]?[0-9;]*(?:[Rcnt]|\$y)|\x1b\[\?[0-9;]*u"
    r"|\x1b[P\]_^X][^\x07\x1b]*(?:\x07|\x1b\\)"
)
_UNFINISHED = re.compile(r"\x1b(?:\[[?>=]?[0-9;]*\$?|[P\]_^X][^\x07\x1b]*\x1b?)?$")
# As a terminal sends it, then as those do that tell modified keys otherwise.
_DETACH = re.compile(r"\x1d|\x1b\[93;5(?::1)?u|\x1b\[27;5;93~")


def until_detach(text: str) -> tuple[str, bool]:
    """Return what was typed before the key that detaches, and whether that was pressed."""
    found = _DETACH.search(text)
    return (text, False) if found is None else (text[: found.start()], True)


class ReplyFilter:
    """Leaves out what a terminal answers to the questions in a snapshot that is written to it.

    They were the program's, once, and have been answered since: a late answer would be typed into
    whatever runs now.
    """

    def __init__(self) -> None:
        # Whether it still leaves anything out.
        self.mutes = True
        self._rest = ""

    def take(self, text: str) -> str:
        """Return what the user typed of a text that came from the terminal."""
        if not self.mutes:
            return text
        text, self._rest = self._rest + text, ""
        answer = _ANSWER.search(text)
        if answer is not None:
            self.mutes = False
            return _REPLY.sub("", text[: answer.start()]) + text[answer.end() :]
        text = _REPLY.sub("", text)
        unfinished = _UNFINISHED.search(text)
        if unfinished is not None and unfinished[0]:
            text, self._rest = text[: unfinished.start()], unfinished[0]
        return text

    def end(self) -> str:
        """Stop leaving anything out; return what was held back."""
        self.mutes = False
        rest, self._rest = self._rest, ""
        return rest
