"""A newcomer's first hour, from a fresh clone to a second machine, by what is printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.interactive.terminal import TMUX
from tests.first_hour.newcomer import ROOT, Shell, clone, shell
from tests.web.browsing import page_required

pytestmark = [
    page_required,
    pytest.mark.skipif(TMUX is None, reason="tmux is not installed"),
    # An hour of somebody's life, and more than one process at a time.
    pytest.mark.timeout(300),
    pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a clone"),
]

AGENTHOST = ".venv/bin/agenthost"
READY = "/help · Ctrl-D leaves"


async def test_a_newcomer_gets_from_a_clone_to_an_agent_of_their_own_and_to_a_second_machine(
    tmp_path: Path,
) -> None:
    here, home, elsewhere = clone(tmp_path), tmp_path / "home", tmp_path / "second-machine"
    home.mkdir()
    elsewhere.mkdir()
    async with shell(home, here, 200) as host, shell(home, here) as desk:
        address, token = await start(host, "make run ARGS='--port 0'")
        next_line = (await host.until(r"^  next +(\S.*)$"))[1]
        await talk(desk, next_line)
        session = await dispose_and_restore(desk)
        async with shell(elsewhere, elsewhere.parent) as far:
            options = f"--url ws://{address} --token {token}"
            await continue_elsewhere(far, here / AGENTHOST, options, session)
        await host.leave("C-c")
        await make_an_agent(host, desk, here)


async def start(host: Shell, command: str) -> tuple[str, str]:
    """Start a host; return its address and its token, as printed."""
    # Nothing of an earlier one may be on the screen.
    await host.run("clear")
    await host.tty.enter(command)
    found = await host.until(r"^  WebSocket +ws://([\d.:]+)/\?tkn=(\S+)$")
    return found[1], found[2]


async def talk(desk: Shell, chat: str) -> None:
    """Ask something, change a setting, and see a diff whole before it is approved."""
    tty = desk.tty
    await tty.enter(chat)
    await desk.see(READY)
    await tty.enter("good morning")
    await desk.see("You said good morning.", READY)
    await tty.enter("/modle demo")
    await desk.see("did you mean /model?")
    await tty.key("C-u")
    await tty.enter("/model demo")
    # In the status line from now on.
    await desk.see("Demo · Demo, offline · good morning")
    await tty.enter("/edit first-hour.txt first")
    await desk.see("+first", "v shows", "approve?")
    await tty.key("v")
    await desk.see("│ +first", "(q leaves)")
    await tty.key("q")
    await desk.see("approve?")
    await tty.enter("1")
    await desk.see("✓ Edit file", "first-hour.txt is written.", READY)
    await desk.leave("C-d")


async def dispose_and_restore(desk: Shell) -> str:
    """Give the session up, find it in the trash and take it back; return its id."""
    listed = await desk.run(f"{AGENTHOST} sessions --json")
    session: str = re.findall(r'"id": "(\w+)', listed)[0]
    await desk.run(f"{AGENTHOST} sessions dispose {session}")
    assert "good morning" not in await desk.run(f"{AGENTHOST} sessions")
    assert "good morning" in await desk.run(f"{AGENTHOST} sessions trash")
    await desk.run(f"{AGENTHOST} sessions restore {session}")
    assert "good morning" in await desk.run(f"{AGENTHOST} sessions")
    return session


async def continue_elsewhere(far: Shell, agenthost: Path, options: str, session: str) -> None:
    """Go on with the session on a machine that knows nothing but the address and the token."""
    told = await far.run(f"{agenthost} sessions {options}")
    assert "good morning" in told
    await far.tty.enter(f"clear; {agenthost} chat {session} {options}")
    # What was said and done on the first machine.
    await far.see("› good morning", "✓ Edit file", READY)
    await far.tty.enter("from afar")
    await far.see("You said from afar.", READY)
    await far.leave("C-d")


async def make_an_agent(host: Shell, desk: Shell, here: Path) -> None:
    """Make a package by what is printed: run its test, serve it, change it between two turns."""
    made = await desk.run(f"{AGENTHOST} new-agent greeter")
    test, serve, chat = re.findall(r"^  (\S.*)$", made, re.MULTILINE)[-3:]
    assert "3 passed" in await desk.run(test)
    await start(host, serve.replace(" serve ", " serve --port 0 --reload "))
    await desk.tty.enter(f"clear; {chat}")
    await greet(desk, "Hello, Ada! You said: hi")
    code = here / "greeter" / "src" / "greeter" / "agent.py"
    code.write_text(code.read_text().replace("Hello, {name}!", "Welcome, {name}!"))
    await greet(desk, "Welcome, Ada! You said: hi")
    await desk.leave("C-d")
    # A setting of the host: from now on it answers where nobody is named.
    await desk.run(f"{AGENTHOST} config defaultAgent greeter")
    answer = await desk.run(f"{AGENTHOST} send hello --answer answer=Bob --approve always")
    assert "Welcome, Bob! You said: hello" in answer


async def greet(desk: Shell, greeting: str) -> None:
    """Say something to the agent, and answer what it asks."""
    await desk.see(READY)
    await desk.tty.enter("hi")
    await desk.see("▌ Who are you?", "answer:")
    await desk.tty.enter("Ada")
    await desk.see("guests.txt?", "+Ada", "approve?")
    await desk.tty.enter("1")
    await desk.see(greeting, READY)
