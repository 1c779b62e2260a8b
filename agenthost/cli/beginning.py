"""What a conversation begins with: the session to talk in, and the model to talk to.

What a person named and is not there is refused before anything is made or said: a message that
goes to a model nobody has, or to an agent in a folder that is not, fails later and less clearly.
"""

from __future__ import annotations

import argparse
from difflib import get_close_matches
from pathlib import Path

from agenthost.cli.data_dir import directory_uri
from agenthost.cli.exit_codes import USAGE, CommandFailed
from agenthost.cli.format.state_format import directory_text, one_line
from agenthost.client import Client, Session

# Of the models that an agent has, this many are named.
_MOST_NAMED = 10


async def begin_session(client: Client, args: argparse.Namespace) -> Session:
    """Start a session with the agent and in the folder that the options name.

    Raises:
        CommandFailed: there is no such folder here, or the agent has no such model.
    """
    directories = [] if args.dir is None else [directory_uri(args.dir)]
    if args.url is None:
        # Only a host of this machine sees the same folders.
        for uri in directories:
            _check_directory(uri)
    agents = client.root.state["agents"] if client.root.has_state else []
    # Without a name the host takes its first agent.
    provider = args.agent or (agents[0]["provider"] if agents else None)
    if provider is not None:
        check_model(client, provider, args.model)
    return await client.sessions.create(args.agent, directories=directories, keep=True)


def check_model(client: Client, provider: str, model: str | None) -> None:
    """Refuse a model that the host does not announce for an agent.

    An agent that announces none chooses for itself what a name means.

    Raises:
        CommandFailed: the agent has no such model.
    """
    agents = client.root.state["agents"] if client.root.has_state else []
    of_agent = next((agent for agent in agents if agent["provider"] == provider), None)
    ids = [] if of_agent is None else [item["id"] for item in of_agent["models"]]
    if model is None or not ids or model in ids:
        return
    close = get_close_matches(model, ids, 1)
    named = close or [*ids[:_MOST_NAMED], *(["…"] if len(ids) > _MOST_NAMED else [])]
    known = one_line(", ".join(named))
    hint = f"did you mean {known}?" if close else f"it has {known}"
    raise CommandFailed(f"--model: {one_line(provider)} has no model {model!r}; {hint}", USAGE)


def _check_directory(uri: str) -> None:
    path = directory_text(uri)
    if uri.startswith("file:") and not Path(path).is_dir():
        what = "is not a directory" if Path(path).exists() else "does not exist"
        raise CommandFailed(f"--dir: {path} {what}", USAGE)
