"""The coding agent's tools, driven by a scripted model through a real host."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents.llm import LlmAgent
from tests.agents.llm.scripted import Call, Script
from tests.agents.llm.talking import SESSION, Talk, calls_of, talk_to, text_of
from tests.children import gone, is_alive
from tests.wire.terminal_blocks import numbers_printed, opened
from tests.workspace.git.repositories import repository


def run(command: str) -> Call:
    return Call("run_command", {"command": command})


async def result_of(folder: Path, *calls: Call, **params: Any) -> list[str]:
    """Let a model call tools in one step and return what it is told."""
    script = Script(list(calls), "done")
    async with talk_to(LlmAgent([script.model]), folder, **params) as talk:
        turn = await talk.say("t1", "go")
        assert turn["state"] == "complete", turn
    return script.results()


async def test_a_command_runs_once_it_is_approved(tmp_path: Path) -> None:
    script = Script(run("echo hi > made.txt; cat made.txt"), "It is made.")
    async with talk_to(LlmAgent([script.model]), tmp_path) as talk:
        await talk.start("t1", "make a file")
        call = await talk.call("run_command", "pending-confirmation")
        assert not (tmp_path / "made.txt").exists()
        assert call["toolInput"] == "echo hi > made.txt; cat made.txt"
        assert call["editable"] is True
        await talk.answer("t1", call, True, selectedOptionId="allow-once")
        turn = await talk.end("t1")
    (ended,) = calls_of(turn)
    assert ended["structuredContent"]["exitCode"] == 0
    terminal, text = ended["content"]
    assert text == {"type": "text", "text": "hi\n"}
    assert terminal["result"] == {"exitCode": 0, "preview": "hi\r\n", "truncated": False}
    assert script.results() == ["hi\n\n(exit code 0)"]
    assert text_of(turn) == "It is made."


async def test_an_edited_command_runs_instead_and_the_model_is_told(tmp_path: Path) -> None:
    script = Script(run("rm -rf important"), "Fine.")
    async with talk_to(LlmAgent([script.model]), tmp_path) as talk:
        await talk.start("t1", "clean up")
        call = await talk.call("run_command", "pending-confirmation")
        await talk.answer("t1", call, True, editedToolInput="echo kept")
        (ended,) = calls_of(await talk.end("t1"))
    assert ended["toolInput"] == "echo kept"
    (told,) = script.results()
    assert "The user changed the command to: echo kept" in told
    assert "kept\n" in told


async def test_the_reason_of_a_denial_reaches_the_model(tmp_path: Path) -> None:
    script = Script(run("touch made.txt"), "Then not.")
    async with talk_to(LlmAgent([script.model]), tmp_path) as talk:
        await talk.start("t1", "make a file")
        call = await talk.call("run_command", "pending-confirmation")
        suggestion = {"text": "write a test instead", "origin": {"kind": "user"}}
        reason = {"reasonMessage": "not here", "userSuggestion": suggestion}
        await talk.answer("t1", call, False, **reason)
        turn = await talk.end("t1")
    assert turn["state"] == "complete"
    assert calls_of(turn)[0]["status"] == "cancelled"
    assert not (tmp_path / "made.txt").exists()
    assert script.results() == [
        "The user did not allow this. They said: not here They suggest: write a test instead"
    ]


async def test_what_is_allowed_in_the_session_is_not_asked_again(tmp_path: Path) -> None:
    script = Script(run("echo one"), run("echo two"), "done", run("echo three"), "done")
    async with talk_to(LlmAgent([script.model]), tmp_path) as talk:
        await talk.start("t1", "go")
        call = await talk.call("run_command", "pending-confirmation")
        await talk.answer("t1", call, True, selectedOptionId="allow-in-session")
        first, second = calls_of(await talk.end("t1"))
        (third,) = calls_of(await talk.say("t2", "go on"))
    assert first["confirmed"] == "user-action"
    assert second["confirmed"] == third["confirmed"] == "setting"
    assert third["content"][1] == {"type": "text", "text": "three\n"}


async def test_a_session_that_allows_everything_asks_nothing(tmp_path: Path) -> None:
    edit = Call("edit_file", {"path": "a.txt", "new_text": "hello\n"})
    results = await result_of(tmp_path, run("echo hi"), edit, config={"autoApprove": "autoApprove"})
    assert "exit code 0" in results[0]
    assert (tmp_path / "a.txt").read_text() == "hello\n"


async def test_the_approval_mode_may_change_while_a_session_lives(tmp_path: Path) -> None:
    script = Script(run("echo hi"), "done")
    async with talk_to(LlmAgent([script.model]), tmp_path) as talk:
        config = talk.client.states[SESSION]["config"]
        assert config["values"]["autoApprove"] == "default"
        changed = {"type": "session/configChanged", "config": {"autoApprove": "autoApprove"}}
        await talk.client.accepted(SESSION, changed)
        await talk.say("t1", "go")
    assert script.results() == ["hi\n\n(exit code 0)"]


async def test_an_edit_is_previewed_approved_and_then_on_disk(tmp_path: Path) -> None:
    file = tmp_path / "greet.py"
    file.write_bytes(b"def greet():\r\n    return 'hi'\r\n")
    edit = Call("edit_file", {"path": "greet.py", "old_text": "'hi'", "new_text": "'hello'"})
    script = Script(edit, "done")
    async with talk_to(LlmAgent([script.model]), tmp_path) as talk:
        await talk.start("t1", "be polite")
        call = await talk.call("edit_file", "pending-confirmation")
        (shown,) = call["edits"]["items"]
        assert shown["diff"] == {"added": 1, "removed": 1}
        assert shown["before"]["uri"] == shown["after"]["uri"] == file.as_uri()
        assert b"hello" not in file.read_bytes()
        await talk.answer("t1", call, True)
        (ended,) = calls_of(await talk.end("t1"))
    assert file.read_bytes() == b"def greet():\r\n    return 'hello'\r\n"
    assert ended["content"][1] == {"type": "fileEdit", **shown}
    assert script.results() == ["greet.py is written: 1 lines added, 1 removed."]


async def test_a_denied_edit_changes_nothing(tmp_path: Path) -> None:
    script = Script(Call("edit_file", {"path": "new/a.txt", "new_text": "x"}), "ok")
    async with talk_to(LlmAgent([script.model]), tmp_path) as talk:
        await talk.start("t1", "go")
        call = await talk.call("edit_file", "pending-confirmation")
        await talk.answer("t1", call, False, reasonMessage="no")
        await talk.end("t1")
    assert os.listdir(tmp_path) == []
    assert script.results() == ["The user did not allow this. They said: no"]


async def test_a_file_that_changed_while_people_thought_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    script = Script(Call("edit_file", {"path": "a.txt", "new_text": "two"}), "ok")
    async with talk_to(LlmAgent([script.model]), tmp_path) as talk:
        await talk.start("t1", "go")
        call = await talk.call("edit_file", "pending-confirmation")
        (tmp_path / "a.txt").write_text("somebody else's work")
        await talk.answer("t1", call, True)
        (ended,) = calls_of(await talk.end("t1"))
    assert (tmp_path / "a.txt").read_text() == "somebody else's work"
    assert ended["success"] is False
    assert "has changed in the meantime" in script.results()[0]


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ({"old_text": "three", "new_text": "x"}, "does not occur"),
        ({"old_text": "one", "new_text": "x"}, "occurs 2 times"),
        ({"new_text": "one\none\n"}, "changes nothing"),
        ({"path": "none.txt", "old_text": "one", "new_text": "x"}, "does not exist"),
        ({"path": "raw.bin", "new_text": "x"}, "cannot be read as text"),
        ({"path": ".", "new_text": "x"}, "is no file"),
    ],
)
async def test_an_edit_that_cannot_be_is_explained_to_the_model(
    tmp_path: Path, args: dict[str, str], why: str
) -> None:
    (tmp_path / "a.txt").write_text("one\none\n")
    (tmp_path / "raw.bin").write_bytes(b"\xff\xfe\x00")
    (told,) = await result_of(tmp_path, Call("edit_file", {"path": "a.txt", **args}))
    assert why in told
    assert (tmp_path / "a.txt").read_text() == "one\none\n"


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("read_file", {}),
        ("list_files", {}),
        ("search_files", {"pattern": "secret"}),
        ("edit_file", {"new_text": "mine"}),
    ],
)
@pytest.mark.parametrize("way", ["../out.txt", "link/out.txt", "{outside}/out.txt", "sub/../../x"])
async def test_paths_that_lead_outside_are_refused(
    tmp_path: Path, tool: str, args: dict[str, str], way: str
) -> None:
    inside, outside = tmp_path / "in", tmp_path
    (inside / "sub").mkdir(parents=True)
    (outside / "out.txt").write_text("secret")
    (inside / "link").symlink_to(outside)
    path = way.format(outside=outside)
    (told,) = await result_of(inside, Call(tool, {**args, "path": path}))
    assert told == f"refused: {path} lies outside of the working directories"
    assert (outside / "out.txt").read_text() == "secret"


async def test_listing_and_searching_do_not_follow_links_outside(tmp_path: Path) -> None:
    inside = tmp_path / "in"
    inside.mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "hidden.txt").write_text("needle")
    (inside / "link").symlink_to(tmp_path / "out")
    (inside / "seen.txt").write_text("needle")
    listed, found = await result_of(
        inside,
        Call("list_files", {"depth": 5}),
        Call("search_files", {"pattern": "need[l]e"}),
    )
    assert listed == "link\nseen.txt"
    assert found.splitlines() == ["./seen.txt:1:needle"]


async def test_files_are_listed_read_and_searched(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("".join(f"line {n}\n" for n in range(1, 101)))
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("line 5")
    listed, read, found, none, bad = await result_of(
        tmp_path,
        Call("list_files", {"depth": 2}),
        Call("read_file", {"path": "src/a.py", "start_line": 5, "line_count": 2}),
        Call("search_files", {"pattern": "line 5$", "include": "*.py"}),
        Call("search_files", {"pattern": "nothing like it"}),
        Call("search_files", {"pattern": "("}),
    )
    assert listed == ".git/\nsrc/\nsrc/a.py"
    assert read == "(lines 5 to 6 of 100)\nline 5\nline 6"
    assert found == "./src/a.py:5:line 5"
    assert none == "(nothing found)"
    assert "grep" in bad


async def test_what_is_no_readable_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "raw.bin").write_bytes(b"a\0b")
    told = await result_of(
        tmp_path,
        Call("read_file", {"path": "pipe"}),
        Call("edit_file", {"path": "pipe", "new_text": "x"}),
        Call("read_file", {"path": "raw.bin"}),
        Call("read_file", {"path": "none.txt"}),
        Call("list_files", {"path": "raw.bin"}),
    )
    assert told == [
        "pipe: that is not a regular file",
        "pipe is no file",
        "raw.bin: that is not a text file",
        "none.txt: there is no such file",
        "raw.bin: that is not a folder",
    ]


async def test_what_a_model_reads_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("x" * 1_000_000 + "\n")
    (tmp_path / "many").mkdir()
    for number in range(600):
        (tmp_path / "many" / f"{number:04}").touch()
    results = await result_of(
        tmp_path,
        Call("read_file", {"path": "long.txt"}),
        Call("list_files", {"path": "many"}),
        run("yes | head -c 100000; echo; echo the end"),
        config={"autoApprove": "autoApprove"},
    )
    assert all(len(result) < 40_000 for result in results)
    assert "more than 500 entries" in results[1]
    assert results[2].endswith("the end\n\n(exit code 0)")


async def test_a_failing_command_is_a_result_and_not_the_end(tmp_path: Path) -> None:
    everything = {"autoApprove": "autoApprove"}
    (told,) = await result_of(tmp_path, run("echo oops >&2; exit 3"), config=everything)
    assert told == "oops\n\n(exit code 3)"


async def test_a_command_does_not_see_the_keys_of_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AGENTHOST_LLM_API_KEY"):
        monkeypatch.setenv(name, "sk-secret")
    monkeypatch.setenv("SOMETHING", "else")
    everything = {"autoApprove": "autoApprove"}
    (told,) = await result_of(tmp_path, run("env"), config=everything)
    assert "sk-secret" not in told
    assert "SOMETHING=else" in told


async def test_cancelling_ends_the_command_that_runs(tmp_path: Path) -> None:
    script = Script(run("echo $$; exec sleep 60"), "hello")
    everything = {"autoApprove": "autoApprove"}
    async with talk_to(LlmAgent([script.model]), tmp_path, config=everything) as talk:
        await talk.start("t1", "sleep")
        (pid,) = await numbers_printed(talk.client, talk.chat, 1)
        assert is_alive(pid)
        await talk.cancel("t1")
        await gone(pid)
        assert text_of(await talk.say("t2", "again")) == "hello"


async def test_a_command_opens_no_editor_that_waits_for_somebody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GIT_DIR")
    repository(tmp_path / "r")
    command = "cd r && echo more >> a && git -c user.name=a -c user.email=a@b commit -a"
    everything = {"autoApprove": "autoApprove"}
    (result,) = await result_of(tmp_path, run(command), config=everything)
    assert "Aborting commit due to empty commit message" in result
    assert result.endswith("(exit code 1)")


async def test_a_command_that_a_user_lets_go_on_is_told_of_to_the_model(tmp_path: Path) -> None:
    script = Script(run("echo $$; exec sleep 600"), "fine")
    everything = {"autoApprove": "autoApprove"}
    async with talk_to(LlmAgent([script.model]), tmp_path, config=everything) as talk:
        await talk.start("t1", "serve")
        (pid,) = await numbers_printed(talk.client, talk.chat, 1)
        terminal = await opened(talk.client, talk.chat)
        claim = {"kind": "session", "session": SESSION, "chat": talk.chat}
        await talk.client.accepted(terminal, {"type": "terminal/claimed", "claim": claim})
        assert text_of(await talk.end("t1")) == "fine"
        assert is_alive(pid)
    (result,) = script.results()
    told = "The user let the command run on in the background; so far it printed:"
    assert result == f"{told}\n{pid}\n"
    await gone(pid)


async def test_several_calls_ask_at_once_and_any_order_of_answers_will_do(tmp_path: Path) -> None:
    script = Script([run("echo one"), run("echo two")], "done")
    async with talk_to(LlmAgent([script.model]), tmp_path) as talk:
        await talk.start("t1", "go")

        def waiting() -> dict[str, Any] | None:
            parts = talk.state.get("activeTurn", {}).get("responseParts", ())
            found = {
                part["toolCall"]["toolInput"]: part["toolCall"]
                for part in parts
                if part.get("toolCall", {}).get("status") == "pending-confirmation"
            }
            return found if len(found) == 2 else None

        calls = await talk.client.until(waiting)
        await talk.answer("t1", calls["echo two"], True)
        await talk.answer("t1", calls["echo one"], False)
        await talk.end("t1")
    assert script.results() == ["The user did not allow this.", "two\n\n(exit code 0)"]


OPEN_TAB = {
    "name": "open_tab",
    "description": "Opens a tab",
    "inputSchema": {"type": "object", "properties": {"url": {"type": "string"}}},
}


async def bring_a_tool(talk: Talk) -> None:
    """Attach the client to the session, with a tool of its own."""
    me = {"clientId": talk.client.client_id, "tools": [OPEN_TAB]}
    await talk.client.accepted(SESSION, {"type": "session/activeClientSet", "activeClient": me})


async def test_a_tool_of_an_attached_client_is_offered_to_the_model(tmp_path: Path) -> None:
    script = Script(Call("open_tab", {"url": "about:blank"}), "opened")
    async with talk_to(LlmAgent([script.model]), tmp_path) as talk:
        await bring_a_tool(talk)
        await talk.start("t1", "open a tab")
        call = await talk.call("open_tab", "running")
        assert call["contributor"] == {"kind": "client", "clientId": talk.client.client_id}
        content = [{"type": "text", "text": "tab 7"}]
        result = {"success": True, "pastTenseMessage": "Opened", "content": content}
        target = {"turnId": "t1", "toolCallId": call["toolCallId"], "result": result}
        await talk.client.accepted(talk.chat, {"type": "chat/toolCallComplete", **target})
        turn = await talk.end("t1")
    assert "open_tab" in script.offered[0]
    assert len(calls_of(turn)) == 1
    assert script.results() == ["tab 7"]


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({"error": {"message": "no more tabs"}}, "no more tabs"),
        ({"content": [{"type": "text", "text": "the window is gone"}]}, "the window is gone"),
        (
            {"error": {"message": "closed"}, "content": [{"type": "text", "text": "half a page"}]},
            "closed",
        ),
        ({}, "the client failed"),
    ],
)
async def test_a_failure_of_a_client_s_tool_reaches_the_model_as_one(
    tmp_path: Path, result: dict[str, Any], told: str
) -> None:
    script = Script(Call("open_tab", {"url": "about:blank"}), "I could not.")
    async with talk_to(LlmAgent([script.model]), tmp_path) as talk:
        await bring_a_tool(talk)
        await talk.start("t1", "open a tab")
        call = await talk.call("open_tab", "running")
        failed = {"success": False, "pastTenseMessage": "Failed", **result}
        target = {"turnId": "t1", "toolCallId": call["toolCallId"], "result": failed}
        await talk.client.accepted(talk.chat, {"type": "chat/toolCallComplete", **target})
        turn = await talk.end("t1")
    # The turn goes on, and the model knows that nothing was done.
    assert (turn["state"], text_of(turn)) == ("complete", "I could not.")
    (ended,) = calls_of(turn)
    assert (ended["status"], ended["success"]) == ("completed", False)
    (answer,) = script.answers()
    assert told in str(answer.content)
    assert answer.outcome == "failed"


async def test_a_client_that_leaves_with_its_tool_does_not_keep_the_model_waiting(
    tmp_path: Path,
) -> None:
    script = Script(Call("open_tab", {"url": "about:blank"}), "Nobody is there.")
    async with talk_to(LlmAgent([script.model]), tmp_path) as talk:
        await bring_a_tool(talk)
        await talk.start("t1", "open a tab")
        await talk.call("open_tab", "running")
        gone = {"type": "session/activeClientRemoved", "clientId": talk.client.client_id}
        await talk.client.accepted(SESSION, gone)
        turn = await talk.end("t1")
    assert (turn["state"], text_of(turn)) == ("complete", "Nobody is there.")
    (answer,) = script.answers()
    assert answer.outcome == "failed"
