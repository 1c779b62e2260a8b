"""Reads declarations of MCP servers: ``.mcp.json``, ``.vscode/mcp.json`` and their relatives.

Starts nothing and reaches for nothing: what a file says becomes a declaration, or a problem.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import TypeAlias
from urllib.parse import urlsplit

from agenthost.customizations.fields import LONGEST_NAME, BadField, flag_from, plain
from agenthost.customizations.json_files import BadJson, entry_ranges, parse_json
from agenthost.customizations.reading import ReadFile
from agenthost.customizations.types import FoundCustomization
from agenthost.customizations.variables import UnknownVariable, Variables, host_variables
from agenthost.mcp.types import ServerDeclaration

MOST_ARGUMENTS = 256
MOST_SETTINGS = 256
LONGEST_VALUE = 32 * 1024
# Of a command with its environment: what kernels take for one argument alone.
MOST_LETTERS = 128 * 1024

# Of most, and of VS Code; each is found in the other's files.
_OUTER_NAMES = ("mcpServers", "servers")
# What replaces variables in its arguments itself.
_SHELLS = frozenset({"ash", "bash", "dash", "fish", "ksh", "sh", "zsh", "pwsh", "powershell"})
_STDIO = frozenset({"stdio", "local"})
_HTTP = frozenset({"http", "streamable-http", "streamableHttp", "streamable_http", "remote"})
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,199}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}")
_Entry: TypeAlias = Mapping[str, object]


def declared_servers(file: ReadFile, variables: Variables, most: int) -> list[FoundCustomization]:
    """Return the servers that a file declares.

    A file that cannot be read is one entry, named after it, with the problem.
    """
    if file.problem is not None:
        return [_broken(file, file.problem)]
    try:
        whole = parse_json(file.text)
    except BadJson as error:
        return [_broken(file, str(error))]
    path = [name for name in _OUTER_NAMES if name in whole][:1]
    if not path and not _is_bare(whole):
        return []
    servers: object = whole[path[0]] if path else whole
    if not isinstance(servers, dict):
        return [_broken(file, f"`{path[0]}` is no object with the names of servers")]
    ranges = entry_ranges(file.text, path, most)
    return [
        replace(server_customization(name, said, file.path, variables), range=ranges.get(name))
        for name, said in islice(servers.items(), most)
    ]


def server_customization(
    name: str, said: object, path: str, variables: Variables
) -> FoundCustomization:
    """Return the entry for one declared server; with its problem, if it has one."""
    shown = plain(name, LONGEST_NAME)
    found = FoundCustomization("mcpServer", shown or "unnamed", path)
    try:
        if not shown or shown != name.strip():
            raise BadField("its name is empty, too long, or not what it looks like")
        if not isinstance(said, dict):
            raise BadField("it is declared by no object")
        declaration = _declaration(shown, said, variables)
    except (BadField, UnknownVariable) as error:
        return replace(found, problem=str(error))
    return replace(found, server=declaration, description=_described(declaration))


def _is_bare(servers: _Entry) -> bool:
    """Say whether a file names servers without the name around them, as plugins do."""
    return bool(servers) and all(
        isinstance(said, dict) and ("command" in said or "url" in said) for said in servers.values()
    )


def _broken(file: ReadFile, problem: str) -> FoundCustomization:
    name = plain(file.path.rpartition("/")[2], LONGEST_NAME) or "mcp.json"
    return FoundCustomization("mcpServer", name, file.path, problem=problem)


def _declaration(name: str, said: _Entry, variables: Variables) -> ServerDeclaration:
    if flag_from(said, "disabled", False):
        raise BadField("it is switched off in its file (`disabled`)")
    if said.get("envFile"):
        raise BadField("it needs an `envFile`, which is not read here; write it under `env`")
    kind = said.get("type") or said.get("transport")
    if kind is None:
        kind = "http" if "url" in said and "command" not in said else "stdio"
    if kind == "sse":
        raise BadField("its transport is `sse`, which is not used any more; `http` is")
    if isinstance(kind, str) and kind in _STDIO:
        return _by_command(name, said, variables)
    if isinstance(kind, str) and kind in _HTTP:
        return _by_url(name, said, variables)
    raise BadField("its `type` is neither stdio nor http")


def _by_command(name: str, said: _Entry, variables: Variables) -> ServerDeclaration:
    env = _environment(said, variables)
    variables = variables.with_env(env)
    program = variables.expanded(_text(said, "command"))
    if not program.strip():
        raise BadField("it has no `command`")
    arguments = said.get("args") or []
    if not isinstance(arguments, list) or len(arguments) > MOST_ARGUMENTS:
        raise BadField(f"its `args` are no list, or more than {MOST_ARGUMENTS}")
    shell = program.rpartition("/")[2] in _SHELLS
    words = [
        variables.expanded(_word(word, "args"), lenient=True, shell=shell) for word in arguments
    ]
    if sum(map(len, (program, *words, *env.values()))) > MOST_LETTERS:
        raise BadField("its command and environment are too long")
    cwd = variables.expanded(_text(said, "cwd"))
    wanted = host_variables((program, *words, *env.values(), cwd))
    return ServerDeclaration(
        name, command=(program, *words), env=env, cwd=cwd or None, host_variables=wanted
    )


def _by_url(name: str, said: _Entry, variables: Variables) -> ServerDeclaration:
    variables = variables.with_env(_environment(said, variables))
    url = variables.expanded(_text(said, "url"))
    if not _is_web_address(url):
        raise BadField("its `url` is no http or https address")
    headers = {
        header: variables.expanded(value) for header, value in _settings(said, "headers").items()
    }
    for header, value in headers.items():
        if not _HEADER_NAME.fullmatch(header) or not value.isprintable() or not value.isascii():
            raise BadField("its `headers` have a name or value that no header may have")
    wanted = host_variables((url, *headers.values()))
    return ServerDeclaration(
        name, url=url, headers=headers, oauth_client=_oauth_client(said), host_variables=wanted
    )


def _environment(said: _Entry, variables: Variables) -> dict[str, str]:
    given = _settings(said, "env")
    if not all(_ENVIRONMENT_NAME.fullmatch(name) for name in given):
        raise BadField("its `env` has a name that no variable may have")
    variables = variables.with_env(given)
    return {name: variables.expanded(value) for name, value in given.items()}


def _settings(said: _Entry, key: str) -> dict[str, str]:
    given = said.get(key)
    if given is None:
        return {}
    if not isinstance(given, dict) or len(given) > MOST_SETTINGS:
        raise BadField(f"its `{key}` are no object, or too many")
    # In VS Code null takes a variable away; servers here have none to be taken.
    return {name: _word(value, key) for name, value in given.items() if value is not None}


def _word(value: object, key: str) -> str:
    # Ports and switches are often written without quotes.
    if isinstance(value, bool):
        value = "true" if value else "false"
    if isinstance(value, int | float):
        value = str(value)
    if not isinstance(value, str) or len(value) > LONGEST_VALUE or "\0" in value:
        raise BadField(f"its `{key}` have something that is no text, or too long")
    return value


def _text(said: _Entry, key: str) -> str:
    value = said.get(key)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > LONGEST_VALUE or "\0" in value:
        raise BadField(f"its `{key}` is no text, or too long")
    return value


def _oauth_client(said: _Entry) -> tuple[str, str | None] | None:
    """Return the client that somebody has registered at the authorization server."""
    for key, client_id, secret in (
        ("oauth", "clientId", "clientSecret"),
        ("auth", "CLIENT_ID", "CLIENT_SECRET"),
    ):
        given = said.get(key)
        if isinstance(given, dict) and given.get(client_id):
            return _text(given, client_id), _text(given, secret) or None
    return None


def _is_web_address(url: str) -> bool:
    if not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        # Asked for its own complaint.
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _described(declaration: ServerDeclaration) -> str:
    """Return what is reached or run, without arguments and queries: those may hold secrets."""
    if declaration.command is not None:
        return plain(f"runs {declaration.command[0]}", LONGEST_NAME)
    parts = urlsplit(declaration.url or "")
    return plain(f"at {parts.hostname}", LONGEST_NAME)
