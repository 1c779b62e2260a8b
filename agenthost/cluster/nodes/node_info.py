"""What one machine of a realm tells the others of itself, and how it is written.

Pure. Whatever cannot be read is no news, because anybody who may write to the server can send it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, cast

import orjson

from agenthost.cluster.nodes.node_name import NODE_NAME

if TYPE_CHECKING:
    from agenthost.protocol.root import AgentInfo
    from agenthost.protocol.terminal import TerminalInfo

# A server takes messages of 1 MB.
MOST_BYTES = 900_000


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """One machine of a realm, as it says itself."""

    # What it is called in the log; the same after a restart.
    id: str
    name: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    # Where clients reach it; empty while it does not listen.
    url: str = ""
    version: str = ""
    # When the process started, in seconds since 1970.
    started: float = 0.0
    # Tells processes of one name, and the owner hosts of one process, from each other.
    process: str = ""
    incarnation: str = ""
    draining: bool = False
    # How many sessions it owns, turns run there, clients it serves; the load of a processor.
    sessions: int = 0
    turns: int = 0
    clients: int = 0
    load: float = 0.0
    agents: list[AgentInfo] = field(default_factory=list)
    # Paths of the folders that sessions may work in there.
    roots: list[str] = field(default_factory=list)
    terminals: list[TerminalInfo] = field(default_factory=list)
    # The last message of the stream that it has read.
    position: int = 0
    # What is wrong with it; empty if nothing is.
    ailment: str = ""
    # Those who look at a window of theirs there, by the names of their tokens.
    seen: list[str] = field(default_factory=list)

    @property
    def providers(self) -> frozenset[str]:
        """The agents that it offers, by name."""
        return frozenset(agent["provider"] for agent in self.agents)

    def same_besides_beats(self, other: NodeInfo) -> bool:
        """Say whether another differs only in what every beat tells."""
        return replace(self, **_beaten(other)) == other

    def encode(self, revision: int) -> bytes:
        """Write all of it; what a server would refuse goes without models and terminals."""
        body = orjson.dumps({**asdict(self), "revision": revision})
        if len(body) <= MOST_BYTES:
            return body
        bare = [{**agent, "models": [], "customizations": []} for agent in self.agents]
        return orjson.dumps({**asdict(self), "revision": revision, "agents": bare, "terminals": []})

    def encode_beat(self, revision: int) -> bytes:
        """Write what changes all the time."""
        return orjson.dumps({"id": self.id, "revision": revision, **_beaten(self)})


# What every beat tells; the rest is told when it changes and when somebody asks.
_BEATEN = (
    "process",
    "draining",
    "sessions",
    "turns",
    "clients",
    "load",
    "position",
    "ailment",
    "seen",
)


def _beaten(info: NodeInfo) -> dict[str, Any]:
    return {name: getattr(info, name) for name in _BEATEN}


@dataclass(frozen=True, slots=True)
class HeardBeat:
    """A beat of a node."""

    id: str
    process: str
    # Which of its tellings holds.
    revision: int
    values: dict[str, Any]

    def onto(self, info: NodeInfo) -> NodeInfo:
        """Return what is known of the node now."""
        return replace(info, **self.values)


def decode_beat(body: bytes) -> HeardBeat | None:
    """Read a beat."""
    told = _read(body)
    if told is None:
        return None
    values = {name: told[name] for name in _BEATEN if name in told}
    return HeardBeat(told["id"], str(told.get("process", "")), told["revision"], values)


def decode_info(body: bytes) -> tuple[NodeInfo, int] | None:
    """Read what a node tells of itself, and which of its tellings that is."""
    told = _read(body)
    if told is None:
        return None
    known = {each.name for each in fields(NodeInfo)}
    return NodeInfo(**{key: value for key, value in told.items() if key in known}), told["revision"]


_TYPES: dict[str, type | tuple[type, ...]] = {
    "id": str,
    "name": str,
    "labels": dict,
    "url": str,
    "version": str,
    "started": (int, float),
    "process": str,
    "incarnation": str,
    "draining": bool,
    "sessions": int,
    "turns": int,
    "clients": int,
    "load": (int, float),
    "agents": list,
    "roots": list,
    "terminals": list,
    "position": int,
    "ailment": str,
    "seen": list,
    "revision": int,
}


def _read(body: bytes) -> dict[str, Any] | None:
    """Return the members that are as they should be; None if it is no node's."""
    try:
        told = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(told, dict):
        return None
    if any(not isinstance(told[name], kind) for name, kind in _TYPES.items() if name in told):
        return None
    if "revision" not in told or not NODE_NAME.fullmatch(told.get("id", "")):
        return None
    if not all(_is_agent(agent) for agent in told.get("agents", ())):
        return None
    if not all(isinstance(root, str) for root in told.get("roots", ())):
        return None
    return cast("dict[str, Any]", told)


def _is_agent(agent: object) -> bool:
    return (
        isinstance(agent, dict)
        and isinstance(agent.get("provider"), str)
        and isinstance(agent.get("models"), list)
    )
