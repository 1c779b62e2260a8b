"""A turn under way in a test: follows it, replies for people, and steers or stops it on demand.

Workers ask in chats of their own; they get the same replies, for a test knows one agent and not
where it asks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from agenthost.client import (
    Chat,
    ChatEvent,
    Client,
    ConfirmationNeeded,
    Dispatch,
    Question,
    Rejected,
    Session,
    Text,
    TurnEnded,
    TurnStream,
)
from agenthost.testing.replies import Allow, Deny, ScriptedReplies, Unanswered, brief, words_of
from agenthost.testing.seen_turn import SeenTurn, see_call, see_turn

Json = Mapping[str, Any]

_OVER = ("completed", "cancelled")


class TestedTurn:
    """A turn that was started; it goes on by itself, and ``end`` waits for it."""

    # Not a test, whatever pytest makes of the name.
    __test__ = False

    def __init__(
        self,
        client: Client,
        session: Session,
        chat: Chat,
        stream: TurnStream,
        replies: ScriptedReplies,
        patience: float,
    ) -> None:
        self._client = client
        self._session = session
        self._chat = chat
        self._replies = replies
        self._patience = patience
        # The answer's text in the pieces in which it came.
        self.deltas: list[str] = []
        self._questions: list[str] = []
        # What workers of turns before asked, which may not have ended yet.
        self._asked_before = {each["id"] for each in self._asked_elsewhere(session.state)}
        # Set with every event, for those who wait for one.
        self._moved = asyncio.Event()
        self._following = asyncio.create_task(self._follow(stream), name="tested turn")

    @property
    def text(self) -> str:
        """The answer so far."""
        return "".join(self.deltas)

    async def until(self, text: str) -> None:
        """Wait until the answer holds a text.

        Raises:
            LookupError: the turn is over without it.
            Unanswered, TimeoutError: as ``end`` does.
        """
        while text not in self.text:
            if self._following.done():
                self._following.result()
                raise LookupError(f"the turn ended without {text!r}; it said {brief(self.text)}")
            self._moved.clear()
            await _first_of(self._moved.wait(), asyncio.wait({self._following}))

    async def steer(self, text: str) -> None:
        """Say something to the agent while it works."""
        await self._chat.steer(text)

    async def cancel(self) -> SeenTurn:
        """Stop the turn, and return what became of it."""
        stopping = self._chat.cancel()
        if stopping is not None:
            await stopping
        return await self.end()

    async def end(self) -> SeenTurn:
        """Wait for the turn's end, and return it.

        Raises:
            Unanswered: the agent asked for what the test has no reply to; the turn is cancelled.
            TimeoutError: it takes too long; the turn is cancelled.
        """
        try:
            return await asyncio.shield(self._following)
        except asyncio.CancelledError:
            self._following.cancel()
            raise

    async def aclose(self) -> None:
        """Give up on a turn that nobody waits for any more."""
        self._following.cancel()
        await asyncio.gather(self._following, return_exceptions=True)

    async def _follow(self, stream: TurnStream) -> SeenTurn:
        try:
            async with asyncio.timeout(self._patience):
                # The second ends with an error only.
                turn = await _first_of(self._take_all(stream), self._reply_to_workers())
                return await see_turn(self._client, turn, self._questions)
        except TimeoutError:
            raise TimeoutError(self._too_long()) from None
        finally:
            self._moved.set()
            self._stop(stream.turn_id)

    async def _take_all(self, stream: TurnStream) -> Any:
        """Take what happens in the turn until it is over, and return it."""
        async for event in stream:
            await self._take(event)
            self._moved.set()
            if isinstance(event, TurnEnded) and event.turn is not None:
                return event.turn
        raise LookupError("the turn was removed from its chat")

    async def _take(self, event: ChatEvent) -> None:
        match event:
            case Text(text=text):
                self.deltas.append(text)
            case ConfirmationNeeded(call=call):
                await self._decide(self._chat, call)
            case Question(request=request):
                await self._answer(self._chat, request)

    async def _reply_to_workers(self) -> None:
        """Reply to what is asked in other chats of the session, for as long as nobody stops it."""
        seen = self._asked_before

        def new(state: Any) -> list[Json]:
            return [entry for entry in self._asked_elsewhere(state) if entry["id"] not in seen]

        while True:
            for entry in new(await self._session.channel.until(new)):
                seen.add(entry["id"])
                chat = await self._session.chat(entry["chat"])
                if entry["kind"] == "chatInput":
                    await self._answer(chat, entry["request"])
                else:
                    await self._decide(chat, entry["toolCall"])

    def _asked_elsewhere(self, state: Json) -> Iterator[Json]:
        for entry in state.get("inputNeeded") or ():
            if entry["chat"] != self._chat.uri and entry["kind"] in (
                "chatInput",
                "toolConfirmation",
            ):
                yield entry

    async def _decide(self, chat: Chat, call: Json) -> None:
        match self._replies.decides(await see_call(self._client, call)):
            case Allow(input, option):
                await self._reply(lambda: chat.approve(call, option=option, edited_input=input))
            case Deny(reason, suggestion):
                await self._reply(lambda: chat.deny(call, reason=reason, suggestion=suggestion))

    async def _answer(self, chat: Chat, request: Json) -> None:
        self._questions += [
            words_of(question) for question in request.get("questions") or (request,)
        ]
        answers = self._replies.answers(request)
        await self._reply(
            lambda: chat.decline(request) if answers is None else chat.answer(request, answers)
        )

    async def _reply(self, say: Callable[[], Dispatch]) -> None:
        """Say something, which comes too late if the agent no longer waits for it."""
        with suppress(LookupError):
            try:
                await say()
            except Rejected as error:
                raise Unanswered(f"the host does not take the test's reply: {error}") from error

    def _stop(self, turn_id: str) -> None:
        """Cancel the turn if it still runs: its agent may wait for a reply that never comes."""
        active = self._chat.active_turn
        if active is not None and active["id"] == turn_id:
            self._chat.cancel()

    def _too_long(self) -> str:
        said = f"it said {brief(self.text)}" if self.text else "it has said nothing"
        if self._questions:
            said += f", asked {len(self._questions)} times, last {brief(self._questions[-1])}"
        waiting = self._chat.active_turn
        parts = [] if waiting is None else waiting["responseParts"]
        calls = [part["toolCall"] for part in parts if part["kind"] == "toolCall"]
        open_ = [call["toolName"] for call in calls if call["status"] not in _OVER]
        still = f", and {', '.join(open_)} has not ended" if open_ else ""
        return f"the turn has not ended after {self._patience:g} seconds: {said}{still}"


async def _first_of(*work: Any) -> Any:
    """Do several things at once until one is done, and return or raise what came of it."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(task for task in tasks if task in done).result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
