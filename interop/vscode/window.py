"""VS Code's window, as hands and eyes use it: type, click, read, take a picture.

The one module that knows how VS Code's page is built. Everything waits for what it looks for, with
a limit; what does not come is `NotSeen`, with what was there instead.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

__all__ = ["ALLOW", "DENY", "NotSeen", "Window"]

# Seconds that something may take to be seen, on a busy machine.
PATIENCE = 20.0
# Seconds until VS Code has started.
START = 90.0
# How often to look.
GLANCE = 0.15
# For the list of completions to open, which would swallow the Enter.
COMPLETIONS = 0.5
# Characters of the page that a failure quotes.
QUOTED = 300

ROWS = """() => [...document.querySelectorAll(
    '.interactive-list .monaco-list-rows > .monaco-list-row')]
  .sort((a, b) => a.dataset.index - b.dataset.index)
  .map(row => [row.querySelector('.interactive-response') ? 'response' : 'other', row.innerText])"""
APPROVAL = ".chat-tool-confirmation-carousel"
QUESTIONS = ".chat-question-carousel-container"
# What the button of a sub-agent reads, while it is live and later.
WORKER = re.compile("^(Ran subagent|Worker)$")
INPUT = ".interactive-input-part"
SESSIONS = ".agent-sessions-viewer .monaco-list-row"
PANEL = ".part.panel"
# The names of files, with how much they have changed, above the input.
CHANGES = ".agent-host-session-input-pills"
PICKED = ".action-widget"
SUGGESTED = ".suggest-widget"


ALLOW = re.compile("^Allow( once)?$")
DENY = re.compile("^(Deny|Skip)$")


class NotSeen(Exception):
    """What a person would have seen was not there in time."""


class Window:
    """One page with VS Code in it, the chat over the whole width."""

    def __init__(self, page: Any, pictures: Path) -> None:
        self.page = page
        self._pictures = pictures
        page.set_default_timeout(PATIENCE * 1000)

    async def open(self, url: str) -> None:
        """Load VS Code, and make the chat large enough to see the list of sessions beside it."""
        await self.page.goto(url, wait_until="domcontentloaded")
        await self.page.locator(f"{INPUT} .monaco-editor").first.wait_for(timeout=START * 1000)
        await self.maximize()

    async def maximize(self) -> None:
        """Give the chat the whole width, if it has not."""
        if not await self.page.locator(SESSIONS.split()[0]).is_visible():
            await self.page.locator('.auxiliarybar [aria-label*="Maximize"]').first.click()

    async def reload(self) -> None:
        """Load the page again, as F5 does."""
        await self.page.reload(wait_until="domcontentloaded")
        await self.page.locator(f"{INPUT} .monaco-editor").first.wait_for(timeout=START * 1000)

    async def picture(self, name: str) -> None:
        """Keep what is to be seen now."""
        await self.page.screenshot(path=str(self._pictures / f"{name}.png"))

    async def until(
        self, look: Callable[[], Awaitable[str | None]], seconds: float = PATIENCE
    ) -> None:
        """Look again and again until ``look`` says no more what is missing."""
        end = time.monotonic() + seconds
        while (missing := await look()) is not None:
            if time.monotonic() > end:
                raise NotSeen(missing)
            await asyncio.sleep(GLANCE)

    async def choose_agent(self, name: str) -> None:
        """Choose where sessions run: the agents of our host stand there beside "Local"."""
        agent = self.page.locator(".action-widget").get_by_text(name, exact=True)

        async def look() -> str | None:
            # The menu is as old as its opening, and agents come when the host has answered.
            await self.page.locator(INPUT).get_by_text("Local", exact=True).click()
            if await agent.count():
                return None
            offered = await self.page.locator(".action-widget").first.inner_text()
            await self.page.keyboard.press("Escape")
            return f"no agent “{name}” among “{offered}”"

        await self.until(look, START)
        await agent.click()
        await self.until(lambda: self._shows(INPUT, f"Chat with {name}"))

    async def new_session(self) -> None:
        """Begin a new session."""
        await self.page.get_by_role("button", name="New Session").click()
        await self.is_empty()

    async def is_empty(self) -> None:
        """Wait until a conversation that has not begun is shown."""
        await self.until(self._is_empty)

    async def say(self, text: str, key: str = "Enter") -> None:
        """Type a message and send it."""
        await self.page.locator(f"{INPUT} .monaco-editor").first.click()
        # After a reload VS Code may show again what was typed into a session that is gone.
        await self.page.keyboard.press("Control+A")
        await self.page.keyboard.type(text)
        await self.until(lambda: self._shows(f"{INPUT} .view-lines", text))
        await self.send(key)
        await self.until(lambda: self._hides(f"{INPUT} .view-lines", text))

    async def send(self, key: str = "Enter") -> None:
        """Send what is typed."""
        await asyncio.sleep(COMPLETIONS)
        await self.page.keyboard.press("Escape")
        await self.page.keyboard.press(key)

    async def reply(self, *wanted: str, seconds: float = PATIENCE) -> None:
        """Wait until the last response shows all of this."""

        async def look() -> str | None:
            last = await self.last_response()
            missing = [text for text in wanted if text not in last]
            return f"no “{missing[0]}” in the response “{last[:QUOTED]}”" if missing else None

        await self.until(look, seconds)

    async def ended(self) -> None:
        """Wait until no turn is under way."""
        await self.until(lambda: self._absent(f"{INPUT} .codicon-stop-circle", "a turn runs on"))

    async def last_response(self) -> str:
        """Return the text of the last response that is in sight."""
        responses = [text for kind, text in await self.rows() if kind == "response"]
        return responses[-1] if responses else ""

    async def rows(self) -> list[tuple[str, str]]:
        """Return what the conversation shows, in order: "response" or "other", and its text."""
        return [(kind, _plain(text)) for kind, text in await self.page.evaluate(ROWS)]

    async def conversation(self) -> str:
        """Return all the text in sight of the conversation."""
        return "\n".join(text for _, text in await self.rows())

    async def conversation_shows(self, *wanted: str) -> None:
        """Wait until the conversation shows all of this."""

        async def look() -> str | None:
            there = await self.conversation()
            missing = [text for text in wanted if text not in there]
            return f"no “{missing[0]}” in “{there[-QUOTED:]}”" if missing else None

        await self.until(look)

    async def conversation_hides(self, unwanted: str) -> None:
        """Wait until the conversation does not show this any more."""

        async def look() -> str | None:
            return f"“{unwanted}” is still there" if unwanted in await self.conversation() else None

        await self.until(look)

    async def approval_shows(self, *wanted: str) -> None:
        """Wait until an approval is asked that shows all of this."""
        for text in wanted:
            await self.until(lambda text=text: self._shows(APPROVAL, text))  # type: ignore[misc]

    async def approve(self, button: re.Pattern[str]) -> None:
        """Press a button of the approval: ours, or for a terminal and a file VS Code's own."""
        buttons = self.page.locator(f"{APPROVAL} .monaco-button").filter(has_text=button)
        await buttons.locator("visible=true").first.click()
        await self.until(lambda: self._absent(APPROVAL, "the approval is still asked"))

    async def open_diff(self, name: str) -> None:
        """Open the change of a file that an approval is about."""
        files = self.page.locator(APPROVAL).get_by_text(name, exact=True)
        header = self.page.locator(APPROVAL).get_by_text("file", exact=False).last
        if not await files.last.is_visible():
            await header.click()
        await files.last.click()

    async def diff_shows(self, *lines: str) -> None:
        """Wait until an open diff shows these lines."""
        for line in lines:
            await self.until(lambda line=line: self._shows(".monaco-diff-editor", line))  # type: ignore[misc]

    async def in_terminal(self, button: str) -> None:
        """Press a button of the command that runs in the last response."""
        response = self.page.locator(".interactive-response").last
        await response.locator(f'[aria-label="{button}"]').click()

    async def unfold_command(self, command: str) -> None:
        """Show what a command printed that has ended, further up in the conversation."""
        heading = self.page.locator(".interactive-response .monaco-button").filter(has_text=command)
        rows = self.page.locator(".interactive-list .monaco-list-rows").first

        async def look() -> str | None:
            if await heading.last.is_visible():
                return None
            await rows.hover()
            await self.page.mouse.wheel(0, -200)
            return f"no command “{command}” in sight"

        await self.until(look)
        await heading.last.click()

    async def new_terminal(self, profile: str) -> None:
        """Open a terminal of one's own and go to it."""
        await self.command("Create New Terminal (With Profile)")
        await self.page.locator(".quick-input-widget").get_by_text(profile).click()
        # The chat is over the whole width, and the terminal behind it.
        await self.page.keyboard.press("Control+`")
        await self.page.locator(f"{PANEL} .xterm").last.wait_for()

    async def terminal_shows(self, *wanted: str) -> None:
        """Wait until the terminal in front shows all of this."""
        for text in wanted:
            await self.until(lambda text=text: self._shows(f"{PANEL} .xterm-rows", text))  # type: ignore[misc]

    async def type_in_terminal(self, text: str) -> None:
        """Type a line into the terminal that has the focus."""
        await self.page.locator(f"{PANEL} .xterm-helper-textarea").last.focus()
        await self.page.keyboard.type(text)
        await self.page.keyboard.press("Enter")

    async def kill_terminal(self) -> None:
        """End the terminal in front."""
        await self.command("Kill the Active Terminal Instance")
        await self.until(lambda: self._absent(f"{PANEL} .xterm", "the terminal is still there"))

    async def command(self, name: str) -> None:
        """Run a command of VS Code by its name."""
        await self.page.keyboard.press("F1")
        box = self.page.locator(".quick-input-widget input").first
        await box.wait_for()
        await box.fill(f">{name}")
        first = self.page.locator(".quick-input-widget .monaco-list-row").first
        await first.get_by_text(name).first.wait_for()
        await self.page.keyboard.press("Enter")

    async def turn_changes_show(self, *wanted: str) -> None:
        """Unfold which files the last turn changed, and wait until all of this is there."""
        await self.page.locator(".interactive-response").last.get_by_text("changed").last.click()
        await self.reply(*wanted)

    async def open_turn_change(self, name: str) -> None:
        """Open the change of a file that the last turn made."""
        files = self.page.locator(".interactive-response").last.locator(".monaco-list-row")
        await files.get_by_text(name).last.click()

    async def changes_show(self, *wanted: str) -> None:
        """Wait until the line above the input tells of changes so."""
        for text in wanted:
            await self.until(lambda text=text: self._shows(CHANGES, text))  # type: ignore[misc]

    async def open_changes(self, *wanted: str) -> None:
        """Open the changes that the line above the input tells of; their editor shows all this."""
        await self.page.locator(CHANGES).get_by_text("File", exact=False).last.click()
        for text in wanted:
            await self.until(lambda text=text: self._shows(".part.editor", text))  # type: ignore[misc]

    async def open_file(self, path: str) -> None:
        """Open a file of the workspace by its name."""
        await self.page.keyboard.press("Control+p")
        await self.page.locator(".quick-input-widget input").first.fill(path)
        rows = self.page.locator(".quick-input-widget .monaco-list-row")
        await rows.filter(has_text=path.rpartition("/")[2]).first.wait_for()
        await self.page.keyboard.press("Enter")

    async def editor_shows(self, text: str) -> None:
        """Wait until the editor in front shows a text."""
        await self.until(lambda: self._shows(".part.editor .view-lines", text))

    async def add_line(self, line: str) -> None:
        """Write a line at the end of the file in the editor, and save it."""
        await self.page.locator(".part.editor .monaco-editor").first.click()
        await self.page.keyboard.press("Control+End")
        await self.page.keyboard.type(line)
        await self.page.keyboard.press("Enter")
        await self.page.keyboard.press("Control+s")

    async def attach(self, typed: str, label: str) -> None:
        """Type into the input until something is suggested, and take it."""
        await self.page.locator(f"{INPUT} .monaco-editor").first.click()
        await self.page.keyboard.type(typed)
        await self.until(lambda: self._shows(SUGGESTED, label))

    async def take_suggestion(self) -> None:
        """Take the first of what is suggested."""
        await self.page.keyboard.press("Enter")
        await self.until(lambda: self._absent(SUGGESTED, "suggestions are still there"))

    async def pick(self, now: str, *offered: str, choose: str) -> None:
        """Open a choice under the input that shows ``now``, look what is offered, and choose."""
        await self.page.locator(INPUT).get_by_text(now, exact=True).click()
        for text in offered:
            await self.until(lambda text=text: self._shows(PICKED, text))  # type: ignore[misc]
        await self.picture("pick-" + re.sub(r"\W+", "-", choose))
        await self.page.locator(PICKED).get_by_text(choose, exact=True).click()
        await self.until(lambda: self._shows(INPUT, choose))

    async def close_editors(self) -> None:
        """Close every editor, and give the width back to the chat."""
        await self.page.keyboard.press("Control+k")
        await self.page.keyboard.press("Control+w")
        await self.maximize()

    async def answer_text(self, question: str, text: str) -> None:
        """Answer a question in words, and go on to the next one."""
        await self.until(lambda: self._shows(QUESTIONS, question))
        panel = self.page.locator(QUESTIONS)
        await panel.locator("input.input").fill(text)
        await panel.locator(".chat-question-nav-next:not(.disabled)").click()

    async def answer_option(self, question: str, *options: str) -> None:
        """Choose of the options of a question; one alone goes on to the next question."""
        await self.until(lambda: self._shows(QUESTIONS, question))
        for option in options:
            await self.page.locator(QUESTIONS).get_by_role("option", name=option).click()

    async def submit_answers(self) -> None:
        """Send the answers."""
        await self.page.locator(f"{QUESTIONS} .chat-question-submit-button").click()

    async def stop(self) -> None:
        """Stop the turn, with the button under the input."""
        await self.page.locator(f"{INPUT} .codicon-stop-circle").click()
        await self.ended()

    async def fork_at(self, request: str) -> None:
        """Fork the conversation before a request that is in sight."""
        rows = self.page.locator(".interactive-list .monaco-list-rows > .monaco-list-row")
        row = rows.filter(has=self.page.locator(".interactive-request")).filter(has_text=request)
        await row.last.hover()
        await row.last.locator(".chat-fork-action-label").click()

    async def open_worker(self) -> None:
        """Open the chat of the sub-agent that the last response tells of."""
        chip = self.page.locator(".interactive-response").get_by_text(WORKER)
        await chip.last.click()

    async def page_shows(self, *wanted: str) -> None:
        """Wait until all of this is somewhere in the window."""
        for text in wanted:
            await self.until(lambda text=text: self._shows("body", text))  # type: ignore[misc]

    async def sessions(self) -> list[str]:
        """Return the titles in the list of sessions, the headings among them."""
        return [
            _plain(text).split("\n")[0]
            for text in await self.page.locator(SESSIONS).all_inner_texts()
        ]

    async def lists_session(self, title: str) -> None:
        """Wait until the list of sessions shows a title."""

        async def look() -> str | None:
            titles = await self.sessions()
            return None if title in titles else f"no session “{title}” in {titles}"

        await self.until(look)

    async def lists_no_session(self, title: str) -> None:
        """Wait until the list of sessions does not show a title any more."""

        async def look() -> str | None:
            return f"“{title}” is still listed" if title in await self.sessions() else None

        await self.until(look)

    async def lists_changes(self, title: str, *wanted: str) -> None:
        """Wait until the list of sessions tells how much a session has changed."""
        row = f"{SESSIONS}:has-text({title!r})"
        for text in wanted:
            await self.until(lambda text=text: self._shows(row, text))  # type: ignore[misc]

    async def open_session(self, title: str) -> None:
        """Open a session of the list."""
        await self.page.locator(SESSIONS).filter(has_text=title).first.click()

    async def session_menu(self, title: str, item: str) -> None:
        """Choose from the menu of a session in the list."""
        await self.page.locator(SESSIONS).filter(has_text=title).first.click(button="right")
        entry = self.page.locator(".monaco-menu").get_by_text(item, exact=True)

        async def look() -> str | None:
            # A menu that has just opened takes no clicks yet.
            await entry.click()
            await asyncio.sleep(GLANCE)
            return "the menu is still open" if await entry.count() else None

        await entry.wait_for()
        await self.until(look)

    async def type_over(self, text: str) -> None:
        """Replace what an open input box holds, and confirm."""
        await self.page.locator(".quick-input-widget input").first.wait_for()
        await self.page.keyboard.press("Control+a")
        await self.page.keyboard.type(text)
        await self.page.keyboard.press("Enter")

    async def press_in_dialog(self, button: str) -> None:
        """Press a button of an open dialog."""
        await self.page.locator(".monaco-dialog-box").get_by_role("button", name=button).click()

    async def recover(self) -> None:
        """After something was not seen: close what is open, and begin a new session."""
        for key in ("Escape", "Escape", "Control+Escape"):
            await self.page.keyboard.press(key)
        dialog = self.page.locator(".monaco-dialog-box .dialog-close-action, .monaco-dialog-box a")
        if await dialog.count():
            await dialog.last.click()
        await self.close_editors()
        await self.new_session()

    async def _is_empty(self) -> str | None:
        return "the conversation is not empty" if await self.rows() else None

    async def _shows(self, place: str, text: str) -> str | None:
        there = _plain("\n".join(await self.page.locator(place).all_inner_texts()))
        return None if text in there else f"no “{text}” in “{there[:QUOTED]}”"

    async def _hides(self, place: str, text: str) -> str | None:
        return f"“{text}” is still there" if await self._shows(place, text) is None else None

    async def _absent(self, place: str, why: str) -> str | None:
        return why if await self.page.locator(place).locator("visible=true").count() else None


def _plain(text: str) -> str:
    return text.replace("\u00a0", " ").replace("\u200b", "")
