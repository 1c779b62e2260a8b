"""A conversation with a real host, on a terminal that nobody looks at."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input

from agenthost.agents import Agent, AgentError
from agenthost.agents.turn import Turn
from agenthost.cli.format.state_format import short_id
from agenthost.cli.interactive import agent_commands
from agenthost.cli.interactive import conversation as module
from agenthost.cli.interactive.conversation import Conversation
from agenthost.cli.interactive.outcome import ConversationOutcome, Leave, SwitchTo
from agenthost.cli.interactive.prompts.approvals import Approval
from agenthost.cli.interactive.screen import BufferedTerminalOutput
from agenthost.client import (
    ChannelGone,
    Chat,
    Client,
    ConfirmationNeeded,
    Session,
    Unsupported,
    connect,
)
from agenthost.tokens import Role
from tests.wire.hosting import embed
from tests.wire.people import peopled

PATIENCE = 60.0
POLL = 0.01


class FakeTerminal(StringIO):
    """A terminal that keeps what is written to it."""

    def fileno(self) -> int:
        raise OSError


class Twice(Agent):
    """Asks for the same approval twice at a time."""

    provider, display_name = "twice", "Twice"

    async def run(self, turn: Turn) -> None:
        async def ask(name: str) -> None:
            async with turn.tool("tool", display_name=name, input=name) as call:
                if await call.confirm():
                    await call.complete(f"{name} done")

        await asyncio.gather(ask("One"), ask("Two"))


class Stumbler(Agent):
    """Fails at first, and gets up when it is resumed."""

    provider, display_name = "stumbler", "Stumbler"

    async def run(self, turn: Turn) -> None:
        if not turn.is_resumed:
            await turn.write("So far so good.")
            raise AgentError("the network is down", resumable=True)
        await turn.write("Here I am again.")


class Talk:
    """A conversation under way."""

    def __init__(
        self,
        client: Client,
        at: Conversation,
        screen: FakeTerminal,
        running: asyncio.Task[ConversationOutcome],
    ) -> None:
        self.client = client
        self.at = at
        self._screen = screen
        self._running = running

    @property
    def text(self) -> str:
        return self._screen.getvalue()

    async def end(self) -> ConversationOutcome:
        """Wait until the conversation ends by itself."""
        async with asyncio.timeout(PATIENCE):
            return await self._running

    async def until(self, holds: Callable[[], Any]) -> None:
        """Wait until something holds."""
        async with asyncio.timeout(PATIENCE):
            while True:
                if holds():
                    return
                await asyncio.sleep(POLL)


@asynccontextmanager
async def talking(
    *agents: Agent, draft: str | None = None, folder: Path | None = None
) -> AsyncIterator[Talk]:
    places = [] if folder is None else [folder.as_uri()]
    async with embed(*agents) as url, connect(url) as client:
        session = await client.sessions.create(directories=places)
        if folder is not None:
            async with asyncio.timeout(PATIENCE):
                await session.customizations.loaded()
        chat = await session.chat()
        if draft is not None:
            await chat.draft(draft)
        async with on_screen(client, session, chat) as talk:
            yield talk


@asynccontextmanager
async def on_screen(client: Client, session: Session, chat: Chat) -> AsyncIterator[Talk]:
    screen = FakeTerminal()
    output = BufferedTerminalOutput(screen, lambda: Size(rows=24, columns=80), term="xterm")
    with create_pipe_input() as keys:
        at = Conversation(client, session, chat, output=output, input=keys, colour=False)
        running = asyncio.create_task(at.run())
        talk = Talk(client, at, screen, running)
        try:
            await talk.until(lambda: "Ctrl-D leaves" in talk.text)
            yield talk
        finally:
            at.leave(Leave())
            await running


async def test_an_answer_meant_for_another_question_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LOOK_FIRST", 1e9)
    async with talking(Twice()) as talk:
        prompts, chat = talk.at.prompts, talk.at.chat
        talk.at.on_submit("go")
        await talk.until(lambda: len(prompts.waiting) == 2 and prompts.dialogue is not None)
        first, second = prompts.waiting
        await chat.approve(first.id)
        await talk.until(
            lambda: prompts.dialogue is not None and prompts.dialogue.pending == second
        )
        talk.at.on_submit("1")
        await talk.until(lambda: "read it, then answer" in talk.text)
        assert [pending.id for pending in prompts.waiting] == [second.id]
        monkeypatch.setattr(talk.at, "_look_first", 0.0)
        talk.at.on_submit("1")
        await talk.until(lambda: chat.active_turn is None)
        assert "Two done" in str(chat.state["turns"][-1])


async def test_approvals_are_asked_for_one_after_the_other() -> None:
    async with talking(Twice()) as talk:
        talk.at.on_submit("go")
        await talk.until(lambda: "and 1 more after this" in talk.text)
        for _ in range(2):
            await talk.until(lambda: isinstance(talk.at.prompts.dialogue, Approval))
            talk.at.on_submit("1")
        await talk.until(lambda: talk.at.chat.active_turn is None)
        assert "somebody else" not in talk.text


async def test_a_turn_that_failed_goes_on_when_it_is_resumed() -> None:
    async with talking(Stumbler()) as talk:
        talk.at.on_submit("/resume")
        await talk.until(lambda: "there is no turn to resume" in talk.text)
        talk.at.on_submit("go")
        await talk.until(lambda: "the network is down" in talk.text)
        await talk.until(lambda: "/resume goes on from here" in talk.text)
        talk.at.on_submit("/resume")
        await talk.until(lambda: "Here I am again." in talk.text)
        assert "resumed" in talk.text
        assert "removed" not in talk.text
        await talk.until(lambda: talk.at.chat.active_turn is None)
        (turn,) = talk.at.chat.state["turns"]
        assert turn["state"] == "complete"


async def test_what_runs_in_the_background_stays_in_sight() -> None:
    async with talking() as talk:
        talk.at.on_submit("/background 600")
        await talk.until(lambda: "in the background: " in talk.text)
        await talk.until(lambda: talk.at.chat.state["turns"])
        assert talk.at.chat.state["backgroundWork"]
        talk.at.on_submit("/background stop")
        await talk.until(lambda: not talk.at.chat.state.get("backgroundWork"))


async def test_another_chat_is_gone_to_by_its_number() -> None:
    async with talking() as talk:
        talk.at.on_submit("/subagent hello")
        await talk.until(lambda: "The worker is complete" in talk.text)
        talk.at.on_submit("/chat 2")
        chats = talk.at.session.chats
        assert await talk.end() == SwitchTo(talk.at.session.uri, chats[1]["resource"])


async def test_another_session_is_gone_to_by_its_title() -> None:
    async with talking() as talk:
        other = await talk.client.sessions.create()
        await other.rename("Quite another")
        talk.at.on_submit("/open nothing like it")
        await talk.until(lambda: "no session matches" in talk.text)
        talk.at.on_submit("/open quite another")
        assert await talk.end() == SwitchTo(other.uri)


async def test_a_session_that_is_disposed_of_ends_the_conversation() -> None:
    async with talking() as talk:
        await talk.at.session.dispose()
        left = await talk.end()
        assert isinstance(left, Leave)
        assert isinstance(left.error, ChannelGone)


async def test_what_the_host_refuses_is_told_with_its_reason() -> None:
    async with talking() as talk:
        talk.at.on_submit("/slow 60")
        await talk.until(lambda: talk.at.chat.channel.confirmed.get("activeTurn"))
        started = talk.at.chat.send("at the same time").started
        assert started is not None
        talk.at.actions.report_failure(started, "not sent")
        await talk.until(lambda: "not sent: a turn is already in progress" in talk.text)


async def test_bytes_that_are_no_text_do_not_end_the_conversation() -> None:
    async with talking() as talk:
        # What a terminal gives for a byte that its locale cannot read.
        talk.at.on_submit("a\udcc3\udca9b\udcff")
        await talk.until(lambda: talk.at.chat.state["turns"])
        assert talk.at.chat.state["turns"][0]["message"]["text"] == "aéb\ufffd"


async def test_a_draft_is_there_to_go_on_with_and_goes_when_it_is_sent() -> None:
    async with talking(draft="half a thought") as talk:
        await talk.until(lambda: "half a thought" in talk.text)
        assert talk.at.screen.text == "half a thought"
        talk.at.on_submit("a whole thought")
        await talk.until(lambda: "draft" not in talk.at.chat.channel.confirmed)


async def test_what_fails_unexpectedly_ends_the_conversation_with_its_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with talking() as talk:

        def fail(*_: object, **__: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(talk.at.transcript, "update", fail)
        talk.at.note()
        left = await talk.end()
        assert isinstance(left, Leave)
        assert isinstance(left.error, ZeroDivisionError)


async def test_a_slash_that_is_nobodys_command_is_never_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with talking() as talk:
        talk.at.on_submit("/modle")
        await talk.until(
            lambda: "there is no command /modle; did you mean /model?" in talk.at.hinted
        )
        assert talk.at.screen.text == "/modle"
        talk.at.screen.text = ""
        talk.at.on_submit("/xyzzy at all")
        await talk.until(lambda: talk.at.screen.text == "/xyzzy at all")
        # A host that does not answer is asked for no longer than this.
        monkeypatch.setattr(agent_commands, "LEARNING", 0.0)
        talk.at.screen.text = "typed meanwhile"
        talk.at.on_submit("/unsaid")
        await talk.until(
            lambda: "nobody can say now whether the agent has /unsaid" in talk.at.hinted
        )
        assert talk.at.screen.text == "typed meanwhile"
        talk.at.on_submit("//modle")
        await talk.until(lambda: talk.at.chat.state["turns"])
        (turn,) = talk.at.chat.state["turns"]
        assert turn["message"]["text"] == "/modle"


async def test_a_skill_that_was_brought_meanwhile_goes_through(tmp_path: Path) -> None:
    async with talking(folder=tmp_path) as talk:
        talk.at.on_submit("/tidy-up")
        await talk.until(lambda: "there is no command /tidy-up" in talk.at.hinted)
        talk.at.screen.text = ""
        skill = tmp_path / ".agents" / "skills" / "tidy-up"
        skill.mkdir(parents=True)
        (skill / "SKILL.md").write_text("---\nname: tidy-up\ndescription: cleans\n---\nClean.\n")
        await talk.until(lambda: "tidy-up" in str(talk.at.session.state.get("customizations")))
        talk.at.on_submit("/tidy-up")
        await talk.until(lambda: talk.at.chat.state["turns"])


async def test_files_that_a_message_mentions_are_attached_and_others_are_said_to_be_none(
    tmp_path: Path,
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a b.py").write_text("")
    (tmp_path / "main.py").write_text("")
    (tmp_path.parent / "outside.py").write_text("")
    async with talking(folder=tmp_path) as talk:
        talk.at.on_submit(f"see @main.py, @src and @{tmp_path}/main.py but not me@main.py")
        talk.at.on_submit("and then this")
        await talk.until(lambda: len(talk.at.chat.state["turns"]) == 2)
        first, second = (turn["message"] for turn in talk.at.chat.state["turns"])
        kinds = [(item["label"], item["displayKind"]) for item in first["attachments"]]
        assert kinds == [("main.py", "file"), ("src", "directory"), ("main.py", "file")]
        assert (tmp_path / "main.py").as_uri() in str(first["attachments"][0])
        assert second["text"] == "and then this"
        assert "attachments" not in second
        talk.at.on_submit("not @../outside.py nor @file:///etc/passwd nor @nobody")
        await talk.until(lambda: len(talk.at.chat.state["turns"]) == 3)
        assert "attachments" not in talk.at.chat.state["turns"][2]["message"]
        await talk.until(lambda: "@../outside.py is nothing in this session's folders" in talk.text)


async def test_what_is_typed_is_completed_by_commands_sessions_and_files(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("")
    async with talking(folder=tmp_path) as talk:
        other = await talk.client.sessions.create()
        await other.rename("Quite another")
        screen = talk.at.screen

        async def complete(text: str) -> None:
            screen.text = text
            talk.at.on_complete()

        await complete("/decl")
        await talk.until(lambda: screen.text == "/decline ")
        await complete("/open quite")
        await talk.until(lambda: screen.text == f"/open {short_id(other.uri)}")
        await complete("read @notes")
        await talk.until(lambda: screen.text == "read @notes.md ")
        assert "@notes.md" in talk.at.actions.attached
        await complete("/")
        await talk.until(lambda: screen.menu is not None)
        assert screen.menu is not None
        labels = [item.label for item in screen.menu.items]
        # Ours, and the agent's of that name.
        assert "/help" in labels
        assert "//help" in labels


async def test_files_are_listed_where_the_host_completes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.py").write_text("")

    async def nothing(*_: object) -> list[Any]:
        raise Unsupported("this host has no completions")

    async with talking(folder=tmp_path) as talk:
        monkeypatch.setattr(talk.at.chat, "completions", nothing)
        talk.at.screen.text = "@sr"
        talk.at.on_complete()
        await talk.until(lambda: talk.at.screen.text == "@src/")
        talk.at.on_complete()
        await talk.until(lambda: talk.at.screen.text == "@src/main.py ")


async def test_who_may_only_look_is_asked_nothing_and_leaves_no_trace(tmp_path: Path) -> None:
    async with (
        peopled(tmp_path, agents=[Twice()]) as people,
        connect(people.url("owner")) as owner,
        connect(people.url("looks", Role.VIEWER)) as client,
    ):
        theirs = await (await owner.sessions.create()).chat()
        await theirs.draft("their draft")
        theirs.send("go")
        session = await client.sessions.get((await client.sessions.list())[0]["resource"])
        async with on_screen(client, session, await session.chat()) as talk:
            at = talk.at
            await talk.until(lambda: "somebody else must answer" in talk.text)
            assert "read-only" in talk.text
            assert "Allow" not in talk.text
            assert at.prompts.dialogue is None
            assert at.screen.text == ""
            at.on_submit("1")
            await talk.until(lambda: "your token lets you look, not write" in talk.at.hinted)
            at.on_submit("/decline")
            await talk.until(lambda: "/decline changes something" in talk.at.hinted)
            at.on_submit("/helo")
            await talk.until(lambda: "there is no command /helo; did you mean" in talk.at.hinted)
            at.on_submit("/help")
            await talk.until(lambda: "/sessions" in talk.text)
            at.screen.text = "/decl"
            at.on_complete()
            await talk.until(lambda: "nothing to complete here" in talk.at.hinted)
            at.on_interrupt()
        assert theirs.active_turn is not None
        assert theirs.state["draft"]["text"] == "their draft"
        # Whatever it had dispatched would have been refused with these words.
        assert "may not" not in talk.text


async def test_what_is_edited_in_an_editor_is_the_line_and_nothing_is_asked_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = tmp_path / "go on"
    script = f"while [ ! -e '{go_on}' ]; do sleep 0.01; done; echo by hand > \"$1\""
    (tmp_path / "editor").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "editor").chmod(0o755)
    monkeypatch.setenv("VISUAL", str(tmp_path / "editor"))
    async with talking(Twice()) as talk:
        talk.at.on_edit_text()
        await talk.until(lambda: talk.at.screen.is_suspended)
        talk.at.chat.send("go")
        await talk.until(lambda: len(talk.at.prompts.waiting) == 2)
        assert talk.at.prompts.dialogue is None
        go_on.touch()
        await talk.until(lambda: talk.at.screen.text == "by hand")
        await talk.until(lambda: "your line comes first" in talk.text)
        assert talk.at.prompts.dialogue is None


class Editor(Agent):
    """Writes a file without much ado."""

    provider, display_name = "editor", "Editor"

    async def run(self, turn: Turn) -> None:
        async with turn.tool("edit") as call:
            await call.edit("notes.txt", f"{turn.text}\n")


async def test_who_comes_back_sees_what_the_newest_turns_have_changed(tmp_path: Path) -> None:
    async with embed(Editor()) as url, connect(url) as client:
        session = await client.sessions.create(directories=[tmp_path.as_uri()])
        chat = await session.chat()
        async for event in chat.send("milk and bread"):
            if isinstance(event, ConfirmationNeeded):
                chat.approve(event.call)
        async with on_screen(client, session, chat) as talk:
            await talk.until(lambda: "+milk and bread" in talk.text)
