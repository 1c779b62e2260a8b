"""Which modes a program switched on in the terminal that it draws on, and how to undo them. Pure.

A program that is left while it runs does not clean up behind itself: the alternate screen, the
mouse, an invisible cursor would stay with whoever detached from it.
"""

from __future__ import annotations

import re

# A sequence that has not ended yet may be this long; all that matters here are shorter.
_LONGEST = 64
_ALTERNATE = frozenset({47, 1047, 1049})
# Modes that are on in a terminal that nobody has touched: wrapping, a visible cursor.
_ON_BY_DEFAULT = frozenset({7, 25})
# Numbers are bounded: what a program writes may be anything.
_SEQUENCE = re.compile(
    r"\x1b(?:"
    r"\[\?(?P<modes>[0-9]{0,4}(?:;[0-9]{0,4}){0,16})(?P<switch>[hl])"
    r"|\[(?P<region>[0-9;]{0,60})r"
    r"|\[(?P<shape>[0-9]{0,4}) q"
    r"|\[(?P<keys>[<>])(?P<count>[0-9]{0,4})u"
    r"|\[>4(?:;(?P<others>[0-9]))?m"
    r"|(?P<keypad>[=>])"
    r"|(?P<reset>c|\[!p))"
)
# What ``clear`` and Ctrl-L write.
_CLEAR = re.compile(r"\x1b\[H\x1b\[2?J(?:\x1b\[3J)?")
_UNFINISHED = re.compile(r"\x1b(?:\[[0-9;?<>! ]*)?$")


class ScreenModes:
    """The modes of one terminal, as far as its program changed them."""

    def __init__(self) -> None:
        # The beginning of a sequence at the end of what was seen.
        self._rest = ""
        self._forget()

    def _forget(self) -> None:
        # By number, those that are not as they are by default.
        self._changed: dict[int, bool] = {}
        self._has_region = False
        self._has_shape = False
        self._has_keypad = False
        # How often the way in which keys are told was changed, and whether modified ones are.
        self._keys = 0
        self._tells_modified_keys = False

    @property
    def is_alternate(self) -> bool:
        """Whether the program draws on the alternate screen, as editors do."""
        return any(self._changed.get(mode) for mode in _ALTERNATE)

    def see(self, text: str) -> None:
        """Take note of what a program writes, in pieces of any length."""
        text = self._rest + text
        for found in _SEQUENCE.finditer(text):
            self._note(found)
        unfinished = _UNFINISHED.search(text, max(len(text) - _LONGEST, 0))
        self._rest = unfinished[0] if unfinished else ""

    def _note(self, found: re.Match[str]) -> None:
        if found["modes"] is not None:
            for number in filter(None, found["modes"].split(";")):
                self._switch(int(number), found["switch"] == "h")
        elif found["region"] is not None:
            self._has_region = bool(found["region"])
        elif found["shape"] is not None:
            self._has_shape = found["shape"] not in ("", "0")
        elif found["keys"] is not None:
            change = 1 if found["keys"] == ">" else -int(found["count"] or 1)
            self._keys = max(self._keys + change, 0)
        elif found["keypad"] is not None:
            self._has_keypad = found["keypad"] == "="
        elif found["reset"] is not None:
            self._forget()
        else:
            self._tells_modified_keys = found["others"] not in (None, "0")

    def _switch(self, mode: int, on: bool) -> None:
        if on == (mode in _ON_BY_DEFAULT):
            self._changed.pop(mode, None)
        else:
            self._changed[mode] = on

    def undo(self) -> str:
        """Return what gives a terminal its usual modes back."""
        told = ["\x1b[0m", "\x1b(B\x0f"]
        if self._has_region:
            # To set it moves the cursor.
            told.append("\x1b7\x1b[r\x1b8")
        told += [
            f"\x1b[?{mode}{'l' if on else 'h'}"
            for mode, on in self._changed.items()
            if mode not in _ALTERNATE
        ]
        told += ["\x1b>"] if self._has_keypad else []
        told += ["\x1b[0 q"] if self._has_shape else []
        told += [f"\x1b[<{self._keys}u"] if self._keys else []
        told += ["\x1b[>4m"] if self._tells_modified_keys else []
        # Last, because it goes back to where the cursor was.
        told += [f"\x1b[?{mode}l" for mode in _ALTERNATE if self._changed.get(mode)]
        return "".join(told)


def after_last_clear(text: str) -> str:
    """Return what of an output is on the screen still, as far as that is easily said.

    What changed modes, and so is not done with once it is out of sight, is kept.
    """
    ends = [found.end() for found in _CLEAR.finditer(text)]
    if not ends:
        return text
    before = ScreenModes()
    before.see(text[: ends[-1]])
    return text[ends[-1] :] if before.undo() == ScreenModes().undo() else text
