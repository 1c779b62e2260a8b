"""Who lives: every node beats on a plain subject, and hears the others and itself.

Small beats, 0.3 s apart, carry what changes all the time. The rest is told when it changes, and to
whoever asks because a beat names a telling that it has not heard. A beat that is lost does nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Self

from agenthost.cluster.nodes.node_info import HeardBeat, NodeInfo, decode_beat, decode_info
from agenthost.cluster.nodes.placement import best_place
from agenthost.errors import AgentHostError
from agenthost.tasks import Tasks

if TYPE_CHECKING:
    from agenthost.cluster.realm import RealmLink

log = logging.getLogger(__name__)

BEAT_SECONDS = 0.3
# Seconds unheard after which a node is dead to one that hears itself.
DEATH_SECONDS = 3.0
# What one interval between own beats counts at most: in a longer one this node was paused, or had
# no server, and what others did meanwhile it cannot know.
_COUNTED_SECONDS = 2 * BEAT_SECONDS
# Seconds within which one that hears itself has.
_CERTAIN_SECONDS = 4 * BEAT_SECONDS
# More nodes than these are not believed: whoever may write to the server could make them up.
_MOST_NODES = 512

_BEAT, _INFO, _ASK, _LEAVE = "beat", "node.info", "node.ask", "node.leave"


class NodeNameTaken(AgentHostError):
    """Another process of the realm has the name of this node."""


class _Heard:
    """What is known of a node that beats."""

    __slots__ = ("info", "revision", "silence")

    def __init__(self, info: NodeInfo, revision: int) -> None:
        self.info = info
        # The telling that ``info`` is from.
        self.revision = revision
        # Seconds without a beat, as far as this node could have heard one.
        self.silence = 0.0


class Nodes:
    """The nodes of a realm that live, this one among them; ``async with`` makes it beat."""

    def __init__(self, link: RealmLink, own: Callable[[], NodeInfo]) -> None:
        self._link = link
        self._own = own
        self._heard: dict[str, _Heard] = {}
        self._living: dict[str, NodeInfo] = {}
        self._on_death: list[Callable[[NodeInfo], None]] = []
        self._on_change: list[Callable[[], None]] = []
        # What was told of this node last, and how many tellings there were.
        self._told: NodeInfo | None = None
        self._revision = 0
        # When a beat of this node's own came back, by the loop's clock.
        self._heard_itself = float("-inf")
        # The process of the same name that was there before, if one is.
        self._rival: NodeInfo | None = None
        self._tasks = Tasks()
        self._stack = contextlib.AsyncExitStack()
        self._first_silence = asyncio.Event()

    @property
    def living(self) -> Mapping[str, NodeInfo]:
        """The living nodes by their id; this one is always there."""
        own = self._own()
        return MappingProxyType({**self._living, own.id: own})

    @property
    def is_certain(self) -> bool:
        """Whether this node hears itself, so that it would hear others."""
        return asyncio.get_running_loop().time() - self._heard_itself < _CERTAIN_SECONDS

    def on_death(self, tell: Callable[[NodeInfo], None]) -> None:
        """Have it told when a node has died or left."""
        self._on_death.append(tell)

    def on_change(self, tell: Callable[[], None]) -> None:
        """Have it told when a node comes, goes, or tells something else of itself than beats do."""
        self._on_change.append(tell)

    def is_seen(self, name: str) -> bool:
        """Say whether whoever has a token of that name looks at a window anywhere."""
        return any(name in info.seen for info in self.living.values())

    def place(
        self, provider: str | None, directories: Sequence[str], prefer: str | None
    ) -> str | None:
        """Return the node that a new session belongs to; None where no node has its agent."""
        return best_place(list(self.living.values()), provider, directories, prefer)

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as stack:
            for subject, hear in (
                (_BEAT, self._hear_beat),
                (_INFO, self._hear_info),
                (_ASK, self._hear_question),
                (_LEAVE, self._hear_farewell),
            ):
                stack.push_async_callback(
                    (await self._link.subscribe(subject, _with_body(hear))).close
                )
            stack.push_async_callback(self._tasks.close)
            self._tasks.start(self._beat(), "beat")
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._tasks.close()
        with contextlib.suppress(AgentHostError, TimeoutError, OSError):
            await self._link.publish(_LEAVE, self._own().encode_beat(self._revision))
        await self._stack.aclose()

    async def look_around(self) -> None:
        """Wait until whoever lives has been heard.

        Raises:
            NodeNameTaken: a process of this node's name lives.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DEATH_SECONDS):
                await self._first_silence.wait()
        if self._rival is not None:
            raise NodeNameTaken(
                f"a node called {self._rival.id} is in this realm already: --node names this one"
            )

    def tell_now(self) -> None:
        """Tell of a change at once, not with the next beat."""
        self._tasks.start(self._tell(), "tell of this node")

    async def _beat(self) -> None:
        own_beats = 0
        while True:
            with contextlib.suppress(AgentHostError, TimeoutError, OSError):
                await self._tell()
            await asyncio.sleep(BEAT_SECONDS)
            own_beats += self.is_certain
            if own_beats == 3:
                # Whoever lives has beaten twice since this node could hear it.
                self._first_silence.set()

    async def _tell(self) -> None:
        own = self._own()
        if self._told is None or not self._told.same_besides_beats(own):
            self._revision += 1
            self._told = own
            self._tell_change()
            await self._link.publish(_INFO, own.encode(self._revision))
        await self._link.publish(_BEAT, own.encode_beat(self._revision))

    # Hearing.

    def _hear_beat(self, body: bytes) -> None:
        beat = decode_beat(body)
        if beat is None:
            return
        own = self._own()
        if beat.id == own.id:
            if beat.process == own.process:
                self._hear_itself()
            else:
                self._hear_rival(beat)
            return
        heard = self._heard.get(beat.id)
        if heard is None or heard.revision != beat.revision or heard.info.process != beat.process:
            self._ask(beat.id)
        if heard is not None and heard.info.process == beat.process:
            heard.silence = 0.0
            heard.info = beat.onto(heard.info)
            if beat.id in self._living:
                self._living[beat.id] = heard.info

    def _hear_itself(self) -> None:
        now = asyncio.get_running_loop().time()
        counted = min(now - self._heard_itself, _COUNTED_SECONDS)
        self._heard_itself = now
        for heard in list(self._heard.values()):
            heard.silence += counted
            if heard.silence > DEATH_SECONDS:
                self._drop(heard.info, "has not been heard for %g s", DEATH_SECONDS)

    def _hear_rival(self, beat: HeardBeat) -> None:
        rival = beat.onto(NodeInfo(beat.id))
        if self._rival is None and self._first_silence.is_set():
            log.error("another process calls itself %s too: one of the two must go", beat.id)
        self._rival = rival

    def _hear_info(self, body: bytes) -> None:
        told = decode_info(body)
        if told is None or told[0].id == self._own().id:
            return
        info, revision = told
        before = self._heard.get(info.id)
        if before is None and len(self._heard) >= _MOST_NODES:
            return
        if before is not None and before.info.process != info.process:
            if before.info.started > info.started:
                # Of a process that another one of its name has followed.
                return
            # It was started again before anybody missed it.
            self._drop(before.info, "has been started again")
        self._heard[info.id] = _Heard(info, revision)
        if info.id not in self._living:
            log.info("the node %s is there", info.id)
        self._living[info.id] = info
        self._tell_change()

    def _hear_question(self, body: bytes) -> None:
        if body == self._own().id.encode():
            # With the next beat, so that many who ask are told once.
            self._told = None

    def _hear_farewell(self, body: bytes) -> None:
        beat = decode_beat(body)
        heard = None if beat is None else self._heard.get(beat.id)
        if beat is not None and heard is not None and heard.info.process == beat.process:
            self._drop(heard.info, "has left")

    def _drop(self, info: NodeInfo, why: str, *values: object) -> None:
        self._heard.pop(info.id, None)
        if self._living.pop(info.id, None) is None:
            return
        log.info("the node %s " + why, info.id, *values)
        for tell in self._on_death:
            tell(info)
        self._tell_change()

    def _tell_change(self) -> None:
        for tell in self._on_change:
            tell()

    def _ask(self, node: str) -> None:
        async def ask() -> None:
            with contextlib.suppress(AgentHostError, TimeoutError, OSError):
                await self._link.publish(_ASK, node.encode())

        self._tasks.start(ask(), "ask a node")


def _with_body(hear: Callable[[bytes], None]) -> Callable[[str, bytes, object], None]:
    return lambda subject, body, reply: hear(body)
