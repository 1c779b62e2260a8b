"""Members of implementations' own: what the host tells of itself, and what it takes and ignores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agenthost.protocol import SUPPORTED_VERSIONS
from tests.wire.client import open_client
from tests.wire.hosting import embed

Json = dict[str, Any]
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
