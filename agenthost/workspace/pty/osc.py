"""The escape sequences by which shells and programs talk to a terminal, taken out of their output.

Pure: text in, segments out, in the order of the output. However the text is cut into pieces, the
segments are the same, but for where texts are cut. Shell integration (OSC 633 and 133, and those
that name a folder) never stays in the text; everything else does, character for character, except
what a terminal would answer (`Query`) and what writes to somebody's clipboard (OSC 52).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from urllib.parse import unquote, urlsplit

from msgspec import Struct

# Characters of one sequence; a longer one is none.
LONGEST = 256 * 1024
LONGEST_TITLE = 200
# Characters of a folder's path; no system has longer ones.
LONGEST_PATH = 4096

_ESCAPE = "\x1b"
_END = re.compile("[\x07\x18\x1a\x1b]")
# The escapes that matter: an OSC, what asks the terminal something, and at the end of the text
# what may still become one of them. All others (colours, mostly) are passed over by the pattern.
_ESCAPES = re.compile("\x1b(?:(\\])|\\[(?:(>?0?c)|([56]n)|(?:>?0?|[56])\\Z)|\\Z)")
_ENCODED = re.compile(r"\\(\\|x[0-9a-fA-F]{2})")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]+")
_INTEGER = re.compile(r"-?[0-9]{1,10}\Z", re.ASCII)
_CLIPBOARD = "52"
# Marks that are known, and mean nothing to us beyond that the shell sends marks.
_SILENT = {"633": frozenset("BFGHI"), "133": frozenset("BIL")}


class Query(StrEnum):
    """What a program asks its terminal."""

    ATTRIBUTES = "\x1b[c"
    SECONDARY_ATTRIBUTES = "\x1b[>c"
    STATUS = "\x1b[5n"
    CURSOR = "\x1b[6n"
    FOREGROUND = "\x1b]10;?"
    BACKGROUND = "\x1b]11;?"


class Printed(Struct, frozen=True):
    """Output that is to be shown."""

    text: str


class Mark(Struct, frozen=True):
    """A mark of shell integration: A prompt, E text, C starts, D ended; others say nothing."""

    dialect: str
    letter: str
    # Of E (and C of some shells): the command line; None = the mark has no text.
    text: str | None = None
    # Of D: None = unknown.
    exit_code: int | None = None
    nonce: str = ""


class FolderMark(Struct, frozen=True):
    """The shell has named its working directory, a path."""

    path: str


class TitleMark(Struct, frozen=True):
    """A program has named its window; the sequence is in the text as well."""

    title: str


Segment = Printed | Mark | FolderMark | TitleMark | Query


def decoded(value: str) -> str:
    """Undo the encoding of values in OSC 633, in one pass."""
    return _ENCODED.sub(lambda m: "\\" if m[1] == "\\" else chr(int(m[1][1:], 16)), value)


class OscParser:
    """Reads one terminal's output, as far as it has come."""

    def __init__(self, machine: str = "") -> None:
        # Folders on other machines (a shell over ssh) are not ours.
        self._machines = {"", "localhost", machine.lower()}
        self._held = ""
        # How far the held sequence was searched for its end, so that none is searched again.
        self._searched = 0

    def feed(self, text: str) -> Iterator[Segment]:
        """Read on; what may be half of a sequence is held back until more comes."""
        text = self._held + text
        searched, self._searched = self._searched, 0
        self._held = ""
        # From `start` the text has not been told; from `at` it has not been looked at.
        start = at = 0
        while (escape := _ESCAPES.search(text, at)) is not None:
            at = escape.start()
            if escape[1]:
                end = self._end_of(text, at, searched)
                searched = 0
                if end is None:
                    break
                kept, segment = self._sequence(text[at : end[0]], text[end[0] : end[1]])
                if not kept or segment:
                    yield from _printed(text[start : end[1] if kept else at])
                    start = end[1]
                if segment:
                    yield segment
                at = end[1]
            elif escape[2] or escape[3]:
                yield from _printed(text[start:at])
                yield _query(escape[2] or escape[3])
                start = at = escape.end()
            else:
                break
        else:
            at = len(text)
        self._held = text[at:]
        yield from _printed(text[start:at])

    def finish(self) -> Iterator[Segment]:
        """Give back what is held when nothing more will come, unless it is half a mark."""
        held, self._held, self._searched = self._held, "", 0
        payload = held[2:] if held.startswith("\x1b]") else ""
        if not (_is_ours(payload) or _number(payload) == _CLIPBOARD):
            yield from _printed(held)

    def _end_of(self, text: str, at: int, searched: int) -> tuple[int, int] | None:
        """Find where a payload ends and where its terminator does; None = not yet."""
        most = at + 2 + LONGEST
        found = _END.search(text, max(at + 2, at + searched), most)
        if found is None:
            if len(text) >= most:
                return most, most
            self._searched = len(text) - at
            return None
        end = found.start()
        if found[0] != _ESCAPE:
            return end, end + 1
        if end + 1 == len(text):
            # Half of a terminator, or the next sequence.
            self._searched = end - at
            return None
        return (end, end + 2) if text[end + 1] == "\\" else (end, end)

    def _sequence(self, opening: str, terminator: str) -> tuple[bool, Segment | None]:
        """Say whether a sequence stays in the text, and what it tells."""
        payload = opening[2:]
        whole = terminator in ("\x07", "\x1b\\")
        if _is_ours(payload):
            return False, self._ours(payload) if whole else None
        number, rest = _number(payload), payload.partition(";")[2]
        if number == _CLIPBOARD:
            return False, None
        if not whole:
            return True, None
        if rest == "?" and number in ("10", "11"):
            return False, Query.FOREGROUND if number == "10" else Query.BACKGROUND
        if number in ("0", "2") and ";" in payload:
            title = _CONTROL.sub(" ", rest[: 4 * LONGEST_TITLE]).strip()[:LONGEST_TITLE]
            return True, TitleMark(title)
        return True, None

    def _ours(self, payload: str) -> Mark | FolderMark | None:
        number, _, rest = payload.partition(";")
        if number == "633":
            return _mark_633(rest)
        if number == "133":
            return _mark_133(rest)
        if number == "7":
            return self._folder_of_uri(rest)
        return _folder(rest.partition(";" if number == "9" else "=")[2])

    def _folder_of_uri(self, uri: str) -> FolderMark | None:
        try:
            parts = urlsplit(uri)
            ours = parts.scheme == "file" and (parts.hostname or "") in self._machines
        except ValueError:
            return None
        # Not its `path`: shells forget to encode `?` and `#`.
        rest = uri[len("file://") :]
        return _folder(unquote(rest[rest.find("/") :])) if ours and "/" in rest else None


