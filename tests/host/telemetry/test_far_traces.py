"""A turn through two hosts is one trace, if both send to the same collector."""

from __future__ import annotations

from pathlib import Path

import pytest

from agenthost.agents.demo import Demo
from agenthost.host import Host
from tests.host.telemetry.collecting import collector, recording
from tests.wire.far_hosting import far_agent, far_spec, pair


async def test_the_far_turn_is_below_the_one_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with collector() as collected:
        for name, value in collected.environment.items():
            monkeypatch.setenv(name, value)
        async with Host([Demo()]) as far:
            far_url = await far.listen(port=0)
            await recording(far)
            async with Host([far_agent(far_spec(far_url), "1.0.0")]) as near:
                near_url = await near.listen(port=0)
                await recording(near)
                async with pair(near_url, far_url, tmp_path) as both:
                    async for _ in both.chat.send("/tool"):
                        pass
                    there = await both.find_there()
                here = await collected.span("turn", ahp__chat__id=both.chat.uri)
                far_turn = await collected.span("turn", ahp__chat__id=there.uri)
    assert far_turn["parentSpanId"] == here["spanId"]
    assert far_turn["traceId"] == here["traceId"]
    calls = [span for span in collected.spans() if span["name"] == "tool call list"]
    assert {call["parentSpanId"] for call in calls} == {here["spanId"], far_turn["spanId"]}
