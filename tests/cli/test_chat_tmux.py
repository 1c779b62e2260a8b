"""``agenthost chat`` as people see it: in a real terminal, against a real host."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from agenthost.cli.format.state_format import is_unread
from agenthost.client import Chat, Client, Session, connect
from agenthost.tokens import BOOK_FILE, Role, TokenBook
from tests.cli.interactive.terminal import PATIENCE, TMUX, Terminal, terminal
from tests.mcp.servers import ANSWERING
from tests.wire.hosting import ServedHost, serve

pytestmark = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")

READY = "/help · Ctrl-D leaves"
WORKING = "Ctrl-C cancels"

# An MCP server that is up at once.
SERVER = {"command": sys.executable, "args": ["-ISc", f"{ANSWERING}\nserve()"]}


@asynccontextmanager
async def chatting(
    tmp_path: Path, columns: int = 100, rows: int = 30, environment: str = ""
) -> AsyncIterator[tuple[ServedHost, Terminal]]:
    """Run a host, and a chat with it in a terminal."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "hello.txt").write_text("hi\n")
    async with (
        serve(tmp_path / "data", "--root", str(work)) as host,
        terminal(columns, rows) as tty,
    ):
        await tty.chat(*found(host), cwd=work, environment=environment)
        await tty.see(READY)
        yield host, tty


def found(host: ServedHost) -> tuple[str, str]:
    """Return the options that find a host as people do: by where its data are."""
    return "--data-dir", str(host.data_dir)


@asynccontextmanager
async def another_client(host: ServedHost) -> AsyncIterator[tuple[Client, Session, Chat]]:
    """Take part in the newest session from elsewhere."""
    async with connect(host.address, token=host.token) as client:
        newest = (await client.sessions.page(limit=1))["items"][0]
        session = await client.sessions.get(newest["resource"])
        yield client, session, await session.chat()


async def test_an_answer_streams_in_with_light_styling(tmp_path: Path) -> None:
    async with chatting(tmp_path, 80, 24) as (_, tty):
        await tty.enter("hello there")
        screen = await tty.see("› hello there", "You said hello there.", "Say /help to see", READY)
        assert "**" not in screen
        assert "\x1b[1mhello there" in await tty.screen("-e")
        await tty.enter("/think")
        await tty.see("∴ thought, 11 words", "the answer is yes.")
        assert "Let me see." not in await tty.screen()
        await tty.enter("/reasoning")
        await tty.see("Let me see. A question deserves an answer. Here is one.")
        await tty.enter("/stream 3000")
        await tty.see("2999 ....", READY)
        # Everything that scrolled by is there, and nothing twice.
        whole = " ".join((await tty.screen("-S", "-")).split())
        assert whole.count("› /stream 3000") == 1
        assert whole.count("1500 ....") == 1
        assert whole.startswith("Demo · new session")


async def test_colours_are_left_out_where_nobody_wants_them(tmp_path: Path) -> None:
    async with chatting(tmp_path, environment="NO_COLOR=1") as (_, tty):
        await tty.enter("plain")
        await tty.see("You said plain", READY)
        styled = await tty.screen("-e")
        assert not re.search(r"\x1b\[(\d+;)*[39][0-7]m", styled)
        assert "\x1b[1m" in styled


async def test_a_tool_call_runs_with_the_input_as_it_was_edited(tmp_path: Path) -> None:
    async with chatting(tmp_path) as (_, tty):
        await tty.enter("/run echo first")
        card = await tty.see("▌ Shell · Run this command?", "▌   echo first", "approve?")
        numbered = ["1  Allow once", "2  Allow in this session", "3  Deny", "4  Deny with a reason"]
        assert [card.index(text) for text in numbered] == sorted(card.index(t) for t in numbered)
        await tty.enter("what?")
        await tty.see("type a number from 1 to 4, or e, d", "approve? what?")
        await tty.key("C-u")
        await tty.enter("e")
        await tty.see("edit: echo first")
        await tty.key("C-w")
        await tty.enter("second; cat hello.txt")
        screen = await tty.see(
            "✓ Shell · Ran the command", "│ second", "│ hi", "exit code 0", READY
        )
        assert "echo second; cat hello.txt" in screen
        assert "│ first" not in screen


