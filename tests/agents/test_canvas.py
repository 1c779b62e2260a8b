"""Canvases as agents open them: what is passed on, and what is refused before it leaves."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.agents import AgentError
from agenthost.agents.canvas import LONGEST_TEXT, LONGEST_URL
from tests.agents.fakes import FakePort, make_turn

PAGE = "https://example.org:8443/a?b#c"


async def test_three_lines_show_change_and_close_a_page() -> None:
    port = FakePort()
    canvas = await make_turn(port).open_canvas("preview", title="Preview", url=PAGE)
    ((uri, shown),) = port.canvases.items()
    assert canvas.uri == uri
    assert shown.pop("instanceId")
    assert shown == {"canvasId": "preview", "title": "Preview", "url": PAGE}
    await canvas.update(status="built", url=None)
    await canvas.update()
    assert port.canvases[uri] == {**shown, "status": "built", "url": None}
    await canvas.close()
    assert port.canvases == {}


@pytest.mark.parametrize(
    "page",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "example.org",
        "//example.org",
        "/path",
        "http://",
        "http:///path",
        "http:example.org",
        "http://exa mple.org",
        "http://example.org\n",
        "java\nscript:alert(1)",
        "http:\\\\example.org",
        "http://example.org:99999",
        "http://example.org:port",
        "http://[::1",
        "http://example.org/" + "x" * 1_000_000,
        "",
        7,
    ],
)
async def test_what_is_no_page_reaches_nobody(page: Any) -> None:
    port = FakePort()
    turn = make_turn(port)
    with pytest.raises(AgentError) as refusal:
        await turn.open_canvas("preview", url=page)
    if page:
        assert str(page) not in str(refusal.value)
    assert port.canvases == {}
    canvas = await turn.open_canvas("preview")
    before = dict(port.canvases[canvas.uri])
    with pytest.raises(AgentError):
        await canvas.update(status="x", url=page)
    assert port.canvases[canvas.uri] == before


@pytest.mark.parametrize(
    "page", ["http://127.0.0.1:1", "HTTPS://EXAMPLE.ORG", "http://[::1]:80/ä", "http://u:p@h/"]
)
async def test_every_web_page_can_be_shown(page: str) -> None:
    port = FakePort()
    await make_turn(port).open_canvas("preview", url=page)
    ((_, shown),) = port.canvases.items()
    assert shown["url"] == page


async def test_texts_have_a_length_and_names_are_not_empty() -> None:
    port = FakePort()
    turn = make_turn(port)
    await turn.open_canvas("x" * LONGEST_TEXT, url="http://h/" + "x" * (LONGEST_URL - 9))
    long = "x" * (LONGEST_TEXT + 1)
    wrong: list[dict[str, Any]] = [{"kind": ""}, {"kind": long}, {"instance_id": ""}]
    wrong += [{"instance_id": long}, {"title": long}, {"status": long}, {"title": 1}]
    for options in wrong:
        with pytest.raises(AgentError):
            await turn.open_canvas(**{"kind": "preview", **options})
    assert len(port.canvases) == 1
