"""Make the data directory of a host that kept its sessions in the model of protocol 0.7.0.

It was run once, with the agenthost of the commit that brought this file, and its results are what
``test_content_upgrade`` begins with: ``old_stores/model-0.7.0.tar.gz``, the files that a killed
host left, and ``old_stores/model-0.7.0.json.gz``, what a client of 0.7.0 was shown when a host of
the same commit had been started on a copy of them. From the root of a checkout of that commit::

    python -m tests.host.store.make_old_data tests/host/store/old_stores
"""

from __future__ import annotations

import asyncio
import gzip
import io
import os
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import orjson

from agenthost.host.store import SaveSnapshot, SqliteStore
from agenthost.protocol import reduce
from tests.wire.client import ROOT, WireClient, open_client, user_message
from tests.wire.hosting import ServedHost, serve
from tests.wire.talking import (
    Chat,
    at_chat,
    call_in,
    completed,
    confirmed,
    input_completed,
    request_in,
    result_confirmed,
    submitted,
)

Json = dict[str, Any]

NAME = "model-0.7.0"
STORE = "agenthost.sqlite"
FILES = (STORE, f"{STORE}-wal")
AGENTS = ("--agent", "demo", "--agent", "tests.host.store.old_agent:Keeper")
WORK = "file:///tmp/agenthost-old-data"
FAILED = "ahp-session:/failed"
RANGE = {"start": {"line": 0, "character": 1}, "end": {"line": 2, "character": 3}}