async def test_a_denial_says_why_and_what_to_do_instead(tmp_path: Path) -> None:
    async with chatting(tmp_path) as (_, tty):
        await tty.enter("/edit hello.txt bye")
        await tty.see("▌ Edit file · Edit hello.txt?", "▌ -hi", "▌ +bye")
        await tty.enter("d")
        await tty.see("why not?")
        await tty.enter("not that file")
        await tty.see("instead?")
        await tty.enter("another one")
        await tty.see("— denied", "because: not that file", "You suggest: another one", READY)
    assert (tmp_path / "work" / "hello.txt").read_text() == "hi\n"


async def test_what_another_client_answers_is_not_asked_any_more(tmp_path: Path) -> None:
    async with chatting(tmp_path) as (host, tty):
        await tty.enter("/run echo approved elsewhere")
        await tty.see("approve?")
        async with another_client(host) as (_, _, chat):
            state = await chat.channel.until(lambda state: "activeTurn" in state)
            call = state["activeTurn"]["responseParts"][0]
            assert call["kind"] == "toolCall"
            await chat.approve(call["toolCall"]["toolCallId"], option="allow-once")
        told = "Shell: approved (Allow once) by somebody else"
        await tty.see(told, "│ approved elsewhere", READY, gone="approve?")


async def test_a_question_of_every_kind_is_answered(tmp_path: Path) -> None:
    async with chatting(tmp_path, 80, 24) as (_, tty):
        await tty.enter("/ask")
        await tty.see("What is your name?  (1 to 40 characters)", "1 of 6", "name:")
        await tty.enter("")
        await tty.see("this one must be answered")
        await tty.enter("Ada" * 20)
        await tty.see("a whole number, 0 to 150", "age:")
        await tty.enter("old")
        await tty.see("not a number")
        await tty.key("C-u")
        await tty.enter("200")
        await tty.see("at most 150", "age: 200")
        await tty.key("C-u")
        await tty.enter("36")
        await tty.see("height:")
        await tty.enter("1.8")
        await tty.see("(yes or no)  default: yes", "an empty line takes the default", "happy:")
        await tty.enter("")
        await tty.see("colour:", "2  green", "or your own words")
        await tty.enter("purple")
        await tty.see("fruit:", "3  plum", "at most 2 choices")
        await tty.enter("1, plum")
        # How long a name may be is for the host to say.
        await tty.see("✗ not answered: question name: at most 40 characters", "name: AdaAda")
        await tty.key("C-u")
        await tty.enter("Ada")
        await tty.see(
            'name: "Ada"', "age: 36", "height: 1.8", "happy: true", 'colour: "purple"',
            'fruit: ["apple", "plum"]', READY,
        )  # fmt: skip
        await tty.enter("/ask")
        await tty.see("1 of 6")
        await tty.enter("/decline")
        await tty.see("You chose to decline.", READY)


async def test_a_running_turn_is_steered_and_what_is_typed_waits_for_its_end(
    tmp_path: Path,
) -> None:
    async with chatting(tmp_path) as (_, tty):
        await tty.enter("/slow 60")
        await tty.see("working slowly", WORKING)
        await tty.enter("for later")
        await tty.see("queued 1 for later")
        await tty.enter("!hurry up")
        await tty.see("You steer me: hurry up", "You said for later.", READY, gone="queued 1")


async def test_what_waits_can_be_taken_back(tmp_path: Path) -> None:
    async with chatting(tmp_path) as (_, tty):
        await tty.enter("/slow 60")
        await tty.see("working slowly", WORKING)
        await tty.enter("for never")
        await tty.see("queued 1 for never")
        await tty.enter("/unqueue")
        await tty.see(WORKING, gone="queued 1")
        await tty.key("C-c")
        await tty.see("■ cancelled", READY)
        await tty.enter("still here")
        await tty.see("You said still here.", READY)


