"""Who may look at changes, who may do something about them, and whose repositories are shown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agenthost.tokens import Role
from tests.wire.changing import SESSION, Handy, content, names, open_changes, opened
from tests.wire.client import WireClient
from tests.wire.people import People, peopled
from tests.workspace.git.repositories import commit, git, repository


@pytest.fixture(autouse=True)
def _real_repositories(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(tmp_path / "r")


@asynccontextmanager
async def anns_session(
    tmp_path: Path, folder: Path, root: Path
) -> AsyncIterator[tuple[People, WireClient]]:
    """A host in which ann, an operator, has a session whose turn has changed a file."""
    agent = Handy()
    agent.jobs["go"] = lambda: (folder / "a").write_text("new\n")
    async with (
        peopled(tmp_path / "tokens", agents=[agent], default_directory=root) as people,
        people.client("ann") as ann,
    ):
        chat = await ann.ready_session(SESSION, workingDirectories=[folder.as_uri()])
        await ann.subscribe(chat)
        await ann.run_turn(chat, "t1", "go")
        yield people, ann


UNCOMMITTED = f"{SESSION}/changeset/uncommitted"


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.VIEWER])
async def test_everybody_may_look_and_only_those_who_take_part_act(
    tmp_path: Path, folder: Path, role: Role
) -> None:
    async with (
        anns_session(tmp_path, folder, folder) as (people, ann),
        people.client("bea", role) as bea,
    ):
        state = await open_changes(bea, UNCOMMITTED)
        assert names(state, folder) == {"a": "edited"}
        (file,) = state["files"]
        assert await content(bea, file["edit"]["before"]) == b"a\n" * 20
        assert await content(bea, file["edit"]["after"]) == b"new\n"
        target = {"kind": "resource", "resource": file["id"]}
        for id, params in (("commit", {}), ("discard-changes", {"target": target})):
            failure = await bea.refusal(
                "invokeChangesetOperation", channel=UNCOMMITTED, operationId=id, **params
            )
            assert failure.code == -32009
        review = {"type": "changeset/filesReviewChanged", "files": [file["id"]], "reviewed": True}
        assert await bea.rejected(UNCOMMITTED, review)
        assert (folder / "a").read_text() == "new\n"
        await open_changes(ann, UNCOMMITTED)
        await ann.accepted(UNCOMMITTED, review)
        await bea.action(UNCOMMITTED, "changeset/filesReviewChanged")
        result = await ann.request(
            "invokeChangesetOperation", channel=UNCOMMITTED, operationId="stage"
        )
        assert result == {"message": "Staged a"}


async def test_an_operators_folder_shows_no_repository_from_outside_of_the_hosts(
    tmp_path: Path,
) -> None:
    secret = repository(tmp_path / "secret")
    (secret / "key").write_text("secret\n")
    commit(secret, "second")
    root = tmp_path / "root"
    (root / "mine").mkdir(parents=True)
    (root / "mine" / ".git").write_text(f"gitdir: {secret / '.git'}\n")
    (root / "mine" / "a").write_text("x\n")
    assert git(root / "mine", "ls-files") == "a\nb\nkey"
    async with anns_session(tmp_path, root / "mine", root) as (_, ann):
        assert "changesets" not in ann.states[SESSION]
        await ann.subscribe(UNCOMMITTED)
        state = await opened(ann, UNCOMMITTED, "error")
        assert state["error"]["errorType"] == "noRepository"
        assert state["files"] == []
