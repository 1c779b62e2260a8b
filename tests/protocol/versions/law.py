"""The law of the ladder, and the few places where it cannot hold.

The law: an old client that applies what we send holds what a fresh snapshot would give it. Here are
the cases that the versions themselves make impossible, each with the members that it may leave
different and no others. What such a case leaves different stays so, as it does for a client, until
an action puts it right: whatever follows from it is no exemption. Times of modification are not
compared where reducers read a clock, which is up to 0.8.0: there every peer stamps its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import orjson

from agenthost.protocol.json_edits import same, without
from agenthost.protocol.status import IN_PROGRESS, INPUT_NEEDED, IS_ARCHIVED, IS_READ
from agenthost.protocol.versions import (
    SUPPORTED_VERSIONS,
    parse_version,
    reduce,
    sequence_numbers_needed,
    translator,
)
from agenthost.protocol.versions.ladder import Translator
from agenthost.protocol.versions.node_edits import find_call
from agenthost.protocol.versions.v0_6_0_to_v0_5_2.inputs import is_open
from tests.strategies import NOW, History

Json = dict[str, Any]

OLDER = SUPPORTED_VERSIONS[1:]

# The channels that are not as old as the oldest version, with the version they came with.
BIRTHS = {"automation": "0.9.0", "automationRun": "0.9.0", "canvas": "1.0.0"}

# The first version whose reducers take times from the actions.
CLOCKLESS = parse_version("0.9.0")

# One place in a state: a member; ("chats", chat, member); ("call", turn, call, member); the order
# of a list, ("order", member); or one bit of the status, ("flag", bit).
Spot = tuple[str, ...]
MISSING = object()


@dataclass(frozen=True)
class Exemption:
    """A case where an old client is left with something stale."""

    reason: str
    # The newest version that is concerned; every older one is, too.
    since: str
    applies: Callable[[Json, Json, Json], bool]
    # What may differ afterwards: members of the state, of the call that the action names, or of
    # the session's entry for the chat that it names.
    members: tuple[str, ...] = ()
    call_members: tuple[str, ...] = ()
    chat_members: tuple[str, ...] = ()
    # Lists that may have the same items in another order, and bits of the status.
    orders: tuple[str, ...] = ()
    flag: int = 0

    def spots(self, action: Json) -> Iterator[Spot]:
        """Give the places that may differ after an action."""
        yield from ((member,) for member in self.members)
        for member in self.call_members:
            yield ("call", action["turnId"], action["toolCallId"], member)
        for member in self.chat_members:
            yield ("chats", action["chat"], member)
        yield from (("order", member) for member in self.orders)
        if self.flag:
            yield ("flag", str(self.flag))


def older_with(kind: str) -> tuple[str, ...]:
    """Return the older versions that have a kind of channel."""
    birth = parse_version(BIRTHS.get(kind, OLDER[-1]))
    return tuple(version for version in OLDER if parse_version(version) >= birth)


def _is(*names: str) -> Callable[[Json, Json, Json], bool]:
    return lambda before, action, after: action["type"] in names


def _status_before(action_type: str, status: str) -> Callable[[Json, Json, Json], bool]:
    def applies(before: Json, action: Json, after: Json) -> bool:
        call = find_call(before, action) if action["type"] == action_type else None
        return call is not None and call["status"] == status

    return applies


def _hides_input(before: Json, action: Json, after: Json) -> bool:
    was_pending = _status_before("chat/toolCallReady", "pending-confirmation")
    call = find_call(after, action)
    given = None if call is None else call.get("toolInput")
    return was_pending(before, action, after) and isinstance(given, dict)


def _is_stray(*names: str) -> Callable[[Json, Json, Json], bool]:
    return lambda before, action, after: (
        action["type"] in names and find_call(before, action) is None
    )


def _starts_over_open_requests(before: Json, action: Json, after: Json) -> bool:
    parts = (before.get("activeTurn") or {"responseParts": []})["responseParts"]
    return action["type"] == "chat/turnStarted" and any(map(is_open, parts))


def _clears_directories(before: Json, action: Json, after: Json) -> bool:
    changes = action["changes"] if action["type"] == "session/chatUpdated" else {}
    return bool(changes.get("workingDirectories") == [])


def _concerns_authentication(before: Json, action: Json, after: Json) -> bool:
    if action["type"] not in ("session/inputNeededSet", "session/inputNeededRemoved"):
        return False
    entries = [*before.get("inputNeeded", []), *after.get("inputNeeded", [])]
    return any(entry["kind"] == "toolAuthentication" for entry in entries)


def _concerns_client_tools_at_rest(before: Json, action: Json, after: Json) -> bool:
    if action["type"] not in ("session/inputNeededSet", "session/inputNeededRemoved"):
        return False
    entries = [*before.get("inputNeeded", []), *after.get("inputNeeded", [])]
    concerned = any(entry["kind"] == "toolClientExecution" for entry in entries)
    return concerned and before["status"] & INPUT_NEEDED not in (IN_PROGRESS, INPUT_NEEDED)


def _replaces_before_many(before: Json, action: Json, after: Json) -> bool:
    if action["type"] != "session/workingDirectoryReplaced" or after is before:
        return False
    directories: list[str] = before["workingDirectories"]
    return len(directories) - directories.index(action["directory"]) - 1 > MOST_LATER


# So many directories are put back behind a replaced one for clients that cannot replace.
MOST_LATER = 32

EXEMPTIONS = (
    Exemption(
        "no old action puts the chats of a session in another order",
        "0.9.0",
        _is("session/chatsReordered"),
        orders=("chats",),
    ),
    Exemption(
        "a chat's own state does not tell that somebody read it; the session's catalogue does",
        "0.9.0",
        _is("chat/isReadChanged"),
        flag=IS_READ,
    ),
    Exemption(
        "nor that somebody archived it",
        "0.9.0",
        _is("chat/isArchivedChanged"),
        flag=IS_ARCHIVED,
    ),
    Exemption(
        "what runs at a client was a wait for input, and its end the way back to work, not to rest",
        "0.7.0",
        _concerns_client_tools_at_rest,
        members=("status",),
    ),
    Exemption(
        "replacing a directory before very many others puts the new one last",
        "0.7.0",
        _replaces_before_many,
        orders=("workingDirectories",),
    ),
    Exemption(
        "an intention refined at Ready",
        "0.6.0",
        _is("chat/toolCallReady"),
        call_members=("intention",),
    ),
    Exemption(
        "a pending call whose input cannot be read any more shows an empty one rather than none",
        "0.6.0",
        _hides_input,
        call_members=("toolInput",),
    ),
    Exemption(
        "no old action changes the working directory of a state",
        "0.6.0",
        _is(
            "session/workingDirectorySet",
            "session/workingDirectoryRemoved",
            "session/workingDirectoryReplaced",
            "chat/workingDirectorySet",
            "chat/workingDirectoryRemoved",
        ),
        members=("workingDirectory",),
    ),
    Exemption(
        "a partial update cannot clear the working directory",
        "0.6.0",
        _clears_directories,
        chat_members=("workingDirectory",),
    ),
    Exemption(
        "pausing and resuming a call is not told, nor the metadata that comes with it",
        "0.5.2",
        _is("chat/toolCallAuthRequired", "chat/toolCallAuthResolved"),
        call_members=("_meta",),
    ),
    Exemption(
        "nor what a stray one does, which is to clear an error",
        "0.5.2",
        _is_stray("chat/toolCallAuthRequired", "chat/toolCallAuthResolved"),
        members=("status",),
    ),
    Exemption(
        "a turn that starts over another, as no host lets it, leaves that one's requests listed",
        "0.5.2",
        _starts_over_open_requests,
        members=("inputRequests", "status"),
    ),
    Exemption(
        "a wait for authentication alone promotes no session",
        "0.5.2",
        _concerns_authentication,
        members=("status",),
    ),
    Exemption(
        "nothing promotes a session before there is a list of what needs input",
        "0.5.0",
        _is("session/inputNeededSet", "session/inputNeededRemoved"),
        members=("status",),
    ),
)


def hold_the_law(history: History) -> None:
    """Assert that clients of every older version hold what a snapshot would give them."""
    ladder = [translator(version) for version in older_with(history.kind)]
    before = history.initial
    held = {old.version: down(old, history, before) for old in ladder}
    # Where clients of a version have been left with something stale.
    stale: dict[str, set[Spot]] = {old.version: set() for old in ladder}
    for action in history.actions:
        after = reduce(history.kind, before, action, now=NOW)
        assert after is before or not same(after, before), f"changes nothing: {action}"
        numbers = sequence_numbers_needed(action, before, after)
        for old in ladder:
            state = held[old.version]
            told = old.action_down(history.kind, before, action, after)
            assert len(told) <= numbers, f"{old.version}: {action}\n becomes {told}"
            for sent in told:
                state = reduce(history.kind, state, sent, now=NOW, version=old.version)
                again = reduce(history.kind, state, sent, now=NOW, version=old.version)
                assert again is state or not same(again, state), f"{old.version}: {sent}"
            fresh = down(old, history, after)
            held[old.version] = state = shown_before_cursors(old, action, state, fresh)
            granted = granted_spots(old.version, before, action, after) | stale[old.version]
            stale[old.version] = {spot for spot in granted if differs(spot, state, fresh)}
            lawful = same_but(stale[old.version], old.version, state, fresh)
            assert lawful, f"{old.version}: {action}\n holds {state}\n fresh {fresh}"
        before = after


def shown_before_cursors(old: Translator, action: Json, held: Json, fresh: Json) -> Json:
    """Give a client the loaded turns that it has been shown from the start, without cursors."""
    if action["type"] != "chat/turnsLoaded" or old.pages_into_state:
        return held
    earlier = len(fresh["turns"]) - len(held["turns"])
    return {**held, "turns": [*fresh["turns"][:earlier], *held["turns"]]}


def down(old: Translator, history: History, state: Json) -> Json:
    """Translate a state of a history DOWN."""
    translated: Json = old.state_down(history.kind, state)
    return translated


def granted_spots(version: str, before: Json, action: Json, after: Json) -> set[Spot]:
    """Return the places that an action may leave stale for clients of a version."""
    return {
        spot
        for exemption in EXEMPTIONS
        if parse_version(version) <= parse_version(exemption.since)
        and exemption.applies(before, action, after)
        for spot in exemption.spots(action)
    }


def differs(spot: Spot, held: Json, fresh: Json) -> bool:
    """Say whether what an old client holds in a place is not what a snapshot has there."""
    match spot:
        case ("order", member):
            return bool(held.get(member) != fresh.get(member))
        case ("flag", bit):
            return bool((held["status"] ^ fresh["status"]) & int(bit))
    *_, member = spot
    one, other = ([node.get(member, MISSING) for node in _nodes(s, spot)] for s in (held, fresh))
    return one != other


def same_but(stale: set[Spot], version: str, held: Json, fresh: Json) -> bool:
    """Say whether what an old client holds is what a snapshot has, but for some places."""
    # Most are the same as they stand, and that is soon seen.
    held, fresh = timed(held, version), timed(fresh, version)
    return held == fresh or masked(held, stale) == masked(fresh, stale)


def timed(state: Json, version: str) -> Json:
    """Return a state with the time of its change only where no reducer reads a clock."""
    stamped = parse_version(version) < CLOCKLESS and "modifiedAt" in state
    return without(state, "modifiedAt") if stamped else state


def masked(state: Json, stale: set[Spot]) -> Json:
    """Return what is comparable of a state, without some places."""
    state = comparable(state)
    for spot in stale:
        match spot:
            case ("order", member):
                state[member] = sorted(state.get(member, []), key=_spelled)
            case ("flag", bit):
                state["status"] &= ~int(bit)
            case _:
                for node in _nodes(state, spot):
                    node.pop(spot[-1], None)
    return state


def _nodes(state: Json, spot: Spot) -> list[Json]:
    """Return the nodes of whose member a spot speaks: an agent may use a call's id again."""
    match spot:
        case ("call", turn, call, _):
            return [
                part["toolCall"]
                for shown in _turns(state)
                if shown["id"] == turn
                for part in shown["responseParts"]
                if part["kind"] == "toolCall" and part["toolCall"]["toolCallId"] == call
            ]
        case ("chats", chat, _):
            return [entry for entry in state.get("chats", []) if entry["resource"] == chat]
    return [state]


def _turns(state: Json) -> list[Json]:
    active = state.get("activeTurn")
    return [*state.get("turns", []), *([] if active is None else [active])]


def comparable(state: Json) -> Json:
    """Return a state without what differs for reasons that no translation can help."""
    state = deepcopy(state)
    for turn in _turns(state):
        turn["responseParts"] = _positioned(turn["responseParts"])
        for part in turn["responseParts"]:
            # A delta without content must be sent with an empty one, which starts the input.
            if part["kind"] == "toolCall" and part["toolCall"].get("partialInput") == "":
                del part["toolCall"]["partialInput"]
    return state


def _positioned(parts: list[Json]) -> list[Json]:
    """Put answered requests last: some versions record them where asked, some where answered."""
    asked = [part for part in parts if part["kind"] == "inputRequest"]
    others = [part for part in parts if part["kind"] != "inputRequest"]
    return [
        *others,
        *sorted(asked, key=_spelled),
    ]


def _spelled(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