async def test_ctrl_c_cancels_the_turn_and_twice_leaves(tmp_path: Path) -> None:
    async with chatting(tmp_path) as (host, tty):
        await tty.enter("/slow 60")
        await tty.see("working slowly", WORKING)
        await tty.key("C-c")
        await tty.see("■ cancelled", READY)
        await tty.key("C-c", "C-c")
        await tty.see("Come back with: agenthost chat ", "exit code 0")
        async with another_client(host) as (_, _, chat):
            assert [turn["state"] for turn in chat.state["turns"]] == ["cancelled"]


async def test_a_host_that_was_killed_is_found_again_and_the_chat_goes_on(tmp_path: Path) -> None:
    async with chatting(tmp_path) as (host, tty):
        await tty.enter("before")
        await tty.see("You said before.", READY)
        await tty.enter("/slow 60")
        await tty.see("working slowly", WORKING)
        await host.kill()
        await tty.see("! connection lost", "○ connection lost · trying again")
        await tty.enter("typed while away")
        await tty.see("queued 1 typed while away")
        # On whichever port is free.
        await host.start()
        screen = await tty.see(
            "✓ connected again",
            "✗ the host stopped while this turn was running",
            "You said typed while away.",
            READY,
        )
        assert screen.count("You said before.") == 1
        await tty.enter("after")
        await tty.see("You said after.", READY)


async def test_ctrl_d_leaves_the_turn_running_and_coming_back_shows_it_all(tmp_path: Path) -> None:
    async with chatting(tmp_path) as (host, tty):
        await tty.enter("hello")
        await tty.see("You said hello.", READY)
        await tty.enter("/slow 60")
        await tty.see("working slowly", WORKING)
        await tty.key("C-d")
        left = await tty.see("The turn goes on. Come back with: agenthost chat ", "exit code 0")
        id, *options = left.partition("agenthost chat ")[2].partition("exit code")[0].split()
        assert options[0] == "--data-dir"
        # The terminal breaks a line where it is full.
        assert "".join(options[1:]) == str(host.data_dir)
        async with another_client(host) as (_, session, chat):
            assert session.uri.startswith(f"ahp-session:/{id}")
            assert chat.active_turn is not None
            async with terminal(80, 24) as again:
                await again.chat(id, *found(host), cwd=tmp_path)
                screen = await again.see("› /slow 60", "working slowly", WORKING)
                assert "› hello" in screen
                assert "You said hello." in screen
                assert screen.count("› /slow 60") == 1
                await chat.steer("from elsewhere")
                await again.see("You steer me: from elsewhere", READY)


async def test_workers_are_approved_from_the_chat_that_sent_them(tmp_path: Path) -> None:
    async with chatting(tmp_path) as (_, tty):
        await tty.enter("/subagent /run echo from the worker")
        await tty.see("▌ Shell · Run this command?  in Worker", "approve?")
        await tty.enter("1")
        await tty.see("✓ Worker", "The worker is complete", READY)
        await tty.enter("/chats")
        await tty.see("2  Worker", "worker, read-only")
        await tty.enter("/chat 2")
        await tty.see("» /run echo from the worker", "│ from the worker")
        await tty.enter("may I?")
        await tty.see("was not sent", "read-only")


async def test_the_commands_of_the_chat_itself(tmp_path: Path) -> None:
    async with chatting(tmp_path) as (_, tty):
        await tty.enter("/review")
        await tty.see("may the result stand?", "│ All is well.")
        await tty.enter("1")
        await tty.see("The report is accepted.", READY)
        await tty.enter("/export chat.md")
        await tty.see("✓ written to")
        assert "The report is accepted." in (tmp_path / "work" / "chat.md").read_text()
        await tty.enter("/export chat.md")
        await tty.see("✗ chat.md: File exists")
        await tty.enter("//help")
        await tty.see("• /ask One question of every kind.", READY)
        await tty.enter("/quit")
        await tty.see("Come back with: agenthost chat", "exit code 0")


