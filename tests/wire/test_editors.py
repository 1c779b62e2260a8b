"""What editors send that the protocol's text does not have: understood, and done right."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import Turn
from agenthost.host import Host
from agenthost.protocol.uris import ROOT
from tests.wire.agents import Puppet
from tests.wire.client import WireClient, open_client, user_message
from tests.wire.hosting import ServedHost, embed
from tests.wire.talking import at_chat, input_completed, request_in, said, submitted

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]

NOT_FOUND = -32008
ASK: dict[str, Any] = {"config": {"mode": "ask"}}


def types(client: WireClient, channel: str) -> list[str]:
    return [envelope["action"]["type"] for envelope in client.envelopes[channel]]


async def test_what_can_only_concern_the_root_need_not_name_it(shared_host: ServedHost) -> None:
    async with open_client(shared_host.url, "nameless") as client:
        opening = {"protocolVersions": [client.version], "clientId": "nameless"}
        frames = [
            {"id": 1, "method": "ping", "params": {}},
            {"id": 2, "method": "initialize", "params": opening},
            {"id": 3, "method": "ping", "params": {}},
            {"id": 4, "method": "listSessions", "params": {}},
        ]
        for frame in frames:
            await client.send(frame)
        for id in range(1, 5):
            answer = await client.until(lambda id=id: find(client, id))  # type: ignore[misc]
            assert "error" not in answer, answer
    async with open_client(shared_host.url, "nameless") as client:
        params = {"clientId": "nameless", "lastSeenServerSeq": 10**9, "subscriptions": []}
        await client.send({"id": 1, "method": "reconnect", "params": params})
        answer = await client.until(lambda: find(client, 1))
        assert answer["result"]["type"] in ("replay", "snapshot")


def find(client: WireClient, id: int) -> Json | None:
    return next((message for message in client.received if message.get("id") == id), None)


async def test_a_client_that_was_forgotten_is_told_to_start_over(shared_host: ServedHost) -> None:
    async with open_client(shared_host.url, "never met") as client:
        params = {"clientId": "never met", "lastSeenServerSeq": 3, "subscriptions": [ROOT]}
        assert (await client.refusal("reconnect", **params)).code == NOT_FOUND
        await client.initialize(ROOT)


async def test_settings_of_other_hosts_are_kept_and_never_taken_for_repeated() -> None:
    async with embed(Puppet()) as url, open_client(url, "editor") as client:
        await client.initialize(ROOT)
        before = client.states[ROOT]["config"]["values"]
        await client.send({"method": "setClientManagedSettingsPermissions", "params": {"x": 1}})
        settings: list[Json] = [
            {"telemetryLevel": "off"},
            {"trust": {"enabled": True}},
            {"rules": ["a"]},
        ]
        for config in settings:
            action = {"type": "root/configChanged", "config": config}
            params = {"channel": ROOT, "clientSeq": 0, "action": action}
            await client.send({"method": "dispatchAction", "params": params})
        await client.ping()
        values = client.states[ROOT]["config"]["values"]
        assert values == {**before, **settings[0], **settings[1], **settings[2]}
        mirrored, fresh = await client.compared(ROOT)
        assert mirrored == fresh


async def test_who_asks_for_no_page_gets_all_sessions() -> None:
    async with Host([Puppet()]) as host:
        object.__setattr__(host.core.limits, "max_sessions_page", 2)
        url = await host.listen(port=0)
        async with open_client(url) as client:
            await client.initialize()
            for number in range(5):
                await client.request("createSession", channel=f"s:/{number}", **ASK)
            everything = await client.request("listSessions")
            assert len(everything["items"]) == 5
            assert "nextCursor" not in everything
            page = await client.request("listSessions", limit=2)
            assert len(page["items"]) == 2
            assert "nextCursor" in page


async def test_answers_that_were_typed_are_read_as_what_was_asked(shared_host: ServedHost) -> None:
    async with at_chat(shared_host.url, "typed", "0.5.0") as chat:
        await chat.start("t1", "/ask")
        request = await request_in(chat.client, chat.uri)
        draft = {"state": "draft", "value": {"kind": "text", "value": "1.7"}}
        changed = {"type": "chat/inputAnswerChanged", "requestId": request["id"]}
        await chat.answer({**changed, "questionId": "height", "answer": draft})
        answers = {
            "name": submitted("text", "12"),
            "age": submitted("text", " 42 "),
            "height": submitted("text", "1.75"),
            "happy": submitted("selected", "Yes"),
        }
        await chat.answer(input_completed(request, answers))
        text = said(await chat.end("t1"))
        lines = {'- name: "12"', "- age: 42", "- height: 1.75", "- happy: true"}
        assert set(text.splitlines()) == lines
        # Whoever typed it is told what was made of it.
        await chat.assert_at_rest()


async def test_renaming_a_chat_by_the_sessions_action_renames_it_for_everybody(
    shared_host: ServedHost,
) -> None:
    async with (
        open_client(shared_host.url, "renamer") as editor,
        open_client(shared_host.url, "rename watcher") as watcher,
    ):
        await editor.initialize()
        await watcher.initialize(ROOT)
        session, second = "ahp-session:/renamed", "ahp-chat://2/renamed"
        chat = await editor.ready_session(session)
        await editor.request("createChat", channel=session, chat=second)
        await watcher.subscribe(session)
        for uri in (chat, second):
            await editor.subscribe(uri)
            action = {"type": "session/titleChanged", "title": f"New name of {uri}"}
            await editor.accepted(uri, action)
        await watcher.ping()
        for client in (editor, watcher):
            titles = {c["resource"]: c["title"] for c in client.states[session]["chats"]}
            assert titles == {chat: f"New name of {chat}", second: f"New name of {second}"}
            # The session goes by its default chat.
            assert client.states[session]["title"] == f"New name of {chat}"


async def test_an_action_that_is_sent_again_after_a_reconnect_is_done_once() -> None:
    async with Host([Puppet()]) as host:
        url = await host.listen(port=0)
        async with open_client(url, "editor") as former:
            await former.initialize(ROOT)
            chat = await former.ready_session("s:/1", **ASK)
            await former.subscribe(chat)
            last_seen = former.last_seen
            queued: Json = {"type": "chat/pendingMessageSet", "kind": "queued", "id": "q1"}
            queued["message"] = user_message("once")
            title = {"type": "session/titleChanged", "title": "Mine"}
            seqs = [await former.dispatch(chat, queued), await former.dispatch("s:/1", title)]
            await former.action(chat, "chat/turnComplete")
            former.abort()
        async with open_client(url, "editor") as client:
            # It saw none of the answers.
            await client.reconnect(last_seen, ROOT, "s:/1", chat)
            for seq, (channel, action) in zip(seqs, ((chat, queued), ("s:/1", title)), strict=True):
                params = {"channel": channel, "clientSeq": seq, "action": action}
                await client.send({"method": "dispatchAction", "params": params})
            again = await client.envelope(
                chat, lambda e: (e.get("origin") or {}).get("clientSeq") == seqs[0] and
                e["serverSeq"] > former.last_seen
            )  # fmt: skip
            assert "done already" in again["rejectionReason"]
            await client.ping()
            state = await client.fresh(chat)
            assert [turn["message"]["text"] for turn in state["turns"]] == ["once"]
            assert "activeTurn" not in state
            assert "queuedMessages" not in state
            # The same number, for something else, counts.
            other = {"type": "session/titleChanged", "title": "Another"}
            params = {"channel": "s:/1", "clientSeq": seqs[1], "action": other}
            await client.send({"method": "dispatchAction", "params": params})
            await client.ping()
            assert (await client.fresh("s:/1"))["title"] == "Another"


@pytest.mark.parametrize("how", ["stopped", "read by nobody"])
async def test_a_steering_message_does_not_outlive_its_turn(how: str) -> None:
    puppet = Puppet()
    async with embed(puppet) as url, open_client(url) as client:
        await client.initialize()
        chat = await client.ready_session("s:/1", **ASK)
        await client.subscribe(chat)
        await client.start_turn(chat, "t1", "/wait")
        for kind in ("queued", "steering"):
            message = user_message(kind)
            action = {"type": "chat/pendingMessageSet", "kind": kind, "id": kind}
            await client.accepted(chat, {**action, "message": message})
        if how == "stopped":
            cancel = {"type": "chat/turnCancelled", "turnId": "t1", "duration": 1}
            await client.accepted(chat, cancel)
            await client.action(chat, "chat/pendingMessageRemoved")
            assert "steeringMessage" not in client.states[chat]
            # What was queued is held until somebody acts.
            assert [q["id"] for q in client.states[chat]["queuedMessages"]] == ["queued"]
            return
        puppet.may_finish.set()
        await client.until(lambda: {} if len(client.states[chat]["turns"]) == 3 else None)
        texts = [turn["message"]["text"] for turn in client.states[chat]["turns"]]
        assert texts == ["/wait", "steering", "queued"]
        await client.ping()
        mirrored, fresh = await client.compared(chat)
        assert mirrored == fresh


class Breaking(Puppet):
    """Fails once it may finish."""

    async def run(self, turn: Turn) -> None:
        await self.may_finish.wait()
        raise RuntimeError("broken")


async def steer(client: WireClient, chat: str) -> None:
    """Start a turn that waits, queue a message and steer."""
    await client.start_turn(chat, "t1", "/wait")
    for kind in ("queued", "steering"):
        action = {"type": "chat/pendingMessageSet", "kind": kind, "id": f"{kind} message"}
        await client.accepted(chat, {**action, "message": user_message(kind)})


def moves(client: WireClient, chat: str) -> list[tuple[str, ...]]:
    """Return what became of the steering message since the first turn ended, as it was told."""
    actions = [envelope["action"] for envelope in client.envelopes[chat]]
    ends = [action["type"] in ("chat/turnComplete", "chat/error") for action in actions]
    told: list[tuple[str, ...]] = []
    for action in actions[ends.index(True) + 1 :]:
        if action["type"].startswith("chat/pendingMessage"):
            told.append((action["type"], action["kind"], action["id"]))
        elif action["type"] == "chat/turnStarted":
            told.append((action["type"], action["message"]["text"]))
    return told


QUEUED_AGAIN = [
    ("chat/pendingMessageRemoved", "steering", "steering message"),
    ("chat/pendingMessageSet", "queued", "steering message"),
]


async def test_everybody_sees_how_steering_that_nobody_read_becomes_the_next_turn() -> None:
    puppet = Puppet()
    async with (
        embed(puppet) as url,
        open_client(url) as client,
        open_client(url, "watcher") as watcher,
    ):
        await client.initialize()
        chat = await client.ready_session("s:/1", **ASK)
        await client.subscribe(chat)
        await watcher.initialize(chat)
        await steer(client, chat)
        puppet.may_finish.set()
        started = await watcher.action(chat, "chat/turnStarted", queuedMessageId="steering message")
        assert started["message"]["text"] == "steering"
        await watcher.until(lambda: {} if len(watcher.states[chat]["turns"]) == 3 else None)
        assert moves(watcher, chat)[:4] == [
            *QUEUED_AGAIN,
            ("chat/pendingMessageRemoved", "queued", "steering message"),
            ("chat/turnStarted", "steering"),
        ]


async def test_steering_that_nobody_read_waits_in_the_queue_after_an_error() -> None:
    breaking = Breaking()
    async with (
        embed(breaking) as url,
        open_client(url) as client,
        open_client(url, "watcher") as watcher,
    ):
        await client.initialize()
        chat = await client.ready_session("s:/1", **ASK)
        await client.subscribe(chat)
        await watcher.initialize(chat)
        await steer(client, chat)
        breaking.may_finish.set()
        assert (await watcher.turn_end(chat, "t1"))["type"] == "chat/error"
        await watcher.action(chat, "chat/queuedMessagesReordered")
        mirrored, fresh = await watcher.compared(chat)
        assert mirrored == fresh
        # In front of what was queued, and like that held until somebody acts.
        assert moves(watcher, chat) == QUEUED_AGAIN
        assert "steeringMessage" not in fresh
        assert "activeTurn" not in fresh
        queued = [(each["id"], each["message"]["text"]) for each in fresh["queuedMessages"]]
        assert queued == [("steering message", "steering"), ("queued message", "queued")]


async def test_steering_that_nobody_read_overwrites_no_queued_message_of_its_name() -> None:
    puppet = Puppet()
    async with embed(puppet) as url, open_client(url) as client:
        await client.initialize()
        chat = await client.ready_session("s:/1", **ASK)
        await client.subscribe(chat)
        await client.start_turn(chat, "t1", "/wait")
        for kind in ("queued", "steering"):
            action = {"type": "chat/pendingMessageSet", "kind": kind, "id": "same"}
            await client.accepted(chat, {**action, "message": user_message(kind)})
        puppet.may_finish.set()
        await client.until(lambda: {} if len(client.states[chat]["turns"]) == 3 else None)
        texts = [turn["message"]["text"] for turn in client.states[chat]["turns"]]
        assert texts == ["/wait", "steering", "queued"]
        await client.ping()
        mirrored, fresh = await client.compared(chat)
        assert mirrored == fresh


async def test_a_result_is_reviewed_only_where_somebody_can_show_it(
    shared_host: ServedHost,
) -> None:
    editor = {"clientInfo": {"name": "vscode-editor-window"}}
    async with open_client(shared_host.url, "no reviews") as client:
        await client.initialize(**editor)
        chat = await client.ready_session("ahp-session:/no-reviews")
        await client.subscribe(chat)
        await client.run_turn(chat, "t1", "/review")
        (part,) = (p for p in client.states[chat]["turns"][0]["responseParts"] if "toolCall" in p)
        assert part["toolCall"]["status"] == "completed"
        assert part["toolCall"]["content"][0]["text"] == "All is well."
        async with open_client(shared_host.url, "can review") as other:
            await other.initialize(chat)
            await client.start_turn(chat, "t2", "/review")
            await client.until(lambda: {} if "pending-result" in str(client.states[chat]) else None)
            call = client.states[chat]["activeTurn"]["responseParts"][0]["toolCall"]
            confirmed = {"type": "chat/toolCallResultConfirmed", "turnId": "t2", "approved": True}
            await other.accepted(chat, {**confirmed, "toolCallId": call["toolCallId"]})
            await client.turn_end(chat, "t2")


async def test_commands_of_the_agent_are_offered_while_one_is_typed(
    shared_host: ServedHost,
) -> None:
    async with open_client(shared_host.url, "completes") as client:
        told = await client.initialize()
        assert told["completionTriggerCharacters"] == ["/", "@", "#"]
        chat = await client.ready_session("ahp-session:/completes")

        async def offered(text: str, offset: int) -> list[Json]:
            params: Json = {"channel": chat, "kind": "userMessage", "text": text, "offset": offset}
            items: list[Json] = (await client.request("completions", **params))["items"]
            return items

        (item,) = await offered("/ru", 3)
        assert (item["insertText"], item["rangeStart"], item["rangeEnd"]) == ("/run ", 0, 3)
        meta = item["attachment"]["_meta"]
        assert (meta["command"], meta["argumentHint"]) == ("run", "CMD")
        assert "backtick" not in meta["description"]
        assert len(await offered("/", 1)) > 5
        for text, offset in (("", 0), ("/run ls", 7), ("say /", 5), ("/", 0)):
            assert await offered(text, offset) == []
        # VS Code names the session, whichever of its chats is open.
        params: Json = {"kind": "userMessage", "text": "/ru", "offset": 3}
        named = await client.request("completions", channel="ahp-session:/completes", **params)
        assert named["items"] == [item]


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True)


async def test_a_session_in_a_repository_tells_of_git_and_so_does_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GIT_DIR")
    git(tmp_path, "init", "-q", "-b", "trunk")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    puppet = Puppet()
    async with Host([puppet], default_directory=tmp_path) as host:
        url = await host.listen(port=0)
        async with open_client(url) as client:
            await client.initialize(ROOT)
            chat = await client.ready_session("s:/1", **ASK)
            await client.subscribe(chat)
            expected = {
                "branchName": "trunk",
                "isDetachedHead": False,
                "hasGitRemote": False,
                "hasGitHubRemote": False,
                "uncommittedChanges": 0,
            }
            state = client.states
            await client.until(lambda: state["s:/1"].get("_meta"))
            assert state["s:/1"]["_meta"]["git"] == expected
            (tmp_path / "new.txt").write_text("new")
            await client.run_turn(chat, "t1", "hello")
            await client.until(
                lambda: {} if state["s:/1"]["_meta"]["git"]["uncommittedChanges"] else None
            )
            await client.ping()
            (summary,) = (await client.request("listSessions"))["items"]
            assert summary["_meta"]["git"] == {**expected, "uncommittedChanges": 1}
            told = [
                message["params"]["changes"]["_meta"]
                for message in client.received
                if "_meta" in message.get("params", {}).get("changes", {})
            ]
            assert told[-1] == summary["_meta"]
