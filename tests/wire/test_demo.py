"""The demo agent's commands on the wire: what everybody sees, and what each answer leads to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents.demo import Demo
from agenthost.protocol import SUPPORTED_VERSIONS
from tests.wire.client import open_client, user_message
from tests.wire.demonstrating import OPTIONS, asked, demo
from tests.wire.hosting import ServedHost
from tests.wire.schemas import complaints_about, needs_schemas
from tests.wire.talking import (
    IDLE,
    INPUT_NEEDED,
    NEWEST,
    OLDEST,
    Chat,
    call_in,
    calls_of,
    confirmed,
    input_completed,
    parts_of,
    request_in,
    result_confirmed,
    said,
    submitted,
)
from tests.wire.wording import failure_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]


async def test_a_plain_message_is_answered_in_markdown_that_streams(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    async with demo(shared_host, tmp_path, OLDEST) as chat:
        turn = await chat.run("t1", "hello")
        assert turn["state"] == "complete"
        assert said(turn).startswith("You said **hello**.")
        types = [envelope["action"]["type"] for envelope in chat.client.envelopes[chat.uri]]
        assert types.count("chat/delta") > 3
        await chat.assert_at_rest()


async def test_help_names_every_command(shared_host: ServedHost, tmp_path: Path) -> None:
    async with demo(shared_host, tmp_path) as chat:
        turn = await chat.run("t1", "/help")
        for name in Demo.commands:
            assert f"- `/{name}` " in said(turn)


async def test_stream_sends_as_many_pieces_of_the_size_that_was_asked_for(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    async with demo(shared_host, tmp_path, OLDEST) as chat:
        turn = await chat.run("t1", "/stream 300 10")
        assert said(turn) == "".join(f"{number} ".ljust(10, ".") for number in range(300))
        turn = await chat.run("t2", "/stream 2")
        assert len(said(turn)) == 2 * 24
        await chat.assert_at_rest()


async def test_think_shows_reasoning_before_its_answer(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    async with demo(shared_host, tmp_path) as chat:
        turn = await chat.run("t1", "/think")
        assert [part["kind"] for part in turn["responseParts"]] == ["reasoning", "markdown"]
        assert turn["responseParts"][0]["content"].endswith("Here is one.")


async def test_tool_streams_its_parameters_and_runs_without_asking(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").touch()
    (tmp_path / "b").mkdir()
    async with demo(shared_host, tmp_path, OLDEST) as chat:
        turn = await chat.run("t1", "/tool")
        actions = [envelope["action"] for envelope in chat.client.envelopes[chat.uri]]
        steps = [action for action in actions if action["type"].startswith("chat/toolCall")]
        assert [step["type"].removeprefix("chat/toolCall") for step in steps] == [
            *("Start", "Delta", "Delta", "Delta", "Delta", "Ready", "Complete")
        ]
        assert "".join(step.get("content", "") for step in steps) == '{"path": "."}'
        (call,) = calls_of(turn)
        assert call["status"] == "completed"
        assert (call["confirmed"], call["success"]) == ("not-needed", True)
        assert call["toolInput"] == '{"path": "."}'
        assert call["intention"] == "see what is here"
        assert call["content"] == [{"type": "text", "text": "a.txt\nb"}]
        assert said(turn) == "There are 2 entries."
        await chat.assert_at_rest()


def shown_changes(chat: Chat) -> Json | None:
    (summary,) = chat.client.states[chat.session]["chats"]
    changes: Json | None = summary.get("changes")
    return changes


@pytest.mark.parametrize("old", [None, "one\ntwo\n"], ids=["new file", "old file"])
async def test_edit_shows_the_change_and_makes_it_once_approved(
    shared_host: ServedHost, tmp_path: Path, old: str | None
) -> None:
    path = tmp_path / "a.txt"
    if old is not None:
        path.write_text(old)
    async with demo(shared_host, tmp_path, OLDEST) as chat:
        call = await asked(chat, "t1", "/edit a.txt one and a half")
        (call,) = (part["toolCall"] for part in parts_of(chat.state, "toolCall"))
        (edit,) = call["edits"]["items"]
        assert edit["after"]["uri"] == path.as_uri()
        after = await chat.client.request("resourceRead", uri=edit["after"]["content"]["uri"])
        assert after["data"] == "one and a half\n"
        if old is None:
            assert "before" not in edit
        else:
            before = await chat.client.request("resourceRead", uri=edit["before"]["content"]["uri"])
            assert before["data"] == old
        assert edit["diff"] == {"added": 1, "removed": 2 if old else 0}
        assert path.exists() == (old is not None)
        assert "editable" not in call
        await chat.answer(confirmed("t1", call, True, selectedOptionId="allow-once"))
        turn = await chat.end("t1")
        assert path.read_text() == "one and a half\n"
        (call,) = calls_of(turn)
        assert call["content"] == [{"type": "fileEdit", **edit}]
        assert said(turn) == "`a.txt` is written."
        # What a turn changed is counted after its end.
        await chat.client.until(lambda: shown_changes(chat))
        await chat.assert_at_rest()


async def test_an_edit_that_is_denied_changes_nothing(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("as it was")
    async with demo(shared_host, tmp_path) as chat:
        call = await asked(chat, "t1", "/edit a.txt otherwise")
        await chat.answer(confirmed("t1", call, False, selectedOptionId="deny"))
        assert said(await chat.end("t1")) == "Then I will not."
        assert path.read_text() == "as it was"
        await chat.assert_at_rest()


async def test_an_edit_of_what_has_changed_since_it_was_shown_is_not_made(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("as it was")
    async with demo(shared_host, tmp_path) as chat:
        call = await asked(chat, "t1", "/edit a.txt otherwise")
        path.write_text("somebody else was here")
        await chat.answer(confirmed("t1", call, True))
        turn = await chat.end("t1")
        assert failure_of(turn)["message"] == "a.txt has changed in the meantime"
        (call,) = calls_of(turn)
        assert (call["status"], call["success"]) == ("completed", False)
        assert path.read_text() == "somebody else was here"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("/edit ../outside text", "../outside lies outside of the working directories"),
        ("/edit /etc/passwd text", "/etc/passwd lies outside of the working directories"),
        ("/edit link/inside text", "link/inside lies outside of the working directories"),
        ("/edit folder text", "folder is no file"),
        ("/edit binary text", "binary cannot be read as text"),
        ("/edit a\0b text", "a\0b lies outside of the working directories"),
        ("/edit", "usage: /edit PATH TEXT"),
        ("/run", "usage: /run CMD"),
        ("/stream", "usage: /stream N [BYTES]"),
        ("/stream 1 2 3", "usage: /stream N [BYTES]"),
        ("/stream many", "usage: /stream N [BYTES]"),
        ("/stream 99999999999", "that is more than I will stream"),
        ("/stream 1 0", "a piece has at least one byte"),
        (f"/slow {'9' * 5000}", "that is longer than I will wait"),
        ("/slow nan", "usage: /slow SECONDS"),
        ("/slow -1", "usage: /slow SECONDS"),
        ("/slow down", "usage: /slow SECONDS"),
        ("/slow 99999", "that is longer than I will wait"),
        ("/client-tool name {", "usage: /client-tool NAME JSON"),
        ("/client-tool name {}", "no attached client offers the tool name"),
        ("/nonsense", "unknown command /nonsense; /help lists what there is"),
        ("/fail", "the demo agent failed, as it was told to"),
    ],
)
async def test_what_cannot_be_done_ends_the_turn_with_an_error_that_says_so(
    shared_host: ServedHost, tmp_path: Path, text: str, error: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("/tmp")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    async with demo(shared_host, tmp_path, OLDEST) as chat:
        turn = await chat.run("t1", text)
        assert turn["state"] == "error"
        assert failure_of(turn)["message"] == error
        assert "stack" not in failure_of(turn)
        assert all(call["status"] in ("completed", "cancelled") for call in calls_of(turn))
        assert chat.waiting == []
        # The next turn is as good as any.
        await chat.run("t2", "hello")
        await chat.assert_at_rest()


async def test_a_session_without_a_folder_cannot_use_the_tools(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    async with demo(shared_host, tmp_path / "missing") as chat:
        turn = await chat.run("t1", "/tool")
        assert failure_of(turn)["message"] == "this session has no folder to work in"
        (call,) = calls_of(turn)
        assert (call["status"], call["success"]) == ("completed", False)
        assert call["error"]["message"] == failure_of(turn)["message"]


@pytest.mark.parametrize("answerer", [0, 1], ids=[NEWEST, OLDEST])
@pytest.mark.parametrize("approved", [True, False])
async def test_review_waits_until_somebody_judges_the_result(
    shared_host: ServedHost, tmp_path: Path, answerer: int, approved: bool
) -> None:
    async with demo(shared_host, tmp_path, OLDEST) as chat:
        call = await asked(chat, "t1", "/review", "pending-result-confirmation")
        await chat.client.ping()
        (needed,) = chat.waiting
        assert needed["kind"] == "toolConfirmation"
        assert needed["toolCall"]["content"] == [{"type": "text", "text": "All is well."}]
        assert await chat.status() == INPUT_NEEDED
        await chat.answer(result_confirmed("t1", call, approved), chat.clients[answerer])
        turn = await chat.end("t1")
        (call,) = calls_of(turn)
        if approved:
            assert (call["status"], call["success"]) == ("completed", True)
            assert said(turn) == "The report is accepted."
        else:
            assert (call["status"], call["reason"]) == ("cancelled", "result-denied")
            assert said(turn) == "The report is withdrawn."
        await chat.assert_at_rest()


async def test_slow_shows_what_it_does_and_echoes_whoever_steers_it(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    async with demo(shared_host, tmp_path, OLDEST) as chat:
        for number, client in enumerate(chat.clients):
            turn_id, text = f"t{number}", f"go {number}"
            await chat.start(turn_id, "/slow 1000")
            await client.working_slowly(chat.uri)
            steer = {"type": "chat/pendingMessageSet", "kind": "steering", "id": f"m{number}"}
            await chat.answer({**steer, "message": user_message(text)}, client)
            turn = await chat.end(turn_id)
            assert (turn["state"], said(turn)) == ("complete", f"You steer me: {text}")
            assert "activity" not in chat.state
            assert "steeringMessage" not in chat.state
        await chat.assert_at_rest()


async def test_slow_says_when_it_is_done(shared_host: ServedHost, tmp_path: Path) -> None:
    async with demo(shared_host, tmp_path, OLDEST) as chat:
        turn = await chat.run("t1", "/slow 1")
        assert (turn["state"], said(turn)) == ("complete", "Done after 1 seconds.")
        await chat.assert_at_rest()


@pytest.mark.parametrize(
    ("locale", "labels"),
    [
        (None, ["Allow once", "Allow in this session", "Deny", "Deny with a reason"]),
        ("de-AT", ["Einmal erlauben", "In dieser Sitzung erlauben", "Ablehnen",
                   "Mit Begründung ablehnen"]),
        ("ja", ["一度だけ許可", "このセッションで許可", "拒否", "理由を付けて拒否"]),
        ("tlh", ["Allow once", "Allow in this session", "Deny", "Deny with a reason"]),
    ],
)  # fmt: skip
async def test_choices_are_worded_in_the_language_of_whoever_started_the_turn(
    shared_host: ServedHost, tmp_path: Path, locale: str | None, labels: list[str]
) -> None:
    async with demo(shared_host, tmp_path, locale=locale) as chat:
        call = await asked(chat, "t1", "/run true")
        assert [option["label"] for option in call["options"]] == labels
        assert [option["id"] for option in call["options"]] == OPTIONS
        await chat.answer(confirmed("t1", call, False))
        await chat.end("t1")


async def test_a_queued_message_is_answered_in_the_language_of_its_author(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    async with (
        demo(shared_host, tmp_path, locale="en") as chat,
        open_client(shared_host.url, "jemand") as german,
    ):
        await german.initialize(chat.session, chat.uri, locale="de")
        await chat.start("t1", "/review")
        call = await call_in(chat.client, chat.uri, "pending-result-confirmation")
        queue = {"type": "chat/pendingMessageSet", "kind": "queued", "id": "q1"}
        await german.accepted(chat.uri, {**queue, "message": user_message("/run true")})
        await chat.answer(result_confirmed("t1", call, True))
        call = await call_in(chat.client, chat.uri, "pending-confirmation")
        assert call["options"][0]["label"] == "Einmal erlauben"


async def test_the_first_message_of_a_new_chat_runs_for_whoever_made_the_chat(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    async with demo(shared_host, tmp_path, locale="fr") as chat:
        first, message = f"ahp-chat:/{tmp_path.name}", user_message("/run true")
        await chat.client.request(
            "createChat", channel=chat.session, chat=first, initialMessage=message
        )
        await chat.client.subscribe(first)
        call = await call_in(chat.client, first, "pending-confirmation")
        assert call["options"][0]["label"] == "Autoriser une fois"


async def test_a_crash_leaves_no_prompt_behind(own_host: ServedHost, tmp_path: Path) -> None:
    async with demo(own_host, tmp_path) as chat:
        await asked(chat, "t1", "/run touch forbidden")
        other, message = "ahp-chat:/crash", user_message("/ask")
        await chat.client.request(
            "createChat", channel=chat.session, chat=other, initialMessage=message
        )
        await chat.client.subscribe(other)
        await request_in(chat.client, other)
        await chat.client.ping()
        assert len(chat.waiting) == 2
        await own_host.kill()
        await own_host.start()
        async with open_client(own_host.url, "again") as client:
            await client.initialize(chat.session, chat.uri, other)
            assert "inputNeeded" not in client.states[chat.session]
            for uri in (chat.uri, other):
                (turn,) = client.states[uri]["turns"]
                assert (turn["state"], failure_of(turn)["errorType"]) == ("error", "hostRestarted")
            (call,) = calls_of(client.states[chat.uri]["turns"][0])
            assert (call["status"], call["reason"]) == ("cancelled", "skipped")
            again = Chat(chat.uri, chat.session, [client])
            await again.run("t2", "hello")
            assert client.states[chat.uri]["status"] & 31 == IDLE
    assert os.listdir(tmp_path) == ["data"]


@needs_schemas
async def test_every_version_is_shown_every_command_as_its_schema_describes(
    shared_host: ServedHost, tmp_path: Path
) -> None:
    answers = {
        "name": submitted("text", "Ann"),
        "colour": submitted("selected", "red"),
        "fruit": submitted("selected-many", ["plum"]),
    }
    async with demo(shared_host, tmp_path, *SUPPORTED_VERSIONS[1:]) as chat:
        for turn_id in ("/think", "/tool", "/subagent hello", "/subagent /fail", "/fail", "/help"):
            await chat.run(turn_id, turn_id)
        for turn_id in ("/run echo hello", "/run exit 1", "/edit a.txt text"):
            call = await asked(chat, turn_id, turn_id)
            await chat.answer(confirmed(turn_id, call, True, selectedOptionId="allow-once"))
            await chat.end(turn_id)
        call = await asked(chat, "denied", "/run true")
        await chat.answer(confirmed("denied", call, False, reasonMessage="no"))
        await chat.end("denied")
        call = await asked(chat, "/review", "/review", "pending-result-confirmation")
        await chat.answer(result_confirmed("/review", call, False))
        await chat.end("/review")
        await chat.start("/ask", "/ask")
        for client in chat.clients:
            request = await request_in(client, chat.uri)
        await chat.answer(input_completed(request, answers))
        await chat.end("/ask")
        await chat.assert_agreed()
        for client in chat.clients:
            assert complaints_about(client) == []
