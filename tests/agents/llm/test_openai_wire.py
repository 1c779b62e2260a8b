"""The llm agent against a server that speaks OpenAI's streaming protocol over real HTTP."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents.llm import LlmAgent
from agenthost.agents.llm.history import CONTINUE
from tests.agents.failures import failure, is_resumable
from tests.agents.llm.openai_server import (
    Drop,
    Failure,
    Hang,
    ModelServer,
    Say,
    ToolUse,
    model_server,
)
from tests.agents.llm.talking import SESSION, Talk, calls_of, talk_to, text_of
from tests.wire.client import open_client
from tests.wire.hosting import PATIENCE, serve

KEY = "sk-very-secret-0123456789"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with model_server() as running:
        yield running


def agent_on(server: ModelServer, *models: str) -> LlmAgent:
    return LlmAgent(list(models) or ["openai:tiny"], base_url=server.base_url, api_key=KEY)


async def test_text_is_streamed_and_its_usage_reported(server: ModelServer, tmp_path: Path) -> None:
    server.will(Say("Good ", "morning", tokens=(12, 3)))
    async with talk_to(agent_on(server), tmp_path) as talk:
        turn = await talk.say("t1", "hello")
        types = [e["action"]["type"] for e in talk.client.envelopes[talk.chat]]
    assert turn["state"] == "complete"
    assert text_of(turn) == "Good morning"
    assert "chat/delta" in types
    assert turn["usage"] == {
        "inputTokens": 12,
        "outputTokens": 3,
        "cacheReadTokens": 4,
        "model": "openai:tiny",
        "_meta": {
            "turnTokenTotals": [
                {
                    "model": "openai:tiny",
                    "inputTokens": 12,
                    "cachedTokens": 4,
                    "outputTokens": 3,
                }
            ],
            "contextTokens": 15,
        },
    }
    request = server.requests[0]
    assert request["stream"] is True
    assert request["model"] == "tiny"
    assert request["messages"][-1] == {"role": "user", "content": "hello"}
    assert f"authorization: Bearer {KEY}".lower() in server.headers[0].lower()


async def test_an_answer_that_is_cut_off_says_so(server: ModelServer, tmp_path: Path) -> None:
    server.will(Say("It all began with", finish="length"))
    async with talk_to(agent_on(server), tmp_path) as talk:
        turn = await talk.say("t1", "tell me everything")
    assert (turn["state"], text_of(turn)) == ("complete", "It all began with")
    notice = turn["responseParts"][-1]
    assert notice["kind"] == "systemNotification"
    assert "its answer is cut off here" in notice["content"]


async def test_parallel_tool_calls_are_all_run_and_told(
    server: ModelServer, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")
    (tmp_path / "b.txt").write_text("beta\n")
    server.will(
        Say(
            "Reading. ",
            ToolUse("read_file", '{"path": "a.txt"}', "one"),
            ToolUse("read_file", '{"path": "b.txt"}', "two"),
        ),
        Say("Both are Greek."),
    )
    async with talk_to(agent_on(server), tmp_path) as talk:
        turn = await talk.say("t1", "what do they say?")
    first, second = calls_of(turn)
    assert "alpha" in first["content"][0]["text"]
    assert "beta" in second["content"][0]["text"]
    assert text_of(turn) == "Reading. Both are Greek."
    told = {m["tool_call_id"]: m["content"] for m in server.requests[1]["messages"][-2:]}
    assert "alpha" in told["one"]
    assert "beta" in told["two"]
    assert turn["usage"]["inputTokens"] == 20


async def test_malformed_arguments_fail_the_call_and_the_model_may_try_again(
    server: ModelServer, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")
    server.will(
        Say(ToolUse("read_file", '{"path": "a.t', "one")),
        # Some servers count the calls of each answer from one.
        Say(ToolUse("read_file", '{"path": "a.txt"}', "one")),
        Say("alpha"),
    )
    async with talk_to(agent_on(server), tmp_path) as talk:
        turn = await talk.say("t1", "read a.txt")
    broken, right = calls_of(turn)
    assert turn["state"] == "complete"
    assert broken["success"] is False
    assert broken["toolInput"] == '{"path": "a.t'
    assert right["success"] is True
    assert "Invalid JSON" in server.requests[1]["messages"][-1]["content"]


async def test_a_rate_limit_ends_the_turn_and_says_when_to_come_back(
    server: ModelServer, tmp_path: Path
) -> None:
    body = {"error": {"message": f"slow down, {KEY}", "type": "rate", "code": "rate_limited"}}
    server.will(Failure(429, body, ("retry-after: 7", "x-should-retry: false")), Say("hello"))
    async with talk_to(agent_on(server), tmp_path) as talk:
        turn = await talk.say("t1", "hello")
        assert turn["state"] == "error"
        assert failure(turn)["errorType"] == "rateLimited"
        assert failure(turn)["message"] == (
            "the rate limit of tiny is reached (HTTP 429); try again in 7 seconds"
        )
        assert text_of(await talk.say("t2", "again")) == "hello"


async def test_refused_credentials_are_told_without_the_key(
    server: ModelServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    body = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}}
    server.will(Failure(401, body))
    async with talk_to(agent_on(server), tmp_path) as talk:
        turn = await talk.say("t1", "hello")
        assert KEY not in str(talk.client.received)
    assert failure(turn)["errorType"] == "authentication"
    assert "check the API key" in failure(turn)["message"]
    ours = [record for record in caplog.records if record.name.startswith("agenthost")]
    assert KEY not in "".join(record.getMessage() for record in ours)


async def test_a_rejected_request_is_told_in_the_server_s_words_but_without_keys(
    server: ModelServer, tmp_path: Path
) -> None:
    body = {"error": {"message": f"tiny does not support tools ({KEY})"}}
    server.will(Failure(400, body))
    async with talk_to(agent_on(server), tmp_path) as talk:
        error = failure(await talk.say("t1", "hello"))
    assert error["errorType"] == "requestRejected"
    assert "tiny does not support tools" in error["message"]
    assert KEY not in error["message"]


async def test_a_connection_that_drops_ends_the_turn_and_keeps_what_came(
    server: ModelServer, tmp_path: Path
) -> None:
    server.will(Drop("Once upon"))
    async with talk_to(agent_on(server), tmp_path) as talk:
        turn = await talk.say("t1", "tell me a story")
    assert turn["state"] == "error"
    assert failure(turn) == {
        "errorType": "connectionLost",
        "message": "the connection to tiny was lost",
    }
    assert text_of(turn) == "Once upon"


async def test_a_turn_that_was_cut_off_goes_on_with_what_it_said_and_what_its_tools_gave(
    server: ModelServer, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("forty-two")
    look = ToolUse("read_file", '{"path": "a.txt"}')
    server.will(Say("Let me look. ", look), Drop("It is "), Drop("I mean "), Say("42."))
    async with talk_to(agent_on(server), tmp_path) as talk:
        failed = await talk.say("t1", "what is in a.txt?")
        assert is_resumable(failed)
        assert is_resumable(await talk.resume("t1"))
        turn = await talk.resume("t1")
        assert (turn["state"], len(talk.state["turns"])) == ("complete", 1)
        assert text_of(turn) == "Let me look. It is I mean 42."
        kinds = [part["kind"] for part in turn["responseParts"]]
        assert kinds.count("toolCall") == 1
        assert kinds.count("error") == 2
        # What both attempts used counts.
        assert turn["usage"]["inputTokens"] >= 20
    told = server.requests[-1]["messages"]
    assert [message["role"] for message in told[1:]] == ["user", "assistant", "tool", "assistant",
                                                         "user"]  # fmt: skip
    assert told[1]["content"] == "what is in a.txt?"
    assert "forty-two" in told[3]["content"]
    assert "It is " in str(told[4]["content"])
    assert told[5]["content"] == CONTINUE


async def test_a_turn_that_failed_before_its_first_word_is_asked_anew(
    server: ModelServer, tmp_path: Path
) -> None:
    failed = Failure(503, {}, ("x-should-retry: false",))
    server.will(failed, Say("hello"))
    async with talk_to(agent_on(server), tmp_path) as talk:
        assert is_resumable(await talk.say("t1", "hi"))
        assert text_of(await talk.resume("t1")) == "hello"
    assert [m["content"] for m in server.requests[-1]["messages"][1:]] == ["hi"]


async def test_a_server_that_is_not_there_is_named_as_unreachable(
    server: ModelServer, tmp_path: Path, unused_tcp_port: int
) -> None:
    agent = LlmAgent(["tiny"], base_url=f"http://127.0.0.1:{unused_tcp_port}/v1")
    async with talk_to(agent, tmp_path) as talk:
        turn = await talk.say("t1", "hello")
    assert failure(turn)["errorType"] == "connectionLost"
    assert failure(turn)["message"] == "tiny cannot be reached"


async def test_cancelling_a_turn_ends_the_request(server: ModelServer, tmp_path: Path) -> None:
    server.will(Hang("Well, "), Say("fine"))
    async with talk_to(agent_on(server), tmp_path) as talk:
        await talk.start("t1", "think for ever")
        await talk.client.action(talk.chat, "chat/responsePart")
        await talk.cancel("t1")
        async with asyncio.timeout(PATIENCE):
            await server.abandoned.wait()
        assert talk.last["state"] == "cancelled"
        assert text_of(await talk.say("t2", "again")) == "fine"
    told = server.requests[-1]["messages"]
    assert any("cancelled" in str(message["content"]) for message in told)


async def test_a_message_chooses_its_model(server: ModelServer, tmp_path: Path) -> None:
    server.will(Say("small"), Say("big"))
    async with talk_to(agent_on(server, "openai:tiny", "huge:70b"), tmp_path) as talk:
        await talk.say("t1", "hello")
        turn = await talk.say("t2", "hello", model={"id": "huge:70b"})
    assert [request["model"] for request in server.requests] == ["tiny", "huge:70b"]
    assert turn["usage"]["model"] == "huge:70b"


async def test_images_and_texts_that_are_attached_reach_the_model(
    server: ModelServer, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("remember the milk")
    attached: list[dict[str, Any]] = [
        {
            "type": "embeddedResource",
            "label": "pixel.png",
            "data": base64.b64encode(PIXEL).decode(),
            "contentType": "image/png",
        },
        {"type": "resource", "label": "notes.txt", "uri": (tmp_path / "notes.txt").as_uri()},
    ]
    server.will(Say("I see."))
    async with talk_to(agent_on(server), tmp_path) as talk:
        await talk.say("t1", "look", attachments=attached)
    content = server.requests[0]["messages"][-1]["content"]
    images = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
    texts = " ".join(part["text"] for part in content if part["type"] == "text")
    assert images == [f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"]
    assert "remember the milk" in texts


async def test_a_server_without_a_key_of_its_own_never_sees_another_one(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("AGENTHOST_LLM_MODELS", "tiny")
    monkeypatch.setenv("AGENTHOST_LLM_BASE_URL", server.base_url)
    monkeypatch.delenv("AGENTHOST_LLM_API_KEY", raising=False)
    server.will(Say("hello"))
    async with talk_to(LlmAgent(), tmp_path) as talk:
        await talk.say("t1", "hello")
    assert KEY not in server.headers[0]


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def test_a_served_agent_remembers_after_a_crash_of_its_host(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTHOST_LLM_MODELS", "tiny")
    monkeypatch.setenv("AGENTHOST_LLM_BASE_URL", server.base_url)
    monkeypatch.setenv("AGENTHOST_LLM_API_KEY", KEY)
    (tmp_path / "work").mkdir()
    call = ToolUse("run_command", '{"command": "echo 42 | tee answer"}')
    server.will(Say("Hm. ", call), Say("It is 42."), Say("Still 42."))
    async with serve(tmp_path / "data", "--agent", "llm", cwd=tmp_path / "work") as host:
        async with open_client(host.url) as client:
            await client.initialize()
            chat = await client.ready_session(SESSION, provider="llm")
            await client.subscribe(chat)
            talk = Talk(client, chat)
            await talk.start("t1", "what is it?")
            asked = await talk.call("run_command", "pending-confirmation")
            await talk.answer("t1", asked, True)
            assert text_of(await talk.end("t1")) == "Hm. It is 42."
        await host.kill()
        await host.start()
        async with open_client(host.url) as client:
            await client.initialize()
            await client.subscribe(SESSION)
            await client.subscribe(chat)
            assert text_of(await Talk(client, chat).say("t2", "really?")) == "Still 42."
        assert KEY not in host.output
    assert (tmp_path / "work" / "answer").read_text() == "42\n"
    roles = [message["role"] for message in server.requests[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert KEY.encode() not in everything_in(tmp_path / "data")
