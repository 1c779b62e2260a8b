"""``agenthost watch`` against a real host."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from agenthost.cli.commands.watch import catalogue_changes, session_changes
from tests.cli.running import Cli, Running

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def told(watching: Running, **wanted: Any) -> dict[str, Any]:
    """Return the first JSON line with these fields."""
    while line := await watching.line():
        event: dict[str, Any] = json.loads(line)
        if wanted.items() <= event.items():
            return event
    raise AssertionError(f"nothing told {wanted}")


async def test_all_sessions_are_followed_until_ctrl_c(cli: Cli) -> None:
    first = await cli.new("already there")
    async with cli.running("watch", "--json") as watching, cli.client() as client:
        present = await told(watching, session=first)
        assert (present["event"], present["status"]) == ("present", "idle")
        second = await client.sessions.create()
        assert (await told(watching, event="added"))["session"] == second.uri
        (await second.chat()).send("/fail")
        assert (await told(watching, session=second.uri, status="error"))["event"] == "changed"
        await cli.main("sessions", "archive", first)
        assert (await told(watching, session=first, archived=True))["event"] == "changed"
        done = await watching.end(signal.SIGINT)
    assert (done.code, done.err) == (130, "")


async def test_one_session_is_followed_event_by_event(cli: Cli) -> None:
    uri = await cli.new("hello")
    async with cli.running("watch", "hello", "--json") as watching, cli.client() as client:
        present = await told(watching, event="present")
        assert (present["session"], present["title"]) == (uri, "hello")
        chat = await (await client.sessions.get(uri)).chat()
        chat.send("/run ls")
        started = await told(watching, event="turnStarted")
        assert started["message"]["text"] == "/run ls"
        assert started["chat"] == present["chats"][0]["chat"] == chat.uri
        needed = await told(watching, event="confirmationNeeded")
        assert needed["toolCall"]["input"] == "ls"
        await chat.channel.until(lambda state: state["status"] & 31 == 24)
        await chat.approve(needed["toolCall"]["id"])
        assert "exit code 0" in (await told(watching, event="text"))["text"]
        assert (await told(watching, event="turnEnded"))["state"] == "complete"
        await cli.main("sessions", "rename", uri, "hello again")
        assert (await told(watching, event="title"))["title"] == "hello again"
        done = await watching.end(signal.SIGINT)
    assert done.code == 130


async def test_lines_tell_a_turn_under_way_from_its_beginning_and_workers_too(cli: Cli) -> None:
    async with cli.client() as client:
        session = await client.sessions.create()
        chat = await session.chat()
        chat.send("/run echo hi")
        await session.channel.until(lambda state: state.get("inputNeeded"))
        async with cli.running("watch", session.uri) as watching:
            # What tells it from the other chats, as `sessions show` has it.
            assert "default   prompt        /run echo hi" in await watching.until("prompt")
            await watching.until("Shell: Run echo hi - waits for approval")
            (waiting,) = session.input_needed
            assert waiting["kind"] == "toolConfirmation"
            await chat.approve(waiting["toolCall"])
            await watching.until("Shell: Ran the command - done")
            await watching.until("answer        The command ended with exit code 0.")
            await watching.until("complete")
            await chat.ask("/subagent hello")
            await watching.until("task          hello")
            done = await watching.end(signal.SIGINT)
    assert (done.code, done.err) == (130, "")


async def test_reasoning_is_told_apart_from_the_answer(cli: Cli) -> None:
    async with cli.client() as client:
        session = await client.sessions.create()
        async with cli.running("watch", session.uri) as watching:
            await watching.until("present")
            await (await session.chat()).ask("/think")
            assert (await watching.until("  reasoning ")).split("  reasoning ")[1].strip()
            await watching.until("  answer ")
            done = await watching.end(signal.SIGINT)
    assert done.code == 130


async def test_a_session_that_is_removed_ends_the_watch(cli: Cli) -> None:
    async with cli.client() as client:
        session = await client.sessions.create()
        async with cli.running("watch", session.uri, "--json") as watching:
            await told(watching, event="present")
            await client.sessions.dispose(session.uri)
            done = await watching.end()
    assert done.code == 0
    assert [event["event"] for event in done.lines][-1:] == ["removed"]


async def test_a_session_that_does_not_exist_ends_with_1(cli: Cli) -> None:
    done = await cli.main("watch", "ahp-session:/nope")
    assert (done.code, done.out) == (1, "")


# What is told


def summary(uri: str, **fields: Any) -> Any:
    return {"resource": uri, "title": uri, "status": 33, "modifiedAt": "1", **fields}


async def test_the_catalogue_s_changes_are_told_and_its_clock_is_not() -> None:
    before = {uri: summary(uri) for uri in ("a", "b", "c")}
    after = {
        # Whatever its chats do, it is the session that is told.
        "a": summary("a", modifiedAt="2", chats=[{"resource": "x", "title": "X", "status": 2}]),
        "b": summary("b", status=24, modifiedAt="2"),
        "d": summary("d"),
    }
    changes = [(change, item["resource"]) for change, item in catalogue_changes(before, after)]
    assert changes == [("removed", "c"), ("changed", "b"), ("added", "d")]


async def test_at_first_what_is_not_archived_is_present_oldest_first() -> None:
    listed = {"new": summary("new"), "gone": summary("gone", status=97), "old": summary("old")}
    present = [(change, item["resource"]) for change, item in catalogue_changes(None, listed)]
    assert present == [("present", "old"), ("present", "new")]


async def test_a_session_s_changes_are_told_one_by_one() -> None:
    chat = {"resource": "c", "title": "C"}
    before: Any = {"title": "a", "lifecycle": "creating", "status": 33, "chats": []}
    after: Any = {"title": "b", "lifecycle": "ready", "status": 65, "chats": [chat]}
    assert list(session_changes(after, after)) == []
    assert list(session_changes(before, after)) == [
        ("title", {"title": "b"}),
        ("lifecycle", {"lifecycle": "ready"}),
        ("archived", {"archived": True}),
        ("unread", {"unread": True}),
        ("chatAdded", {"chat": "c", "title": "C"}),
    ]
    (removed, *_) = [change for change in session_changes(after, before) if "chat" in change[0]]
    assert removed == ("chatRemoved", {"chat": "c", "title": "C"})
