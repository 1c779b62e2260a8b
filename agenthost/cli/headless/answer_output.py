"""Output of ``agenthost send``: the answer on stdout, notices on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from agenthost.cli.connection.host_connection import ConnectionNotices, use_colour
from agenthost.cli.format.terminal_text import Ink, Style, safe_text


class Output:
    """Prints an answer while it is streamed; ``silent`` prints notices only."""

    def __init__(self, *, silent: bool = False, quiet: bool = False, verbose: bool = False) -> None:
        # Whether reasoning and what tools say are of interest.
        self.verbose = verbose and not quiet
        self._silent = silent
        self._quiet = quiet
        self._ink = Ink(use_colour(sys.stderr))
        self._is_terminal = sys.stdout.isatty()
        # Whether standard output and standard error share a screen.
        self._is_shared = self._is_terminal and sys.stderr.isatty()
        # The end of what was printed of the answer, and the part that it belongs to.
        self._tail = ""
        self._part: str | None = None
        self._thoughts = ""
        # Says that the connection is lost, and that it is there again.
        self.tell_connection = ConnectionNotices(lambda text: self.note(text, "yellow"))

    def write(self, part_id: str, text: str) -> None:
        """Print more of the answer; its parts are paragraphs of their own."""
        self._flush_thoughts()
        if self._part not in (None, part_id) and self._tail:
            newlines = len(self._tail) - len(self._tail.rstrip("\n"))
            self._print("\n" * max(0, 2 - newlines))
        self._part = part_id
        self._print(text)

    def rewrite(self, parts: Iterable[Mapping[str, Any]]) -> None:
        """Print the whole answer again, because the text already printed was changed."""
        self.note("the answer was changed; here it is from the beginning", "yellow")
        self.end()
        for part in parts:
            if part["kind"] == "markdown":
                self.write(part["id"], part["content"])

    def think(self, text: str) -> None:
        """Collect reasoning; it is printed when it is complete, with ``--verbose``."""
        self._thoughts += text if self.verbose else ""

    def end(self) -> None:
        """End the last line."""
        self._flush_thoughts()
        if self._tail and not self._tail.endswith("\n"):
            self._print("\n")

    def note(self, text: str, style: Style | None = None) -> None:
        """Print a notice on standard error, unless ``--quiet``."""
        self._flush_thoughts()
        if text and not self._quiet:
            self._say(self._ink(style, text))

    def warn(self, text: str) -> None:
        """Print an error on standard error."""
        self._say(f"agenthost: {text}")

    def _flush_thoughts(self) -> None:
        thoughts, self._thoughts = self._thoughts, ""
        if thoughts.strip():
            self._say(self._ink("dim", safe_text(thoughts).strip()))

    def _say(self, text: str) -> None:
        if self._is_shared and self._tail and not self._tail.endswith("\n"):
            # A note does not begin in the middle of a line.
            self._print("\n")
        print(text, file=sys.stderr, flush=True)

    def _print(self, text: str) -> None:
        self._tail = (self._tail + text)[-2:]
        if text and not self._silent:
            print(safe_text(text) if self._is_terminal else text, end="", flush=True)
