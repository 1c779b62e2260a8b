"""What one message of the realm's log says, as bytes and back.

A commit is what its writer wants stored together. It becomes one message, or several where it is
large, which are then appended as one atomic batch: all of them or none, one right after the other.
A body is a JSON head, which has everything but the contents, and behind it the contents as they
are. Sequence numbers do not travel: they follow from where a message comes to lie in the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson
from msgspec import Struct

from agenthost.cluster.numbers import MOST_WRITES
from agenthost.errors import AgentHostError
from agenthost.host.store import contract as store

LARGEST_BODY = 512 * 1024
"""How long one message's body may be; a server takes 1 MB unless it is told otherwise."""

# What the head around the writes takes at most: four texts, of which URIs are the longest.
_ROOM_FOR_HEAD = 16 * 1024
_LENGTH_OF_HEAD = 4


class BadCommit(AgentHostError):
    """A message of the log cannot be read."""


class Own(Struct, frozen=True):
    """Who owns the unit from here on; nobody without a node."""

    node: str | None


class Tell(Struct, frozen=True):
    """A notification to all who follow a logged channel."""

    channel: str
    method: str
    params: bytes


class Room(Struct, frozen=True):
    """Numbers for the write behind it, which becomes several actions in older versions."""


RealmWrite: TypeAlias = store.Write | Own | Tell | Room


@dataclass(frozen=True, slots=True)
class Commit:
    """What one message says: the whole of what its writer stored together, or one piece of it."""

    id: str
    unit: str
    node: str
    writes: tuple[RealmWrite, ...]
    # Whether the next message goes on with the same commit.
    continues: bool = False


# Each write as a word, and its fields in order. Bytes go behind the head; what stands in for them
# is their length. Numbers are left out.
_Fields = Callable[[Any], tuple[object, ...]]
_SPELLED: dict[type, tuple[str, _Fields]] = {
    store.Append: ("append", lambda w: (w.channel, w.now, w.action, w.origin)),
    store.SaveSnapshot: ("snapshot", lambda w: (w.channel, w.kind, w.state)),
    store.DropChannel: ("drop-channel", lambda w: (w.channel,)),
    store.TrimLog: ("trim", lambda w: (w.channel, w.keep_bytes)),
    store.PutSession: ("session", lambda w: (w.session, w.sort_key, w.summary)),
    store.DropSession: ("drop-session", lambda w: (w.session,)),
    store.PutBlob: ("blob", lambda w: (w.uri, w.owner, w.content_type, w.data)),
    store.DropBlobs: ("drop-blobs", lambda w: (w.owner,)),
    store.MoveBlobs: ("move-blobs", lambda w: (w.owner, w.new_owner, w.uri)),
    store.PutRecord: ("record", lambda w: (w.bucket, w.key, w.value)),
    store.DropRecord: ("drop-record", lambda w: (w.bucket, w.key)),
    Own: ("own", lambda w: (w.node,)),
    Tell: ("tell", lambda w: (w.channel, w.method, w.params)),
    Room: ("room", lambda w: ()),
}
_MADE: dict[str, Callable[..., RealmWrite]] = {
    "append": lambda channel, now, action, origin: store.Append(0, channel, now, action, origin),
    "snapshot": lambda channel, kind, state: store.SaveSnapshot(channel, kind, 0, state),
    "drop-channel": store.DropChannel,
    "trim": lambda channel, keep_bytes: store.TrimLog(channel, 0, keep_bytes),
    "session": store.PutSession,
    "drop-session": store.DropSession,
    "blob": store.PutBlob,
    "drop-blobs": store.DropBlobs,
    "move-blobs": store.MoveBlobs,
    "record": store.PutRecord,
    "drop-record": store.DropRecord,
    "own": Own,
    "tell": Tell,
    "room": Room,
}


def encode_commit(commit: Commit) -> list[bytes]:
    """Return the bodies of the messages that the commit becomes."""
    groups = list(_groups(commit.writes)) or [([], [])]
    bodies: list[bytes] = []
    for index, (heads, contents) in enumerate(groups):
        goes_on = commit.continues or index < len(groups) - 1
        said = b'"w":[' + b",".join(heads) + b"]"
        body = _body(commit, said, contents, goes_on)
        bodies += [body] if len(body) <= LARGEST_BODY else _parts(commit, body)
    return bodies


def unit_of_body(body: bytes) -> str:
    """Return the unit that a message belongs to."""
    unit = _head(body)[0]["u"]
    assert isinstance(unit, str)
    return unit


