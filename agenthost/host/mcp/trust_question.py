"""The question whether servers that a folder declares may start, in the words of who must decide.

Pure. What it shows is all that would run or be reached, without what goes by the name of a secret
and cannot be more than that: whatever a shell or an interpreter could run is seen, under any name.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from agenthost.agents import inputs
from agenthost.agents.inputs import Answers
from agenthost.host.customizations.service import DeclaredServer
from agenthost.host.trust.redaction import REDACTED, redact
from agenthost.mcp.types import ServerDeclaration

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject

TrustAnswer: TypeAlias = Literal["start", "notHere", "never"]

QUESTION = "trust"
_OPTIONS: dict[TrustAnswer, tuple[str, str]] = {
    "start": (
        "Start them",
        "An owner's yes is kept for this folder, until a declaration changes; anybody else's "
        "counts in this session",
    ),
    "notHere": ("Not in this session", "The next session asks again"),
    "never": ("Never in this folder", "Only an owner's is kept beyond this session"),
}
# Characters of one command line and of a variable's value; who decides must see that there is more.
LONGEST = 2000
_LONGEST_VALUE = 500
# Letters that secrets are made of. With any other a value could be run by whoever is given it.
_PLAIN = re.compile(rb"[A-Za-z0-9_.~+/=:%@-]*")
# Variables that decide by themselves what is run or loaded, or from where.
_LOADERS = re.compile(
    r"PATH|.+PATH|ENV|SHELL|SHELLOPTS|BASH_.+|LD_.+|DYLD_.+|NODE_.+|PYTHON.+|PERL.+|RUBY.+|JAVA_.+"
    r"|JDK_.+|DOTNET_.+|GIT_.+|DOCKER_HOST|(NPM|PNPM|YARN|BUN|DENO|UV|PIP|PIPX)_.+|.+_PROXY"
    r"|.+_(OPTIONS|OPTS|ARGS|FLAGS|COMMAND)",
    re.IGNORECASE,
)
_SECRET_VARIABLE = re.compile(r"key|token|secret|passw|credential|auth(?!or)|cookie", re.IGNORECASE)
# Characters that are drawn as nothing although they are letters or signs.
_BLANK = "\u115f\u1160\u2800\u3164\uffa0"
_SPACES = re.compile(r" {16,}")
# What begins like this is an option or a path.
_COULD_RUN = ("-", "/", ".", "~")
# Programs that run what is named behind them, words that are not that yet, and options without a
# value that often come before it.
_LAUNCHER = re.compile(
    r"((ba|da|fi|k|z)?sh|bunx?|cmd|deno|docker|env|java|node|nohup|np[mx]|perl|php|pipx|pnp[mx]"
    r"|podman|powershell|pwsh|py|python[\d.]*|ruby|sudo|timeout|ts-node|tsx|uvx?|xargs|yarn"
    r")(\.exe|\.cmd)?",
    re.IGNORECASE,
)
_SUBCOMMANDS = frozenset(("create", "dlx", "exec", "run", "start", "tool", "x"))
_BARE = frozenset(("-y", "--yes", "-m", "--"))
# Names that hide nothing but themselves.
_MOST_NAMES = 16


def trust_request(servers: Sequence[DeclaredServer]) -> JsonObject:
    """Return the request that asks about servers nobody has decided on, without its id."""
    places = sorted({_place(server) for server in servers})
    count = "an MCP server" if len(servers) == 1 else f"{len(servers)} MCP servers"
    message = f"Start {count} of {' and of '.join(places)}?"
    lines = [told(server.declaration) for server in servers]
    question = inputs.choice(
        QUESTION,
        "\n".join((*lines, "What runs has the rights of the user that this host runs as.")),
        [{"id": id, "label": label, "description": why} for id, (label, why) in _OPTIONS.items()],
        title="Start them?",
    )
    return {"message": message, "questions": [question]}


def trust_answer(answers: Answers) -> TrustAnswer | None:
    """Return what was answered; None where nobody did."""
    chosen = answers.get(QUESTION) if answers else None
    return next((option for option in _OPTIONS if option == chosen), None)


def place_of(server: DeclaredServer) -> str:
    """Return what a decision about a server is kept under: its folder, or who brought it."""
    if server.folder is not None:
        return server.folder
    return f"client {server.client_id}" if server.client_id is not None else "this session"


def _place(server: DeclaredServer) -> str:
    place = _shown(place_of(server))
    return place if server.client_id is None else f"a client's plugin, in {place}"


def told(declaration: ServerDeclaration) -> str:
    """Return one line that says what a server is, under its name."""
    return f"{_shown(declaration.name)}: {what_it_is(declaration)}"


def what_it_is(declaration: ServerDeclaration) -> str:
    """Return what of a server runs or is reached, and what it is given."""
    telling = {name: value for name, value in declaration.env.items() if _tells(name, value)}
    values = [f"with {name}={_value(value)}" for name, value in telling.items()]
    silent = [name for name in declaration.env if name not in telling]
    named = (_names(silent, "variable"), _names(list(declaration.headers), "header"))
    given = [f"with {names}" for names in named if names]
    if declaration.host_variables:
        # All of them: what is not named here could not be refused.
        names = ", ".join(_shown(name) for name in declaration.host_variables)
        given.append(f"takes {names} of this host's environment")
    if _is_open_to_all(declaration):
        given.append("not encrypted: whoever is on the way reads along, tokens too")
    return "; ".join((what_runs(declaration), *values, *given))


def what_runs(declaration: ServerDeclaration) -> str:
    """Return a server's command line or address, fit to be shown."""
    if declaration.command is not None:
        line = " ".join(_words_without_secrets(declaration.command))
        where = f" (in {_shown(declaration.cwd)})" if declaration.cwd else ""
        return _shortened(_shown(line)) + where
    parts = urlsplit(declaration.url or "")
    # In letters that cannot be mistaken for those of another host.
    host = parts.netloc.rpartition("@")[2].encode("ascii", "backslashreplace").decode()
    hidden = "…" if parts.query else ""
    return _shortened(_shown(urlunsplit((parts.scheme, host, parts.path, hidden, ""))))