async def test_a_message_that_was_begun_is_not_taken_for_an_answer(tmp_path: Path) -> None:
    async with chatting(tmp_path) as (host, tty):
        await tty.type("half a mess")
        async with another_client(host) as (_, _, chat):
            chat.send("/run echo no")
            await tty.see("▌ Shell · Run this command?", "your line comes first", "› half a mess")
            await tty.enter("age 1")
            await tty.see("queued 1 half a message 1", "approve?")
            await tty.enter("3")
            await tty.see("Then I will not.", "You said half a message 1.", READY)


async def test_a_terminal_that_goes_away_leaves_the_turn_running(tmp_path: Path) -> None:
    async with chatting(tmp_path) as (host, tty):
        await tty.enter("/slow 60")
        await tty.see("working slowly", WORKING)
        await tty.close()
        async with another_client(host) as (_, _, chat), asyncio.timeout(PATIENCE):
            assert chat.active_turn is not None
            await chat.steer("anybody there?")
            state = await chat.channel.until(lambda state: "activeTurn" not in state)
            assert "anybody there?" in str(state["turns"][-1]["responseParts"])


async def test_a_session_in_which_nothing_was_said_is_not_kept(tmp_path: Path) -> None:
    async with chatting(tmp_path) as (host, tty):
        await tty.key("C-d")
        await tty.see("exit code 0")
        async with connect(host.address, token=host.token) as client:
            assert await client.sessions.list() == []


async def test_a_session_that_was_watched_is_read(tmp_path: Path) -> None:
    async with chatting(tmp_path) as (host, tty):
        # Turns shorter than the time between two drawings, too.
        for text in ("one", "two", "three"):
            await tty.enter(text)
            await tty.see(f"You said {text}.", READY)
        async with another_client(host) as (_, session, chat), asyncio.timeout(PATIENCE):
            await session.channel.until(lambda state: not is_unread(state["status"]))
            await chat.ask("from elsewhere")
            await session.channel.until(lambda state: not is_unread(state["status"]))
            await tty.enter("/slow 60")
            await tty.see("working slowly", WORKING)
            await tty.key("C-d")
            await tty.see("The turn goes on.", "exit code 0")
            # Nobody sees how that one ends.
            await chat.steer("go on")
            await chat.channel.until(lambda state: "activeTurn" not in state)
            assert is_unread(session.state["status"])
        again = ("sessions", *found(host))
        async with terminal() as other:
            words = (sys.executable, "-m", "agenthost.cli.main")
            await other.start(shlex.join((*words, *again)), tmp_path)
            await other.see("unread")
        async with terminal() as other:
            await other.start(shlex.join((*words, "watch", "one", *found(host))), tmp_path)
            async with another_client(host) as (_, session, chat), asyncio.timeout(PATIENCE):
                await session.channel.until(lambda state: not is_unread(state["status"]))
                await chat.ask("while one watches")
                await session.channel.until(lambda state: not is_unread(state["status"]))
            await other.see("while one watches")
            await other.key("C-c")
            await other.see("exit code")
        async with another_client(host) as (_, session, chat), asyncio.timeout(PATIENCE):
            await chat.ask("while nobody watches")
            await session.channel.until(lambda state: is_unread(state["status"]))
        async with terminal() as other:
            await other.start(
                shlex.join((*words, "send", "--session", "one", "hi", *found(host))), tmp_path
            )
            await other.see("exit code 0")
        async with another_client(host) as (_, session, _):
            assert not is_unread(session.state["status"])


async def test_without_a_host_there_is_one_line_and_an_exit_code(tmp_path: Path) -> None:
    async with terminal(100, 10) as tty:
        await tty.chat("--data-dir", str(tmp_path), cwd=tmp_path)
        await tty.see("agenthost: no host is running", "exit code 3")
    assert os.listdir(tmp_path) == []


