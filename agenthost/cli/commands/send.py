"""``agenthost send``: send one prompt and print the answer, without a person to ask.

The answer's markdown is all that goes to standard output (or one JSON document); what happens on
the way goes to standard error.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from agenthost.cli.arguments import Subparsers, add_command, add_json_option, positive_seconds
from agenthost.cli.connection.command_hints import command
from agenthost.cli.connection.customization_lookup import chosen_agent
from agenthost.cli.connection.host_connection import (
    add_connection_options,
    connected,
    decode_argument,
    run_command,
)
from agenthost.cli.connection.session_lookup import (
    add_settings_option,
    begin_session,
    check_model,
    configure_session,
    open_session,
)
from agenthost.cli.exit_codes import DENIED, FAILED, OK, USAGE, CommandFailed, print_error
from agenthost.cli.format.state_format import error_lines, short_id, tool_json, turn_error
from agenthost.cli.headless.answer_output import Output
from agenthost.cli.headless.auto_answers import ApprovalPolicy, GivenAnswers
from agenthost.cli.headless.ephemeral_session import ephemeral_session
from agenthost.cli.headless.headless_turn import HeadlessTurn
from agenthost.cli.read_mark import ReadMark
from agenthost.client import Chat, Client, Session
from agenthost.errors import AgentHostError

Json = Mapping[str, Any]

# Seconds that a host which went away may stay away: a turn is worth a longer wait than a list.
_PATIENCE = 120.0
# Seconds in which a host takes note that an answer was read; that is no reason to keep people.
_MARKING = 1.0

_EXAMPLES = """examples:
  agenthost send "What is in this folder?" --dir .
  agenthost send --session release "And now the changelog"
  agenthost send --session release --resume
  (echo "Review this:"; git diff) | agenthost send > review.md
  agenthost send "Fix the typo" --dir . --set isolation=worktree
  git log -5 | agenthost send --ephemeral
  agenthost send "/run ls" --approve tool=shell
  agenthost send "/ask" --answer name=Ada --answer fruit=apple,pear --json