def _is_open_to_all(declaration: ServerDeclaration) -> bool:
    """Say whether what is sent to a server leaves this machine as it is."""
    parts = urlsplit(declaration.url or "")
    try:
        is_here = ip_address(parts.hostname or "").is_loopback
    except ValueError:
        is_here = parts.hostname == "localhost"
    return parts.scheme == "http" and not is_here


def _words_without_secrets(command: Sequence[str]) -> Iterator[str]:
    """Quote a command word by word, for what is hidden of one must not be the next."""
    # To a launcher the word behind an option that it does not know is what it launches.
    is_told = _LAUNCHER.fullmatch(PurePath(command[0]).name) is None
    before, is_secret = "-", False
    for word in command:
        if is_secret and not word.startswith(_COULD_RUN) and _is_secret("option", word.encode()):
            yield REDACTED
        else:
            yield redact(shlex.quote(word), _is_secret)
            is_named = before in _BARE or not before.startswith("-")
            is_told |= is_named and not word.startswith("-") and word not in _SUBCOMMANDS
        assigned = f"{word.lstrip('-')}=x"
        is_option = word.startswith("--") and "=" not in word
        is_secret = is_told and is_option and redact(assigned) != assigned
        before = word


def _is_secret(kind: str, value: bytes) -> bool:
    return kind != "bearer" and _PLAIN.fullmatch(value) is not None


def _tells(name: str, value: str) -> bool:
    """Say whether the value of a variable is needed to know what would run."""
    if _SECRET_VARIABLE.search(name) is not None:
        # Nothing runs it but a command that names it.
        return False
    if _LOADERS.fullmatch(name) is not None:
        return True
    # An option, a path or a text that something could run; no name, number or secret looks so.
    return value.startswith(_COULD_RUN) or _PLAIN.fullmatch(value.encode()) is None


def _value(value: str) -> str:
    return _shortened(_shown(redact(shlex.quote(value), _is_secret)), _LONGEST_VALUE)


def _names(names: Sequence[str], what: str) -> str:
    if not names:
        return ""
    listed = ", ".join(_shown(name) for name in names[:_MOST_NAMES])
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"the {what}{'s' if len(names) != 1 else ''} {listed}{more}"


def _shown(text: str) -> str:
    """Return a text whose every character is seen for what it is."""
    if text.isascii() and text.isprintable() and "  " not in text:
        return text
    seen = "".join(c if _is_seen(c) else c.encode("unicode_escape").decode() for c in text)
    # So many of them could push the rest out of sight.
    return _SPACES.sub(lambda found: f"[{len(found.group())} spaces]", seen)


def _is_seen(character: str) -> bool:
    if character.isascii() or not character.isprintable():
        return character.isprintable()
    # Marks are drawn over what is before them, and some letters are drawn as nothing.
    return unicodedata.category(character)[0] != "M" and character not in _BLANK


def _shortened(line: str, longest: int = LONGEST) -> str:
    """Return the beginning and the end of a line that is too long to be read."""
    if len(line) <= longest:
        return line
    half = longest // 2
    left_out = len(line) - 2 * half
    return f"{line[:half]} [… {left_out} characters are not shown here …] {line[-half:]}"
