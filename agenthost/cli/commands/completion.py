"""``agenthost completion``: a script with which a shell completes command lines at the Tab key.

The script is made from the argument tree. For sessions it asks this command again, which answers
within two seconds or says nothing: whoever presses a key wants no error messages.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import re
import shlex
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agenthost.cli.arguments import Subparsers, add_command

if TYPE_CHECKING:
    from agenthost.client import Client

_EXAMPLES = """examples:
  source <(agenthost completion bash)              a line for ~/.bashrc
  agenthost completion zsh > ~/.zfunc/_agenthost   with ~/.zfunc in fpath
  agenthost completion fish > ~/.config/fish/completions/agenthost.fish

Commands, options and files are completed, and sessions by asking the host.
"""

# Seconds in which a host must have answered, and how many names anybody wants to choose from.
_PATIENCE = 2.0
_MOST_NAMES = 100

# Shells evaluate some of what they complete, and hosts choose what their sessions are called.
_HARMLESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

# Verbs whose sessions are those in the trash.
_OF_TRASH = ("restore", "purge")

_HOW = {
    "bash": "source <(agenthost completion bash)   # in ~/.bashrc",
    "zsh": "agenthost completion zsh > ~/.zfunc/_agenthost   # fpath+=~/.zfunc before compinit",
    "fish": "agenthost completion fish > ~/.config/fish/completions/agenthost.fish",
}

# How each shell calls this command for names: the kind is put in, the rest is the shell's own.
_FUNCTIONS = {
    "bash": """
_agenthost_{kind}() {{
  "${{COMP_WORDS[0]}}" completion --list {kind} --starting="$1" --line="$COMP_LINE" \\
    2>/dev/null </dev/null | cut -f 1
}}
""",
    "zsh": """
_agenthost_{kind}() {{
  local -a found
  local id title
  while IFS=$'\\t' read -r id title; do
    found+=("$id:${{title//:/\\\\:}}")
  done < <("${{service:-agenthost}}" completion --list {kind} --starting="$PREFIX" \\
    --line="$BUFFER" 2>/dev/null </dev/null)
  _describe -t sessions session found
}}
""",
    "fish": """
function _agenthost_{kind}
  set -l typed (commandline -opc)
  command $typed[1] completion --list {kind} --starting=(commandline -ct | string collect) \\
    --line=(commandline -p | string collect) 2>/dev/null </dev/null
end
""",
}


def register(subparsers: Subparsers) -> None:
    """Add ``completion`` to the argument tree."""
    parser = add_command(
        subparsers, "completion", "print a script that completes command lines", run, _EXAMPLES
    )
    add = parser.add_argument
    add("shell", metavar="SHELL", nargs="?", choices=tuple(_HOW), help="bash, zsh or fish")
    # What the scripts ask for.
    for name in ("--list", "--starting", "--line"):
        add(name, default="", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Print the script, or names that a script asks for."""
    if args.list:
        for name, title in _listed(args):
            print(f"{name}\t{title}")
        return 0
    if args.shell is None:
        from agenthost.cli.exit_codes import USAGE, print_error

        return print_error(f"which shell? {', '.join(_HOW)}", USAGE)
    print(script(args.shell))
    return 0


def script(shell: str) -> str:
    """Return the script for a shell."""
    import shtab

    from agenthost.cli.main import build_parser

    parser = build_parser()
    _mark(parser, shtab)
    made = str(shtab.complete(parser, shell, preamble=_functions(shell)))
    # zsh wants its own first line to be the first.
    first, _, rest = made.partition("\n")
    return f"{first}\n# To have it always: {_HOW[shell]}\n{rest}"


def _functions(shell: str) -> str:
    return "".join(_FUNCTIONS[shell].format(kind=kind) for kind in ("sessions", "trash"))


def _mark(parser: argparse.ArgumentParser, shtab: Any, verb: str = "") -> None:
    """Say of every argument in a tree what completes it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, sub in action.choices.items():
                _mark(sub, shtab, f"{verb} {name}".strip())
        elif action.metavar in ("SESSION", "DIR", "FILE"):
            found = {"DIR": shtab.DIRECTORY, "FILE": shtab.FILE}.get(str(action.metavar))
            # Where argparse has no such member, shtab reads one.
            action.complete = found or _names(verb)  # type: ignore[attr-defined]


def _names(verb: str) -> dict[str, str]:
    of_trash = verb in {f"sessions {name}" for name in _OF_TRASH}
    function = f"_agenthost_{'trash' if of_trash else 'sessions'}"
    return {"bash": function, "zsh": function, "fish": f"({function})"}


# Names that a script asks for.


def _listed(args: argparse.Namespace) -> list[tuple[str, str]]:
    """Return the ids and titles of sessions that a word may become; none where anything fails."""
    found: list[tuple[str, str]] = []
    host = host_options(args.line)
    # A far machine may want a password, and takes longer than anybody waits for a key.
    if not (host.url or "").startswith("ssh:"):
        with contextlib.suppress(Exception):
            asyncio.run(_collect(host, args.list == "trash", found))
    return list(fitting(found, args.starting))


async def _collect(host: argparse.Namespace, of_trash: bool, found: list[tuple[str, str]]) -> None:
    from agenthost.cli.connection.host_connection import connected

    async with asyncio.timeout(_PATIENCE), connected(host, tell=lambda _: None) as client:
        async for uri, title in _sessions(client, of_trash):
            found.append((uri, title))


async def _sessions(client: Client, of_trash: bool) -> AsyncIterator[tuple[str, str]]:
    from agenthost.cli.format.state_format import is_archived

    if of_trash:
        for entry in await client.sessions.trash():
            yield entry["session"], entry["title"]
        return
    async for summary in client.sessions:
        if not is_archived(summary["status"]):
            yield summary["resource"], summary["title"]


def fitting(sessions: list[tuple[str, str]], word: str) -> Iterator[tuple[str, str]]:
    """Yield the ids that a word is the beginning of, or the one whose title it is a part of."""
    from agenthost.cli.format.state_format import session_id, short_id
    from agenthost.cli.format.terminal_text import clip, one_line

    ids = [(short_id(uri), session_id(uri), title) for uri, title in sessions]
    ids = [entry for entry in ids if _HARMLESS.fullmatch(entry[1])]
    shorts = [short for short, _, _ in ids]
    named = [
        (short if short.startswith(word) and shorts.count(short) == 1 else whole, title)
        for short, whole, title in ids[: _MOST_NAMES * 50]
        if whole.startswith(word)
    ]
    if not named and word:
        titled = [(short, title) for short, _, title in ids if word.casefold() in title.casefold()]
        named = titled if len(titled) == 1 else []
    for name, title in named[:_MOST_NAMES]:
        yield name, clip(one_line(title), 60)


def host_options(line: str) -> argparse.Namespace:
    """Return which host a half-typed command line is for."""
    from agenthost.cli.connection.host_connection import add_connection_options

    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    add_connection_options(parser, patience=_PATIENCE)
    try:
        host, _ = parser.parse_known_args(words[1:])
    except (argparse.ArgumentError, SystemExit):
        # An option whose value is not typed yet.
        host, _ = parser.parse_known_args([])
    if host.data_dir is not None:
        host.data_dir = Path(host.data_dir).expanduser()
    return host
