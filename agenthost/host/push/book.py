"""Who wants to be pushed what: ``push.json`` in the data directory, for its owner alone.

Holds the host's key and the subscriptions, each with the token by which it was made, and ends with
that token. The host is the only one to write the file; whatever is told to a client is in it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from agenthost.errors import Conflict, InternalError, NotFound
from agenthost.host.push.keys import VapidKeys, new_keys
from agenthost.host.trust import Principal, Role
from agenthost.tokens.files import TokenFileError, make_private_dir, read_private, replace_private

PUSH_FILE = "push.json"
"""The file's name inside the data directory."""

PUSH_FORMAT = 1
"""Written into the file, so that a later format is recognised instead of misread."""

MOST_PER_TOKEN = 16
"""Browsers of one person. Each new subscription of a browser's has another address, and the old one
is not always taken back, so that the oldest makes room."""

MOST_PER_HOST = 128
"""All of them are pushed to when something waits, and that takes a thread for a moment each."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PushSubscription:
    """One browser, and what its person wants to know of."""

    # The token: its name, and what tells it from a successor of that name.
    name: str
    credential: str | None = field(repr=False)
    # Where the push service takes messages for the browser. Who knows it could send some.
    endpoint: str = field(repr=False)
    p256dh: str = field(repr=False)
    auth: str = field(repr=False)
    kinds: tuple[str, ...]
    with_text: bool

    @property
    def principal(self) -> Principal:
        """Whose it is; its role does not matter, for everybody may look."""
        return Principal(self.name, Role.VIEWER, self.credential)


class PushBook:
    """The key and the subscriptions of one host."""

    def __init__(self, path: Path | None) -> None:
        # None where the host pushes nothing: it has no place to keep its key.
        self._path = path
        self._keys: VapidKeys | None = None
        # The oldest first; others only read it.
        self.subscriptions: tuple[PushSubscription, ...] = ()
        self._saving = asyncio.Lock()
        # Why the file could not be pruned, as it was last told.
        self._complaint: str | None = None

    @property
    def keys(self) -> VapidKeys | None:
        """The host's key, once there is one."""
        return self._keys

    def open(self) -> None:
        """Take up what is kept. A damaged file is told, left alone, and nothing is pushed."""
        if self._path is None:
            return
        try:
            data, _ = read_private(self._path)
            self._keys, self.subscriptions = _decode(data)
        except FileNotFoundError:
            return
        except TokenFileError as error:
            log.error("nothing is pushed: %s", error)
            self._path = None
        except (ValueError, KeyError, TypeError, RecursionError):
            log.error("nothing is pushed: %s is damaged; move it away", self._path)
            self._path = None

    async def public_key(self) -> str | None:
        """Return what browsers must know of the host; made, once, for the first who asks."""
        if self._path is None:
            return None
        if self._keys is None:
            async with self._saving:
                if self._keys is None:
                    keys = await asyncio.to_thread(new_keys)
                    try:
                        await self._save(keys, self.subscriptions)
                    except InternalError as error:
                        # Told to the log alone: a page works without pushes.
                        log.error("nothing is pushed: %s", error)
                        return None
        return self._keys.public if self._keys is not None else None

    async def add(self, new: PushSubscription) -> None:
        """Keep a subscription, in place of an earlier one for the same browser."""
        if await self.public_key() is None:
            raise NotFound("this host pushes nothing")
        async with self._saving:
            others = [each for each in self.subscriptions if each.endpoint != new.endpoint]
            own = [each for each in others if each.name == new.name]
            for oldest in own[: max(0, len(own) + 1 - MOST_PER_TOKEN)]:
                others.remove(oldest)
            if len(others) >= MOST_PER_HOST:
                raise Conflict(f"this host pushes to {MOST_PER_HOST} browsers at most")
            await self._save(self._keys, (*others, new))

    async def remove(self, endpoint: str, *, name: str | None = None) -> None:
        """Push nothing more to a browser; of a name, only if it is that one's."""
        await self._keep(
            lambda each: each.endpoint != endpoint or (name is not None and each.name != name)
        )

    async def prune(self, counts: Callable[[PushSubscription], bool]) -> None:
        """Drop the subscriptions whose token does not count any more.

        What cannot be written is told, once, and tried again by the next call: until then it is
        for whoever pushes to ask whether a token counts.
        """
        try:
            await self._keep(counts)
        except InternalError as error:
            if str(error) != self._complaint:
                log.error("subscriptions of former tokens are still kept: %s", error)
            self._complaint = str(error)
        else:
            self._complaint = None

    async def _keep(self, wanted: Callable[[PushSubscription], bool]) -> None:
        if all(map(wanted, self.subscriptions)):
            return
        async with self._saving:
            await self._save(self._keys, tuple(filter(wanted, self.subscriptions)))

    async def _save(
        self, keys: VapidKeys | None, subscriptions: Iterable[PushSubscription]
    ) -> None:
        """Write the file, then count what is in it; both or neither."""
        kept = tuple(subscriptions)
        if self._path is None or keys is None:
            return
        work = asyncio.to_thread(_write, self._path, _encode(keys, kept))
        writing = asyncio.create_task(work, name="write who is pushed to")
        try:
            # Whoever asked for it may leave meanwhile, but the next one must not overtake it.
            await asyncio.wait([writing])
        finally:
            if not writing.done():
                await asyncio.wait([writing])
            if writing.exception() is None:
                self._keys, self.subscriptions = keys, kept
        try:
            writing.result()
        except TokenFileError as error:
            raise InternalError(str(error)) from error


def _write(path: Path, data: bytes) -> None:
    make_private_dir(path.parent)
    replace_private(path, data)


def _encode(keys: VapidKeys, subscriptions: Sequence[PushSubscription]) -> bytes:
    document = {
        "format": PUSH_FORMAT,
        "vapid": {"private": keys.private, "public": keys.public},
        "subscriptions": [asdict(each) for each in subscriptions],
    }
    return (json.dumps(document, indent=2) + "\n").encode()


def _decode(data: bytes) -> tuple[VapidKeys, tuple[PushSubscription, ...]]:
    document = json.loads(data)
    if document["format"] != PUSH_FORMAT:
        raise ValueError("another format")
    vapid = document["vapid"]
    keys = VapidKeys(_text(vapid["private"]), _text(vapid["public"]))
    return keys, tuple(subscription_from_json(each) for each in document["subscriptions"])


def subscription_from_json(record: Any) -> PushSubscription:
    """Read a subscription; raises ValueError, KeyError or TypeError if it is none."""
    read = PushSubscription(**record)
    texts = (read.name, read.endpoint, read.p256dh, read.auth, *read.kinds)
    for text in (*texts, *([] if read.credential is None else [read.credential])):
        _text(text)
    return replace(read, kinds=tuple(read.kinds), with_text=bool(read.with_text))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value
