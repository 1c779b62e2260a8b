"""Completions over the wire: what is offered behind ``@``, to whom, and what becomes of it."""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import Agent, Turn
from agenthost.host import Host, Limits
from agenthost.workspace import file_index
from tests.wire.client import WireClient, open_client, user_message
from tests.wire.people import peopled

Json = dict[str, Any]
SESSION = "ahp-session:/completes"


@asynccontextmanager
async def at(
    root: Path, version: str = "1.0.0", **options: Any
) -> AsyncIterator[tuple[WireClient, str]]:
    """A client with a session in a folder: the client and its chat."""
    options = {"roots": [root], "default_directory": root, **options}
    host = Host(**options)
    async with host, open_client(await host.listen(port=0), "c", version) as client:
        await client.initialize()
        yield client, await client.ready_session(SESSION, workingDirectories=[root.as_uri()])


async def offered(
    client: WireClient, chat: str, text: str, offset: int | None = None
) -> list[Json]:
    units = len(text.encode("utf-16-le")) // 2
    result = await client.request(
        "completions",
        channel=chat,
        kind="userMessage",
        text=text,
        offset=units if offset is None else offset,
    )
    items: list[Json] = result["items"]
    return items


def inserted(items: list[Json]) -> list[str]:
    return [item["insertText"] for item in items]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "root"
    (root / "src" / "deep").mkdir(parents=True)
    (root / "src" / "main.py").write_text("")
    (root / "src" / "deep" / "maintain.py").write_text("")
    (root / "read me.md").write_text("")
    return root


async def test_files_are_offered_behind_the_sign_that_editors_use_as_well(root: Path) -> None:
    async with at(root) as (client, chat):
        assert inserted(await offered(client, chat, "see #mainp"))[:1] == ["#src/main.py "]


async def test_a_file_is_offered_with_what_is_to_be_attached(root: Path) -> None:
    async with at(root) as (client, chat):
        (item, *_) = await offered(client, chat, "see @mai")
        assert item == {
            "insertText": "@src/main.py ",
            "rangeStart": 4,
            "rangeEnd": 8,
            "attachment": {
                "type": "resource",
                "uri": (root / "src" / "main.py").as_uri(),
                "label": "main.py",
                "displayKind": "file",
                "_meta": {"path": "src/main.py"},
            },
        }
        assert inserted(await offered(client, chat, "@smain")) == [
            "@src/main.py ",
            "@src/deep/maintain.py ",
        ]
        (folder, *_) = await offered(client, chat, "@deep")
        assert folder["attachment"]["displayKind"] == "directory"
        assert folder["insertText"] == "@src/deep/ "
        assert folder["attachment"]["uri"] == (root / "src" / "deep").as_uri()


async def test_ranges_count_in_utf_16_and_only_the_word_at_the_cursor_counts(root: Path) -> None:
    async with at(root) as (client, chat):
        (item, *_) = await offered(client, chat, "😀😀 @main", 9)
        assert (item["rangeStart"], item["rangeEnd"]) == (5, 9)
        (item, *_) = await offered(client, chat, "@main and more", 3)
        assert (item["rangeStart"], item["rangeEnd"]) == (0, 3)
        for text in ("a@main", "@main ", "main", "@main\n", "@" + "x" * 5_000, "x" * 9_000):
            assert await offered(client, chat, text) == []
        assert inserted(await offered(client, chat, "line\n@read")) == ["@read me.md "]
        refusal = await client.refusal(
            "completions", channel=chat, kind="userMessage", text="😀", offset=3
        )
        assert refusal.code == -32602


