"""Decides what is worth a notification, and when: looks at sessions, and at who is looking.

What waits for somebody, a turn that failed and, by choice, one that took long are told after a
moment, unless they were settled or somebody looks at a window of that token meanwhile. Once it is
settled, what is shown is taken back. Knows no network (``sender`` does) and no file (``book``).
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from msgspec import Struct

from agenthost.clock import Clock
from agenthost.host.push.book import PushBook, PushSubscription
from agenthost.host.push.keys import MOST_PLAIN_BYTES, VapidKeys, encoded
from agenthost.host.push.sender import Delivery, PushNote
from agenthost.protocol.jsonrpc import dumps
from agenthost.protocol.markdown import markdown_of
from agenthost.protocol.status import ACTIVITY_MASK, ERROR, IDLE, IN_PROGRESS, INPUT_NEEDED, IS_READ
from agenthost.tasks import Tasks

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonMapping, JsonObject
    from agenthost.protocol.session.state import SessionState, SessionSummary

DELAY_SECONDS = 5.0
"""What is answered at once, or seen in a window, is not worth a buzz."""

LONG_TURN_SECONDS = 60.0
"""Turns that took longer are told of when they end, to those who want that."""

LONGEST_TITLE, LONGEST_TEXT = 120, 600
"""Characters; a notification shows a few lines, and a push holds four kilobytes."""

SHOWS_EVERYTHING = ".push.apple.com"
"""A browser there that shows nothing for a push, a few times, is not pushed to any more."""

log = logging.getLogger(__name__)

_WORKING = (IN_PROGRESS, INPUT_NEEDED)
_URGENCY = {"needsInput": "high", "failed": "high", "finished": "normal", "withdraw": "normal"}


class Sends(Protocol):
    """What takes messages: a `PushSender`."""

    async def send(
        self,
        keys: VapidKeys,
        to: PushSubscription,
        note: PushNote,
        still: Callable[[], bool] = ...,
    ) -> Delivery:
        """Send one message."""
        ...


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that somebody may want to know of a session."""

    # needsInput, failed or finished.
    kind: str
    chat: str
    # Tells it from others of its kind in that chat.
    id: str = ""
    # What is asked for.
    text: str = field(default="", compare=False)


class _Watched(Struct):
    """One session of which there is something to tell."""

    title: str
    # What holds now.
    reasons: dict[Reason, None] = {}
    # What was told of what still holds.
    told: set[Reason] = set()
    # The browsers that show something.
    shown: dict[str, PushSubscription] = {}


class PushWatch:
    """Looks at all sessions on behalf of those who are away."""

    def __init__(
        self,
        book: PushBook,
        sender: Sends,
        tasks: Tasks,
        clock: Clock,
        *,
        is_seen: Callable[[str], bool],
        counts: Callable[[PushSubscription], bool],
    ) -> None:
        """Watch on behalf of the subscriptions in a book.

        Args:
            book: who wants to know what.
            sender: what tells them.
            tasks: whose tasks the waiting and the sending are.
            clock: how long things take.
            is_seen: whether somebody looks at a window of a token's.
            counts: whether a subscription's token still counts; asked once this is `open`.
        """
        self._book, self._sender = book, sender
        self._tasks, self._clock = tasks, clock
        self.is_seen, self._counts = is_seen, counts
        # Whether this host sends what it sees, where several see the same.
        self.sends: Callable[[], bool] = lambda: True
        self._is_open = False
        self._watched: dict[str, _Watched] = {}
        # Session -> chat of it -> since when that works.
        self._since: dict[str, dict[str, float]] = {}

    def open(self) -> None:
        """Begin to tell, of what was noted before too: whose tokens count is known from now on."""
        self._is_open = True
        for uri, watched in self._watched.items():
            self._tell_all_later(uri, watched, watched.reasons)

    def changed(
        self, uri: str, state: SessionState, before: SessionSummary, after: SessionSummary
    ) -> None:
        """Take note of what a session has become; called with every change of one."""
        try:
            self._look(uri, state, before, after)
        except Exception:
            # A session is worth more than the news of it.
            log.exception("nobody is told of a change")

    def _look(
        self, uri: str, state: SessionState, before: SessionSummary, after: SessionSummary
    ) -> None:
        if not self._book.subscriptions:
            self._watched.clear()
            self._since.clear()
            return
        watched = self._watched.get(uri) or _Watched("")
        watched.title = after["title"]
        kept = {} if _was_read(before, after) else watched.reasons
        holding = (reason for reason in kept if _holds(reason, after))
        reasons = [*holding, *_prompts(state), *self._ended(uri, before, after)]
        self._settle(uri, watched, dict.fromkeys(reasons))

    def removed(self, uri: str) -> None:
        """Take note that a session is gone."""
        self._since.pop(uri, None)
        watched = self._watched.get(uri)
        if watched is not None:
            self._settle(uri, watched, {})

    def _settle(self, uri: str, watched: _Watched, reasons: dict[Reason, None]) -> None:
        new = [reason for reason in reasons if reason not in watched.reasons]
        had_told = bool(watched.told)
        watched.reasons = reasons
        watched.told &= reasons.keys()
        if reasons:
            self._watched[uri] = watched
        else:
            self._watched.pop(uri, None)
        self._tell_all_later(uri, watched, new)
        if had_told and not watched.told:
            shown, watched.shown = watched.shown, {}
            for subscription in shown.values():
                if not _shows_everything(subscription):
                    self._send(uri, watched, subscription, Reason("withdraw", ""))

    def _tell_all_later(self, uri: str, watched: _Watched, reasons: Iterable[Reason]) -> None:
        if self._is_open:
            for reason in reasons:
                self._tasks.start(self._tell_later(uri, watched, reason), "tell those who are away")

    async def _tell_later(self, uri: str, watched: _Watched, reason: Reason) -> None:
        await self._clock.sleep(DELAY_SECONDS)
        if not _is_current(watched, reason) or reason in watched.told:
            return
        # Whatever else of its kind waits is seen along with it: nobody wants to be told twice.
        watched.told |= {each for each in watched.reasons if each.kind == reason.kind}
        for subscription in self._book.subscriptions:
            wanted = reason.kind in subscription.kinds and self._counts(subscription)
            if wanted and not self.is_seen(subscription.name):
                watched.shown[subscription.endpoint] = subscription
                self._send(uri, watched, subscription, reason)

    def _send(
        self, uri: str, watched: _Watched, subscription: PushSubscription, reason: Reason
    ) -> None:
        note = note_of(uri, watched.title, reason, with_text=subscription.with_text)
        if note is not None and self.sends():
            sending = self._deliver(uri, watched, subscription, reason, note)
            self._tasks.start(sending, "push")

    async def _deliver(
        self,
        uri: str,
        watched: _Watched,
        subscription: PushSubscription,
        reason: Reason,
        note: PushNote,
    ) -> None:
        keys = self._book.keys
        if keys is None:
            return

        def still() -> bool:
            # A withdrawal is obsolete once something is shown there again.
            if reason.kind == "withdraw":
                now = self._watched.get(uri)
                return now is None or subscription.endpoint not in now.shown
            return _is_current(watched, reason) and self._counts(subscription)

        outcome = await self._sender.send(keys, subscription, note, still)
        if outcome is Delivery.GONE:
            await self._book.remove(subscription.endpoint)

    def _ended(
        self, session: str, before: SessionSummary, after: SessionSummary
    ) -> Iterator[Reason]:
        """Yield the turns that have just ended badly, or after long; workers' are nobody's."""
        was = {chat["resource"]: _activity(chat) for chat in before.get("chats") or ()}
        working = self._working_since(session, after)
        now = self._clock.monotonic()
        for chat in after.get("chats") or ():
            uri, activity = chat["resource"], _activity(chat)
            if was.get(uri) == activity:
                continue
            if activity in _WORKING:
                working.setdefault(uri, now)
                continue
            since = working.pop(uri, None)
            if "origin" in chat and chat["origin"]["kind"] == "tool":
                continue
            if activity == ERROR and uri in was:
                yield Reason("failed", uri)
            elif activity == IDLE and since is not None and now - since > LONG_TURN_SECONDS:
                yield Reason("finished", uri)

    def _working_since(self, session: str, after: SessionSummary) -> dict[str, float]:
        """Return since when chats of a session work, without those that it has no more."""
        there = {chat["resource"] for chat in after.get("chats") or ()}
        kept = {c: since for c, since in self._since.get(session, {}).items() if c in there}
        self._since[session] = kept
        return kept


