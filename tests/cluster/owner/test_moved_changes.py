"""What a session changed on another machine is said to be unknown here, and never shown wrongly."""

from __future__ import annotations

import shutil
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from agenthost.agents import Agent, Turn
from agenthost.cluster.owner.host import OwnerHost
from agenthost.host.channels.changeset.catalogue import ChangeKind, ChangesetName
from agenthost.host.channels.changeset.compute import Scope, Uncomputable
from agenthost.host.channels.session.kind import SESSION
from agenthost.host.trust import Role
from tests.cluster.owner.realm_in_memory import MemoryRealm
from tests.cluster.owner.test_owner_host import ME, ONE, ask, caught_up, last_turn
from tests.cluster.servers import until
from tests.workspace.git.repositories import repository


class Editor(Agent):
    """Writes a file that is named like the message."""

    provider, display_name = "editor", "Editor"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def run(self, turn: Turn) -> None:
        (self.folder / turn.text).write_text("new\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("GIT_DIR")
    return repository(tmp_path / "work")


async def started(
    realm: MemoryRealm, stack: AsyncExitStack, node: str, folder: Path, tmp_path: Path
) -> OwnerHost:
    store = await realm.store(stack, node)
    await store.copy.reached(realm.log.last)
    host = OwnerHost(
        store,
        agents=[Editor(folder)],
        default_directory=folder,
        workspace_dir=tmp_path / f"files of {node}",
    )
    return await stack.enter_async_context(host)


async def changed(host: OwnerHost, kind: ChangeKind, *turns: str) -> list[str]:
    """Return the names of the files that a changeset of the session shows."""
    session = await host.core.directory.find(ONE, SESSION)
    assert session is not None
    found = await host.core.changesets.finder.find(ChangesetName(ONE, kind, turns), Scope(session))
    return sorted(each.file["id"].rpartition("/")[2] for each in found.files)


async def say(host: OwnerHost, text: str) -> str:
    """Run a turn, and wait until the files were looked at after it."""
    await ask(host, text)
    turn: str = (await last_turn(host))["id"]
    page = await host.core.changesets.book.page(ONE)

    def is_noted() -> bool:
        found = page.find(turn)
        return found is not None and found.after is not None

    await until(is_noted)
    return turn


async def test_what_another_machine_kept_is_said_to_be_there(
    realm: MemoryRealm, stack: AsyncExitStack, folder: Path, tmp_path: Path
) -> None:
    first = await started(realm, stack, "a", folder, tmp_path)
    params = {
        "channel": ONE,
        "workingDirectories": [folder.as_uri()],
        "_meta": {"agenthost.keep": True},
    }
    await first.core.sessions.create(params, ME, Role.OWNER)
    one = await say(first, "b")
    assert await changed(first, "session") == ["b"]
    assert await changed(first, "turn", one) == ["b"]
    await first.give_up(ONE, "b", wait=0)
    # Whoever still counts what the turn has changed reads what is kept once more.
    await first.core.changesets.book.page(ONE)

    second = await started(realm, stack, "b", folder, tmp_path)
    assert await second.own(ONE)
    for kind, turns in (("session", ()), ("turn", (one,))):
        with pytest.raises(Uncomputable, match=r"another machine before \(a\)"):
            await changed(second, kind, *turns)  # type: ignore[arg-type]
    # What git alone knows is shown, and so is what a turn does here.
    assert await changed(second, "uncommitted") == ["b"]
    two = await say(second, "c")
    assert await changed(second, "turn", two) == ["c"]
    with pytest.raises(Uncomputable, match="another machine"):
        await changed(second, "session")
    await second.give_up(ONE, "a", wait=0)

    # Back again, the first machine does not know what the second one wrote down.
    await caught_up(first, realm)
    assert await first.own(ONE)
    for turn in (one, two):
        with pytest.raises(Uncomputable, match=r"another machine before \(b\)"):
            await changed(first, "turn", turn)


async def test_what_this_machine_kept_no_longer_was_not_on_another_one(
    realm: MemoryRealm, stack: AsyncExitStack, folder: Path, tmp_path: Path
) -> None:
    params = {
        "channel": ONE,
        "workingDirectories": [folder.as_uri()],
        "_meta": {"agenthost.keep": True},
    }
    async with AsyncExitStack() as before:
        host = await started(realm, before, "a", folder, tmp_path)
        await host.core.sessions.create(params, ME, Role.OWNER)
        turn = await say(host, "b")
    shutil.rmtree(tmp_path / "files of a")

    host = await started(realm, stack, "a", folder, tmp_path)
    assert await host.own(ONE)
    with pytest.raises(Uncomputable, match="not kept on this machine any more"):
        await changed(host, "turn", turn)
    # Nor does it become so with what is noted from now on.
    assert await changed(host, "turn", await say(host, "c")) == ["c"]
    host.core.changesets.book.leave(ONE)
    with pytest.raises(Uncomputable, match="not kept on this machine any more"):
        await changed(host, "turn", turn)
