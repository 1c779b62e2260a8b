"""What clients do until the host dies under them: a bit of everything, at random.

Owns the commands. That a command is refused is fine; that the host breaks over one is not.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from websockets.exceptions import WebSocketException

from soak.witness import Witness, open_witness
from tests.wire.client import WireFailure, user_message
from tests.wire.wording import annotated_by

__all__ = ["Stage", "keep_busy"]

INTERNAL_ERROR = -32603
# Text that a chat streams per round at most: all of it must fit one replay, to be audited.
MOST_STREAMED = 12_000
LONGEST_STREAM = 3_000
TURNS = ("hello", "/think", "/fail", "/fail resumable", "/slow 1")

Command = Callable[["Stage", Witness], Awaitable[None]]


@dataclass
class Stage:
    """What the clients of a run share: where to connect, and the sessions they know."""

    random: Random
    url: str = ""
    # Session -> its default chat.
    chats: dict[str, str] = field(default_factory=dict)
    # Chat -> pieces of text that were asked for in this round.
    streamed: dict[str, int] = field(default_factory=dict)
    # What no host should do, in words.
    faults: list[str] = field(default_factory=list)
    # Set when the host is about to end, so that nobody wonders why connections do.
    over: bool = False

    def any_session(self) -> str:
        """Return a session, more often a recent one."""
        return self.random.choice([*self.chats, *list(self.chats)[-2:]])

    def text(self, chat: str) -> str:
        """Return something to say in a chat."""
        left = MOST_STREAMED - self.streamed.get(chat, 0)
        if left < LONGEST_STREAM or self.random.random() < 0.3:
            return self.random.choice(TURNS)
        count = self.random.randint(1, LONGEST_STREAM)
        self.streamed[chat] = self.streamed.get(chat, 0) + count
        return f"/stream {count}"


async def keep_busy(stage: Stage, witness: Witness) -> Witness:
    """Send random commands until the host is gone; return the client's last connection."""
    while True:
        command = stage.random.choice(COMMANDS)
        try:
            if command is drop_out:
                witness = await come_back(stage, witness)
            else:
                await command(stage, witness)
            await asyncio.sleep(stage.random.choice((0, 0, 0.005, 0.03)))
        except WireFailure as failure:
            if failure.code == INTERNAL_ERROR:
                stage.faults.append(f"{command.__name__} failed with {failure}")
        except (WebSocketException, AssertionError, OSError) as error:
            # That the host is gone shows in one of these, depending on the moment.
            if not stage.over:
                stage.faults.append(
                    f"{witness.client_id} was cut off in {command.__name__}: {error}"
                )
            return witness


async def follow(witness: Witness, session: str, chat: str) -> None:
    """Follow everything of a session, once."""
    for channel in (session, chat, f"{session}/annotations"):
        if channel not in witness.states:
            await witness.subscribe(channel)


async def create(stage: Stage, witness: Witness) -> None:
    """Create a session and follow it."""
    session = f"ahp-session:/{uuid.UUID(int=stage.random.getrandbits(128))}"
    chat = await witness.ready_session(session)
    stage.chats[session] = chat
    await follow(witness, session, chat)


async def start_turn(stage: Stage, witness: Witness) -> None:
    """Say something in a chat; it is refused while another turn runs."""
    session = stage.any_session()
    chat = stage.chats[session]
    await follow(witness, session, chat)
    turn_id = f"t{stage.random.getrandbits(48):x}"
    await witness.dispatch(chat, witness.turn_started(turn_id, stage.text(chat)))


async def queue_message(stage: Stage, witness: Witness) -> None:
    """Leave a message for later."""
    chat = stage.chats[stage.any_session()]
    action = {
        "type": "chat/pendingMessageSet",
        "kind": stage.random.choice(("queued", "queued", "steering")),
        "id": f"m{stage.random.getrandbits(48):x}",
        "message": user_message(stage.text(chat)),
    }
    await witness.dispatch(chat, action)


async def cancel(stage: Stage, witness: Witness) -> None:
    """Cancel the turn that the client sees running."""
    chat = stage.chats[stage.any_session()]
    active = witness.states.get(chat, {}).get("activeTurn")
    if active is not None:
        action = {"type": "chat/turnCancelled", "turnId": active["id"]}
        await witness.dispatch(chat, action | ({"duration": 1} if witness.knows_times else {}))


async def resume(stage: Stage, witness: Witness) -> None:
    """Let a turn go on that failed, if the client sees one that can."""
    for chat in stage.chats.values():
        turns = witness.states.get(chat, {}).get("turns") or [{"responseParts": []}]
        last = turns[-1]["responseParts"][-1:]
        if last and last[0].get("resumable"):
            action = {"type": "chat/turnResume", "turnId": turns[-1]["id"]}
            await witness.dispatch(chat, action)
            return


async def truncate(stage: Stage, witness: Witness) -> None:
    """Cut a chat off behind one of its turns."""
    chat = stage.chats[stage.any_session()]
    turns = witness.states.get(chat, {}).get("turns", ())
    if len(turns) > 3:
        turn_id = stage.random.choice(turns)["id"]
        await witness.dispatch(chat, {"type": "chat/truncated", "turnId": turn_id})


async def annotate(stage: Stage, witness: Witness) -> None:
    """Leave, change or take back a remark."""
    session = stage.any_session()
    channel = f"{session}/annotations"
    turns = witness.states.get(stage.chats[session], {}).get("turns", ())
    turn_id = stage.random.choice(turns)["id"] if turns else "none yet"
    id = f"a{stage.random.randint(1, 5)}"
    entry = {"id": f"e{stage.random.randint(1, 3)}", "text": f"{stage.random.random()}"}
    annotation: dict[str, Any] = {"id": id, "resource": "file:///x"}
    annotation |= annotated_by(witness.version, session, stage.chats[session], turn_id)
    annotation |= {"resolved": False, "entries": [entry]}
    action = stage.random.choice(
        (
            {"type": "annotations/set", "annotation": annotation},
            {"type": "annotations/entrySet", "annotationId": id, "entry": entry},
            {"type": "annotations/updated", "annotationId": id, "resolved": True},
            {"type": "annotations/removed", "annotationId": id},
        )
    )
    await witness.dispatch(channel, action)


async def rename(stage: Stage, witness: Witness) -> None:
    """Give a session another title and wait until that is settled."""
    session = stage.any_session()
    await follow(witness, session, stage.chats[session])
    title = f"title {stage.random.getrandbits(32)}"
    await witness.dispatched(session, {"type": "session/titleChanged", "title": title})


async def dispose(stage: Stage, witness: Witness) -> None:
    """Put a session away, now and then."""
    if len(stage.chats) > 3 and stage.random.random() < 0.2:
        session = stage.random.choice(list(stage.chats))
        del stage.chats[session]
        await witness.request("disposeSession", channel=session)


async def drop_out(stage: Stage, witness: Witness) -> None:
    """Lose the connection: see ``come_back``."""


async def come_back(stage: Stage, witness: Witness) -> Witness:
    """Lose the connection, most likely in the middle of something, and resume."""
    witness.abort()
    await witness.close()
    witness.forget_disposed()
    again = await open_witness(stage.url, witness.client_id, witness.version)
    try:
        await again.resume(witness)
    except BaseException:
        await again.close()
        raise
    return again


COMMANDS: tuple[Command, ...] = (
    *(create,),
    *(start_turn,) * 6,
    *(queue_message,) * 2,
    *(cancel,),
    *(resume,) * 2,
    *(truncate,),
    *(annotate,) * 3,
    *(rename,) * 2,
    *(dispose,),
    *(drop_out,),
)