async def main(target: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        os.makedirs(WORK.removeprefix("file://"), exist_ok=True)
        data = scratch / "data"
        async with serve(data, *AGENTS, "--root", "/tmp") as host:
            await early(host)
            # What a clean end leaves are snapshots, what a crash leaves is a log.
            assert await host.stop() == 0
            await interrupt(data / STORE)
            await host.start()
            async with AsyncExitStack() as stack:
                last = await late(host, stack)
                await host.kill()
        files = {file: (data / file).read_bytes() for file in FILES}
        shown = await showing(scratch, files)
        stored = await folded(scratch, files)
    (target / f"{NAME}.tar.gz").write_bytes(packed(files))
    told = orjson.dumps({"stored": stored, "last": last, **shown})
    (target / f"{NAME}.json.gz").write_bytes(gzip.compress(told, mtime=0))


async def early(host: ServedHost) -> None:
    await tool_calls(host.url)
    await everything(host.url)
    await cut_short(host.url)
    await several_chats(host.url)
    await forked(host.url)
    await notes(host.url)
    await thrown_away(host.url)
    await failed(host.url)


async def tool_calls(url: str) -> None:
    """Tool calls that ended in every way."""
    async with at_chat(url, "calls", provider="demo", workingDirectories=[WORK]) as chat:
        await chat.run("t1", "/tool")
        await answered(chat, "t2", "/run echo one", True, selectedOptionId="allow-once")
        await answered(chat, "t3", "/run echo two", True, editedToolInput="echo three")
        await answered(chat, "t4", "/run rm x", False, reasonMessage="not that one")
        suggestion = user_message("look first")
        await answered(chat, "t5", "/edit a.txt b", False, userSuggestion=suggestion)
        await answered(chat, "t6", "/edit a.txt b", True)
        for turn, approved in (("t7", True), ("t8", False)):
            await chat.start(turn, "/review")
            call = await call_in(chat.client, chat.uri, "pending-result-confirmation")
            await chat.answer(result_confirmed(turn, call, approved))
            await chat.end(turn)
        tool = {"name": "look", "title": "Look", "inputSchema": {"type": "object"}}
        entry = {"clientId": chat.client.client_id, "displayName": "Me", "tools": [tool]}
        offered = {"type": "session/activeClientSet", "activeClient": entry}
        await chat.client.accepted(chat.session, offered)
        for turn, success in (("t9", True), ("t10", False)):
            await chat.start(turn, '/client-tool look {"at": 1}')
            call = await call_in(chat.client, chat.uri, "running")
            await chat.answer(completed(turn, call, success))
            await chat.end(turn)
        await chat.start("t11", "/run sleep 60")
        await call_in(chat.client, chat.uri, "pending-confirmation")
        await chat.cancel("t11")
        await chat.end("t11")


async def answered(chat: Chat, turn: str, text: str, approved: bool, **more: Any) -> None:
    await chat.start(turn, text)
    call = await call_in(chat.client, chat.uri, "pending-confirmation")
    await chat.answer(confirmed(turn, call, approved, **more))
    await chat.end(turn)


async def everything(url: str) -> None:
    """Every part of an answer, questions, an error, a cancelled turn."""
    async with at_chat(url, "everything", provider="keeper", workingDirectories=[WORK]) as chat:
        await chat.run("t1", "everything")
        await chat.client.accepted(chat.session, {"type": "session/isReadChanged", "isRead": True})
    async with at_chat(url, "questions", provider="demo") as chat:
        await chat.start("t1", "/ask")
        request = await request_in(chat.client, chat.uri)
        answers = {
            "name": submitted("text", "Ada"),
            "age": submitted("number", 36),
            "happy": submitted("boolean", True),
            "colour": submitted("selected", "red"),
            "fruit": submitted("selected-many", ["apple", "plum"]),
        }
        await chat.answer(input_completed(request, answers))
        await chat.end("t1")
        await chat.start("t2", "/ask")
        await chat.answer(
            input_completed(await request_in(chat.client, chat.uri), response="decline")
        )
        await chat.end("t2")
        await chat.run("t3", "/fail")
        await chat.start("t4", "/slow 60")
        await chat.client.working_slowly(chat.uri)
        await chat.cancel("t4")
        await chat.end("t4")
        await chat.run("t5", "/fail")


async def cut_short(url: str) -> None:
    """A chat whose end was cut off, with a draft and messages that wait."""
    async with at_chat(url, "truncated", provider="demo") as chat:
        for turn in ("t1", "t2", "t3", "t4"):
            await chat.run(turn, f"say {turn}")
        await chat.answer({"type": "chat/truncated", "turnId": "t2"})
        await chat.run("t5", "differently")
        await chat.run("t6", "/fail")
        queued = {"type": "chat/pendingMessageSet", "kind": "queued"}
        for id in ("q1", "q2"):
            message = user_message(f"later {id}")
            await chat.client.dispatched(chat.uri, {**queued, "id": id, "message": message})
        await chat.answer({"type": "chat/draftChanged", "draft": user_message("not yet")})


async def several_chats(url: str) -> None:
    """A fork, a side chat, a worker, and a message that refers to another chat."""
    async with at_chat(url, "chats", provider="demo") as chat:
        for turn in ("t1", "t2"):
            await chat.run(turn, f"say {turn}")
        fork, side = "ahp-chat:/fork", "ahp-chat:/side"
        for uri, kind in ((fork, "fork"), (side, "sideChat")):
            source = {"kind": kind, "chat": chat.uri, "turnId": "t1"}
            await chat.client.request("createChat", channel=chat.session, chat=uri, source=source)
            await chat.client.subscribe(uri)
            await chat.client.run_turn(uri, "f1", f"in the {kind}")
        attachment = {"type": "chat", "label": "over there", "resource": fork}
        message = user_message("look", attachments=[attachment])
        await chat.answer({**chat.client.turn_started("t3", ""), "message": message})
        await chat.end("t3")
        await chat.run("t4", "/subagent /fail")
        await chat.run("t5", "/subagent hello")


async def forked(url: str) -> None:
    """A session that began as a copy of another."""
    fork = {"session": "ahp-session:/chats", "turnId": "t2"}
    async with at_chat(url, "forked", provider="demo", fork=fork) as chat:
        await chat.run("n1", "on my own")
        archived = {"type": "session/isArchivedChanged", "isArchived": True}
        await chat.client.accepted(chat.session, archived)


async def notes(url: str) -> None:
    """Annotations with a turn and without, by people and by the agent."""
    async with at_chat(url, "notes", provider="keeper", workingDirectories=[WORK]) as chat:
        await chat.run("t1", "note n1")
        await chat.run("t2", "hello")
        uri = f"{chat.session}/annotations"
        await chat.client.subscribe(uri)
        other = "ahp-chat:/notes-other"
        await chat.client.request("createChat", channel=chat.session, chat=other)
        await chat.client.subscribe(other)
        await chat.client.run_turn(other, "o1", "elsewhere")
        for id, turn in (("n2", "t2"), ("n3", ""), ("n4", "o1")):
            await chat.client.accepted(
                uri, {"type": "annotations/set", "annotation": note(id, turn)}
            )
        updated = {"type": "annotations/updated", "annotationId": "n2", "resolved": True}
        await chat.client.accepted(uri, updated)
        # The turn that n2 is about is there no more.
        await chat.answer({"type": "chat/truncated", "turnId": "t1"})


def note(id: str, turn: str) -> Json:
    entry = {"id": "e1", "text": "look here"}
    place = {"resource": "file:///work/a.py", "range": RANGE}
    return {"id": id, "turnId": turn, **place, "resolved": False, "entries": [entry]}


async def thrown_away(url: str) -> None:
    """A session in the trash, with everything in it."""
    async with at_chat(url, "trashed", provider="demo") as chat:
        await chat.run("t1", "hello")
        await chat.run("t2", "/fail")
        side = "ahp-chat:/trashed-side"
        source = {"kind": "sideChat", "chat": chat.uri, "turnId": "t2"}
        await chat.client.request("createChat", channel=chat.session, chat=side, source=source)
        uri = f"{chat.session}/annotations"
        await chat.client.subscribe(uri)
        for id, turn in (("a1", "t2"), ("a2", "")):
            await chat.client.accepted(
                uri, {"type": "annotations/set", "annotation": note(id, turn)}
            )
        await chat.answer({"type": "chat/draftChanged", "draft": user_message("not yet")})
        await chat.client.request("disposeSession", channel=chat.session)


async def failed(url: str) -> None:
    """A session whose agent does not start; ``interrupt`` makes it one that never came to be."""
    async with at_chat(url, "failed", provider="keeper", config={"mode": "broken"}) as chat:
        await chat.run("t1", "hello")


async def interrupt(path: Path) -> None:
    """Leave a session as a host does that is killed while it is being created."""
    async with SqliteStore(path) as store:
        loaded = await store.load_channel(FAILED)
        assert loaded is not None
        assert not loaded.tail
        state = {**orjson.loads(loaded.state), "lifecycle": "creating"}
        await store.write(SaveSnapshot(FAILED, loaded.kind, loaded.seq, orjson.dumps(state)))
        await store.seal(store.first_seq - 1)


async def late(host: ServedHost, stack: AsyncExitStack) -> Json:
    """What is open when the host is killed; returns what one client saw and did last."""
    await configured(host.url, stack)
    opened = open_client(host.url, "waiting")
    client = await stack.enter_async_context(opened)
    await client.initialize(ROOT)
    assert (await client.subscribe(FAILED))["lifecycle"] == "creationFailed"
    await waiting(client)
    return await streaming(client)


async def configured(url: str, stack: AsyncExitStack) -> None:
    """Settings, folders, an active client with a plugin that is switched off."""
    server = {"type": "mcpServer", "id": "p1/s", "uri": "mcp:/s", "name": "S", "enabled": False}
    skill = {"type": "skill", "id": "p1/k", "uri": "skill:/k", "name": "K", "enabled": False}
    plugins: list[Json] = [
        {
            "type": "plugin",
            "id": "p1",
            "uri": "plugin:/one",
            "name": "One",
            "enabled": False,
            "children": [{**server, "state": {"kind": "starting"}}, skill],
        },
        {"type": "plugin", "id": "p2", "uri": "plugin:/two", "name": "Two", "enabled": True},
    ]
    tool = {"name": "look", "inputSchema": {"type": "object"}}
    entry = {"clientId": "configured 0", "tools": [tool], "customizations": plugins}
    options: Json = {
        "config": {"mode": "act", "depth": 5},
        "workingDirectories": [WORK, "file:///tmp"],
        "activeClient": entry,
    }
    chat = await stack.enter_async_context(at_chat(url, "configured", provider="keeper", **options))
    await chat.run("t1", "hello")
    changed = {"type": "session/configChanged", "config": {"depth": 7}}
    await chat.client.accepted(chat.session, changed)
    gone = {"type": "session/workingDirectoryRemoved", "directory": "file:///tmp"}
    await chat.client.accepted(chat.session, gone)
    renamed = {"type": "session/titleChanged", "title": "All set"}
    await chat.client.accepted(chat.session, renamed)
    welcome = {"type": "root/configChanged", "config": {"welcome": "hello, old friend"}}
    await chat.client.subscribe(ROOT)
    await chat.client.accepted(ROOT, welcome)


async def waiting(client: WireClient) -> None:
    """Turns that wait for somebody, one in each chat."""
    session = "ahp-session:/waiting"
    tool = {"name": "look", "inputSchema": {"type": "object"}}
    entry = {"clientId": client.client_id, "tools": [tool]}
    first = await client.ready_session(
        session, provider="demo", workingDirectories=[WORK], activeClient=entry
    )
    chats = [first, *(f"ahp-chat:/waiting-{number}" for number in range(1, 5))]
    for chat in chats[1:]:
        await client.request("createChat", channel=session, chat=chat)
    for chat in chats:
        await client.subscribe(chat)
        await client.run_turn(chat, "t1", "hello")
    await client.start_turn(chats[0], "t2", "/run echo hello")
    await call_in(client, chats[0], "pending-confirmation")
    await client.start_turn(chats[1], "t2", "/review")
    await call_in(client, chats[1], "pending-result-confirmation")
    await client.start_turn(chats[2], "t2", "/client-tool look {}")
    await call_in(client, chats[2], "running")
    await client.start_turn(chats[3], "t2", "/ask")
    request = await request_in(client, chats[3])
    half = {"type": "chat/inputAnswerChanged", "requestId": request["id"], "questionId": "name"}
    answer = {"state": "draft", "value": {"kind": "text", "value": "Ad"}}
    await client.accepted(chats[3], {**half, "answer": answer})
    await client.start_turn(chats[4], "t2", "/subagent /slow 3600")
    await call_in(client, chats[4], "running")


async def streaming(client: WireClient) -> Json:
    """Turns that are at work; returns what the client saw, and an action of it it may repeat."""
    session = "ahp-session:/streaming"
    first = await client.ready_session(session, provider="keeper", workingDirectories=[WORK])
    chats = [first, *(f"ahp-chat:/streaming-{number}" for number in range(1, 4))]
    for chat in chats[1:]:
        await client.request("createChat", channel=session, chat=chat)
        await client.subscribe(chat)
    for chat, where in zip(chats[1:], ("streaming", "running", "auth"), strict=True):
        await client.start_turn(chat, "t1", f"hang {where}")
        status = "auth-required" if where == "auth" else where
        await call_in(client, chat, status)
    await client.subscribe(first)
    await client.run_turn(first, "t1", "everything")
    await client.start_turn(first, "t2", "hang text")
    await client.action(first, "chat/delta", content="half a sente")
    uri = f"{session}/annotations"
    await client.subscribe(uri)
    seen = client.last_seen
    action = {"type": "annotations/set", "annotation": note("last", "t2")}
    envelope = await client.accepted(uri, action)
    queued = {"type": "chat/pendingMessageSet", "kind": "queued", "id": "q1"}
    await client.accepted(first, {**queued, "message": user_message("and then")})
    return {
        "clientId": client.client_id,
        "lastSeen": seen,
        "sent": [{"channel": uri, "clientSeq": envelope["origin"]["clientSeq"], "action": action}],
    }


async def showing(scratch: Path, files: dict[str, bytes]) -> Json:
    """Start a host on a copy, and return what it shows a client of 0.7.0."""
    data = unpacked(scratch / "shown", files)
    async with (
        serve(data, *AGENTS, "--root", "/tmp") as host,
        open_client(host.url, "looks") as client,
    ):
        await client.initialize(ROOT)
        return await shown_to(client)


async def shown_to(client: WireClient) -> Json:
    """Return everything that a host shows to a client of 0.7.0, the trash last."""
    listed = await client.request("listSessions", limit=100)
    assert "nextCursor" not in listed
    trash = (await client.request("agenthost/listTrash"))["items"]
    for item in trash:
        await client.request("agenthost/restoreSession", channel=item["session"])
    channels: dict[str, Json] = {ROOT: await client.fresh(ROOT)}
    sessions = [item["resource"] for item in listed["items"]]
    for session in [*sessions, *(item["session"] for item in trash)]:
        channels[session] = await client.fresh(session)
        channels[f"{session}/annotations"] = await client.fresh(f"{session}/annotations")
        for chat in channels[session]["chats"]:
            channels[chat["resource"]] = await client.fresh(chat["resource"])
    contents = {}
    for uri in sorted(references(channels)):
        contents[uri] = await client.request("resourceRead", uri=uri)
    summaries = {item["resource"]: item for item in listed["items"]}
    return {"summaries": summaries, "trash": trash, "channels": channels, "contents": contents}


def references(value: Any) -> Iterator[str]:
    """Yield the URIs of stored contents in a state."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)
    elif isinstance(value, str) and value.startswith("ahp-content:"):
        yield value


async def folded(scratch: Path, files: dict[str, bytes]) -> Json:
    """Return the state of each channel as its snapshot and its log make it, with no host."""
    path = unpacked(scratch / "folded", files) / STORE
    states = {}
    async with SqliteStore(path) as store:
        owners = await store.records("owners")
        page = await store.page_sessions(100)
        for uri in sorted({ROOT, *owners, *(session for session, _ in page.items)}):
            loaded = await store.load_channel(uri)
            assert loaded is not None
            state = orjson.loads(loaded.state)
            for entry in loaded.tail:
                action = orjson.loads(entry.action)
                state = reduce(loaded.kind, state, action, now=entry.now)
            states[uri] = {"kind": loaded.kind, "state": state}
    return states


def unpacked(directory: Path, files: dict[str, bytes]) -> Path:
    directory.mkdir()
    for name, data in files.items():
        (directory / name).write_bytes(data)
    return directory


def packed(files: dict[str, bytes]) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return gzip.compress(held.getvalue(), mtime=0)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
