"""``agenthost chat`` as people see it: in a real terminal, against a real host."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agenthost.cli.format.state_format import is_unread
from agenthost.client import Chat, Client, Session, connect
from tests.cli.interactive.terminal import PATIENCE, TMUX, Terminal, terminal
from tests.wire.hosting import ServedHost, serve

pytestmark = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")

READY = "/help · Ctrl-D leaves"
WORKING = "Ctrl-C cancels"


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
        await tty.see("▌ Edit file · Write hello.txt?", "▌ -hi", "▌ +bye")
        await tty.enter("d")
        await tty.see("why not?")
        await tty.enter("not that file")
        await tty.see("instead?")
        await tty.enter("another one")
        await tty.see("— denied", "because: not that file", "You suggest: another one", READY)
    assert (tmp_path / "work" / "hello.txt").read_text() == "hi\n"


async def test_a_diff_can_be_seen_whole_before_it_is_approved_and_afterwards(
    tmp_path: Path,
) -> None:
    async with chatting(tmp_path, 80, 24) as (_, tty):
        lines = [f"line {number}" for number in range(1, 61)]
        (tmp_path / "work" / "long.txt").write_text("\n".join(lines) + "\n")
        await tty.enter("/edit long.txt brief")
        await tty.see("▌ -line 1", "more rows · /show", "approve?")
        assert "line 60" not in await tty.screen()
        await tty.enter("/show")
        await tty.see("│ -line 60", "│ +brief", "approve?")
        whole = await tty.screen("-S", "-")
        assert all(f"  │ -{line}\n" in whole for line in lines)
        await tty.enter("1")
        # Shortened in place.
        await tty.see("✓ Edit file", "+1 -60", "more rows · /show", "│ +brief", READY)
        await tty.key("C-l")
        await tty.enter("/show")
        await tty.see("│ -line 60", "│ +brief", READY)
        await tty.enter("/tool")
        await tty.see("There are 2 entries.", READY)
        await tty.enter("/show 2")
        await tty.see("│ -line 60", "│ +brief", READY)


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
        await tty.enter("/sessions")
        await tty.see("* 1  /review", "/open N goes to one")
        await tty.enter("//help")
        await tty.see("• /ask One question of every kind.", READY)
        await tty.enter("/quit")
        await tty.see("Come back with: agenthost chat", "exit code 0")


async def test_a_misspelt_command_is_asked_about_and_not_sent(tmp_path: Path) -> None:
    async with chatting(tmp_path) as (host, tty):
        await tty.enter("/sesions")
        await tty.see("unknown command /sesions; did you mean /sessions?", "› /sesions")
        await tty.key("C-u")
        # Close to /show and /exit, but the agent's own.
        await tty.enter("/slow 0")
        await tty.see("Done after 0 seconds.", READY)
        await tty.enter("/edit")
        await tty.see("✗ usage: /edit PATH TEXT", READY)
        await tty.enter("/rnu ls")
        await tty.see("unknown command /rnu; did you mean /run?")
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
        async with another_client(host) as (_, _, chat):
            said = [turn["message"]["text"] for turn in chat.state["turns"]]
            assert said == ["/slow 0", "/edit", "/sesions", "/ask"]


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
