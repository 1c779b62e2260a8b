"""The realm: one NATS stream, its feed and its appends, and plain messages between nodes.

The only package that imports ``nats``. Knows nothing of hosts, sessions or who owns them.
"""

from agenthost.cluster.realm.appender import Appender
from agenthost.cluster.realm.connection import (
    Handler,
    PlainSubscription,
    RealmAddress,
    RealmLink,
    Reply,
)
from agenthost.cluster.realm.errors import (
    FellBehind,
    Fenced,
    NoJetStream,
    RealmError,
    RealmFull,
    RealmReplaced,
    RealmTooNew,
    RealmUnreachable,
)
from agenthost.cluster.realm.feed import FeedMessage, RealmFeed
from agenthost.cluster.realm.stream import RealmInfo, StreamState

# What it is called where nobody else has one; in the client's state there is another.
Feed = RealmFeed

__all__ = [
    "Appender",
    "Feed",
    "FeedMessage",
    "FellBehind",
    "Fenced",
    "Handler",
    "NoJetStream",
    "PlainSubscription",
    "RealmAddress",
    "RealmError",
    "RealmFeed",
    "RealmFull",
    "RealmInfo",
    "RealmLink",
    "RealmReplaced",
    "RealmTooNew",
    "RealmUnreachable",
    "Reply",
    "StreamState",
]
