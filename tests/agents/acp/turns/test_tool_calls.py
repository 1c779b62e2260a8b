"""Tool calls of the agent as people see them: while they run, and what remains."""

from __future__ import annotations

import pytest

from tests.agents.acp.stage import Json, Stage, assert_quiet, read_content
from tests.wire.talking import calls_of

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def test_what_a_call_shows_grows_and_its_result_is_what_it_said_last(stage: Stage) -> None:
    chat = await stage.chat()
    turn = await chat.run("t1", "/tool")
    shown = [
        [block.get("text") for block in envelope["action"]["content"]]
        for envelope in chat.client.envelopes[chat.uri]
        if envelope["action"]["type"] == "chat/toolCallContentChanged"
    ]
    assert shown == [["one"], ["one, two"]]
    call, _ = calls_of(turn)
    assert (call["toolName"], call["displayName"]) == ("search", "Search")
    assert call["intention"] == call["invocationMessage"] == call["pastTenseMessage"]
    place = stage.folder / "found.txt"
    assert call["content"] == [
        {"type": "text", "text": "one, two"},
        {"type": "embeddedResource", "data": "eA==", "contentType": "image/png"},
        {"type": "resource", "uri": "https://example.org/"},
        {"type": "resource", "uri": place.as_uri()},
    ]
    assert call["structuredContent"] == {
        "kind": "search",
        "locations": [{"path": str(place), "line": 7}],
        "rawOutput": {"hits": 2},
    }


async def test_a_call_that_the_agent_leaves_open_ends_with_the_turn(stage: Stage) -> None:
    chat = await stage.chat()
    _, call = calls_of(await chat.run("t1", "/tool"))
    assert (call["status"], call["success"]) == ("completed", True)
    await assert_quiet(chat)


async def test_a_long_result_is_shown_in_part_and_kept_whole(stage: Stage) -> None:
    chat = await stage.chat()
    (call,) = calls_of(await chat.run("t1", "/long 100000"))
    tail, whole = call["content"]
    assert tail["text"].endswith("xend")
    assert len(tail["text"]) < 20_000
    assert await read_content(chat.client, whole) == "x" * 100_000 + "end"


@pytest.mark.parametrize(
    ("title", "meta"),
    [
        ("mcp__git_hub__list__issues", {"mcpServerName": "git_hub"}),
        ("mcp__nothing", None),
        ("Look at mcp__a__b", None),
        ("mcp__" + "a__" * 10_000, None),
    ],
    ids=["a tool of a server", "half a name", "in a sentence", "a flood"],
)
async def test_the_server_of_a_tool_is_known_by_its_name(
    stage: Stage, title: str, meta: Json | None
) -> None:
    chat = await stage.chat()
    (call,) = calls_of(await chat.run("t1", f"/titled {title}"))
    assert call.get("_meta") == meta
