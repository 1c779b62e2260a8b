"""The law of the ladder, and the few places where it cannot hold.

The law: an old client that applies what we send holds what a fresh snapshot would give it. Here are
the cases that the versions themselves make impossible, each with the members that it may leave
different and no others. Times of modification are never compared: every peer stamps its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import orjson

from agenthost.protocol.structure import same
from agenthost.protocol.versions import SUPPORTED_VERSIONS, parse_version, reduce, translator
from agenthost.protocol.versions.calls import find_call
from agenthost.protocol.versions.ladder import Translator
from agenthost.protocol.versions.v0_6_0_to_v0_5_2.inputs import is_open
from tests.strategies import NOW, History, read_text

Json = dict[str, Any]

OLDER = SUPPORTED_VERSIONS[1:]

CONFIRMATION = ("confirmationTitle", "edits", "editable", "options")
REFINED = ("intention", "contributor")


@dataclass(frozen=True)
class Exemption:
    """A case where an old client is left with something stale."""

    reason: str
    # The newest version that is concerned; every older one is, too.
    since: str
    applies: Callable[[Json, Json, Json], bool]
    # What may differ afterwards: members of the state, or of the call that the action names.
    members: tuple[str, ...] = ()
    call_members: tuple[str, ...] = ()


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
    unreadable = isinstance(given, dict) and read_text(given["uri"]) is None
    return was_pending(before, action, after) and unreadable


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


EXEMPTIONS = (
    Exemption(
        "a contributor or intention refined at Ready",
        "0.6.0",
        _is("chat/toolCallReady"),
        call_members=REFINED,
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
            "chat/workingDirectorySet",
            "chat/workingDirectoryRemoved",
        ),
        members=("workingDirectory",),
    ),
    Exemption(
        "a partial update cannot clear the working directory",
        "0.6.0",
        _clears_directories,
        members=("chats",),
    ),
    Exemption(
        "Ready on a pending call has no equivalent",
        "0.5.2",
        _status_before("chat/toolCallReady", "pending-confirmation"),
        call_members=("invocationMessage", "toolInput", "_meta", *CONFIRMATION, *REFINED),
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
        "older turns are loaded into the state only since then; before, all were there",
        "0.5.0",
        _is("chat/turnsLoaded"),
        members=("turns",),
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
    ladder = [translator(version) for version in OLDER]
    before = history.initial
    held = {old.version: down(old, history, before) for old in ladder}
    for action in history.actions:
        after = reduce(history.kind, before, action, now=NOW)
        for old in ladder:
            state = held[old.version]
            for sent in old.action_down(history.kind, before, action, after, read_text=read_text):
                state = reduce(history.kind, state, sent, now=NOW, version=old.version)
                again = reduce(history.kind, state, sent, now=NOW, version=old.version)
                assert again is state or not same(again, state), f"{old.version}: {sent}"
            fresh = down(old, history, after)
            if comparable(state) == comparable(fresh):
                held[old.version] = state
                continue
            lawless = differs_lawlessly(old.version, before, action, after, state, fresh)
            assert not lawless, f"{old.version}: {action}\n holds {state}\n fresh {fresh}"
            held[old.version] = fresh
        before = after


def down(old: Translator, history: History, state: Json) -> Json:
    """Translate a state of a history DOWN."""
    translated: Json = old.state_down(history.kind, state, read_text=read_text)
    return translated


def exemptions(version: str, before: Json, action: Json, after: Json) -> Iterator[Exemption]:
    """Return the exemptions that an action falls under, for clients of a version."""
    for exemption in EXEMPTIONS:
        concerned = parse_version(version) <= parse_version(exemption.since)
        if concerned and exemption.applies(before, action, after):
            yield exemption


def differs_lawlessly(
    version: str, before: Json, action: Json, after: Json, held: Json, fresh: Json
) -> bool:
    """Say whether what an old client holds differs from a snapshot in more than it may."""
    granted = list(exemptions(version, before, action, after))
    return _masked(held, action, granted) != _masked(fresh, action, granted)


def comparable(state: Json) -> Json:
    """Return a state without what differs for reasons that no translation can help."""
    state = deepcopy(state)
    state.pop("modifiedAt", None)
    for turn in [*state.get("turns", []), state.get("activeTurn") or {"responseParts": []}]:
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
        *sorted(asked, key=lambda part: orjson.dumps(part, option=orjson.OPT_SORT_KEYS)),
    ]


def _masked(state: Json, action: Json, granted: list[Exemption]) -> Json:
    state = comparable(state)
    for exemption in granted:
        for member in exemption.members:
            state.pop(member, None)
        call = find_call(state, action) if exemption.call_members else None
        for member in exemption.call_members if call is not None else ():
            (call or {}).pop(member, None)
    return state