async def test_a_server_is_trusted_approved_and_looked_at_where_one_talks(tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="MCP servers need the extra")
    async with chatting(tmp_path) as (_, tty):
        (tmp_path / "work" / ".mcp.json").write_text(json.dumps({"mcpServers": {"echo": SERVER}}))
        await tty.enter("/servers")
        await tty.see("no MCP servers")
        async with asyncio.timeout(PATIENCE):
            while "not trusted yet" not in await tty.screen():
                await tty.enter("/servers")
        await tty.enter('/mcp call echo echo {"a": 1}')
        card = await tty.see("▌ Start an MCP server of", "▌ echo: ", "1  Start them", "Start them?")
        assert card.index("echo: ") < card.index("rights") < card.index("1  Start")
        await tty.enter("1")
        # A turn does not wait for ever: a server that takes longer is there for the next one.
        call, late = "▌ echo · Call echo of echo?", "✗ echo is not ready"
        if late in await tty.see_any(call, late):
            async with asyncio.timeout(PATIENCE):
                while "echo  ready" not in await tty.screen():
                    await tty.enter("/servers")
            await tty.enter('/mcp call echo echo {"a": 1}')
        await tty.see(call, "approve?")
        await tty.enter("1")
        await tty.see("✓ echo · Used echo of echo", '{"a": 1}', READY)
        await tty.enter("/servers")
        await tty.see("echo  ready")


@dataclass(frozen=True, slots=True)
class Shared:
    """One host for several tests, and a folder to work in."""

    host: ServedHost
    work: Path
    environment: str

    @asynccontextmanager
    async def chatting(self, columns: int, rows: int = 40) -> AsyncIterator[Terminal]:
        """Chat in a new session."""
        async with terminal(columns, rows) as tty:
            await tty.chat("--new", *found(self.host), cwd=self.work, environment=self.environment)
            await tty.see("/help")
            yield tty


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shared]:
    folder = tmp_path_factory.mktemp("shared")
    work = folder / "work"
    work.mkdir()
    for columns in (120, 40):
        rows = (f"line {number}\n" for number in range(400))
        (work / f"long-{columns}.txt").write_text("".join(rows))
    (work / "notes.md").write_text("")
    editor = folder / "editor"
    editor.write_text('#!/bin/sh\nprintf "%s, by hand\\n" "$(cat "$1")" > "$1"\n')
    editor.chmod(0o755)
    async with serve(folder / "data", "--root", str(work)) as host:
        yield Shared(host, work, f"VISUAL={shlex.quote(str(editor))}")


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("columns", [120, 40])
async def test_what_the_keys_do_at_a_line_and_at_an_approval(shared: Shared, columns: int) -> None:
    async with shared.chatting(columns) as tty:
        await tty.enter(f"/edit long-{columns}.txt short")
        card = await tty.see("▌ -line 0", "… more rows · v", "approve?")
        assert "line 399" not in card
        assert all(len(row) <= columns for row in card.splitlines())
        # Shows it all, and answers nothing.
        await tty.key("v")
        await tty.see("q leaves", "-line 0", gone="approve?")
        await tty.key("G")
        await tty.see("-line 399", "+short", gone="approve?")
        await tty.key("q")
        await tty.see("▌ -line 0", "approve?", gone="-line 399")
        assert "line 0" in (shared.work / f"long-{columns}.txt").read_text()
        await tty.enter("1")
        await tty.see("✓ Edit file", "+1 −400", "│ -line 9", "more · /show")
        # The whole of it afterwards, too.
        await tty.enter("/show")
        await tty.see("q leaves", "-line 0")
        await tty.key("G")
        await tty.see("-line 399", "+short")
        await tty.key("q")
        await tty.see(READY, gone="q leaves")
        await tty.enter("/xyzzy")
        await tty.see("there is no command /xyzzy", "› /xyzzy")
        await tty.key("C-u")
        await tty.type("/re")
        await tty.key("Tab")
        # Six rows at most, below the line.
        screen = await tty.see("› /re", "› /rename", "  /resume", "  /retry")
        assert all(len(row) <= columns for row in screen.splitlines())
        await tty.key("Down", "Tab", "Escape")
        await tty.see("› /re", gone="/resume")
        await tty.key("C-u")
        await tty.type("see @not")
        await tty.key("Tab")
        await tty.see("› see @notes.md")
        await tty.enter("and @notes.md")
        await tty.see("  + notes.md", "You said see")
        await tty.key("C-r")
        await tty.type("SEE")
        await tty.see("search: SEE", "› see @notes.md")
        # Enter takes it, and sends nothing.
        await tty.key("Enter")
        await tty.see("› see @notes.md", gone="search: SEE")
        await tty.key("C-x", "C-e")
        await tty.see("by hand")
        # For the sessions to come.
        kept = (shared.host.data_dir / "history").read_text()
        assert "see @notes.md and @notes.md" in kept
        async with another_client(shared.host) as (_, _, chat):
            _, turn = chat.state["turns"]
            assert [item["label"] for item in turn["message"]["attachments"]] == ["notes.md"]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_misspelt_command_is_asked_about_and_not_sent(shared: Shared) -> None:
    async with shared.chatting(100) as tty:
        await tty.enter("/sesions")
        await tty.see(
            "there is no command /sesions; did you mean /sessions? · //sesions sends it",
            "› /sesions",
        )
        await tty.key("C-u")
        # Close to /show and /exit, but the agent's own.
        await tty.enter("/slow 0")
        await tty.see("Done after 0 seconds.", READY)
        await tty.enter("/edit")
        await tty.see("✗ usage: /edit PATH TEXT", READY)
        await tty.enter("/rnu ls")
        await tty.see("there is no command /rnu; did you mean /run?")
        await tty.key("C-u")
        await tty.enter("/xyzzy")
        await tty.see("there is no command /xyzzy · //xyzzy sends it to the agent")
        await tty.key("C-u")
        await tty.enter("//sesions")
        await tty.see("✗ unknown command /sesions", READY)
        # Nor is it taken for an answer.
        await tty.enter("/ask")
        await tty.see("name:")
        await tty.enter("/declin")
        await tty.see("did you mean /decline?", "name: /declin")
        await tty.enter("e")
        await tty.see("You chose to decline.", READY)
        async with another_client(shared.host) as (_, _, chat):
            said = [turn["message"]["text"] for turn in chat.state["turns"]]
            assert said == ["/slow 0", "/edit", "/sesions", "/ask"]


