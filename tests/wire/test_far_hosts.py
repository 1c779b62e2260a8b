"""A turn through two hosts: answered here, worked on there, and the same on both in the end."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents.ahp.spec import parse_far_spec
from agenthost.agents.demo import Demo
from agenthost.client import ConfirmationNeeded, Question, TurnEnded, TurnStream
from agenthost.host import Host
from agenthost.host.store import MemoryBacking, MemoryStore
from tests.wire.far_hosting import (
    Pair,
    far_agent,
    far_spec,
    near_of,
    pair,
    soon,
    write_place,
)
from tests.wire.hosting import embed, serve

Json = dict[str, Any]
VERSIONS = ("0.5.0", "1.0.0")
PATIENCE = 60.0


async def answered(chat: Any, stream: TurnStream) -> TurnEnded:
    """Follow a turn to its end, say yes to everything and answer what is asked."""
    async with asyncio.timeout(PATIENCE):
        async for event in stream:
            if isinstance(event, ConfirmationNeeded):
                chat.approve(event.call)
            elif isinstance(event, Question):
                # A host that resumes a turn closes what was open in it.
                with suppress(LookupError):
                    chat.answer(event.request, {"name": "Ada", "age": 36, "colour": "red"})
            elif isinstance(event, TurnEnded):
                return event
    raise AssertionError("a turn ends")


@pytest.mark.parametrize("version", VERSIONS)
async def test_everything_passes_through_both_ways(tmp_path: Path, version: str) -> None:
    async def add(arguments: Any) -> str:
        return str(arguments["a"] + arguments["b"])

    async with (
        embed(Demo()) as far_url,
        near_of(far_agent(far_spec(far_url), version)) as near_url,
        pair(near_url, far_url, tmp_path) as both,
    ):
        await both.near.tool(both.session, "add", add)
        for text in (
            "hello",
            "/think",
            "/tool",
            "/run echo hi",
            "/ask",
            "/review",
            "/edit notes.txt two words",
            '/client-tool add {"a": 1, "b": 2}',
            "/fail",
            "/stream 500",
        ):
            ended = await answered(both.chat, both.chat.send(text))
            turn = await both.assert_agreed(ended.turn_id)
            assert turn["state"] == ("error" if text == "/fail" else "complete"), text
        assert (tmp_path / "notes.txt").read_text() == "two words\n"
        offered = await both.chat.completions("/sub")
        assert [item["insertText"] for item in offered] == ["/subagent "]


async def test_a_far_host_is_killed_and_comes_back_in_mid_turn(tmp_path: Path) -> None:
    place = tmp_path / "there.toml"
    async with serve(tmp_path / "far") as far, AsyncExitStack() as stack:
        write_place(place, far.url)
        spec = parse_far_spec(f"ahp:there=@{place}")
        pairs: list[Pair] = []
        streams: list[TurnStream] = []
        for version in VERSIONS:
            url = await stack.enter_async_context(near_of(far_agent(spec, version)))
            opened = pair(url, far.address, tmp_path, token=far.token)
            pairs.append(await stack.enter_async_context(opened))
        for both in pairs:
            await answered(both.chat, both.chat.send("/run echo hi"))
            await answered(both.chat, both.chat.send("/ask"))
            streams.append(both.chat.send("/stream 1000000"))
            await both.chat.channel.until(lambda chat: len(str(chat.get("activeTurn"))) > 10_000)
            await both.find_there()
        await far.kill()
        await far.start("--port", far.address.rpartition(":")[2])
        write_place(place, far.url)
        for both, stream in zip(pairs, streams, strict=True):
            ended = await answered(both.chat, stream)
            assert ended.error is not None
            assert ended.error["errorType"] == "hostRestarted"
            for turn in both.chat.state["turns"]:
                await both.assert_agreed(turn["id"])
            # And the chat goes on.
            last = await answered(both.chat, both.chat.send("hello again"))
            assert last.state == "complete"
            assert len((await both.find_there()).state["turns"]) == 4


async def test_a_turn_goes_on_where_it_was_after_the_near_host_is_killed(tmp_path: Path) -> None:
    place = tmp_path / "there.toml"
    async with embed(Demo()) as far_url:
        write_place(place, far_url)
        options = ("--agent", f"ahp:there=@{place}")
        async with (
            serve(tmp_path / "near", *options) as near,
            soon(near.address, token=near.token) as client,
            soon(far_url) as there,
        ):
            await client.root.until(lambda root: root["agents"][0]["models"])
            session = await client.sessions.create("there", directories=[tmp_path.as_uri()])
            both = Pair(client, there, session, await session.chat())
            asked = both.chat.send("/ask")
            await both.both(lambda chat: "inputRequest" in str(chat.get("activeTurn")))
            await near.kill()
            await near.start("--port", near.address.rpartition(":")[2])
            ended = [event async for event in asked][-1]
            assert isinstance(ended, TurnEnded)
            assert ended.resumable
            # Over there it waits as before, and nobody asks twice.
            far_chat = await both.find_there()
            assert far_chat.active_turn is not None
            done = await answered(both.chat, both.chat.resume())
            assert done.state == "complete"
            await both.assert_agreed(done.turn_id, since_resumed=True)


async def test_what_is_decided_at_the_far_host_shows_here(tmp_path: Path) -> None:
    async with (
        embed(Demo()) as far_url,
        near_of(far_agent(far_spec(far_url), "1.0.0")) as near_url,
        pair(near_url, far_url, tmp_path) as both,
    ):
        for is_allowed in (False, True):
            stream = both.chat.send("/run echo hi")
            await both.both(_waits)
            there = await both.find_there()
            call = _call(there.state)
            if is_allowed:
                await there.approve(call, option=_first(call))
            else:
                await there.deny(call, reason="not today")
            ended = [event async for event in stream][-1]
            turn = await both.assert_agreed(ended.turn_id)
            assert turn["state"] == "complete"
        stream = both.chat.send("/slow 60")
        await both.both(lambda chat: chat.get("activeTurn") is not None)
        cancelled = (await both.find_there()).cancel()
        assert cancelled is not None
        ended = [event async for event in stream][-1]
        assert isinstance(ended, TurnEnded)
        assert ended.state == "cancelled"


async def test_a_turn_is_steered_and_cancelled_from_here(tmp_path: Path) -> None:
    async with (
        embed(Demo()) as far_url,
        near_of(far_agent(far_spec(far_url), "1.0.0")) as near_url,
        pair(near_url, far_url, tmp_path) as both,
    ):
        stream = both.chat.send("/slow 60")
        await both.both(lambda chat: chat.get("activeTurn") is not None)
        both.chat.steer("to the left")
        ended = await answered(both.chat, stream)
        turn = await both.assert_agreed(ended.turn_id)
        assert turn["responseParts"][0]["content"] == "You steer me: to the left"
        stream = both.chat.send("/slow 60")
        await both.both(lambda chat: chat.get("activeTurn") is not None)
        both.chat.cancel()
        ended = await answered(both.chat, stream)
        assert (await both.assert_agreed(ended.turn_id))["state"] == "cancelled"


async def test_turns_that_are_cut_off_here_are_cut_off_there(tmp_path: Path) -> None:
    async with (
        embed(Demo()) as far_url,
        near_of(far_agent(far_spec(far_url), "1.0.0")) as near_url,
        pair(near_url, far_url, tmp_path) as both,
    ):
        first = await answered(both.chat, both.chat.send("one"))
        await answered(both.chat, both.chat.send("two"))
        await both.chat.truncate(first.turn_id)
        await answered(both.chat, both.chat.send("three"))
        there = await both.find_there()
        assert [turn["message"]["text"] for turn in there.state["turns"]] == ["one", "three"]


async def test_what_is_attached_here_is_sent_along_to_a_host_with_other_files(
    tmp_path: Path,
) -> None:
    (tmp_path / "notes.txt").write_text("remember the milk")
    async with (
        embed(Demo()) as far_url,
        near_of(far_agent(parse_far_spec(f"ahp:there={far_url}"), "1.0.0")) as near_url,
        pair(near_url, far_url, tmp_path) as both,
    ):
        uri = (tmp_path / "notes.txt").as_uri()
        attached = {"type": "resource", "uri": uri, "label": "notes", "contentType": "text/plain"}
        await answered(both.chat, both.chat.send("look", attachments=[attached]))
        there = await both.find_there()
        sent: Any = there.state["turns"][-1]["message"]["attachments"][0]
        assert sent["label"] == "notes"
        assert b64decode(sent["data"]) == b"remember the milk"
        # What is not there ends the turn, and not the chat.
        missing = {**attached, "uri": f"{uri}.bak"}
        ended = await answered(both.chat, both.chat.send("look", attachments=[missing]))
        assert ended.error is not None
        assert (await answered(both.chat, both.chat.send("hello"))).state == "complete"


async def test_a_fork_here_is_a_fork_there(tmp_path: Path) -> None:
    async with (
        embed(Demo()) as far_url,
        near_of(far_agent(far_spec(far_url), "1.0.0")) as near_url,
        pair(near_url, far_url, tmp_path) as both,
    ):
        first = await answered(both.chat, both.chat.send("one"))
        await answered(both.chat, both.chat.send("two"))
        fork = await both.session.fork_chat(both.chat.uri, first.turn_id)
        await answered(fork, fork.send("three"))
        await both.find_there()
        place = both.session.state["_meta"]["agenthost/far"]
        far_session = await both.far.sessions.get(place["session"])
        told = []
        for each in far_session.chats:
            chat = await far_session.chat(each["resource"])
            told.append([turn["message"]["text"] for turn in chat.state["turns"]])
        assert sorted(told) == [["one", "three"], ["one", "two"]]


async def test_agents_and_models_follow_the_far_host(tmp_path: Path) -> None:
    class Changing(Demo):
        provider = "other"
        display_name = "Other"

    other = Changing()
    async with AsyncExitStack() as far:
        url = await far.enter_async_context(embed(Demo(), other))
        async with near_of(far_agent(far_spec(url), "1.0.0")) as near_url, soon(near_url) as near:

            def models(root: Any) -> dict[str, list[str]]:
                return {a["provider"]: [m["id"] for m in a["models"]] for a in root["agents"]}

            both_there = {"there": ["demo"], "there-other": ["demo"]}
            await near.root.until(lambda root: models(root) == both_there)
            other.models = ({"id": "new", "provider": "other", "name": "New"},)
            other.changed()
            await near.root.until(lambda root: models(root)["there-other"] == ["new"])
            session = await near.sessions.create("there-other", directories=[tmp_path.as_uri()])
            chat = await session.chat()
            assert (await answered(chat, chat.send("hello"))).state == "complete"
            await far.aclose()
            gone = await near.root.until(lambda root: not any(models(root).values()))
            assert "not reachable" in gone["agents"][0]["description"]


async def test_two_hosts_that_offer_each_other_do_not_go_round_in_circles(tmp_path: Path) -> None:
    async with Host([Demo()]) as one, Host([Demo()]) as two:
        one_url, two_url = await one.listen(port=0), await two.listen(port=0)
        # Each of them has the other's far agent as well as its own demo.
        await one.add_agent(far_agent(parse_far_spec(f"ahp:two={two_url}?agent=one"), "1.0.0"))
        await two.add_agent(far_agent(parse_far_spec(f"ahp:one={one_url}?agent=two"), "1.0.0"))
        async with soon(one_url) as client:
            session = await client.sessions.create("two", directories=[tmp_path.as_uri()])
            chat = await session.chat()
            ended = await answered(chat, chat.send("hello"))
        assert ended.error is not None
        assert ended.error["errorType"] == "farLoop"
        assert "circles" in ended.error["message"]


async def test_a_turn_goes_on_over_there_while_this_host_is_stopped(tmp_path: Path) -> None:
    kept = MemoryBacking()
    async with embed(Demo()) as far_url:
        spec = far_spec(far_url)
        async with (
            near_of(far_agent(spec, "1.0.0"), store=MemoryStore(kept)) as near_url,
            pair(near_url, far_url, tmp_path) as both,
        ):
            both.chat.send("/run echo hi")
            await both.both(_waits)
            session, chat = both.session.uri, both.chat.uri
        async with (
            near_of(far_agent(spec, "1.0.0"), store=MemoryStore(kept)) as near_url,
            soon(near_url) as client,
            soon(far_url) as far,
        ):
            followed = await client.sessions.get(session)
            both = Pair(client, far, followed, await followed.chat(chat))
            ended = await answered(both.chat, both.chat.resume())
            assert ended.state == "complete"
            await both.assert_agreed(ended.turn_id, since_resumed=True)


def _call(chat: Any) -> Json:
    call: Json = chat["activeTurn"]["responseParts"][-1]["toolCall"]
    return call


def _waits(chat: Any) -> bool:
    parts = (chat.get("activeTurn") or {}).get("responseParts") or [{}]
    return (parts[-1].get("toolCall") or {}).get("status") == "pending-confirmation"


def _first(call: Json) -> str:
    option: str = call["options"][0]["id"]
    return option
