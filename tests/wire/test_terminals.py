"""Terminals over the wire: real shells that several clients watch and type into."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.wire.client import WireClient, open_client
from tests.wire.hosting import embed
from tests.workspace.pty.running import shell

ROOT = "ahp-root://"
T = "ahp-terminal:/t1"

Json = dict[str, Any]


@pytest.fixture(params=["bash", "zsh"])
def shell_name(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A shell that the host starts in its terminals."""
    name: str = request.param
    monkeypatch.setenv("SHELL", shell(name))
    return name


@pytest.fixture
async def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """A host in this process whose shells are those of a user without any settings."""
    monkeypatch.setenv("HOME", str(tmp_path))
    async with embed(default_directory=tmp_path) as url:
        yield url


def text_of(state: Json) -> str:
    """Return all that a terminal shows."""
    return "".join(part.get("value", part.get("output", "")) for part in state["content"])


def commands_of(state: Json) -> list[Json]:
    return [part for part in state["content"] if part["type"] == "command"]


async def create(client: WireClient, uri: str = T, **params: Any) -> Json:
    """Start a terminal that a client holds, and follow it."""
    claim = {"kind": "client", "clientId": client.client_id}
    assert await client.request("createTerminal", channel=uri, **{"claim": claim, **params}) is None
    return await client.subscribe(uri)


async def shows(client: WireClient, text: str, uri: str = T) -> Json:
    """Wait until a terminal shows a text."""
    return await client.until(
        lambda: client.states[uri] if text in text_of(client.states[uri]) else None
    )


async def types(client: WireClient, text: str, uri: str = T) -> None:
    await client.accepted(uri, {"type": "terminal/input", "data": text})


async def finished(client: WireClient, line: str, uri: str = T) -> Json:
    """Wait until a command has ended, and return its part."""

    def find() -> Json | None:
        parts = commands_of(client.states[uri])
        return next((p for p in parts if p["commandLine"] == line and p["isComplete"]), None)

    return await client.until(find)


async def test_two_clients_watch_one_terminal_and_one_types(url: str, shell_name: str) -> None:
    async with open_client(url, "new") as new, open_client(url, "old", "0.5.0") as old:
        for client in (new, old):
            await client.initialize(ROOT)
        state = await create(new)
        assert state["lifecycle"] == {"status": "running"}
        assert (state["cols"], state["rows"], state["isPty"]) == (80, 24, True)
        await old.subscribe(T)
        await types(old, "echo one; (exit 7)\r")
        for client in (new, old):
            part = await finished(client, "echo one; (exit 7)")
            # Behind it zsh marks the end of its output.
            assert part["output"].startswith("one\r\n")
            assert part["exitCode"] == 7
            assert part["durationMs"] >= 0
            assert client.states[T]["supportsCommandDetection"]
        assert not any(e["action"]["type"] == "terminal/input" for e in new.envelopes[T])
        await types(new, "exit 3\r")
        await new.action(T, "terminal/exited", exitCode=3)
        await old.action(T, "terminal/exited", exitCode=3)
        await new.action(ROOT, "root/terminalsChanged")
        (listed,) = (await new.fresh(ROOT))["terminals"]
        assert listed["lifecycle"] == {"status": "exited", "exitCode": 3}
        assert (await old.fresh(ROOT))["terminals"][0]["exitCode"] == 3
        assert "has ended" in await old.rejected(T, {"type": "terminal/input", "data": "x"})
        assert await old.request("disposeTerminal", channel=T) is None
        assert (await new.fresh(ROOT))["terminals"] == []
        assert (await new.refusal("subscribe", channel=T)).code == -32008