class CommitReader:
    """Reads the messages of the log in their order, and joins what was cut into parts."""

    def __init__(self) -> None:
        # Parts of one write. Batches lie in the stream without anything in between, so that there
        # is never more than one of them: whatever else comes, the rest of this will not.
        self._parts: list[bytes] = []
        self._of: tuple[str, int] | None = None

    @property
    def unfinished(self) -> frozenset[str]:
        """The commit of which parts were read and others have yet to come, if there is one."""
        return frozenset(() if self._of is None else (self._of[0],))

    def feed(self, body: bytes) -> Commit | None:
        """Return what a message says; ``None`` while the rest of it is yet to come.

        A write in parts belongs to the message that has the last of them.

        Raises:
            BadCommit: it is not a message of the log that this version can read.
        """
        head, contents = _head(body)
        part = head.get("p")
        if part is None:
            self._forget()
            return _commit(head, contents)
        index, count = part
        if self._of != (head["id"], index):
            self._forget()
        if index != len(self._parts):
            # The beginning of it was never seen.
            return None
        self._parts.append(bytes(contents))
        self._of = (head["id"], index + 1)
        if index + 1 < count:
            return None
        whole = b"".join(self._parts)
        self._forget()
        return _commit(*_head(whole))

    def _forget(self) -> None:
        self._parts = []
        self._of = None


def _groups(writes: Sequence[RealmWrite]) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Share the writes out among messages; one that is too large for any is alone."""
    heads: list[bytes] = []
    contents: list[bytes] = []
    size = 0
    for write in writes:
        head, own = _spelled(write)
        added = len(head) + 1 + sum(map(len, own))
        if heads and (len(heads) == MOST_WRITES or size + added > LARGEST_BODY - _ROOM_FOR_HEAD):
            yield heads, contents
            heads, contents, size = [], [], 0
        heads.append(head)
        contents += own
        size += added
    if heads:
        yield heads, contents


def _spelled(write: RealmWrite) -> tuple[bytes, list[bytes]]:
    word, fields = _SPELLED[type(write)]
    said: list[object] = [word]
    contents: list[bytes] = []
    for field in fields(write):
        if isinstance(field, bytes):
            contents.append(field)
            said.append(len(field))
        else:
            said.append(field)
    return orjson.dumps(said), contents


def _body(commit: Commit, said: bytes, contents: Sequence[bytes], goes_on: bool) -> bytes:
    about = {"id": commit.id, "u": commit.unit, "n": commit.node}
    head = orjson.dumps({**about, "c": 1} if goes_on else about)[:-1] + b"," + said + b"}"
    return b"".join((len(head).to_bytes(_LENGTH_OF_HEAD, "big"), head, *contents))


def _parts(commit: Commit, body: bytes) -> Iterator[bytes]:
    size = LARGEST_BODY - _ROOM_FOR_HEAD
    count = -(-len(body) // size)
    for index in range(count):
        said = b'"p":[%d,%d]' % (index, count)
        yield _body(commit, said, (body[index * size : (index + 1) * size],), False)


def _head(body: bytes) -> tuple[dict[str, Any], memoryview]:
    end = _LENGTH_OF_HEAD + int.from_bytes(body[:_LENGTH_OF_HEAD], "big")
    try:
        head = orjson.loads(body[_LENGTH_OF_HEAD:end])
    except orjson.JSONDecodeError:
        head = None
    if not isinstance(head, dict) or not {"id", "u", "n"} <= head.keys():
        raise BadCommit("a message of the realm's log is not one of agenthost's")
    return head, memoryview(body)[end:]


def _commit(head: dict[str, Any], contents: memoryview) -> Commit:
    try:
        writes = tuple(_writes(head["w"], contents))
    except (KeyError, TypeError, ValueError) as error:
        raise BadCommit(f"a message of the realm's log cannot be read: {error}") from None
    return Commit(head["id"], head["u"], head["n"], writes, "c" in head)


# Which fields are contents, counted from the word.
_CONTENTS = {
    "append": (3, 4),
    "snapshot": (3,),
    "session": (3,),
    "blob": (4,),
    "record": (3,),
    "tell": (3,),
}


def _writes(said: Sequence[list[Any]], contents: memoryview) -> Iterator[RealmWrite]:
    at = 0
    for fields in said:
        word = fields[0]
        for place in _CONTENTS.get(word, ()):
            length = fields[place]
            if length is not None:
                if at + length > len(contents):
                    raise ValueError("its end is missing")
                fields[place] = bytes(contents[at : at + length])
                at += length
        if word not in _MADE:
            raise ValueError(f"what is “{word}”? A newer agenthost wrote it")
        yield _MADE[word](*fields[1:])
