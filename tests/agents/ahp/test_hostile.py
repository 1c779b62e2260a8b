"""Far hosts that do what no host should: the turn here ends with words that say so."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect as websocket
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from agenthost.agents.ahp.agent import FarAgent
from agenthost.agents.ahp.far_session import FarSession
from agenthost.agents.ahp.far_turn import MOST_TEXT
from agenthost.agents.ahp.spec import parse_far_spec
from agenthost.agents.demo import Demo
from agenthost.agents.turn import Turn
from agenthost.client import Backoff, ChannelGone, Chat, Session, TurnEnded, connect
from agenthost.host import Host
from agenthost.host.trust.policy import ShellPolicy

Json = dict[str, Any]
# What a message from the far host becomes on its way: itself, something else, or several.
Tamper = Callable[[Json], list[str]]


def _url(server: Server) -> str:
    port = next(iter(server.sockets)).getsockname()[1]
    return f"ws://127.0.0.1:{port}"


@asynccontextmanager
async def near(url: str, folder: Path, patience: float = 0.5) -> AsyncIterator[Session]:
    """Open a session of a far agent at a host in this process."""
    spec = parse_far_spec(f"ahp:there={url}")
    agent = FarAgent(spec, patience=patience, backoff=Backoff(longest=0.1))
    async with Host([agent]) as host, connect(await host.listen(port=0)) as client:
        yield await client.sessions.create("there", directories=[folder.as_uri()])


async def failure(session: Session, text: str = "hello") -> Json:
    """Run a turn that fails, and return why."""
    chat = await session.chat()
    async with asyncio.timeout(60):
        ended = [event async for event in chat.send(text)][-1]
    assert isinstance(ended, TurnEnded)
    assert ended.error is not None, ended
    return dict(ended.error)


@asynccontextmanager
async def tampered(tamper: Tamper) -> AsyncIterator[str]:
    """Run a host behind somebody who changes what it says; give the address of that one."""
    async with Host([Demo()]) as host, between(await host.listen(port=0), tamper) as url:
        yield url


@asynccontextmanager
async def between(url: str, tamper: Tamper, port: int = 0) -> AsyncIterator[str]:
    """Stand between a host and its clients."""

    async def carry(client: ServerConnection) -> None:
        async with websocket(url, max_size=None, proxy=None) as there:

            async def back() -> None:
                async for message in there:
                    for each in tamper(json.loads(message)):
                        await client.send(each)

            relaying = asyncio.ensure_future(back())
            try:
                with suppress(ConnectionClosed):
                    async for message in client:
                        await there.send(message)
            finally:
                relaying.cancel()
                await asyncio.gather(relaying, return_exceptions=True)

    async with serve(carry, "127.0.0.1", port) as server:
        yield _url(server)


async def test_one_that_never_answers_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    async def silent(connection: ServerConnection) -> None:
        await connection.wait_closed()

    async with serve(silent, "127.0.0.1", 0) as server, near(_url(server), tmp_path) as session:
        error = await failure(session)
    assert error["errorType"] == "farGone"
    assert error["message"].startswith("there is not there:")


async def test_one_that_talks_nonsense_is_told_so(tmp_path: Path) -> None:
    async def nonsense(connection: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            while True:
                await connection.send("\x00{not json" * 100)

    async with serve(nonsense, "127.0.0.1", 0) as server, near(_url(server), tmp_path) as session:
        error = await failure(session)
    assert error["errorType"] in ("farGone", "farRefused")


async def test_one_that_does_not_let_us_in_is_quoted_without_the_token(tmp_path: Path) -> None:
    def refuse(connection: ServerConnection, request: Request) -> Response:
        return connection.respond(401, "wrong token\n")

    async def nobody(connection: ServerConnection) -> None:
        raise AssertionError("nobody gets in")

    async with (
        serve(nobody, "127.0.0.1", 0, process_request=refuse) as server,
        near(f"{_url(server)}?tkn=s3cret", tmp_path) as session,
    ):
        error = await failure(session)
        again = await failure(session)
    assert error["errorType"] == again["errorType"] == "farRefused"
    assert "401" in error["message"]
    assert "s3cret" not in str(error)


async def test_one_of_a_version_that_nobody_speaks_is_named(tmp_path: Path) -> None:
    async def old(connection: ServerConnection) -> None:
        async for message in connection:
            refusal = {"code": -32005, "message": "no", "data": {"supportedVersions": ["9.9.9"]}}
            answer = {"jsonrpc": "2.0", "id": json.loads(message)["id"], "error": refusal}
            await connection.send(json.dumps(answer))

    async with serve(old, "127.0.0.1", 0) as server, near(_url(server), tmp_path) as session:
        error = await failure(session)
    assert error["errorType"] == "farRefused"
    assert "9.9.9" in error["message"]


async def test_one_that_does_not_speak_tls_where_it_should(tmp_path: Path) -> None:
    async def plain(connection: ServerConnection) -> None:
        await connection.wait_closed()

    async with serve(plain, "127.0.0.1", 0) as server:
        url = _url(server).replace("ws://", "wss://")
        async with near(url, tmp_path) as session:
            error = await failure(session)
    assert error["errorType"] in ("farGone", "farRefused")


def _in_snapshots_and_actions(change: Callable[[Json], None]) -> Tamper:
    """Change every turn that a host tells of, wherever it stands."""

    def tamper(message: Json) -> list[str]:
        snapshot = ((message.get("result") or {}) if "result" in message else {}) or {}
        state = (snapshot.get("snapshot") or {}).get("state") or {}
        if "turns" in state:
            for turn in [*state["turns"], *filter(None, [state.get("activeTurn")])]:
                change(turn)
        action = (message.get("params") or {}).get("action") or {}
        if action.get("type") == "chat/responsePart":
            turn = {"responseParts": [action["part"]]}
            change(turn)
            action["part"] = turn["responseParts"][0]
        return [json.dumps(message)]

    return tamper


@pytest.mark.parametrize(
    "part",
    [
        {"kind": "toolCall", "toolCall": {"toolCallId": "x", "status": "running"}},
        {"kind": "inputRequest", "request": {"id": 7}},
        {"kind": "markdown", "id": "p", "content": 5},
        {"kind": "contentRef"},
        {"kind": "systemNotification", "content": {"html": "<b>"}},
    ],
)
async def test_parts_that_are_none_end_the_turn(tmp_path: Path, part: Json) -> None:
    def change(turn: Json) -> None:
        turn["responseParts"] = [part]

    async with tampered(_in_snapshots_and_actions(change)) as url, near(url, tmp_path) as session:
        error = await failure(session)
    assert error["errorType"] == "farBroken"
    assert error["message"].startswith("there")


async def test_a_part_of_a_kind_to_come_is_told_in_words(tmp_path: Path) -> None:
    def change(turn: Json) -> None:
        turn["responseParts"] = [{"kind": "hologram", "beam": 1}]

    async with tampered(_in_snapshots_and_actions(change)) as url, near(url, tmp_path) as session:
        chat = await session.chat()
        ended = [event async for event in chat.send("hello")][-1]
        assert isinstance(ended, TurnEnded)
        assert ended.state == "complete"
        parts = chat.state["turns"][-1]["responseParts"]
    assert parts[0]["kind"] == "systemNotification"
    assert "hologram" in str(parts[0])


async def test_a_message_that_is_too_large_ends_the_connection_and_not_the_host(
    tmp_path: Path,
) -> None:
    def tamper(message: Json) -> list[str]:
        action = (message.get("params") or {}).get("action") or {}
        if action.get("type") == "chat/delta":
            action["content"] = "x" * (17 * 1024 * 1024)
        return [json.dumps(message)]

    async with tampered(tamper) as url, near(url, tmp_path) as session:
        chat = await session.chat()
        async with asyncio.timeout(60):
            ended = [event async for event in chat.send("hello")][-1]
        assert isinstance(ended, TurnEnded)
        # The connection came back, and a snapshot had what is true.
        assert ended.state == "complete"


async def test_a_turn_that_vanishes_is_told_as_gone(tmp_path: Path) -> None:
    async with Host([Demo()]) as far:
        url = await far.listen(port=0)
        async with near(url, tmp_path) as session, connect(url) as client:
            chat = await session.chat()
            stream = chat.send("/slow 60")
            state = await session.channel.until(lambda s: "agenthost/far" in (s.get("_meta") or {}))
            there = await client.sessions.get(state["_meta"]["agenthost/far"]["session"])
            far_chat = await there.chat()
            await far_chat.channel.until(lambda state: state.get("activeTurn") is not None)
            await far_chat.truncate()
            ended = [event async for event in stream][-1]
            assert isinstance(ended, TurnEnded)
            assert ended.error is not None
            assert ended.error["errorType"] == "farGone"
            await client.sessions.dispose(there.uri)
            # The next message finds another session there.
            again = [event async for event in chat.send("hello")][-1]
            assert isinstance(again, TurnEnded)
            assert again.state == "complete"


async def test_a_session_that_goes_while_a_turn_comes_to_it_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    async with Host([Demo()]) as far:
        url = await far.listen(port=0)
        async with near(url, tmp_path) as session, connect(url) as client:
            open_chat, here = FarSession._open_chat, asyncio.get_running_loop()

            async def late(self: FarSession, turn: Turn, there: Session) -> Chat:
                opened.append(there.uri)
                if len(opened) == 1:
                    # Agents run on a loop of their own.
                    disposing = client.sessions.dispose(there.uri)
                    gone = asyncio.run_coroutine_threadsafe(disposing, here)
                    await asyncio.wrap_future(gone)
                    with suppress(ChannelGone):
                        await there.channel.until(lambda _: False)
                return await open_chat(self, turn, there)

            monkeypatch.setattr(FarSession, "_open_chat", late)
            chat = await session.chat()
            async with asyncio.timeout(60):
                ended = [event async for event in chat.send("hello")][-1]
            assert isinstance(ended, TurnEnded)
            assert ended.state == "complete", ended.error
            first, second = opened
            assert first != second


async def test_a_turn_outlives_a_connection_that_is_away_for_too_long(tmp_path: Path) -> None:
    def unchanged(message: Json) -> list[str]:
        return [json.dumps(message)]

    async with Host([Demo()]) as far, AsyncExitStack() as first:
        url = await far.listen(port=0)
        way = await first.enter_async_context(between(url, unchanged))
        async with near(way, tmp_path) as session, connect(url) as client:
            chat = await session.chat()
            stream = chat.send("/slow 60")
            state = await session.channel.until(lambda s: "agenthost/far" in (s.get("_meta") or {}))
            there = await client.sessions.get(state["_meta"]["agenthost/far"]["session"])
            far_chat = await there.chat()
            await far_chat.channel.until(lambda state: state.get("activeTurn") is not None)
            await first.aclose()
            ended = [event async for event in stream][-1]
            assert isinstance(ended, TurnEnded)
            assert ended.resumable
            assert ended.error is not None
            assert ended.error["errorType"] == "farGone"
            # Nobody cancelled it over there, so it is found again.
            assert far_chat.active_turn is not None
            async with between(url, unchanged, int(way.rpartition(":")[2])):
                while "You steer me: on" not in str(chat.state["turns"]):
                    # Until the connection is there again.
                    stream = chat.resume()
                    await stream.accepted()
                    chat.steer("on")
                    ended = [event async for event in stream][-1]
            assert isinstance(ended, TurnEnded)
            assert ended.state == "complete"


def _resolved(change: Callable[[Json], None]) -> Tamper:
    """Change the settings that a host says its sessions have."""

    def tamper(message: Json) -> list[str]:
        result = message.get("result")
        if isinstance(result, dict) and "schema" in result:
            change(result["schema"]["properties"])
        return [json.dumps(message)]

    return tamper


async def _settings_here(tamper: Tamper, folder: Path) -> Json:
    """Return the settings that a session of a far agent has here."""
    async with tampered(tamper) as url:
        agent = FarAgent(parse_far_spec(f"ahp:there={url}"), backoff=Backoff(longest=0.1))
        async with Host([agent]) as host, connect(await host.listen(port=0)) as client:
            await client.root.until(lambda root: root["agents"][0]["models"])
            session = await client.sessions.create("there", directories=[folder.as_uri()])
            config: Any = (await session.ready()).state.get("config")
            return dict(config)


@pytest.mark.parametrize("enum", [{"enum": ["autoApprove"]}, {}])
async def test_one_that_would_have_sessions_here_begin_without_approvals(
    tmp_path: Path, enum: Json
) -> None:
    def change(properties: Json) -> None:
        only = {"default": "autoApprove", **enum}
        properties["autoApprove"] = {
            "type": "string",
            "title": "Mode",
            "sessionMutable": True,
            **only,
        }

    config = await _settings_here(_resolved(change), tmp_path)
    assert config["values"].get("autoApprove", "default") == "default"


async def test_settings_that_are_too_large_to_be_any_are_left_out(tmp_path: Path) -> None:
    def change(properties: Json) -> None:
        for number in range(3000):
            properties[f"s{number}"] = {"type": "string", "title": "x" * 1000}

    config = await _settings_here(_resolved(change), tmp_path)
    assert len(json.dumps(config)) < 64 * 1024


def _offering(change: Callable[[list[Json]], None]) -> Tamper:
    """Change the agents that a host says it has."""

    def tamper(message: Json) -> list[str]:
        for snapshot in (message.get("result") or {}).get("snapshots") or ():
            if "agents" in snapshot["state"]:
                change(snapshot["state"]["agents"])
        return [json.dumps(message)]

    return tamper


async def test_an_agent_that_is_too_large_to_be_one_is_not_shown_to_everybody(
    tmp_path: Path,
) -> None:
    def change(agents: list[Json]) -> None:
        model = agents[0]["models"][0]
        large = {**agents[0], "provider": "large", "description": "x" * 2_000_000}
        many = [{**model, "id": f"m{number}"} for number in range(20_000)]
        agents[1:] = [large, {**agents[0], "provider": "many", "models": many}]
        agents.append({**agents[0], "provider": "fine"})

    async with tampered(_offering(change)) as url:
        agent = FarAgent(parse_far_spec(f"ahp:there={url}"), backoff=Backoff(longest=0.1))
        async with Host([agent]) as host, connect(await host.listen(port=0)) as client:
            root = await client.root.until(lambda root: len(root["agents"]) > 1)
    assert [each["provider"] for each in root["agents"]] == ["there", "there-fine"]


async def test_an_agent_that_a_far_host_has_of_another_is_not_offered_even_if_that_is_away(
    tmp_path: Path,
) -> None:
    away = FarAgent(parse_far_spec("ahp:away=ws://127.0.0.1:1"), backoff=Backoff(longest=0.1))
    own = Demo()
    own.provider = "own"
    async with Host([Demo(), away, own]) as far:
        spec = parse_far_spec(f"ahp:there={await far.listen(port=0)}")
        async with (
            Host([FarAgent(spec, backoff=Backoff(longest=0.1))]) as host,
            connect(await host.listen(port=0)) as client,
        ):
            root = await client.root.until(lambda root: len(root["agents"]) > 1)
    assert [each["provider"] for each in root["agents"]] == ["there", "there-own"]


async def test_what_is_no_command_here_is_none_at_the_far_host_either(tmp_path: Path) -> None:
    async with (
        Host([Demo()], shells=ShellPolicy(prefix="!")) as far,
        near(await far.listen(port=0), tmp_path) as session,
    ):
        chat = await session.chat()
        ended = [event async for event in chat.send(f"!touch {tmp_path}/ran")][-1]
        assert isinstance(ended, TurnEnded)
        assert ended.state == "complete"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("where", ["toolInput", "content"])
async def test_a_call_that_is_longer_than_any_answer_ends_the_turn(
    tmp_path: Path, where: str
) -> None:
    long = "x" * (MOST_TEXT + 1)
    said = {"toolInput": long, "content": [{"type": "text", "text": long}]}

    def change(turn: Json) -> None:
        call = {
            "toolCallId": "long",
            "toolName": "read",
            "displayName": "Read",
            "invocationMessage": "Reads",
            "confirmed": "not-needed",
            # What the end of a turn does not change.
            "status": "completed",
            "success": True,
            "pastTenseMessage": "Read",
            where: said[where],
        }
        turn["responseParts"] = [{"kind": "toolCall", "toolCall": call}]

    async with tampered(_in_snapshots_and_actions(change)) as url, near(url, tmp_path) as session:
        error = await failure(session)
    assert error["errorType"] == "farBroken"
    assert "characters" in error["message"]


async def test_one_that_is_not_there_is_shown_with_the_reason() -> None:
    away = FarAgent(parse_far_spec("ahp:there=ws://127.0.0.1:1"), backoff=Backoff(longest=0.1))
    async with (
        Host([away]) as host,
        connect(await host.listen(port=0)) as client,
        asyncio.timeout(60),
    ):
        await client.root.until(lambda root: "refused" in root["agents"][0]["description"])


async def test_an_agent_that_the_far_host_does_not_have_is_said_to_be_none() -> None:
    async with Host([Demo()]) as far:
        spec = parse_far_spec(f"ahp:there={await far.listen(port=0)}?agent=nobody")
        async with (
            Host([FarAgent(spec, backoff=Backoff(longest=0.1))]) as host,
            connect(await host.listen(port=0)) as client,
            asyncio.timeout(60),
        ):
            await client.root.until(
                lambda root: "no such agent" in root["agents"][0]["description"]
            )
