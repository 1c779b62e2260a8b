"""Each command of the demo agent, from the prompt to its end, on a desktop and on a phone.

Every one leaves a picture, to be looked at.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.web.browsing import (
    DESKTOP,
    PHONE,
    Screen,
    Tab,
    at_host,
    new_session,
    open_tab,
    page_required,
    place,
)
from tests.web.chatting import ChatPage
from tests.wire.hosting import ServedHost

pytestmark = [page_required, pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(
    scope="module", loop_scope="session", params=[DESKTOP, PHONE], ids=["desktop", "phone"]
)
async def tab(
    request: pytest.FixtureRequest, browser: Browser, shared_host: ServedHost
) -> AsyncIterator[Tab]:
    """One tab for all commands."""
    screen: Screen = request.param
    async with open_tab(browser, shared_host, screen) as opened:
        yield opened


async def plain(chat: ChatPage) -> None:
    await chat.say("hello **there**")
    await chat.reads("You said", "to see what else I can do.")
    await expect(chat.transcript.locator("strong", has_text="hello")).to_be_visible()


async def help_(chat: ChatPage) -> None:
    await chat.say("/help")
    await chat.reads("/stream", "a worker chat answers TEXT")
    assert await chat.transcript.get_by_role("listitem").count() >= 13


async def stream(chat: ChatPage) -> None:
    await chat.say("/stream 2000")
    await chat.reads(re.compile(r"1999 \.+"))


async def think(chat: ChatPage) -> None:
    await chat.say("/think")
    await chat.reads("the answer is yes.")
    await chat.press(re.compile("^Thought"))
    await chat.reads("A question deserves an answer.")


async def tool(chat: ChatPage) -> None:
    await chat.say("/tool")
    await chat.reads("There are 1 entries.")
    await chat.reads("Listed the working directory")


async def run(chat: ChatPage) -> None:
    await chat.say("/run echo first")
    await chat.tab.shows("Run this command?")
    await chat.tab.picture("run-asked")
    await chat.answer("Allow once")
    await chat.reads("The command ended with exit code 0.")


async def edit(chat: ChatPage) -> None:
    await chat.say("/edit hello.txt bye")
    await chat.tab.shows("Edit hello.txt?")
    await chat.tab.picture("edit-asked")
    await chat.answer("Deny")
    await chat.reads("Then I will not.")


async def review(chat: ChatPage) -> None:
    await chat.say("/review")
    await chat.tab.shows("Use this result?")
    await chat.answer("Use it")
    await chat.reads("The report is accepted.")


async def ask(chat: ChatPage) -> None:
    await chat.say("/ask")
    await chat.tab.shows("A few questions")
    form = await chat.waiting()
    await form.get_by_label("What is your name?").fill("Ada")
    await form.get_by_label("How old are you?").fill("36")
    await form.get_by_role("button", name="No", exact=True).click()
    await form.get_by_role("radio", name="green").check()
    for fruit in ("apple", "plum"):
        await form.get_by_role("checkbox", name=fruit).check()
    await chat.tab.picture("ask-filled")
    await chat.confirm(form, "Answer")
    await chat.reads('name: "Ada"', "age: 36", "happy: false", 'colour: "green"')


async def shell(chat: ChatPage) -> None:
    await chat.say("!echo typed-$((40+2))")
    await chat.at_rest()
    await chat.press(re.compile("^Ran "))
    await chat.reads(re.compile("typed-42"))


async def client_tool(chat: ChatPage) -> None:
    await chat.say("/client-tool none {}")
    await chat.reads(re.compile("The client's tool failed|ended with an error"))


async def subagent(chat: ChatPage) -> None:
    await chat.say("/subagent hello worker")
    await chat.reads("The worker is complete")


async def slow(chat: ChatPage) -> None:
    await chat.say("/slow 600")
    await chat.tab.shows(re.compile("working slowly", re.IGNORECASE))
    await chat.box.fill("faster")
    await chat.press("Steer")
    await chat.reads("You steer me: faster")


async def stop(chat: ChatPage) -> None:
    await chat.say("/slow 600")
    await chat.press(re.compile("^Stop"))
    await chat.at_rest()


async def background(chat: ChatPage) -> None:
    await chat.say("/background 600")
    await chat.reads("It runs in the background now")
    await chat.tab.shows("1 in background")
    await chat.say("/background stop")
    await chat.reads("I stopped 1 of what ran in the background.")


async def fail(chat: ChatPage) -> None:
    await chat.say("/fail resumable")
    await chat.reads("The turn ended with an error.", "the demo agent failed, as it was told to")
    await chat.press("Resume")
    await chat.reads("And yet it does, at the second attempt.")
    await expect(chat.page.get_by_role("button", name="Resume")).to_have_count(0)


COMMANDS: dict[str, Callable[[ChatPage], Awaitable[None]]] = {
    "plain": plain,
    "help": help_,
    "stream": stream,
    "think": think,
    "tool": tool,
    "run": run,
    "edit": edit,
    "review": review,
    "ask": ask,
    "shell": shell,
    "client-tool": client_tool,
    "subagent": subagent,
    "slow": slow,
    "stop": stop,
    "background": background,
    "fail": fail,
}


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_command_is_seen_from_prompt_to_end(
    tab: Tab, shared_host: ServedHost, work: Path, command: str
) -> None:
    async with at_host(shared_host) as client:
        session = await new_session(client, f"{command}-{tab.screen.name}", work)
    await tab.open(place(session))
    chat = ChatPage(tab)
    await COMMANDS[command](chat)
    await chat.at_rest()
    await tab.picture(command)
    await tab.assert_clean(but="favicon")
