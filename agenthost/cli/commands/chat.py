"""``agenthost chat``: talk to an agent, or come back to where one left off."""

from __future__ import annotations

import argparse

from agenthost.cli.arguments import Subparsers, add_command, add_json_option
from agenthost.cli.connection.host_connection import add_connection_options, run_command
from agenthost.cli.connection.session_lookup import add_settings_option

_EXAMPLES = """examples:
  agenthost chat                       choose one of the sessions, or a new one
  agenthost chat --new                 a new session with the host's agent
  agenthost chat --agent demo --dir .  a new session with this one, here
  agenthost chat --agent-file review   as the agent of .agents/agents/review.md
  agenthost chat --new --set isolation=worktree
  agenthost chat --last                where something happened last
  agenthost chat 3f2a                  by URI, the beginning of its id, or title
  echo hello | agenthost chat --json   events as JSON lines, and commands on
      standard input: text to send, or {"do": "approve", "toolCallId": ID,
      "option": ID, "input": TEXT}; send, queue, steer, cancel, approve, deny,
      answer, decline, dismiss, leave

While a turn runs, what you type is queued; !TEXT steers, Ctrl-C cancels, Ctrl-D
leaves it running.
"""


def register(subparsers: Subparsers) -> None:
    """Add ``chat`` to the argument tree."""
    chat = add_command(
        subparsers, "chat", "talk to an agent, in a new session or an old one", run, _EXAMPLES
    )
    add = chat.add_argument
    add("session", metavar="SESSION", nargs="?", help="URI, id or title (default: choose one)")
    add("--last", action="store_true", help="the session that something happened in last")
    add("--new", action="store_true", help="a new session, without a list to choose from")
    add("--agent", metavar="PROVIDER", help="who answers, in a new session (default: the host's)")
    add("--dir", metavar="DIR", help="where a new session works: a path or URI (the host's)")
    add("--agent-file", metavar="NAME", help="the custom agent that answers: its name or file")
    add("--model", metavar="ID", help="the model for what you say (default: the agent's)")
    add_settings_option(chat)
    add_json_option(chat, "events and commands as JSON lines, without a terminal", events=True)
    add_connection_options(chat, patience=None)


def run(args: argparse.Namespace) -> int:
    """Chat until the user leaves."""
    # Only here, so that the other commands need not load what draws on a terminal.
    from agenthost.cli.interactive.chat_loop import chat

    return run_command(args, chat)
