"""The owner's side of links: takes them up and has each served, as a host serves a connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

import orjson

from agenthost.cluster.links.frames import FrameKind, LinkFrame, close_body, read_frame
from agenthost.cluster.links.link_end import LinkEnd
from agenthost.cluster.links.opening import OPEN, front_subject, owner_subject
from agenthost.errors import RemoteProtocolError
from agenthost.host.trust.principals import Principal
from agenthost.tasks import Tasks
from agenthost.tokens import Role
from agenthost.transport import CloseCode, Transport

if TYPE_CHECKING:
    from agenthost.cluster.realm import PlainSubscription, RealmLink, Reply

log = logging.getLogger(__name__)

MOST_LINKS = 20_000


class LinkServer:
    """Takes links up, from when it is entered until it is left; then all of them end."""

    def __init__(
        self,
        link: RealmLink,
        node: str,
        serve: Callable[[Transport, Principal, str], Awaitable[None]],
        position: Callable[[], int],
    ) -> None:
        """``serve`` has a link until it returns; ``position`` is how far the log was read."""
        self._link = link
        self._node = node
        self._serve = serve
        self._position = position
        self._ends: dict[str, LinkEnd] = {}
        self._leaves = False
        self._tasks = Tasks()
        self._subscription: PlainSubscription | None = None

    async def __aenter__(self) -> Self:
        self._subscription = await self._link.subscribe(owner_subject(self._node, "*"), self._heard)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._leaves = True
        ends = list(self._ends.values())
        await asyncio.gather(
            *(end.close(CloseCode.GOING_AWAY, "the owner ends its links") for end in ends)
        )
        if self._subscription is not None:
            await self._subscription.close()
        await self._tasks.close()

    def __len__(self) -> int:
        return len(self._ends)

    def _heard(self, subject: str, payload: bytes, reply: Reply | None) -> None:
        id = subject.rpartition(".")[2]
        if id == OPEN:
            if reply is not None:
                reply(orjson.dumps(self._open(payload)))
            return
        end = self._ends.get(id)
        if end is not None:
            end.deliver(payload)
        elif not _is_close(payload):
            # From before this one began: whoever is there need not wait for silence.
            body = close_body(CloseCode.GOING_AWAY, "the owner does not know the link any more")
            frame = LinkFrame(FrameKind.CLOSE, 0, 0, 0, body)
            self._tasks.start(
                self._link.publish(front_subject(id), frame.encoded()), "the end of a link"
            )

    def _open(self, payload: bytes) -> dict[str, str]:
        """Take a link up, and say why not if it is not."""
        try:
            asked = orjson.loads(payload)
            id, front, purpose = str(asked["id"]), str(asked["from"]), str(asked["purpose"])
            principal = Principal(str(asked["name"]), Role(asked["role"]))
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            return {"refused": "this is no request for a link"}
        if self._leaves:
            return {"refused": "the owner ends its links"}
        if len(self._ends) >= MOST_LINKS:
            return {"refused": "the owner has too many links"}
        if id in self._ends or not id.isalnum():
            return {"refused": "there is a link of that name"}

        def ended(_: LinkEnd) -> None:
            self._ends.pop(id, None)

        end = LinkEnd(
            f"link:{front}/{id}",
            lambda data: self._link.publish(front_subject(id), data),
            position=self._position,
            on_end=ended,
        )
        self._ends[id] = end
        self._tasks.start(self._served(end, principal, purpose), f"link {id}")
        return {}

    async def _served(self, end: LinkEnd, principal: Principal, purpose: str) -> None:
        code, reason = CloseCode.INTERNAL_ERROR, "the owner could not serve the link"
        try:
            await self._serve(end, principal, purpose)
            code, reason = CloseCode.NORMAL, ""
        except asyncio.CancelledError:
            code, reason = CloseCode.GOING_AWAY, "the owner ends its links"
            raise
        finally:
            await end.close(code, reason)


def _is_close(payload: bytes) -> bool:
    try:
        return read_frame(payload).kind is FrameKind.CLOSE
    except RemoteProtocolError:
        return True
