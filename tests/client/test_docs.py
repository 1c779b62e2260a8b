"""The examples of docs/client.md, run in the order in which they are read."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from agenthost.client import connect
from agenthost.client.link.resume import Resumed
from agenthost.client.resources import READING
from agenthost.client.state.client_core import ACTION_PATIENCE
from agenthost.host import Host
from agenthost.host.trust import Gate, HostTokens

DOCUMENT = Path(__file__).parents[2] / "docs" / "client.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)


async def run(source: str, names: dict[str, Any]) -> None:
    code = compile(source, str(DOCUMENT), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    made = eval(code, names)
    if inspect.isawaitable(made):
        await made


async def test_every_example_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with asyncio.timeout(60), Host(default_directory=tmp_path) as host:
        url = await host.listen(port=0, gate=Gate(HostTokens("secret")))
        names: dict[str, Any] = {"url": url, "token": "secret"}
        first, *others = EXAMPLES
        await run(first, names)
        assert "You said **hello**" in capsys.readouterr().out
        async with connect(url, token="secret") as client:
            session = await client.sessions.create()
            names |= {"client": client, "session": session, "chat": await session.chat()}
            for example in others:
                await run(example, names)
    printed = capsys.readouterr().out
    assert "complete None" in printed
    assert "Greetings" in printed
    assert printed.count("not sent:") == 2
    assert "The client answered: 3" in printed


def test_what_the_document_counts_up_is_what_there_is() -> None:
    text = DOCUMENT.read_text()
    for resumed in get_args(Resumed):
        assert f'`"{resumed}"`' in text
    for method in READING:
        assert f"`{method}`" in text
    assert f"for {ACTION_PATIENCE:g} seconds" in text
