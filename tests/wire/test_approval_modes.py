"""The approval mode of a session: changed during a turn, it answers what waits and is covered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from agenthost.agents import Agent, Turn
from agenthost.agents.common_settings import COMMON_SETTINGS, NeededMode
from agenthost.tokens import Role
from tests.wire.client import WireClient
from tests.wire.people import People, peopled

pytestmark = pytest.mark.asyncio(loop_scope="module")

SESSION = "s:/1"

Json = dict[str, Any]


class Asking(Agent):
    """Asks for one call per word: what that needs, or ``people`` if only they may answer."""

    provider, display_name = "asking", "Asking"

    def config_schema(self, values: Any, working_directory: str | None) -> Any:
        return {"type": "object", "properties": dict(COMMON_SETTINGS)}

    async def run(self, turn: Turn) -> None:
        for needed in turn.text.split():
            mode = cast("NeededMode | None", None if needed == "people" else needed)
            async with turn.tool(needed) as call:
                answer = await call.confirm(f"{needed}?", options=[], mode=mode)
                await call.complete(f"{needed} {'ran' if answer else 'did not run'}")
            await turn.write(f"{needed}: {'yes' if answer else 'no'}\n")


@asynccontextmanager
async def asking(folder: Path) -> AsyncIterator[tuple[People, WireClient, str]]:
    async with peopled(folder, agents=[Asking()]) as people, people.client("owner") as owner:
        chat = await owner.ready_session(SESSION)
        await owner.subscribe(chat)
        yield people, owner, chat


def mode(value: str) -> Json:
    return {"type": "session/configChanged", "config": {"autoApprove": value}}


def calls(client: WireClient, chat: str) -> list[Json]:
    state = client.states[chat]
    turn = state.get("activeTurn") or state["turns"][-1]
    return [part["toolCall"] for part in turn["responseParts"] if part["kind"] == "toolCall"]


async def waiting(client: WireClient, chat: str, name: str) -> Json:
    def find() -> Json | None:
        pending = [c for c in calls(client, chat) if c["status"] == "pending-confirmation"]
        return next((call for call in pending if call["toolName"] == name), None)

    return await client.until(find)


async def test_the_mode_that_another_client_sets_answers_the_call_that_waits(
    tmp_path: Path,
) -> None:
    async with asking(tmp_path) as (people, owner, chat):
        await owner.start_turn(chat, "t1", "edits everything")
        await waiting(owner, chat, "edits")
        async with people.client("helper", Role.OPERATOR, SESSION) as helper:
            await helper.accepted(SESSION, mode("edits"))
        # An edit was covered; the next call needs more, and waits for people or for more.
        call = await waiting(owner, chat, "everything")
        assert calls(owner, chat)[0]["confirmed"] == "setting"
        await owner.ping()
        (needed,) = owner.states[SESSION]["inputNeeded"]
        assert needed["toolCall"]["toolCallId"] == call["toolCallId"]
        await owner.accepted(SESSION, mode("autoApprove"))
        await owner.turn_end(chat, "t1")
        assert [call["confirmed"] for call in calls(owner, chat)] == ["setting", "setting"]
        await owner.ping()
        assert not owner.states[SESSION].get("inputNeeded")
        mirrored, fresh = await owner.compared(chat)
        assert mirrored == fresh


async def test_what_is_asked_for_in_a_mode_that_covers_it_never_waits(tmp_path: Path) -> None:
    async with asking(tmp_path) as (_, owner, chat):
        await owner.accepted(SESSION, mode("autoApprove"))
        await owner.run_turn(chat, "t1", "edits everything edits")
        assert [call["confirmed"] for call in calls(owner, chat)] == ["setting"] * 3
        # The way back asks again.
        await owner.accepted(SESSION, mode("default"))
        await owner.start_turn(chat, "t2", "edits")
        call = await waiting(owner, chat, "edits")
        answer = {"turnId": "t2", "toolCallId": call["toolCallId"], "approved": True}
        answer |= {"type": "chat/toolCallConfirmed", "confirmed": "user-action"}
        await owner.accepted(chat, answer)
        await owner.turn_end(chat, "t2")
        assert calls(owner, chat)[0]["confirmed"] == "user-action"


async def test_a_call_that_only_people_may_answer_waits_in_every_mode(tmp_path: Path) -> None:
    async with asking(tmp_path) as (_, owner, chat):
        await owner.accepted(SESSION, mode("autoApprove"))
        await owner.start_turn(chat, "t1", "people")
        call = await waiting(owner, chat, "people")
        await owner.accepted(SESSION, mode("edits"))
        await owner.accepted(SESSION, mode("autoApprove"))
        assert (await waiting(owner, chat, "people"))["toolCallId"] == call["toolCallId"]
        await owner.accepted(chat, {"type": "chat/turnCancelled", "turnId": "t1", "duration": 1})


async def test_viewers_change_no_mode_and_no_mode_is_made_up(tmp_path: Path) -> None:
    async with asking(tmp_path) as (people, owner, _):
        async with people.client("looks", Role.VIEWER, SESSION) as viewer:
            assert "may not" in await viewer.rejected(SESSION, mode("autoApprove"))
        refused = await owner.rejected(SESSION, mode("always"))
        assert refused == "autoApprove must be one of default, edits, autoApprove"
        assert owner.states[SESSION]["config"]["values"]["autoApprove"] == "default"
