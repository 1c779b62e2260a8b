"""``agenthost serve --cluster``: its options, and the node that they describe.

Nothing of a cluster is imported where there is none.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agenthost.cli.arguments import NodeOption, seconds, setting
from agenthost.errors import AgentHostError

if TYPE_CHECKING:
    from agenthost.agents.api import Agent
    from agenthost.cluster.node import ClusterNode

SERVERS_VARIABLE = "AGENTHOST_CLUSTER"
CREDENTIALS_VARIABLE = "AGENTHOST_CLUSTER_CREDENTIALS"
# What `nats://` may be called else: encrypted, and through what only lets the web pass.
_SCHEMES = ("nats", "tls", "ws", "wss")
_DEFAULT_PORT = 4222

HELP = {
    "--realm": "which host of many this is, on the same servers (main)",
    "--node": "what this machine is called there (its name and a few letters)",
    "--label": "what people shall know of this machine; may be repeated",
    "--cluster-credentials": f"what lets in at the servers (${CREDENTIALS_VARIABLE})",
    "--drain-seconds": "let turns end before leaving (30)",
}
"""What the options of a node mean."""


def add_cluster_options(serve: argparse.ArgumentParser) -> None:
    """Add the options of a node."""
    add = serve.add_argument
    # argparse reads a default that is a text as it reads what people give.
    named = os.environ.get(SERVERS_VARIABLE) or None
    add(
        "--cluster",
        type=servers,
        default=named,
        metavar="URL",
        help="be one machine of many: help cluster",
    )
    for name, kind, default, metavar in (
        ("--realm", realm_name, "main", "NAME"),
        ("--node", str, None, "NAME"),
        ("--label", setting, [], "KEY=VALUE"),
        ("--cluster-credentials", Path, None, "FILE"),
        ("--drain-seconds", seconds, 30.0, "S"),
    ):
        add(name, action=NodeOption, type=kind, default=default, metavar=metavar, help=HELP[name])


def servers(text: str) -> tuple[str, ...]:
    """Read the addresses of servers, with commas between them."""
    return tuple(_server(each.strip()) for each in text.split(",") if each.strip()) or _refuse(text)


def _server(text: str) -> str:
    url = text if "://" in text else f"nats://{text}"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        _refuse(text)
    if parts.scheme not in _SCHEMES or not parts.hostname or parts.path.strip("/"):
        _refuse(text)
    if port is None and parts.scheme in ("nats", "tls"):
        return f"{url.rstrip('/')}:{_DEFAULT_PORT}"
    return url


def _refuse(text: str) -> Any:
    raise argparse.ArgumentTypeError(
        f"{text!r} is no address of a NATS server: nats://HOST:PORT, several with commas between"
    )


def realm_name(text: str) -> str:
    """Read the name of a realm, which is a part of subjects."""
    if not text.replace("-", "").replace("_", "").isalnum() or not text.isascii() or len(text) > 32:
        raise argparse.ArgumentTypeError("must be 1 to 32 letters, digits, - and _")
    return text


def credentials(given: Path | None) -> Path | None:
    """Return the file of credentials that is named by option or environment.

    Raises:
        AgentHostError: it is not there.
    """
    named = given or (Path(os.environ[CREDENTIALS_VARIABLE]) if _is_set() else None)
    if named is not None and not named.expanduser().is_file():
        raise AgentHostError(f"there is no credentials file {named}")
    return None if named is None else named.expanduser()


def _is_set() -> bool:
    return bool(os.environ.get(CREDENTIALS_VARIABLE))


def require_cluster() -> None:
    """Raise an error that says what to install, unless it is installed."""
    if importlib.util.find_spec("nats") is None:
        from agenthost.agents.optional_dependencies import how_to_install

        raise AgentHostError(f"--cluster needs the client of NATS: {how_to_install('cluster')}")


def cluster_node(
    args: argparse.Namespace,
    data_dir: Path,
    agents: Sequence[Agent],
    settings: Mapping[str, Any],
) -> ClusterNode:
    """Describe the node of a realm that the options ask for.

    Raises:
        AgentHostError: the extra is not installed, or something named is not there.
    """
    require_cluster()
    found = credentials(args.cluster_credentials)
    from agenthost.cluster.node import ClusterNode
    from agenthost.cluster.realm import RealmAddress

    return ClusterNode(
        RealmAddress(args.cluster, args.realm, found),
        data_dir,
        args.node,
        dict(args.label),
        agents=agents,
        **settings,
    )
