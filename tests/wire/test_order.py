"""The order in which everything is told that follows from a turn."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from agenthost.agents import Agent, Turn
from agenthost.host import Host
from tests.wire.bringing import tree
from tests.wire.client import Json, WireClient, open_client, user_message

SESSION = "ahp-session:/order"


def told(client: WireClient, since: int) -> list[str]:
    """What a client was told, in order: actions by channel, and changes of the session list.

    Without times: two things that happen in one millisecond have the same.
    """
    lines: list[str] = []
    for message in client.received[since:]:
        params: Json = message.get("params", {})
        action: Json = params.get("action", {})
        changes = action.get("changes") or params.get("changes")
        named = sorted({*(changes or ())} - {"modifiedAt"})
        if changes and not named:
            continue
        if message.get("method") == "action":
            lines.append(" ".join([action["type"], *named]))
        elif message.get("method") == "root/sessionSummaryChanged":
            lines.append(" ".join(["list", *named]))
    return lines


def first_list(lines: list[str]) -> int:
    return next(index for index, line in enumerate(lines) if line.startswith("list "))


EXPECTED = [
    "chat/turnStarted",
    "session/chatUpdated status",
    "session/isReadChanged",
    "session/titleChanged",
    "session/chatUpdated title",
    "chat/pendingMessageSet",
    "chat/activityChanged",
    "session/chatUpdated activity",
    "session/activityChanged",
    "chat/responsePart",
    "chat/delta",
    "chat/turnComplete",
    "session/chatUpdated status",
    "chat/activityChanged",
    "session/chatAdded",
    "session/activityChanged",
    "chat/pendingMessageRemoved",
    "chat/turnStarted",
    "session/chatUpdated status",
    "chat/activityChanged",
    "session/chatUpdated activity",
    "session/activityChanged",
    "chat/responsePart",
    "chat/delta",
    "chat/turnComplete",
    "session/chatUpdated status",
    "chat/activityChanged",
    "session/chatAdded",
    "session/activityChanged",
]


class Gated(Agent):
    """Answers once it may, and says so."""

    provider = "gated"
    display_name = "Gated"

    def __init__(self) -> None:
        self.may_answer = threading.Event()

    async def run(self, turn: Turn) -> None:
        await asyncio.to_thread(self.may_answer.wait)
        await turn.set_activity("about to answer")
        await turn.write("done")


async def test_a_turn_and_the_queued_one_behind_it_are_told_in_this_order(tmp_path: Path) -> None:
    agent = Gated()
    async with Host(agents=[agent], default_directory=tmp_path) as host:
        url = await host.listen(port=0)
        async with open_client(url, "one") as one, open_client(url, "two") as two:
            for client in (one, two):
                await client.initialize("ahp-root://")
            chat = await one.ready_session(SESSION)
            await two.subscribe(SESSION)
            for client in (one, two):
                await client.subscribe(chat)
                await client.ping()
                await tree(client, SESSION)
            since = [len(client.received) for client in (one, two)]
            await one.dispatch(chat, one.turn_started("t1", "say it"))
            queued = {"kind": "queued", "id": "q", "message": user_message("and again")}
            await two.accepted(chat, {"type": "chat/pendingMessageSet", **queued})
            agent.may_answer.set()
            await one.until(lambda: {} if len(one.states[chat]["turns"]) == 2 else None)
            for client in (one, two):
                await client.ping()
            lines = [told(client, start) for client, start in zip((one, two), since, strict=True)]
        assert lines[0] == lines[1]
        told_of_session = [line for line in lines[0] if not line.startswith("list ")]
        assert told_of_session == EXPECTED, "\n".join(lines[0])
        # The list is told once of all that happens in one go, so where is not settled: but never
        # before what it tells of, and of the last of it too.
        assert lines[0].index("session/chatUpdated status") < first_list(lines[0])
        assert lines[0][-1].startswith("list ")
