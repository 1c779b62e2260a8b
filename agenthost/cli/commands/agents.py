"""``agenthost agents``: which agents a host would offer here, and why another would not."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from agenthost.cli.arguments import Subparsers, add_command
from agenthost.cli.data_dir import import_from_here
from agenthost.errors import AgentHostError

_EXAMPLES = """examples:
  agenthost agents                                and what a missing one needs
  agenthost agents --agent greeter.agent:Greeter  whether this can be loaded"""


def register(subparsers: Subparsers) -> None:
    """Add ``agents`` to the argument tree."""
    agents = add_command(
        subparsers, "agents", "list the agents that can be offered", run, _EXAMPLES
    )
    agents.add_argument(
        "--agent",
        action="append",
        default=[],
        metavar="SPEC",
        help="also look at this one: a name, module:name, acp:NAME=COMMAND or ahp:NAME=ADDRESS",
    )
    agents.add_argument("--config", type=Path, metavar="FILE", help="agenthost.toml to read")
    agents.add_argument("--json", action="store_true", help="print JSON on standard output")


def run(args: argparse.Namespace) -> int:
    """Print one line per agent; 1 when one that was asked for is not available."""
    from agenthost.agents.loader import CONFIG_FILE, configured_specs, find_agents

    import_from_here()
    if args.config is not None and not args.config.exists():
        print(f"agenthost: there is no {args.config}", file=sys.stderr)
        return 1
    try:
        specs = [*args.agent, *configured_specs(args.config or Path(CONFIG_FILE))]
    except AgentHostError as error:
        print(f"agenthost: {error}", file=sys.stderr)
        return 1
    found = find_agents(specs)
    if args.json:
        rows = [
            {
                "spec": item.spec,
                "source": item.source,
                "provider": item.agent.provider if item.agent is not None else None,
                "displayName": item.agent.display_name if item.agent is not None else None,
                "models": [model["id"] for model in item.agent.models] if item.agent else [],
                "problem": item.problem,
            }
            for item in found
        ]
        print(json.dumps(rows, indent=2))
    else:
        width = max(len(item.spec) for item in found)
        for item in found:
            mark = "no " if item.agent is None else "yes"
            about = item.problem
            if item.agent is not None:
                about = item.agent.description or item.agent.display_name
            print(f"{mark}  {item.spec:<{width}}  {about}")
    return 1 if any(item.agent is None and item.spec in specs for item in found) else 0
