"""Plain subjects in memory, for tests of what nodes say to each other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agenthost.errors import AgentHostError

Handle = Callable[[str, bytes, Callable[[bytes], None] | None], None]


class PlainSubjects:
    """What a server carries between the nodes of a realm."""

    def __init__(self) -> None:
        self.links: list[SubjectsLink] = []

    def link(self) -> SubjectsLink:
        link = SubjectsLink(self)
        self.links.append(link)
        return link


class MemorySubscription:
    def __init__(self, link: SubjectsLink, entry: tuple[str, Handle]) -> None:
        self._link, self._entry = link, entry

    async def close(self) -> None:
        self._link.handles.remove(self._entry)


class SubjectsLink:
    """One node's connection; ``is_cut`` makes it neither send nor hear."""

    def __init__(self, subjects: PlainSubjects) -> None:
        self._subjects = subjects
        self.handles: list[tuple[str, Handle]] = []
        self.is_cut = False
        self.sent: list[str] = []

    async def publish(self, subject: str, payload: bytes) -> None:
        self.sent.append(subject)
        self._carry(subject, payload, None)

    async def subscribe(self, subject: str, handle: Handle) -> MemorySubscription:
        entry = (subject, handle)
        self.handles.append(entry)
        return MemorySubscription(self, entry)

    async def request(self, subject: str, payload: bytes, timeout: float) -> bytes:
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        def reply(body: bytes) -> None:
            if not answer.done():
                answer.set_result(body)

        if not self._carry(subject, payload, reply):
            raise AgentHostError("nobody listens there")
        async with asyncio.timeout(timeout):
            return await answer

    def _carry(self, subject: str, payload: bytes, reply: Callable[[bytes], None] | None) -> int:
        if self.is_cut:
            return 0
        heard = [
            handle
            for link in self._subjects.links
            if not link.is_cut
            for wanted, handle in link.handles
            if wanted == subject
        ]
        for handle in heard:
            handle(subject, payload, reply)
        return len(heard)
