"""What sessions changed: found out by git, shown to everybody who follows, true to the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.wire.changing import SESSION, changing, content, names, open_changes
from tests.wire.client import open_client
from tests.workspace.git.repositories import commit, digest, git, repository


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


async def test_a_turn_and_its_session_show_what_the_turn_did(folder: Path) -> None:
    (folder / "b").write_text("edited before\n")
    before = digest(folder)
    async with changing(folder) as scene:
        client = scene.client
        turn = await scene.turn(lambda: (folder / "a").write_text("a\n" * 19 + "new\n"))
        for uri in (scene.uri(f"turn/{turn}"), scene.uri("session")):
            state = await open_changes(client, uri)
            assert names(state, folder) == {"a": "edited"}
            (file,) = state["files"]
            assert file["edit"]["diff"] == {"added": 1, "removed": 1}
            assert await content(client, file["edit"]["before"]) == b"a\n" * 20
            assert await content(client, file["edit"]["after"]) == b"a\n" * 19 + b"new\n"
        state = await open_changes(client, scene.uri("uncommitted"))
        assert names(state, folder) == {"a": "edited", "b": "edited"}
    assert digest(folder) == before


async def test_the_catalogue_grows_with_the_first_turn(folder: Path) -> None:
    git(folder, "checkout", "-q", "-b", "feature")
    async with changing(folder) as scene:
        client = scene.client
        await client.action(SESSION, "session/changesetsChanged")
        assert client.states[SESSION]["changesets"] == [
            {
                "label": "Uncommitted Changes",
                "uriTemplate": f"{SESSION}/changeset/uncommitted",
                "changeKind": "uncommitted",
                "capabilities": {"review": {}},
            }
        ]
        await scene.turn(lambda: None)
        told = client.states[SESSION]["changesets"]
        assert [(entry["label"], entry["changeKind"]) for entry in told] == [
            ("Branch Changes", "branch"),
            ("Uncommitted Changes", "uncommitted"),
            ("Session Changes", "session"),
            ("This Turn", "turn"),
            ("Compare Turns", "compare-turns"),
        ]
        assert told[0]["description"] == "feature → main"
        (folder / "a").write_text("committed\n")
        commit(folder, "second")
        (folder / "c").write_text("not yet\n")
        state = await open_changes(client, scene.uri("branch"))
        assert names(state, folder) == {"a": "edited", "c": "made"}


async def test_a_changeset_that_cannot_be_is_not_found(folder: Path) -> None:
    async with changing(folder) as scene:
        client = scene.client
        for name in ("", "x", "turn", "turn/{turnId}", "turn/a/b", "session/x", "compare/a"):
            failure = await client.refusal("subscribe", channel=scene.uri(name))
            assert failure.code == -32008, name
        nobody = "ahp-session:/nobody/changeset/session"
        assert (await client.refusal("subscribe", channel=nobody)).code == -32001
        async with open_client(scene.url, "other") as other:
            await other.initialize(scene.uri("turn/none"))
            assert other.states[scene.uri("turn/none")]["files"] == []
