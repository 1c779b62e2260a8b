"""What ``agenthost serve`` prints: where it listens, whom it offers, what to do next, upgrades."""

from __future__ import annotations

import errno
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from agenthost.cli.connection.command_hints import command, hint
from agenthost.cli.connection.network_addresses import reachable_addresses
from agenthost.cli.format.terminal_text import one_line

if TYPE_CHECKING:
    from agenthost.host.store.upgrade import UpgradeProgress, UpgradeReport

# Where explanations begin, below the one that stands behind a word.
_INDENT = " " * 13
_NARROWEST = 20
# Below this, most systems let only the administrator listen.
_FREE_FOR_ALL = 1024


@dataclass(frozen=True, slots=True)
class ServingHost:
    """A host that listens: what there is to say about it."""

    # Where it listens, with its scheme.
    url: str
    # The owner's token, if it lets in by one.
    secret: str | None
    data_dir: Path
    # The names of the agents on offer, and what those that cannot be offered lack.
    agents: Sequence[str] = ()
    unusable: Mapping[str, str] = field(default_factory=dict)

    def lines(self, width: int | None = None) -> list[str]:
        """Return what to print: addresses, agents, and the one next step.

        Sentences are wrapped to a width, if there is one; what people copy never is.
        """
        scheme, _, bound = self.url.partition("://")
        address, *elsewhere = reachable_addresses(bound)
        return [
            f"agenthost is listening on {bound}",
            "",
            *self._addresses(scheme, address, elsewhere),
            *self._agents(width),
            f"  next       {command('chat')}",
            "",
            *([*_wrapped(_plain_http(), width), ""] if _is_read_elsewhere(self.url) else []),
            f"Ctrl-C stops it; sessions are kept in {self.data_dir.absolute()}",
        ]

    def _addresses(self, scheme: str, address: str, elsewhere: Sequence[str]) -> list[str]:
        quoted = None if self.secret is None else quote(self.secret, safe="")
        query = "/" if quoted is None else f"/?tkn={quoted}"
        # Behind a hash it reaches no log, and the page takes it out of the address bar.
        place = "/" if quoted is None else f"/#tkn={quoted}"
        web = "https" if scheme == "wss" else "http"
        token = f', "connectionToken": "{self.secret}"' if self.secret is not None else ""
        # It takes an address without a scheme for one that is not encrypted.
        named = f"wss://{address}" if scheme == "wss" else address
        entry = f'{{"name": "agenthost", "address": "{named}"{token}}}'
        return [
            f"  page       {web}://{address}{place}",
            *(f"  elsewhere  {web}://{other}{place}" for other in elsewhere),
            f"  WebSocket  {scheme}://{address}{query}",
            *(f"  elsewhere  {scheme}://{other}{query}" for other in elsewhere),
            '  VS Code    "chat.remoteAgentHostsEnabled": true,',
            f'{_INDENT}"chat.remoteAgentHosts": [{entry}]',
        ]

    def _agents(self, width: int | None) -> list[str]:
        offered = ", ".join(one_line(name) for name in self.agents) or "none"
        lacking = [f"not {one_line(name)}: {one_line(why)}" for name, why in self.unusable.items()]
        rows = [row for each in (offered, *lacking) for row in _wrapped(each, width, _INDENT)]
        return [f"  agents     {rows[0].lstrip()}", *rows[1:]]


def why_not_served(error: Exception, port: int) -> str:
    """Return why a host cannot start, and what to do about it."""
    from agenthost.host.store.contract import StoreBusy

    why = str(error)
    if isinstance(error, StoreBusy):
        return f"{why}: {hint('chat')} talks to it; a second one needs a --data-dir of its own"
    cause = error if isinstance(error, OSError) else error.__cause__
    if isinstance(cause, OSError) and cause.errno == errno.EADDRINUSE:
        return f"{why}: stop what listens there, or choose another --port (0 takes a free one)"
    if isinstance(cause, FileExistsError | NotADirectoryError):
        return f"{cause.filename} is not a directory: name another --data-dir"
    if isinstance(cause, PermissionError) and cause.filename:
        return f"{cause.filename} is closed to you: another user's? name a --data-dir of your own"
    if isinstance(cause, PermissionError) and 0 < port < _FREE_FOR_ALL:
        return f"{why}: ports below {_FREE_FOR_ALL} are the system's; choose another --port"
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror or why
    return why


def _wrapped(text: str, width: int | None, indent: str = "") -> list[str]:
    if width is None:
        return [f"{indent}{text}"]
    # Not narrower than a few words, however narrow the terminal is.
    wide = max(width, len(indent) + _NARROWEST)
    return textwrap.wrap(text, wide, initial_indent=indent, subsequent_indent=indent)


def _plain_http() -> str:
    return (
        "Plain HTTP: whoever can read this network can read tokens and chats. Use --tls-cert with "
        f"--tls-key, a proxy (deploy/), or ssh://, as {hint('help', 'connecting')} says."
    )


def _is_read_elsewhere(url: str) -> bool:
    """Return whether a host is reached from other machines, and what is sent can be read."""
    scheme, _, bound = url.partition("://")
    name = bound.rpartition(":")[0]
    return scheme == "ws" and name not in ("localhost", "[::1]") and not name.startswith("127.")


class UpgradeNews:
    """Says that sessions of an older agenthost are brought up, how far that is, and how it ended.

    On standard error, because standard output is for the address, or for messages.
    """

    def __init__(self) -> None:
        self._begun = False
        # Now, because news come in another thread, which does not know the host in use.
        self._doctor = hint("doctor", "--deep")

    def tell(self, news: UpgradeProgress | UpgradeReport) -> None:
        """Say what is new."""
        from agenthost.host.store.upgrade import UpgradeReport

        told = self._report(news) if isinstance(news, UpgradeReport) else self._progress(news)
        print(told, file=sys.stderr, flush=True)

    def _progress(self, news: UpgradeProgress) -> str:
        # Nobody knows how many there are where they cannot be counted.
        share = f"{min(100, news.done * 100 // news.channels)} %" if news.channels else "…"
        if self._begun:
            return f"  {share}"
        self._begun = True
        if news.done:
            return (
                f"An earlier start did not finish bringing {_count(news.sessions, 'session')} of "
                f"protocol {news.before} up to {news.after}: going on at {share}"
            )
        return (
            f"This data directory is of an older agenthost (protocol {news.before}): bringing "
            f"{_count(news.sessions, 'session')} up to {news.after} …"
        )

    def _report(self, news: UpgradeReport) -> str:
        left = news.damaged + news.failed
        lost = "nothing was lost" if not left else f"{_count(left, 'row')} of the store left out"
        sessions = _count(news.sessions, "session")
        lines = [f"{sessions} brought up to {news.after} in {news.seconds:.1f} s; {lost}"]
        if news.damaged:
            lines.append(
                f"  {news.damaged:,} damaged, and left as they are: {self._doctor} names them"
            )
        if news.failed:
            lines.append(
                f"  {news.failed:,} could not be brought up; the store from before is kept in "
                f"{news.copy}"
            )
        return "\n".join(lines)


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