exit codes: 0 the turn is complete, 1 it failed or was cancelled, 2 misuse,
3 no host, 4 it did not get an approval, 130 Ctrl-C, which cancels the turn
"""


def register(subparsers: Subparsers) -> None:
    """Add ``send`` to the argument tree."""
    parser = add_command(subparsers, "send", "send one prompt and print the answer", run, _EXAMPLES)
    add = parser.add_argument
    add("text", metavar="TEXT", nargs="?", help="what to say (default, or -: standard input)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--session", metavar="SESSION", help="continue this one: URI, id or title")
    which.add_argument("--new", action="store_true", help="start a new session (the default)")
    which.add_argument(
        "--ephemeral", action="store_true", help="a new session of which nothing is left"
    )
    add("--resume", action="store_true", help="go on with the failed last turn of --session")
    add("--agent", metavar="PROVIDER", help="who answers, in a new session (default: the host's)")
    add("--dir", metavar="DIR", help="where a new session works: a path or URI (the host's)")
    add("--agent-file", metavar="NAME", help="the custom agent that answers: its name or file")
    add("--model", metavar="ID", help="the model for this message (default: the agent's)")
    add_settings_option(parser)
    add(
        "--approve",
        metavar="POLICY",
        action="append",
        default=[],
        help="what may go ahead: never (default), always, or tool=NAME",
    )
    add(
        "--answer",
        metavar="ID=VALUE",
        action="append",
        default=[],
        help="the answer to a question of the agent; may be repeated",
    )
    add("--timeout", metavar="SECONDS", type=positive_seconds, help="cancel the turn after so long")
    add_json_option(parser, "print one JSON document instead of the answer")
    add("-q", "--quiet", action="store_true", help="nothing but errors on standard error")
    add("-v", "--verbose", action="store_true", help="reasoning and tool output as well")
    add_connection_options(parser, patience=_PATIENCE)


def run(args: argparse.Namespace) -> int:
    """Send the prompt and follow its turn to the end."""
    return run_command(args, send)


async def send(args: argparse.Namespace) -> int:
    """Send the prompt, print the answer, and return the exit code."""
    if args.session is not None and (args.agent or args.dir):
        raise CommandFailed("--agent and --dir are for new sessions", USAGE)
    chosen = args.model or args.agent_file
    if args.resume and (args.session is None or args.text is not None or chosen):
        told = "--resume goes with --session, and without TEXT, --model or --agent-file"
        raise CommandFailed(told, USAGE)
    try:
        given = [decode_argument(answer) for answer in args.answer]
        approvals, answers = ApprovalPolicy.read(args.approve), GivenAnswers.read(given)
    except ValueError as error:
        raise CommandFailed(str(error), USAGE) from None
    text = "" if args.resume else _text(args.text)
    out = Output(silent=args.json, quiet=args.quiet, verbose=args.verbose)
    async with connected(args, tell=out.tell_connection) as client:
        async with _session(client, args, out) as session:
            # Of a long chat no more is needed than what this adds to it.
            chat = await session.chat(turns=1)
            turn = HeadlessTurn(client, session, chat, approvals, answers, out)
            if args.resume:
                await _resume(turn, args.timeout)
            else:
                agent = await chosen_agent(session, args)
                await turn.send(text, model=args.model, agent=agent, timeout=args.timeout)
            for id in answers.unused:
                told = f"--answer {id}=… was not used: the agent asked no question {id}"
                out.note(told, "yellow")
            if turn.end is not None and sys.stdout.isatty() and not args.json:
                await _mark_read(session, chat)
            code = _exit_code(turn, args, session.uri)
            document = _document(session, chat, turn, code)
        if args.json:
            print(json.dumps(document, indent=2))
    return code


async def _resume(turn: HeadlessTurn, timeout: float | None) -> None:
    try:
        await turn.resume(timeout=timeout)
    except LookupError as error:
        raise CommandFailed(str(error), FAILED) from None


def _text(given: str | None) -> str:
    """Return the prompt, from the command line or from standard input."""
    if given is None and sys.stdin.isatty():
        raise CommandFailed("no prompt: give TEXT, or pipe it to standard input", USAGE)
    text = decode_argument(sys.stdin.read() if given in (None, "-") else given)
    if not text.strip():
        raise CommandFailed("the prompt is empty; give some TEXT", USAGE)
    return text


@contextlib.asynccontextmanager
async def _session(client: Client, args: argparse.Namespace, out: Output) -> AsyncIterator[Session]:
    """Open the session that the options name, or begin one; remove it if it is ephemeral."""
    if args.ephemeral:
        async with ephemeral_session(client, args, out) as session:
            yield session
        return
    if args.session is None:
        session = await begin_session(client, args)
    else:
        session = await open_session(client, args.session)
        check_model(client, session.state["provider"], args.model)
        await configure_session(session, args)
    out.note(f"session {session.uri}", "dim")
    yield session


async def _mark_read(session: Session, chat: Chat) -> None:
    """Mark the session and the chat as read, because the answer went to a terminal."""
    with contextlib.suppress(AgentHostError, TimeoutError):
        async with asyncio.timeout(_MARKING):
            for marking in ReadMark(session, chat).mark_if_unread(running=False):
                await marking


def _exit_code(turn: HeadlessTurn, args: argparse.Namespace, session: str) -> int:
    if turn.stop_code is not None:
        return turn.stop_code
    assert turn.end is not None
    match turn.end.state:
        case "error":
            why = "\n".join(error_lines(turn.end.error))
            if turn.end.resumable and not args.ephemeral:
                again = command("send", "--resume", "--session", short_id(session))
                why += f"\nto go on from there: {again}"
            return print_error(f"the turn failed: {why}", FAILED)
        case "cancelled":
            return print_error("the turn was cancelled", FAILED)
        case "removed":
            return print_error("the turn was removed from its chat", FAILED)
    if turn.bad_answer:
        return print_error("an --answer does not fit its question; see the notes above", FAILED)
    parts = turn.end.turn["responseParts"] if turn.end.turn is not None else ()
    if turn.denied or any(map(_was_denied, parts)):
        return print_error(
            "a tool call was denied; allow it with --approve tool=NAME or --approve always", DENIED
        )
    return OK


def _document(session: Session, chat: Chat, sent: HeadlessTurn, code: int) -> dict[str, Any]:
    turn: Any = (sent.end.turn if sent.end is not None else chat.active_turn) or {}
    parts = turn.get("responseParts", [])
    return {
        "session": session.uri,
        "chat": chat.uri,
        "turn": sent.turn_id,
        "state": sent.end.state if sent.end is not None else "unknown",
        "exitCode": code,
        "text": _joined(parts, "markdown"),
        "reasoning": _joined(parts, "reasoning"),
        "toolCalls": [tool_json(part["toolCall"]) for part in parts if part["kind"] == "toolCall"],
        "questions": [
            {**part["request"], "response": part.get("response")}
            for part in parts
            if part["kind"] == "inputRequest"
        ],
        "usage": turn.get("usage"),
        "error": turn_error(turn),
        "resumable": sent.end is not None and sent.end.resumable,
    }


def _joined(parts: Sequence[Json], kind: str) -> str:
    texts = [part["content"] for part in parts if part["kind"] == kind and part["content"]]
    return "\n\n".join(text.strip("\n") for text in texts)


def _was_denied(part: Json) -> bool:
    call = part["toolCall"] if part["kind"] == "toolCall" else {}
    return call.get("status") == "cancelled" and call["reason"] in ("denied", "result-denied")
