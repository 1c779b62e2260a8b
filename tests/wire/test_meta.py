"""Members of implementations' own: what the host tells of itself, and what it takes and ignores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agenthost.host.startup import page_build
from agenthost.protocol import SUPPORTED_VERSIONS
from agenthost.tokens import Role
from tests.wire.client import open_client
from tests.wire.hosting import embed
from tests.wire.people import peopled

Json = dict[str, Any]
# Where the page was built, its build is told.
PAGE: Json = {"agenthost/page": page_build()} if page_build() is not None else {}
META = {"vscode.telemetryLevel": "off", "vscode.clientMachineId": "m-1", "unknown": [None]}


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
async def test_editors_are_told_how_this_host_names_sessions_and_runs_automations(
    version: str,
) -> None:
    async with embed() as url, open_client(url, "c", version) as client:
        result = await client.initialize(_meta=META)
        if version in ("1.0.0", "0.9.0"):
            assert result["_meta"] == {
                "vscode.ahpSessionUris": True,
                "vscode.autonomousAutomations": True,
                "agenthost/me": {"name": "owner", "role": "owner"},
                **PAGE,
            }
        else:
            assert "_meta" not in result


async def test_requests_carry_what_they_like_and_it_changes_nothing(tmp_path: Path) -> None:
    log, session = tmp_path / "wire.log", "ahp-session:/s"
    newest = SUPPORTED_VERSIONS[0]
    async with embed(wire_log=log) as url, open_client(url, "c", newest) as client:
        await client.initialize(_meta=META)
        await client.request("createSession", channel=session, _meta=META)
        state = await client.subscribe(session, _meta=META)
        assert "_meta" not in state
        chat = state["defaultChat"]
        await client.subscribe(chat, _meta=META)
        await client.request("listSessions", _meta=META)
        await client.request("fetchTurns", channel=chat, _meta=META)
        await client.request("resolveSessionConfig", provider="demo", _meta=META)
        offset: Json = {"text": "/", "offset": 1, "kind": "userMessage"}
        await client.request("completions", channel=chat, _meta=META, **offset)
        await client.request("ping", _meta=META)
        refused = await client.refusal("listSessions", _meta="text")
        assert refused.data == {"path": "_meta"}
        await client.request("disposeSession", channel=session, _meta=META)
    assert log.read_text().count("m-1") == 10


async def test_a_client_is_told_who_it_is_here_and_told_again_when_it_comes_back(
    tmp_path: Path,
) -> None:
    async with peopled(tmp_path) as people:
        async with people.client("ana", Role.VIEWER, "ahp-root://") as former:
            pass
        async with open_client(people.url("ana"), "ana-client") as client:
            assert "_meta" not in await client.resume(former)
            told = await client.request("agenthost/about")
            page = {name.removeprefix("agenthost/"): value for name, value in PAGE.items()}
            assert told == {"me": {"name": "ana", "role": "viewer"}, **page}
        async with people.client("ana", version="0.8.0"):
            pass
        async with open_client(people.url("ana"), "ana-client", "0.8.0") as older:
            assert "_meta" not in await older.reconnect(0, "ahp-root://")
        async with open_client(people.url("owner"), "o") as owner:
            told = (await owner.initialize())["_meta"]
            assert told["agenthost/me"] == {"name": "owner", "role": "owner"}


@pytest.mark.parametrize(
    ("written", "told"),
    [(b"4f2a\n", "4f2a"), (b"", None), (None, None), (b"\xff", None), (b"x" * 900, "x" * 200)],
)
def test_the_pages_build_is_read_from_beside_it(
    tmp_path: Path, written: bytes | None, told: str | None
) -> None:
    if written is not None:
        (tmp_path / "web" / "static").mkdir(parents=True)
        (tmp_path / "web" / "static" / ".build").write_bytes(written)
    assert page_build(tmp_path) == told