def _make_repository(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", folder], check=True)


async def test_what_git_ignores_is_not_offered(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GIT_DIR")
    await asyncio.to_thread(_make_repository, root)
    (root / ".gitignore").write_text("*.o\n")
    (root / "src" / "main.o").write_text("")
    async with at(root) as (client, chat):
        assert inserted(await offered(client, chat, "@main")) == [
            "@src/main.py ",
            "@src/deep/maintain.py ",
        ]


async def test_chats_and_other_sessions_and_annotations_are_offered(root: Path) -> None:
    async with at(root) as (client, chat):
        assert await offered(client, chat, "@chat:") == []
        assert await offered(client, chat, "@note:") == []
        other = "ahp-chat:/second"
        await client.request("createChat", channel=SESSION, chat=other)
        await client.accepted(other, {"type": "session/titleChanged", "title": "The second"})
        await client.ready_session("ahp-session:/o", workingDirectories=[root.as_uri()])
        await client.accepted(
            "ahp-session:/o", {"type": "session/titleChanged", "title": "Elsewhere"}
        )
        items = await offered(client, chat, "@chat:")
        assert [(each["insertText"], each["attachment"]["resource"]) for each in items] == [
            ("@chat:The-second ", other),
            ("@chat:Elsewhere ", client.states["ahp-session:/o"]["defaultChat"]),
        ]
        assert items[0]["attachment"]["type"] == "chat"
        assert inserted(await offered(client, chat, "@chat:else")) == ["@chat:Elsewhere "]
        assert "@chat:Elsewhere " in inserted(await offered(client, chat, "@elsew"))
        await annotate(client, root, "n1", "Why is that?\x1b[31m\nSay more")
        items = await offered(client, chat, "@note:")
        assert inserted(items) == ["@note:all ", "@note:main.py:3 "]
        assert items[1]["attachment"] == {
            "type": "annotations",
            "resource": f"{SESSION}/annotations",
            "annotationIds": ["n1"],
            "label": "main.py:3: Why is that? [31m Say more",
            "displayKind": "annotations",
        }


async def annotate(client: WireClient, root: Path, id: str, text: str) -> None:
    annotation = {
        "id": id,
        "origin": {"session": SESSION},
        "resource": (root / "src" / "main.py").as_uri(),
        "range": {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 4}},
        "resolved": False,
        "entries": [{"id": f"{id}-1", "text": text}],
    }
    channel = f"{SESSION}/annotations"
    await client.subscribe(channel)
    await client.accepted(channel, {"type": "annotations/set", "annotation": annotation})


class Listener(Agent):
    """Says what it was given."""

    provider, display_name = "listener", "Listener"

    def __init__(self) -> None:
        self.given: list[Json] = []

    async def run(self, turn: Turn) -> None:
        self.given = [dict(item) for item in turn.message.get("attachments", ())]
        await turn.write("thanks")


async def test_what_was_offered_arrives_at_the_agent_and_stays_in_the_state(root: Path) -> None:
    agent = Listener()
    async with at(root, agents=[agent]) as (client, chat):
        await client.subscribe(chat)
        await annotate(client, root, "n1", "Why is that?")
        (file, *_) = await offered(client, chat, "@mai")
        (note,) = await offered(client, chat, "@note:main")
        attachments = [
            {**file["attachment"], "_meta": {**file["attachment"]["_meta"], "odd": [1, None]}},
            note["attachment"],
        ]
        message = {**user_message("see @src/main.py @note:main.py:3"), "attachments": attachments}
        await client.accepted(chat, {**client.turn_started("t1", ""), "message": message})
        await client.turn_end(chat, "t1")
        assert client.states[chat]["turns"][0]["message"]["attachments"] == attachments
        assert agent.given[0] == attachments[0]
        assert agent.given[1]["type"] == "simple"
        assert "Why is that?" in agent.given[1]["modelRepresentation"]
        assert "lines 3 to 3" in agent.given[1]["modelRepresentation"]


async def test_only_those_who_take_part_are_offered_anything_to_attach(
    root: Path, tmp_path: Path
) -> None:
    async with (
        peopled(tmp_path / "data", roots=[root], default_directory=root) as people,
        people.client("olga") as olga,
        people.client("otto") as otto,
        people.client("owner") as owner,
    ):
        chat = await olga.ready_session(SESSION, workingDirectories=[root.as_uri()])
        for client in (olga, owner):
            assert "@src/main.py " in inserted(await offered(client, chat, "@main"))
        for text in ("@main", "@", "@chat:", "@note:"):
            assert await offered(otto, chat, text) == []
        # What the agent can do is no secret, and one becomes a participant by it.
        assert await offered(otto, chat, "/")
        theirs = await otto.ready_session(
            "ahp-session:/otto", workingDirectories=[(root / "src" / "deep").as_uri()]
        )
        assert inserted(await offered(otto, theirs, "@main")) == ["@maintain.py "]
        assert await offered(otto, theirs, "@chat:") == []


async def test_what_is_the_host_s_own_and_what_cannot_be_shown_is_not_offered(root: Path) -> None:
    data = root / "data"
    data.mkdir()
    (data / "main-token").write_text("secret")
    (root / "main\nline").write_text("")
    (root / os.fsdecode(b"main\xff")).write_text("")
    async with at(root, workspace_dir=data / "w", kept_away=[data]) as (client, chat):
        assert inserted(await offered(client, chat, "@main")) == [
            "@src/main.py ",
            "@src/deep/maintain.py ",
        ]


async def test_there_are_only_so_many_and_a_folder_that_is_gone_has_none(root: Path) -> None:
    for number in range(80):
        (root / f"main{number}").write_text("")
    async with at(root, limits=Limits(max_completions=20)) as (client, chat):
        assert len(await offered(client, chat, "@main")) == 20
        assert len(await offered(client, chat, "@")) == 20
        gone = root / "src" / "deep"
        other = await client.ready_session("ahp-session:/g", workingDirectories=[gone.as_uri()])
        (gone / "maintain.py").unlink()
        gone.rmdir()
        assert await offered(client, other, "@main") == []


async def test_a_search_that_takes_too_long_is_given_up_and_holds_up_nobody(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, found = [True], file_index.index_folder

    def index(descriptor: int) -> Any:
        while slow[0]:
            time.sleep(0.01)
        return found(descriptor)

    monkeypatch.setattr(file_index, "index_folder", index)
    async with at(root, limits=Limits(completion_seconds=0.2)) as (client, chat):
        asked = [asyncio.create_task(offered(client, chat, "@main")) for _ in range(5)]
        await client.ping()
        assert not any(each.done() for each in asked)
        assert await asyncio.gather(*asked) == [[]] * 5
        slow[0] = False
        for _ in itertools.count():
            if await offered(client, chat, "@main"):
                break
