from __future__ import annotations

from agenthost.agents import content


def test_each_block_is_what_the_protocol_calls_it() -> None:
    assert content.text("a") == {"type": "text", "text": "a"}
    assert content.embedded(b"\x00\xff", "image/png") == {
        "type": "embeddedResource",
        "data": "AP8=",
        "contentType": "image/png",
    }
    assert content.resource({"uri": "x:/1", "sizeHint": 3}) == {
        "type": "resource",
        "uri": "x:/1",
        "sizeHint": 3,
    }
    assert content.file_edit({"after": {"uri": "file:///a"}}) == {
        "type": "fileEdit",
        "after": {"uri": "file:///a"},
    }
    assert content.subagent("c:/1", "Worker") == {
        "type": "subagent",
        "resource": "c:/1",
        "title": "Worker",
    }
