"""Whoever holds something for a session is told when it goes, and whether it may come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agenthost.client import connect
from agenthost.host import Host, ShellPolicy
from tests.wire.client import open_client


async def test_a_session_that_goes_to_the_trash_is_kept_and_one_that_is_purged_is_not() -> None:
    async with Host() as host, connect(await host.listen(port=0)) as client:
        told: list[tuple[str, bool]] = []
        host.core.releases.on_release(lambda session, keep: told.append((session, keep)))
        session = await client.sessions.create()
        await (await session.chat()).ask("say hello")
        await host.core.sessions.dispose(session.uri)
        assert told == [(session.uri, True)]
        await host.core.sessions.purge(session.uri)
        assert told == [(session.uri, True), (session.uri, False)]


async def test_a_session_that_held_nothing_is_not_kept() -> None:
    async with Host() as host, connect(await host.listen(port=0)) as client:
        told: list[tuple[str, bool]] = []
        host.core.releases.on_release(lambda session, keep: told.append((session, keep)))
        session = await client.sessions.create()
        await host.core.sessions.dispose(session.uri)
        assert told == [(session.uri, False)]


async def test_the_folder_of_a_host_is_its_own_and_ends_with_it_unless_it_was_named(
    tmp_path: Path,
) -> None:
    async with Host() as host:
        made = host.core.workspace_dir
        (made / "note").write_text("x")
        assert made.stat().st_mode & 0o777 == 0o700
    assert not made.exists()
    named = tmp_path / "data" / "workspace"
    for _ in range(2):
        async with Host(workspace_dir=named) as host:
            assert host.core.workspace_dir == named
            assert named.stat().st_mode & 0o777 == 0o700
    assert named.is_dir()


@pytest.mark.parametrize(
    ("version", "told"), [("1.0.0", {"terminalCommandPrefix": "!"}), ("0.5.1", {})]
)
async def test_clients_are_told_how_a_command_begins_where_there_are_such(
    version: str, told: dict[str, Any]
) -> None:
    async def initialized(host: Host) -> dict[str, Any]:
        async with host, open_client(await host.listen(port=0), "c", version) as client:
            return await client.initialize()

    result = await initialized(Host(shells=ShellPolicy(prefix="!")))
    assert {key: result[key] for key in result if key == "terminalCommandPrefix"} == told
    assert "terminalCommandPrefix" not in await initialized(Host())
