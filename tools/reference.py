"""Writes ``docs/reference.md``: every command, setting and variable, from the code itself.

``python -m tools.reference`` writes it, ``--check`` says whether it is as the code is. What it
prints depends on the code alone, never on the machine or the environment.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference.md"

_HEAD = """\
<!-- Made by `python -m tools.reference` from the code; changes here are lost. -->
# Reference

Every command, option, setting, environment variable and slash command. What they are for, and how
they go together, is on the other pages: [the command line](command-line.md),
[running a host](running.md), [configuration](configuration.md).
"""

# Options that say which host is meant; nearly every command has them, so they are told once.
_WHICH_HOST = ("--url", "--token", "--data-dir", "--tls-ca")
_ITSELF = "-h"

TOML_KEYS: Mapping[str, str] = {
    "agents": 'the agents to offer, as `--agent` names them: `agents = ["llm", "greeter:Greeter"]`',
}
"""What ``agenthost.toml`` may say; anything else is refused with the name of the key."""

FAR_HOST_KEYS: Mapping[str, str] = {
    "url": "its address: `ws://`, `wss://`, `ssh://`",
    "token": "the token for it; then nobody else may be able to read the file",
    "agent": "the one agent of it that is offered, instead of all",
    "shared": "`true` if its files are this machine's",
}
"""What the file of ``--agent ahp:NAME=@FILE`` may say."""


def reference() -> str:
    """Return the page."""
    # Defaults of options come from the environment in part.
    with patch.dict(os.environ, clear=True):
        sections = (_commands(), _chat(), _settings(), _variables(), _files())
        return "\n".join([_HEAD, *("\n".join(lines) for lines in sections)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or compare it."""
    parser = argparse.ArgumentParser(prog="python -m tools.reference", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if it is stale")
    args = parser.parse_args(arguments)
    made = reference()
    if args.check:
        is_fresh = PAGE.is_file() and PAGE.read_text() == made
        print("docs/reference.md is", "fresh" if is_fresh else "stale: python -m tools.reference")
        return 0 if is_fresh else 1
    PAGE.write_text(made)
    return 0


# Commands


def _commands() -> Iterator[str]:
    from agenthost.cli.main import build_parser

    parser = build_parser()
    yield "## Commands\n"
    yield "`agenthost COMMAND --help` says the same at the terminal.\n"
    yield from _table(("Option", "Of nearly every command"), _shared(parser))
    for name, below, about in _below(parser):
        yield from _command(f"agenthost {name}", below, about)


def _command(name: str, parser: argparse.ArgumentParser, about: str) -> Iterator[str]:
    yield f"### {name}\n"
    text = " ".join((parser.description or about).split())
    if text:
        yield f"{_sentence(text)}\n"
    yield f"```text\n{_usage(name, parser)}\n```\n"
    yield from _options(parser)
    if examples := _examples(parser):
        yield f"```text\n{examples}\n```\n"
    for verb, below, verb_about in _below(parser):
        usage = _usage(f"{name} {verb}", below)
        yield f"**`{usage}`**: {verb_about or below.description or ''}\n"
        yield from _options(below, without=[_option(action) for action in _own(parser)])


def _options(
    parser: argparse.ArgumentParser, without: Sequence[tuple[str, str]] = ()
) -> Iterator[str]:
    rows = [row for row in map(_option, _own(parser)) if row not in without]
    if rows:
        yield from _table(("Option", "What"), rows)


def _below(
    parser: argparse.ArgumentParser,
) -> Iterator[tuple[str, argparse.ArgumentParser, str]]:
    """Yield the commands below one, each once, with its second names and its sentence."""
    for action in parser._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        told = {choice.dest: choice.help or "" for choice in action._choices_actions}
        first: dict[int, str] = {}
        for name, below in action.choices.items():
            first.setdefault(id(below), name)
        for name, below in action.choices.items():
            about = told.get(name, "")
            if first[id(below)] == name and about != argparse.SUPPRESS:
                others = [n for n, p in action.choices.items() if p is below and n != name]
                also = f" (also: {', '.join(f'`{other}`' for other in others)})" if others else ""
                yield name, below, about + also


def _own(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return what a command takes, without what nearly all of them take."""
    asks_a_host = any("--url" in action.option_strings for action in parser._actions)
    return [
        action
        for action in parser._actions
        # The usage shows the arguments that need no words.
        if action.help not in (argparse.SUPPRESS, None)
        and not isinstance(action, argparse._SubParsersAction)
        and _ITSELF not in action.option_strings
        and not (asks_a_host and set(action.option_strings) & set(_WHICH_HOST))
    ]


def _shared(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    (sessions,) = (below for name, below, _ in _below(parser) if name == "sessions")
    for action in sessions._actions:
        if set(action.option_strings) & set(_WHICH_HOST):
            yield _option(action)


def _option(action: argparse.Action) -> tuple[str, str]:
    value = _value(action)
    names = [*action.option_strings] or [value]
    if action.option_strings:
        names[-1] = f"{names[-1]} {value}".strip()
    text = _cell((action.help or "") % (vars(action) | {"prog": "agenthost"}))
    if action.choices is not None and action.metavar is None:
        text += f": {_names(', '.join(map(str, action.choices)))}"
    return f"`{', '.join(names)}`", text


def _value(action: argparse.Action) -> str:
    """Return what is written behind an option, or in place of an argument."""
    if action.nargs == 0:
        return ""
    if isinstance(action.metavar, tuple):
        return " ".join(action.metavar)
    return action.metavar or action.dest.upper().replace("_", "-")


def _usage(name: str, parser: argparse.ArgumentParser) -> str:
    words = [name]
    for action in parser._actions:
        if action.option_strings or action.help == argparse.SUPPRESS:
            continue
        value = _value(action)
        optional = action.nargs in ("?", "*") or not action.required
        more = " …" if action.nargs in ("*", "+", argparse.REMAINDER) else ""
        words.append(f"[{value}{more}]" if optional else f"{value}{more}")
    needed = [a for a in parser._actions if a.option_strings and a.required]
    words += [f"{action.option_strings[-1]} {_value(action)}" for action in needed]
    return " ".join(words)


def _examples(parser: argparse.ArgumentParser) -> str:
    _, found, text = (parser.epilog or "").partition("examples:\n")
    return re.sub("^  ", "", text, flags=re.MULTILINE).rstrip() if found else ""


# Everything else


def _chat() -> Iterator[str]:
    from agenthost.cli.interactive.commands.registry import COMMANDS, SAME

    yield "## In a chat\n"
    yield "What `agenthost chat` does itself; two slashes send the agent a command of that name.\n"
    others: dict[str, list[str]] = {}
    for second, first in SAME.items():
        others.setdefault(first, []).append(f"`/{second}`")
    rows = []
    for command in COMMANDS.values():
        typed = f"`/{command.name} {command.usage}`".replace(" `", "`")
        also = f"; also {', '.join(others[command.name])}" if command.name in others else ""
        rows.append((_piped(typed), _cell(command.about) + also))
    yield from _table(("Type", "What"), rows)


def _settings() -> Iterator[str]:
    from agenthost.agents.common_settings import COMMON_SETTINGS, PLACE_SETTINGS
    from agenthost.host.channels.root_schema import CONFIG_SCHEMA

    yield "## Settings of the host\n"
    yield "`agenthost config KEY VALUE`, the page, or `agenthost serve --set KEY=VALUE`.\n"
    yield from _table(("Key", "Kind", "What", "At first"), _properties(CONFIG_SCHEMA["properties"]))
    yield "## Settings of a session\n"
    yield (
        "`agenthost config KEY VALUE --session SESSION`, or any client. Agents add their own, and "
        "`agenthost config --session` lists all of a session. Where it works is decided when it "
        f"begins: {_names(', '.join(sorted(PLACE_SETTINGS)))}.\n"
    )
    yield from _table(("Key", "Kind", "What", "At first"), _properties(COMMON_SETTINGS))


def _properties(properties: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for key, schema in properties.items():
        kind = schema["type"]
        if kind == "array":
            kind = f"list of {schema['items']['type']}s"
        kind = " ".join(f"`{value}`" for value in schema.get("enum", ())) or kind
        first = schema.get("default")
        shown = f"`{json.dumps(first)}`" if first not in (None, "", []) else ""
        yield f"`{key}`", kind, _cell(schema["description"]), shown.replace('"', "")


def _variables() -> Iterator[str]:
    from agenthost.environment import GROUPS, VARIABLES

    yield "## Environment variables\n"
    for group, title in GROUPS.items():
        yield f"### {title}\n"
        rows = [
            (_names(variable.name), variable.what, variable.default, variable.read_by)
            for variable in VARIABLES
            if variable.group == group
        ]
        yield from _table(("Variable", "What", "Without it", "Read by"), rows)


def _files() -> Iterator[str]:
    yield "## agenthost.toml\n"
    yield "Read by `serve` in the folder where it is started; `--config FILE` names another.\n"
    yield from _table(("Key", "What"), [(f"`{k}`", v) for k, v in TOML_KEYS.items()])
    yield "### The file of a far host\n"
    yield "TOML, for `--agent ahp:NAME=@FILE` ([more](far-hosts.md)).\n"
    yield from _table(("Key", "What"), [(f"`{k}`", v) for k, v in FAR_HOST_KEYS.items()])


# Markdown


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _cell(text: str) -> str:
    """Return a text of the code's as one cell of a table."""
    return _piped(" ".join(text.split())).replace("<", "&lt;").replace("*", "\\*")


def _piped(text: str) -> str:
    return text.replace("|", "\\|")


def _names(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split(", "))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", ")", "`")) else ".")


if __name__ == "__main__":
    sys.exit(main())
