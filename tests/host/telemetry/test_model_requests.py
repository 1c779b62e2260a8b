"""A turn of a model that uses the tool of an MCP server, as one trace in a collector."""

from __future__ import annotations

from pathlib import Path

import pytest

from agenthost.agents.llm import LlmAgent
from agenthost.host import Host
from tests.agents.llm.openai_server import Say, ToolUse, model_server
from tests.host.telemetry.collecting import collector, recording
from tests.wire.serving_tools import declare, entry_of, listed, program
from tests.wire.talking import at_chat, call_in, calls_of, confirmed

# Answers with what it was told of the trace.
TRACED = """
def call(number, name, arguments, meta): send(id=number, result=text(meta.get("traceparent")))
"""


async def test_model_requests_calls_approvals_and_servers_are_one_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with collector() as collected, model_server() as server:
        for name, value in collected.environment.items():
            monkeypatch.setenv(name, value)
        server.will(Say("Let me see. ", ToolUse("it__echo", '{"secret": "words"}')), Say("Done."))
        agent = LlmAgent(["openai:tiny"], base_url=server.base_url, api_key="sk-very-secret")
        declare(tmp_path, it=program(TRACED))
        async with Host([agent], roots=[tmp_path], default_directory=tmp_path) as host:
            url = await host.listen(port=0)
            await recording(host)
            async with at_chat(url, "traced", workingDirectories=[tmp_path.as_uri()]) as chat:
                await listed(chat.client, chat.session, "it")
                ids = [entry_of(chat.client, chat.session, "it")["id"]]
                await chat.client.request("agenthost/trustFolder", channel=chat.session, ids=ids)
                await chat.start("t1", "please echo something")
                call = await call_in(chat.client, chat.uri, "pending-confirmation")
                await chat.answer(confirmed("t1", call, True))
                turn = await chat.end("t1")
        (call,) = calls_of(turn)
        root = await collected.span("turn", ahp__turn__id="t1")
        tool = await collected.span("tool call it__echo")
        approval = await collected.span("approval")
        requests = [span for span in collected.spans() if span["name"] == "chat tiny"]
    assert [span["parentSpanId"] for span in requests] == [root["spanId"]] * 2
    assert tool["parentSpanId"] == root["spanId"]
    assert approval["parentSpanId"] == tool["spanId"]
    assert len({span["traceId"] for span in (root, tool, approval, *requests)}) == 1
    assert tool["attributes"]["ahp.mcp.server"] == "it"
    assert tool["attributes"]["ahp.tool.contributor"] == "mcp"
    # What the server was told.
    assert call["content"][0]["text"].startswith(f"00-{tool['traceId']}-{tool['spanId']}-")
    (first, second) = sorted(requests, key=lambda span: int(span["startTimeUnixNano"]))
    assert first["attributes"]["gen_ai.request.model"] == "tiny"
    assert first["attributes"]["gen_ai.usage.input_tokens"] == "10"
    # The host may still be committing the call's end while the agent asks the model again.
    begun = [int(span["startTimeUnixNano"]) for span in (first, tool, second)]
    assert begun == sorted(begun)
    # Nothing that was said, and no secret.
    told = str(collected.requests)
    for said in ("please echo", "Let me see", "Done.", "words", "sk-very-secret"):
        assert said not in told
