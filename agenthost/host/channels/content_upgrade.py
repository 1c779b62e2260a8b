"""Stored sessions of earlier protocol versions, brought up to the one that the host works with.

Owns which parts of the store hold the protocol's model, and where. What differs between versions
the ladder knows: a log is folded with the reducers of the version it was written in, and the state
that comes out climbs. Blocks, and is used in the store's thread while nothing else runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from agenthost.host.channels.chat.extra import CONTEXTS
from agenthost.host.channels.session.summary import compact_chats
from agenthost.host.channels.session.trash import TRASHED
from agenthost.host.log.directory import OWNERS
from agenthost.host.store.upgrade import NewChannel, OldChannel, ReadState
from agenthost.protocol.appending import AppendRun, append_key
from agenthost.protocol.jsonrpc import dumps, loads
from agenthost.protocol.versions import NEWEST, SUPPORTED_VERSIONS, reduce, translator
from agenthost.protocol.versions.step import Untranslatable, Whereabouts
from agenthost.protocol.versions.supported import FIRST_STORED

if TYPE_CHECKING:
    from agenthost.host.store import Append
    from agenthost.protocol.common import JsonMapping, JsonObject


class StoredModel:
    """The ``ContentUpgrade`` of this host."""

    newest: Final = NEWEST
    first: Final = FIRST_STORED
    # Annotations refer to turns of their session's chats.
    late_kinds: Final = ("annotations",)
    buckets: Final = (CONTEXTS, TRASHED)
    owners: Final = OWNERS

    def knows(self, version: str) -> bool:
        """Say whether content of a version can be brought up."""
        return version in SUPPORTED_VERSIONS

    def channel(self, version: str, old: OldChannel, read_state: ReadState) -> NewChannel:
        """Bring a channel up: its state after its log, and what clients have done in it."""
        kind = old.stored.kind
        session = old.owner if old.owner is not None else old.uri
        around = _SessionAround(session, lambda: _chats_of(session, read_state)).whereabouts
        before = _folded(kind, loads(old.stored.state), old.stored.tail, version)
        after = _climbed(kind, before, version, around)
        return NewChannel(dumps(after), dict(_sent(kind, old.sent, after, version, around)))

    def record(self, version: str, bucket: str, key: str, value: bytes) -> bytes:
        """Bring up what a chat's agent knows beyond its turns, or a session in the trash."""
        held = loads(value)
        if bucket == CONTEXTS:
            return dumps(_turns_up(held, version))
        return dumps(_trashed_up(held, key, version))

    def summary(self, version: str, session: str, summary: bytes, state: bytes | None) -> bytes:
        """Bring up a session's line of the list, which now names its chats."""
        page = {"items": [loads(summary)]}
        (line,) = translator(version).result_up("listSessions", {}, page)["items"]
        if state is not None:
            line = {**line, **compact_chats(loads(state))}
        return dumps(line)


def _folded(kind: str, state: Any, tail: Iterable[Append], version: str) -> Any:
    """Return a state after the entries of a log, as the version that wrote them has it."""
    run: AppendRun | None = None

    def settled() -> Any:
        if run is None or not run.text:
            return state
        return reduce(kind, state, run.folded(), now=run.now, version=version)

    for entry in tail:
        action = loads(entry.action)
        key = append_key(action)
        if run is not None and run.key == key:
            # One by one, a long text would be copied for each of its pieces.
            run.text.append(action[run.field])
            continue
        before = settled()
        state = reduce(kind, before, action, now=entry.now, version=version)
        # What did not take the first piece does not take the next ones either.
        run = AppendRun(key, action, entry.now) if key is not None and state is not before else None
    return settled()


def _climbed(kind: str, state: Any, version: str, around: Whereabouts) -> Any:
    """Return a state in the newest version, with as many turns as it had."""
    after = translator(version).state_up(kind, state, around=around)
    if len(after.get("turns", ())) != len(state.get("turns", ())):
        raise ValueError("a turn was lost")
    if kind == "chat":
        return _maybe_movable(after)
    if kind == "session":
        return {**after, "chats": [_maybe_movable(chat) for chat in after["chats"]]}
    return after


def _maybe_movable(chat: JsonObject) -> JsonObject:
    """Say of a chat that people made that it can be moved, as this host does of new ones.

    Default chats said nothing of their origin.
    """
    made = (chat.get("origin") or {}).get("kind") in ("user", "fork", "sideChat")
    return {**chat, "movable": True} if made else chat


def _turns_up(turns: Sequence[Any], version: str) -> list[Any]:
    return [translator(version).turn_up(turn) for turn in turns]


def _sent(
    kind: str, entries: Iterable[Append], state: Any, version: str, around: Whereabouts
) -> Iterable[tuple[int, bytes]]:
    """Yield the actions of clients as they would be logged now: they may come a second time."""
    for entry in entries:
        action = loads(entry.action)
        try:
            climbed = translator(version).action_up(
                kind, action, state, now=entry.now, around=around
            )
        except Untranslatable:
            continue
        if climbed != action:
            yield entry.seq, dumps(climbed)


def _trashed_up(packed: JsonObject, session: str, version: str) -> JsonObject:
    chats = [
        {
            **chat,
            "state": _climbed("chat", chat["state"], version, Whereabouts(session)),
            "context": _turns_up(chat["context"], version),
        }
        for chat in packed["chats"]
    ]
    states = {chat["state"]["resource"]: chat["state"] for chat in chats}
    around = _SessionAround(session, lambda: states).whereabouts
    return {
        **packed,
        "state": _climbed("session", packed["state"], version, around),
        "annotations": _climbed("annotations", packed["annotations"], version, around),
        "chats": chats,
    }


def _chats_of(session: str, read_state: ReadState) -> JsonMapping:
    """Return the states of a session's chats, as far as they can be read."""
    held = read_state(session)
    found = {}
    for chat in loads(held)["chats"] if held is not None else ():
        state = read_state(chat["resource"])
        if state is not None:
            found[chat["resource"]] = loads(state)
    return found


class _SessionAround:
    """What lies around a channel of a session; its chats are read when somebody asks for one."""

    def __init__(self, session: str, chats: Callable[[], JsonMapping]) -> None:
        self._session = session
        self._chats = chats

    @property
    def whereabouts(self) -> Whereabouts:
        """What the ladder is given."""
        return Whereabouts(self._session, chat_of_turn=self._chat_of_turn)

    def _chat_of_turn(self, turn: str) -> str | None:
        return self._turns.get(turn)

    @cached_property
    def _turns(self) -> Mapping[str, str]:
        """The chat of each turn; of one in several chats, which are copies, the first."""
        found: dict[str, str] = {}
        for chat, state in self._chats().items():
            active = state.get("activeTurn")
            for turn in [*state["turns"], *([active] if active else [])]:
                found.setdefault(turn["id"], chat)
        return found
