"""``agenthost mcp log|call|login``: what a server prints, says and asks for."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from agenthost.cli.commands.mcp import START_PATIENCE, parsed_arguments, server_hint, the_server
from agenthost.cli.connection.host_connection import connected, decode_argument
from agenthost.cli.connection.session_lookup import open_session_or_latest
from agenthost.cli.exit_codes import FAILED, OK, USAGE, CommandFailed, print_error
from agenthost.cli.format.customization_format import MOST_NAME, cell
from agenthost.cli.format.terminal_text import safe_text, table

if TYPE_CHECKING:
    from agenthost.client import Session
    from agenthost.client.mcp import McpServerView

Json = Mapping[str, Any]

_OPENING = 3.0
"""Seconds in which a host opens a side channel."""

_MOST_LINE = 64 * 1024
"""Characters of a line that has no end which are kept before they are printed."""


async def log(args: argparse.Namespace) -> int:
    """Print a server's log, and with ``--follow`` what comes."""
    async with connected(args) as client:
        session = await open_session_or_latest(client, args)
        server = await the_server(session, args)
        async with await server.log() as terminal:
            if args.json:
                print(json.dumps({"id": server.id, "log": terminal.uri, "text": terminal.text}))
                return OK
            if not args.follow:
                if not terminal.text:
                    name = cell(server.name, MOST_NAME)
                    print(f"{name} has printed nothing.", file=sys.stderr)
                _print_lines(terminal.text)
                return OK
            rest = ""
            async for text in terminal.output():
                *lines, rest = (rest + text).split("\n")
                if len(rest) > _MOST_LINE:
                    lines, rest = [*lines, rest], ""
                for line in lines:
                    _print_lines(line + "\n")
            _print_lines(rest)
    return OK


def _print_lines(text: str) -> None:
    plain = safe_text(text, overwrite=True)
    if plain:
        print(plain, end="" if plain.endswith("\n") else "\n", flush=True)


async def call(args: argparse.Namespace) -> int:
    """List a server's tools, or call one and print what it returns."""
    arguments = parsed_arguments(args.arguments)
    async with connected(args, mcp_apps=args.tool is None) as client:
        session = await open_session_or_latest(client, args)
        server = await the_server(session, args)
        _check_ready(server, args)
        if args.tool is None:
            await _side_channel(session, server)
            return _print_tools(await server.request("tools/list"), args)
        tool = decode_argument(args.tool)
        result = await server.call(tool, arguments, timeout=args.timeout)
    return _print_result(result, args)


async def _side_channel(session: Session, server: McpServerView) -> None:
    """Wait a moment for a side channel: hosts open one when a client that wants it has come."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_OPENING):
            await session.channel.until(lambda _: "channel" in server.item.value)


def _check_ready(server: McpServerView, args: argparse.Namespace) -> None:
    if server.state["kind"] != "ready":
        starting = server_hint("start", server, args)
        told = f"{cell(server.name, MOST_NAME)} is not running; {starting} starts it"
        raise CommandFailed(told)


def _print_tools(listed: Json, args: argparse.Namespace) -> int:
    tools = [tool for tool in listed.get("tools") or () if isinstance(tool, Mapping)]
    if args.json:
        print(json.dumps(tools, indent=2))
        return OK
    rows = [("TOOL", "ABOUT")]
    for tool in tools:
        told = str(tool.get("title") or tool.get("description") or "")
        rows.append((cell(str(tool.get("name")), 64), cell(told)))
    for line in table(rows, flexible=1):
        print(line)
    return OK


def _print_result(result: Json, args: argparse.Namespace) -> int:
    failed = bool(result.get("isError"))
    if args.json:
        print(json.dumps(result, indent=2))
        return FAILED if failed else OK
    for block in result.get("content") or ():
        text = _block_text(block)
        if failed:
            print_error(text, FAILED)
        else:
            print(safe_text(text))
    return FAILED if failed else OK


def _block_text(block: Any) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case {"type": str(kind)}:
            return f"[{kind}; --json shows it]"
    return "[something unknown; --json shows it]"


async def login(args: argparse.Namespace) -> int:
    """Hand over a token for a server, and wait until it is ready."""
    async with connected(args) as client:
        session = await open_session_or_latest(client, args)
        server = await the_server(session, args)
        needed = server.auth
        name = cell(server.name, MOST_NAME)
        if needed is None:
            state = server.state["kind"]
            raise CommandFailed(f"{name} asks for no token; it is {state}")
        resource = needed["resource"]["resource"]
        token = _token(args, f"Token for {cell(resource)}: ")
        await client.authenticate(resource, token, expires_in=args.expires_in)
        async with asyncio.timeout(START_PATIENCE):
            await session.channel.until(lambda _: server.auth != needed)
            state = (await server.wait_for("ready", "authRequired", "stopped"))["kind"]
        refused = server.auth is not None
    if refused:
        raise CommandFailed(f"{name} does not take this token for {cell(resource)}", kind="denied")
    if args.json:
        print(json.dumps({"id": server.id, "server": server.name, "state": state}, indent=2))
    else:
        print(f"{state}  {name}")
    return OK


def _token(args: argparse.Namespace, prompt: str) -> str:
    from getpass import getpass

    if args.token_stdin:
        token = sys.stdin.readline().strip()
    elif sys.stdin.isatty():
        token = getpass(prompt).strip()
    else:
        raise CommandFailed("there is no terminal to ask on; use --token-stdin", USAGE)
    if not token:
        raise CommandFailed("the token is empty", USAGE)
    return token