def _printed(text: str) -> Iterator[Printed]:
    if text:
        yield Printed(text)


def _is_ours(payload: str) -> bool:
    return payload.startswith(("633;", "133;", "7;", "9;9;", "1337;CurrentDir="))


def _number(payload: str) -> str:
    """Return which sequence it is, as terminals count: they pass over zeros."""
    return payload.partition(";")[0].lstrip("0") or "0"


def _query(asked: str) -> Query:
    if asked.endswith("n"):
        return Query.STATUS if asked == "5n" else Query.CURSOR
    return Query.SECONDARY_ATTRIBUTES if asked.startswith(">") else Query.ATTRIBUTES


def _folder(path: str) -> FolderMark | None:
    fits = path.startswith("/") and len(path) <= LONGEST_PATH and not _CONTROL.search(path)
    return FolderMark(path) if fits else None


def _exit_code(text: str) -> int | None:
    return int(text) if _INTEGER.match(text) else None


def _mark_633(body: str) -> Mark | FolderMark | None:
    letter, _, rest = body.partition(";")
    if letter == "E":
        text, _, nonce = rest.partition(";")
        return Mark("633", "E", text=decoded(text), nonce=nonce)
    if letter == "C":
        return Mark("633", "C", nonce=rest)
    if letter == "D":
        code, _, nonce = rest.partition(";")
        return Mark("633", "D", exit_code=_exit_code(code), nonce=nonce)
    if letter == "P":
        name, _, value = decoded(rest).partition("=")
        return _folder(value) if name == "Cwd" else Mark("633", "P")
    return Mark("633", letter) if letter == "A" or letter in _SILENT["633"] else None


def _mark_133(body: str) -> Mark | None:
    letter, *fields = body.split(";")
    options = dict(field.partition("=")[::2] for field in fields if "=" in field)
    if letter in ("A", "N", "P"):
        # The second prompt of an unfinished line, and the one at the right, are none of their own.
        return Mark("133", "A" if options.get("k", "i") == "i" else "F")
    if letter == "C":
        text = options.get("cmdline")
        if "cmdline_url" in options:
            text = unquote(options["cmdline_url"])
        return Mark("133", "C", text=text)
    if letter == "D":
        code = fields[0] if fields else ""
        return Mark("133", "D", exit_code=_exit_code(code))
    return Mark("133", letter) if letter in _SILENT["133"] else None