@pytest.mark.asyncio(loop_scope="module")
async def test_what_streams_in_behind_the_pager_is_drawn_once_it_is_left(shared: Shared) -> None:
    async with shared.chatting(100, 24) as tty:
        await tty.enter("/run seq 1000 1400")
        await tty.see("approve?")
        await tty.enter("1")
        await tty.see("│ 1400", READY)
        await tty.enter("/show")
        before = await tty.see("q leaves", "1010")
        async with another_client(shared.host) as (_, _, chat):
            await chat.ask("/stream 500")
        assert await tty.screen() == before
        await tty.key("q")
        await tty.see("499 ....", READY, gone="q leaves")


@pytest.mark.asyncio(loop_scope="module")
async def test_a_viewer_reads_along_and_is_asked_nothing(shared: Shared) -> None:
    book = TokenBook(shared.host.data_dir / BOOK_FILE)
    made = book.create("looker", Role.VIEWER, expires=None, now=time.time())
    url = f"AGENTHOST_URL=ws://{shared.host.address} AGENTHOST_TOKEN={made.secret}"
    async with shared.chatting(80) as owner, terminal(40, 30) as tty:
        await owner.enter("/run echo asked")
        await owner.see("approve?")
        await tty.chat("--last", cwd=shared.work, environment=url)
        card = await tty.see("▌   echo asked", "somebody else must answer", "read-only")
        assert "Allow" not in card
        await tty.enter("1")
        await tty.see("your token lets you look")
        await owner.enter("1")
        await tty.see("│ asked", gone="somebody else must answer")
        await tty.key("C-d")
        await tty.see("exit code 0")
