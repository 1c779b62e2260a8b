"""One turn worked on at a far host: begun or found again there, shown here, and answered for.

Looks at both chats whenever either has changed, and does whatever the difference asks for
(``relay``). The connection may come and go meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from agenthost.agents.ahp.adapted_contents import (
    FarSurroundings,
    MalformedPart,
    checked_part,
    length_of,
    localized,
    references,
)
from agenthost.agents.ahp.client_tools import ToolsOfClients
from agenthost.agents.ahp.contents import FarContents
from agenthost.agents.ahp.far_host import FarHost, told
from agenthost.agents.ahp.far_session import (
    cancel,
    introduction,
    make_room,
    settings_of,
    with_sent,
)
from agenthost.agents.ahp.messages import far_message
from agenthost.agents.ahp.relay import Asked, FarTurnRewritten, NearAnswer, Relay, is_given
from agenthost.agents.api import AgentError
from agenthost.agents.sanitize import emit, text_pieces
from agenthost.agents.turn import Turn
from agenthost.client import (
    ChannelGone,
    Chat,
    Client,
    ClientError,
    NotSent,
    Rejected,
    Session,
    Uncertain,
    actions,
)
from agenthost.client.resuming import find_turn, is_resumable
from agenthost.clock import SystemClock
from agenthost.errors import AgentHostError, WireError
from agenthost.protocol.chat.parts import error_of
from agenthost.protocol.json_edits import same
from agenthost.protocol.status import ERROR
from agenthost.tasks import Tasks

if TYPE_CHECKING:
    from agenthost.protocol.chat.state import CompletedTurn

# Parts and characters of one turn; a host that sends more has lost its way.
MOST_PARTS = 10_000
MOST_TEXT = 8 * 1024 * 1024
# Times that a decision is sent whose arrival is uncertain.
MOST_TRIES = 5
# Seconds between looks at the settings, of whose changes nobody tells.
SETTINGS_INTERVAL = 0.5
# Seconds without a far host after which people are told that it is waited for.
SOON = 1.0

Json = Mapping[str, Any]
log = logging.getLogger(__name__)

# What comes of taking apart what is not as it should be.
_MALFORMED = (KeyError, IndexError, TypeError, AttributeError, RecursionError)
_TEXT_ACTIONS = ("chat/delta", "chat/reasoning")


class FarTurn:
    """One turn here and the same one at the far host."""

    def __init__(
        self, host: FarHost, client: Client, turn: Turn, session: Session, chat: Chat
    ) -> None:
        self._host = host
        self._client = client
        self._turn = turn
        self._session = session
        self._chat = chat
        self._relay = Relay(turn.id)
        self._contents = FarContents(client, turn)
        self._tasks = Tasks()
        self._wake = asyncio.Event()
        # Far parts that were looked at, what became of them, and their lengths.
        self._made: list[tuple[Json, Json, int]] = []
        self._tools = ToolsOfClients(client, turn, session, self._refuse)
        self._around = FarSurroundings(host.name, host.spec.shares_files, self._tools.owner_of)
        self._activity: str | None = None
        # What is waited for here, and by what.
        self._watched: Mapping[str, Asked] = {}
        self._watching: asyncio.Task[None] | None = None

    async def run(self, hops: Sequence[str]) -> None:
        """Begin the turn there, or find it again, and see it through.

        Raises:
            AgentError: it failed there, or the far host is lost.
        """
        try:
            self._tasks.start(self._steer(), name="steer the far turn")
            self._tasks.start(self._look_there(), name="look at the far chat")
            self._tasks.start(self._pass_settings(), name="pass settings on")
            self._tools.offer()
            await self._begin(hops)
            await self._follow()
        except asyncio.CancelledError:
            await self._give_up()
            raise
        except ChannelGone as error:
            raise AgentError(f"{self._host.name}: the session is gone", "farGone") from error
        except (MalformedPart, FarTurnRewritten) as error:
            await cancel(self._chat, self._turn.id)
            raise AgentError(f"{self._host.name}: {error}", "farBroken") from error
        except FarLost:
            # It may go on there, and be found again.
            raise
        except AgentError:
            await cancel(self._chat, self._turn.id)
            raise
        except _MALFORMED as error:
            log.warning("%s sent something malformed", self._host.name, exc_info=True)
            raise AgentError(f"{self._host.name} sent something malformed", "farBroken") from error
        except (ClientError, WireError, TimeoutError) as error:
            raise AgentError(f"{self._host.name}: {told(error)}", "farFailed") from error
        finally:
            await self._tasks.close()

    # Beginning.

    async def _begin(self, hops: Sequence[str]) -> None:
        turn, chat = self._turn, self._chat
        if turn.is_resumed:
            self._relay.take_up(turn.parts_so_far)
            there = find_turn(chat.channel.confirmed, turn.id)
            if there is not None:
                if "state" in there and is_resumable(there):
                    await chat.resume().accepted()
                return
        else:
            await make_room(turn, chat, self._host.name)
        message = await self._message(turn.message, hops, introduction(turn, chat))
        turn.keep(with_sent(turn.resume_state, turn.id))
        started = actions.turn_started(turn.id, message, SystemClock().now())
        try:
            await self._client.dispatch(chat.uri, started)
        except Uncertain:
            # Its id is nobody else's: if it is there, it began.
            if find_turn(chat.channel.confirmed, turn.id) is None:
                raise
        except Rejected as error:
            raise AgentError(f"{self._host.name}: {error.reason}", "farRefused") from error

    # Following.

    async def _follow(self) -> None:
        while True:
            self._wake.clear()
            self._chat.channel.check()
            far = find_turn(self._chat.channel.confirmed, self._turn.id)
            if far is None:
                raise AgentError(f"{self._host.name} has removed this turn", "farGone")
            await self._show(far)
            if "state" in far:
                return await self._end(far)
            self._tools.offer()
            self._watch_here()
            await self._next()

    async def _show(self, far: Json) -> None:
        is_over = "state" in far
        shown = {**far, "responseParts": await self._localized(far["responseParts"])}
        if not is_over:
            near = self._near_parts()
            for answer in self._relay.answers(near, shown):
                self._tasks.start(self._send(answer), name="answer the far host")
        for action in self._relay.actions(self._near_parts(), shown, is_over=is_over):
            await self._emit(action)
        activity = None if is_over else self._chat.channel.confirmed.get("activity")
        await self._set_activity(activity)

    async def _end(self, far: Json) -> None:
        if far["state"] == "error":
            error: Json = error_of(cast("CompletedTurn", far)) or {}
            raise AgentFailed(
                str(error.get("message") or "it failed there"),
                str(error.get("errorType") or "farFailed"),
                resumable=is_resumable(far),
            )
        if far["state"] == "cancelled":
            # Somebody stopped it there, and so it is stopped here.
            duration = far.get("duration") or 0
            stop = {"type": "chat/turnCancelled", "turnId": self._turn.id, "duration": duration}
            emit(self._turn.port, stop)
            await self._turn.port.flow()

    async def _localized(self, parts: Sequence[Any]) -> list[Json]:
        """Return far parts as they are shown here; what did not change is the same object."""
        if len(parts) > MOST_PARTS:
            raise MalformedPart(f"its answer has more than {MOST_PARTS} parts")
        del self._made[len(parts) :]
        room = MOST_TEXT - sum(length for _, _, length in self._made)
        for index, part in enumerate(parts):
            if index < len(self._made) and self._made[index][0] is part:
                continue
            length = length_of(part)
            room -= length - sum(before for _, _, before in self._made[index : index + 1])
            if room < 0:
                raise MalformedPart(f"its answer has more than {MOST_TEXT} characters")
            checked = checked_part(part)
            for reference in references(checked, self._around):
                await self._contents.fetch(reference)
            made = localized(checked, self._contents.kept, self._around)
            self._made[index : index + 1] = [(part, made, length)]
        return [made for _, made, _ in self._made]

    async def _emit(self, action: dict[str, Any]) -> None:
        port = self._turn.port
        if action["type"] in _TEXT_ACTIONS:
            for piece in text_pieces(action["content"]):
                port.emit({**action, "content": piece})
                await port.flow()
            return
        try:
            emit(port, action)
        except AgentError as error:
            raise MalformedPart(f"it sent what cannot be shown here: {error}") from error
        await port.flow()

    def _near_parts(self) -> Sequence[Json]:
        active = self._turn.port.state.get("activeTurn")
        if active is None or active["id"] != self._turn.id:
            raise asyncio.CancelledError("the turn is over")
        parts: Sequence[Json] = active["responseParts"]
        return parts

    async def _set_activity(self, activity: str | None) -> None:
        if activity != self._activity:
            self._activity = activity
            await self._turn.set_activity(activity)

    # Waiting.

    async def _next(self) -> None:
        """Wait until anything has happened; AgentError if the far host is away for too long."""
        if self._host.is_connected:
            await self._wake.wait()
            return
        if await self._woken(SOON) or self._host.is_connected:
            return
        await self._set_activity(f"Waiting for {self._host.name}")
        deadline = asyncio.get_running_loop().time() + self._host.patience
        while not self._host.is_connected:
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                raise FarLost(
                    f"{self._host.name} is not there any more: {self._host.why_away}",
                    "farGone",
                    resumable=True,
                )
            self._wake.clear()
            await self._woken(left)

    async def _woken(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await self._wake.wait()
        except TimeoutError:
            return False

    async def _look_there(self) -> None:
        changed, status = self._chat.channel.changed, self._client.connection.changed
        counts = [changed.count, status.count]
        while True:
            waits = [
                asyncio.ensure_future(signal.wait_past(count))
                for signal, count in zip((changed, status), counts, strict=True)
            ]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()
            counts = [changed.count, status.count]
            self._wake.set()

    def _watch_here(self) -> None:
        """Be woken when what is asked for here is given."""
        wanted = self._relay.waits_for
        if wanted == self._watched and self._watching is not None and not self._watching.done():
            return
        if self._watching is not None:
            self._watching.cancel()
        self._watched, self._watching = wanted, None
        if wanted:
            self._watching = self._tasks.start(self._look_here(wanted), name="look at this chat")

    async def _look_here(self, wanted: Mapping[str, Asked]) -> None:
        def given(state: Json) -> bool | None:
            return True if is_given(state, wanted) else None

        await self._turn.port.wait_for(given)
        self._wake.set()

    # Telling the far host.

    async def _send(self, answer: NearAnswer) -> None:
        try:
            await self._dispatch(answer.action)
        except Rejected:
            # Somebody there was faster; what they decided is shown.
            pass
        except AgentHostError as error:
            await self._turn.notify(f"{self._host.name} did not take this: {told(error)}")
        finally:
            self._relay.settle(answer.key)
            self._wake.set()

    async def _dispatch(self, action: Json) -> None:
        """Tell the far chat something that can happen only once, until it is there."""
        for tries_left in reversed(range(MOST_TRIES)):
            try:
                await self._client.dispatch(self._chat.uri, action)
                return
            except (Uncertain, NotSent):
                if not tries_left:
                    raise
                await self._host.connected()

    async def _steer(self) -> None:
        while True:
            said = await self._turn.next_steering_message()
            message = await self._message(said)
            steering = actions.pending_message("steering", str(uuid.uuid4()), message)
            try:
                await self._dispatch(steering)
            except AgentHostError as error:
                await self._turn.notify(f"{self._host.name} did not hear this: {told(error)}")

    async def _message(
        self, message: Json, hops: Sequence[str] = (), introduction: str = ""
    ) -> dict[str, Any]:
        return await far_message(
            self._turn,
            message,
            hops=hops,
            shares_files=self._host.spec.shares_files,
            command_prefix=self._client.host.get("terminalCommandPrefix"),
            introduction=introduction,
        )

    async def _pass_settings(self) -> None:
        """Let the far session have the settings that the session here has; people change them."""
        seen: object = None
        while True:
            config = self._turn.config
            if config is not seen:
                seen = config
                wanted = settings_of(self._host, self._turn, mutable=True)
                there = self._session.config
                changed = {k: v for k, v in wanted.items() if not same(v, there.get(k))}
                if changed:
                    self._session.configure(changed)
            await asyncio.sleep(SETTINGS_INTERVAL)

    def _refuse(self, call_id: str, tool: str) -> None:
        said = f"no client offers the tool {tool}"
        result = {"success": False, "pastTenseMessage": said, "error": {"message": said}}
        refusal = actions.completion(self._turn.id, call_id, result)
        self._tasks.start(self._dispatch(refusal), name="refuse a call")

    # Giving up.

    async def _give_up(self) -> None:
        """Let go of a turn that is over here: cancelled there too, unless only this host ended."""
        chats = self._turn.port.session_state["chats"]
        status = next((c["status"] for c in chats if c["resource"] == self._turn.chat), 0)
        if not status & ERROR:
            await cancel(self._chat, self._turn.id)


class AgentFailed(AgentError):
    """A far agent's turn failed, as the far host says."""


class FarLost(AgentError):
    """The far host is away; what it does there may go on."""
