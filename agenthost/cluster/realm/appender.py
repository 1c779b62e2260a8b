"""Appending to the realm's log: what was to be stored is stored, refused for good, or unknown.

*Stored* is what the server acknowledged, or what is the subject's last message. *Fenced* is what
the server refuses because the subject has gone on. Everything else is unknown, and the same is sent
again with the same expectation, which can store it once at most: a read never proves that a message
will not come, for one arrived after the leader had denied having it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

import orjson
from nats.errors import Error as NatsError
from nats.errors import MaxPayloadError

from agenthost.cluster.realm.connection import too_large
from agenthost.cluster.realm.errors import (
    NO_ROOM,
    Fenced,
    RealmError,
    RealmFull,
    RealmUnreachable,
)
from agenthost.cluster.realm.stream import COMMIT_HEADER, ApiError, RealmStream
from agenthost.cluster.units import unit_token

if TYPE_CHECKING:
    from agenthost.cluster.realm.connection import RealmLink

log = logging.getLogger(__name__)

# One unit's part of what is stored together: its messages, and what its last one is expected to be.
Part = tuple[str, Sequence[bytes], int | None]

_TIMEOUT = 2.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
MOST_IN_A_BATCH = 1000

_WRONG_LAST = 10071
# Refused for now, whatever their HTTP code says: another is being stored at the subject (10158,
# 10164), a message of the batch was lost (10176), too many batches are under way (10210, 10211).
_PASSING = frozenset({10158, 10164, 10176, 10210, 10211})


class Appender:
    """Appends commits, one in flight for each unit: its caller sees to that."""

    def __init__(self, link: RealmLink) -> None:
        self._link = link
        self._stream = RealmStream(link)
        # How many commits the server refused because somebody else had written.
        self.fenced = 0
        # Why what is under way is not stored yet, where it was tried in vain: by commit.
        self._troubles: dict[str, RealmError] = {}

    @property
    def trouble(self) -> str | None:
        """Why something is not stored at the moment, if it is not."""
        return next(map(str, self._troubles.values()), None)

    @property
    def no_room(self) -> str | None:
        """Why something is not stored until somebody makes room."""
        full = (str(each) for each in self._troubles.values() if isinstance(each, RealmFull))
        return next(full, None)

    async def append(
        self, unit: str, bodies: Sequence[bytes], commit_id: str, expected: int | None
    ) -> int:
        """Store one unit's messages, and return the last one's number.

        Takes as long as it takes; whoever cancels it does not know whether they were stored.
        Without an expectation they may be stored twice.

        Raises:
            Fenced: somebody else wrote there after ``expected``.
            RealmError: the realm cannot take it, now or later.
        """
        return await self.append_together([(unit, bodies, expected)], commit_id)

    async def append_together(self, parts: Sequence[Part], commit_id: str) -> int:
        """Store the messages of several units, all of them or none; see ``append``."""
        if sum(len(bodies) for _, bodies, _ in parts) > MOST_IN_A_BATCH:
            raise RealmError("more than 1,000 messages cannot be stored together")
        pause = _FIRST_PAUSE
        try:
            while True:
                try:
                    number = await self._try(parts, commit_id)
                except RealmUnreachable as error:
                    self._note(commit_id, error)
                else:
                    if number is not None:
                        return number
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
        finally:
            self._troubles.pop(commit_id, None)

    async def _try(self, parts: Sequence[Part], commit_id: str) -> int | None:
        """Store it if possible; without a number, nobody knows."""
        try:
            return await self._send(parts, commit_id)
        except ApiError as error:
            if error.error_code == _WRONG_LAST:
                return await self._judged(parts, commit_id)
            if error.is_no_room:
                # It may have room again, and nothing is lost meanwhile.
                self._note(commit_id, RealmFull(f"{NO_ROOM}: {error}"))
            elif error.code < 500 and error.error_code not in _PASSING:
                raise RealmError(f"the realm does not take what is to be stored: {error}") from None
            else:
                self._note(commit_id, error)
            return None

    async def _send(self, parts: Sequence[Part], commit_id: str) -> int:
        messages = [
            (self._subject(unit), body, self._headers(commit_id, expected if index == 0 else None))
            for unit, bodies, expected in parts
            for index, body in enumerate(bodies)
        ]
        if len(messages) > 1:
            # Another batch each time: of the last try some messages may still be on their way.
            batch = uuid4().hex
            for place, (_, _, headers) in enumerate(messages, 1):
                headers["Nats-Batch-Id"] = batch
                headers["Nats-Batch-Sequence"] = str(place)
            messages[-1][2]["Nats-Batch-Commit"] = "1"
            await self._publish(messages[:-1])
        elif parts[0][2] is None:
            # Where nothing is expected this is remembered, for two minutes. Otherwise it is of no
            # use: one server looks at the expectation first and says 10071.
            messages[0][2]["Nats-Msg-Id"] = commit_id
        subject, body, headers = messages[-1]
        answer = orjson.loads(await self._link.ask(subject, body, _TIMEOUT, headers) or b"{}")
        if answer.get("error"):
            raise ApiError(answer["error"])
        return int(answer["seq"])

    async def _publish(self, messages: Sequence[tuple[str, bytes, dict[str, str]]]) -> None:
        try:
            for subject, body, headers in messages:
                await self._link.client.publish(subject, body, headers=headers)
        except MaxPayloadError:
            raise too_large() from None
        except NatsError as error:
            raise RealmUnreachable(f"there is no connection to the realm: {error}") from None

    async def _judged(self, parts: Sequence[Part], commit_id: str) -> int | None:
        try:
            return await self._judge(parts, commit_id)
        except ApiError as error:
            # Whoever leads at this moment cannot say.
            self._note(commit_id, error)
            return None

    async def _judge(self, parts: Sequence[Part], commit_id: str) -> int | None:
        """Find out which of the expectations was wrong, and whether ourselves made it so."""
        ours: int | None = None
        for unit, _, expected in parts:
            last, id = await self._stream.last_of(self._subject(unit))
            if id == commit_id:
                ours = max(ours or 0, last)
            elif expected is not None and await self._has_gone_on(last, expected):
                self.fenced += 1
                raise Fenced(f"somebody else has written to {unit}, at {last} after {expected}")
        # Otherwise a message that was being stored stood in the way, or the leader is a new one
        # and has yet to see its last ones.
        return ours

    async def _has_gone_on(self, last: int, expected: int) -> bool:
        # Or what was expected is purged, and will not come back either.
        return last > expected or (
            last < expected and (await self._stream.state()).first > expected
        )

    def _subject(self, unit: str) -> str:
        return self._link.subject(f"log.{unit_token(unit)}")

    def _headers(self, commit_id: str, expected: int | None) -> dict[str, str]:
        headers = {COMMIT_HEADER: commit_id, "Nats-Expected-Stream": self._link.stream}
        if expected is not None:
            headers["Nats-Expected-Last-Subject-Sequence"] = str(expected)
        return headers

    def _note(self, commit_id: str, trouble: RealmError) -> None:
        if not self._troubles:
            log.warning("the realm does not store at the moment: %s", trouble)
        self._troubles[commit_id] = trouble
