"""``agenthost help``: a command's help, and what concerns many of them."""

from __future__ import annotations

import argparse

from agenthost.cli.arguments import Subparsers, add_command
from agenthost.cli.exit_codes import OK
from agenthost.local_host import (
    DATA_DIR_VARIABLE,
    TLS_CA_VARIABLE,
    TOKEN_VARIABLE,
    URL_VARIABLE,
)

_EXAMPLES = """examples:
  agenthost help connecting   which host a command is for, here and elsewhere
  agenthost help sessions     as agenthost sessions --help"""

CONNECTING = f"""Which host a command is for

Without any option: the host that runs on this machine, as this user.
{"":2}--data-dir DIR  the one that keeps its data there (${DATA_DIR_VARIABLE})
{"":2}--url ADDRESS   the one at an address (${URL_VARIABLE}), like
{"":2}                  box:8765                    plain, as in your own network
{"":2}                  wss://agents.example.org    TLS, directly or by a proxy
{"":2}                  ssh://me@box                by a login; needs no token
{"":2}--token TOKEN   what lets you in at an address (${TOKEN_VARIABLE})
{"":2}--tls-ca FILE   the certificates to trust, where the system does not know
{"":2}                the host's (${TLS_CA_VARIABLE})

Options count before variables; --data-dir counts before {URL_VARIABLE}.
On the command line others of this machine can see a token; in the variable not.

To let others reach a host of yours, from the safest way on:
{"":2}ssh://          nothing to set up but their login
{"":2}a proxy         with a certificate in front of it: deploy/ has examples
{"":2}TLS             agenthost serve --host 0.0.0.0 --tls-cert FILE --tls-key FILE
{"":2}plain HTTP      agenthost serve --host 0.0.0.0, where nobody reads along
`agenthost token create NAME` on the host's machine makes a token for somebody,
`agenthost qr` one for a phone; `agenthost doctor` says what is wrong."""
"""What ``agenthost help connecting`` prints."""

CLUSTER = """Many machines as one host

Each machine runs `agenthost serve --cluster nats://A:4222,nats://B:4222`, with
the addresses of NATS servers that have JetStream (or in $AGENTHOST_CLUSTER).
Clients connect to any of them and see all sessions. Further options of serve:
  --realm NAME     which host, where the servers keep several (main)
  --node NAME      what this machine is called (its own name, and a few letters)
  --label K=V      what people shall know of this machine; may be repeated
  --cluster-credentials FILE
                   what lets in at the servers ($AGENTHOST_CLUSTER_CREDENTIALS)
  --drain-seconds S
                   how long turns may take to end before this machine leaves (30)

All machines need the same --token-file, and each a --data-dir of its own.
`agenthost nodes` lists them, `agenthost sessions move SESSION --node NAME` moves
a session; SIGTERM hands all sessions over first, a second one does not wait."""
"""What ``agenthost help cluster`` prints."""

TOPICS = {"connecting": CONNECTING, "cluster": CLUSTER}
"""What can be asked for besides commands."""


def register(subparsers: Subparsers) -> None:
    """Add ``help`` to the argument tree."""
    help = add_command(
        subparsers, "help", "explain a command, connecting, or clusters", run, _EXAMPLES
    )
    help.add_argument("topic", metavar="TOPIC", nargs="*", help="a command, connecting, or cluster")


def run(args: argparse.Namespace) -> int:
    """Print a topic, or what ``--help`` of a command prints; misuse for anything else."""
    if len(args.topic) == 1 and args.topic[0] in TOPICS:
        print(TOPICS[args.topic[0]])
        return OK
    from agenthost.cli.main import build_parser

    words = [word for word in args.topic if not word.startswith("-")]
    build_parser(words[0] if words else None).parse_args([*words, "--help"])
    return OK