def note_of(uri: str, title: str, reason: Reason, *, with_text: bool) -> PushNote | None:
    """Write a message; None where it would be too long to send."""
    message: JsonObject = {"kind": reason.kind, "session": uri}
    if reason.kind != "withdraw":
        message |= {"chat": reason.chat, "title": _cut(title, LONGEST_TITLE)}
    text = _cut(reason.text, LONGEST_TEXT) if with_text else ""
    if text:
        message["text"] = text
    body = dumps(message)
    if len(body) > MOST_PLAIN_BYTES and text:
        del message["text"]
        body = dumps(message)
    if len(body) > MOST_PLAIN_BYTES:
        return None
    topic = encoded(hashlib.sha256(uri.encode("utf-8", "replace")).digest()[:24])
    return PushNote(body, topic, _URGENCY[reason.kind])


def _prompts(state: SessionState) -> Iterator[Reason]:
    """Yield what waits for a person; a tool that a client runs waits for nobody."""
    for entry in state.get("inputNeeded") or ():
        if entry["kind"] != "toolClientExecution":
            yield Reason("needsInput", entry["chat"], entry["id"], _asked_for(entry))


def _asked_for(entry: JsonMapping) -> str:
    """Say in a line what is asked for."""
    if entry["kind"] == "chatInput":
        request = entry["request"]
        questions = request.get("questions") or ()
        return str(request.get("message") or next((q.get("message") for q in questions), ""))
    call = entry.get("toolCall") or {}
    told = call.get("confirmationTitle") or call.get("invocationMessage") or ""
    given = call.get("toolInput")
    parts = [markdown_of(told) if told else "", given if isinstance(given, str) else ""]
    return "\n".join(part for part in parts if part)


def _holds(reason: Reason, after: SessionSummary) -> bool:
    """Say whether a turn that ended is still the last one of its chat."""
    if reason.kind == "needsInput":
        # The session itself lists these.
        return False
    wanted = ERROR if reason.kind == "failed" else IDLE
    chats = after.get("chats") or ()
    return any(chat["resource"] == reason.chat and _activity(chat) == wanted for chat in chats)


def _is_current(watched: _Watched, reason: Reason) -> bool:
    return reason in watched.reasons


def _was_read(before: SessionSummary, after: SessionSummary) -> bool:
    return bool(after["status"] & IS_READ and not before["status"] & IS_READ)


def _activity(chat: JsonMapping) -> int:
    return int(chat.get("status", 0)) & ACTIVITY_MASK


def _shows_everything(subscription: PushSubscription) -> bool:
    return (urlsplit(subscription.endpoint).hostname or "").endswith(SHOWS_EVERYTHING)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
