"""The workspace beside a chat: changes, files, terminals, notes; a real repository and shell."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, expect

from agenthost.client import Session
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
from tests.wire.hosting import ServedHost, serve
from tests.workspace.git.repositories import git

pytestmark = [page_required, pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

BEFORE = "".join(f"export const value{n} = {n};\n" for n in range(1, 41))


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shared_host(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServedHost]:
    """A host whose sessions may work in repositories."""
    folder = tmp_path_factory.mktemp("host")
    (folder / "work").mkdir()
    (folder / "work" / "hello.txt").write_text("hi\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("GIT_DIR")
        async with serve(folder / "data", "--root", str(folder / "work")) as served:
            yield served


def repository(folder: Path) -> Path:
    """Make a repository with one commit."""
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "values.ts").write_text(BEFORE)
    (folder / "notes.md").write_text("hello\n")
    (folder / "blob.bin").write_bytes(bytes(range(256)) * 8)
    (folder / "large.txt").write_text("x" * 1_500_000)
    (folder / "shot.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30">'
        '<script>alert(1)</script><image href="https://example.org/x.png"/></svg>'
    )
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder


@asynccontextmanager
async def session_in(host: ServedHost, name: str, folder: Path) -> AsyncIterator[Session]:
    async with at_host(host) as client:
        yield await new_session(client, name, folder)


def rows(tab: Tab) -> Locator:
    """Return what the screen of a terminal shows."""
    return tab.page.locator(".xterm-rows")


async def type_line(tab: Tab, text: str) -> None:
    await tab.page.locator(".xterm-helper-textarea").focus()
    await tab.page.keyboard.type(text)
    await tab.page.keyboard.press("Enter")


async def open_terminal(tab: Tab) -> None:
    await tab.page.get_by_role("button", name="New terminal").first.click()
    await expect(rows(tab)).to_contain_text(re.compile("[#$%>]"))


async def test_changes_are_read_noted_ticked_and_discarded(
    browser: Browser, shared_host: ServedHost, work: Path
) -> None:
    folder = repository(work / "changes")
    async with session_in(shared_host, "changes", folder) as session:
        await (await session.chat()).ask("!sed -i 's/value7 = 7/answer = 42/' src/values.ts")
        path = place(session) + "?panel=changes"
        async with open_tab(browser, shared_host, DESKTOP, path) as tab:
            page = tab.page
            # The only file that was changed is open by itself.
            await expect(page.get_by_text("export const answer = 42;")).to_be_visible()
            marked = page.locator(".diff-half.add mark")
            assert await marked.all_inner_texts() == ["answer", "42"]
            await page.get_by_role("button", name="30 unchanged lines").click()
            await expect(page.get_by_text("export const value40 = 40;")).to_be_attached()
            await page.get_by_role("button", name="Write a note on line 7").click()
            await page.keyboard.type("Why 42?")
            await page.get_by_role("button", name="Add note").click()
            notes = await session.annotations()
            await notes.channel.until(lambda state: state["annotations"])
            note = notes.state["annotations"][0]
            assert note["range"]["start"] == {"line": 6, "character": 0}
            assert note["resource"] == (folder / "src" / "values.ts").as_uri()
            await page.get_by_label("Reviewed: src/values.ts").check()
            await expect(page.get_by_text("1 of 1 reviewed")).to_be_visible()
            await tab.picture("changes")
            await page.get_by_role("button", name="More for values.ts").click()
            await page.get_by_role("menuitem", name="Discard Changes").click()
            asked = page.get_by_role("dialog")
            await expect(asked).to_contain_text("Discard the changes in values.ts?")
            await asked.get_by_role("button", name="Discard Changes").click()
            await expect(page.get_by_text("No changes.")).to_be_visible()
            assert (folder / "src" / "values.ts").read_text() == BEFORE
            await tab.assert_clean(but="favicon")


async def test_both_sides_stand_side_by_side_where_there_is_room(
    browser: Browser, shared_host: ServedHost, work: Path
) -> None:
    folder = repository(work / "split")
    async with session_in(shared_host, "split", folder) as session:
        await (await session.chat()).ask("!sed -i 's/value7 = 7/answer = 42/' src/values.ts")
        path = place(session) + "?panel=changes"
        async with open_tab(browser, shared_host, DESKTOP, path) as tab:
            await expect(tab.page.get_by_text("export const answer = 42;")).to_be_visible()
            await expect(tab.page.locator(".diff-line.split")).to_have_count(0)
            await tab.page.get_by_role("button", name="Use the whole window").click()
            await expect(tab.page.locator(".diff-line.split").first).to_be_visible()
            await tab.picture("changes-whole")
            await tab.page.go_back()
            await expect(tab.page.locator(".diff-line.split")).to_have_count(0)
            await tab.assert_clean(but="favicon")


async def test_files_are_read_as_what_they_are(
    browser: Browser, shared_host: ServedHost, work: Path
) -> None:
    folder = repository(work / "files")
    async with session_in(shared_host, "files", folder) as session:
        path = place(session) + "?panel=files"
        async with open_tab(browser, shared_host, DESKTOP, path) as tab:
            page = tab.page
            await page.get_by_role("button", name="src", exact=True).click()
            await page.get_by_role("button", name="values.ts", exact=True).click()
            await expect(page.locator(".files-line").first).to_contain_text("value1 = 1")
            # Colours come from the worker.
            await expect(page.locator(".files-text .md-c2").first).to_have_text("export")
            for name, told in (
                ("blob.bin", "Not text (2.0 KB)."),
                ("large.txt", "Too large to show: 1.4 MB."),
                ("missing.txt", "The host refused: "),
                ("/etc/passwd", "The host refused: "),
            ):
                await tab.open(f"{path}&file={name}")
                await expect(page.locator(".files-note")).to_contain_text(told)
            await tab.open(f"{path}&file=shot.svg")
            picture = page.locator(".files-image img")
            await expect(picture).to_have_attribute("src", re.compile("^blob:"))
            await tab.open(f"{path}&file=src/values.ts&line=33")
            chosen = page.locator(".files-line.selected")
            await expect(chosen).to_contain_text("value33 = 33")
            await expect(chosen).to_be_in_viewport()
            await page.get_by_role("button", name="Line 35").click(modifiers=["Shift"])
            await expect(page.get_by_text("Lines 33 to 35")).to_be_visible()
            await tab.picture("file")
            await tab.assert_clean(but="favicon")


async def test_a_shell_runs_in_the_page(
    browser: Browser, shared_host: ServedHost, work: Path
) -> None:
    async with session_in(shared_host, "shell", work) as session:
        path = place(session) + "?panel=terminals"
        async with open_tab(browser, shared_host, DESKTOP, path) as tab:
            await open_terminal(tab)
            await type_line(tab, "echo sum-$((40+2)); tput cols > width.txt")
            await expect(rows(tab)).to_contain_text("sum-42")
            # Colours of every kind, of which some are written as styles.
            await type_line(
                tab, r"printf '\033[38;2;200;60;0mtrue\033[0m\033[48;5;30mback\033[0m\n'"
            )
            coloured = tab.page.locator(".xterm-rows span", has_text=re.compile("^true$"))
            await expect(coloured).to_have_css("color", re.compile(r"rgb\("))
            await type_line(
                tab,
                r"printf '\033]8;;https://example.org/\033\\here\033]8;;\033\\"
                r" \033]52;c;aGVsbG8=\007\033]8;;javascript:alert(1)\033\\there\033]8;;\033\\\n'",
            )
            await expect(rows(tab)).to_contain_text("here there")
            await tab.picture("terminal")
            await type_line(tab, "seq 1 20000; echo at-the-end")
            await expect(rows(tab)).to_contain_text("at-the-end")
            # Tab is the shell's; there is another way out.
            await tab.page.locator(".xterm-helper-textarea").focus()
            await tab.page.keyboard.press("Shift+Escape")
            await expect(tab.page.locator(".terminals-list button").first).to_be_focused()
            await type_line(tab, "exit 3")
            await expect(tab.page.get_by_text("Ended with 3.")).to_be_visible()
            await tab.page.get_by_role("button", name="Remove terminal").click()
            await expect(tab.page.get_by_text("No terminals here.")).to_be_visible()
            await tab.assert_clean(but="favicon")


async def test_the_window_that_typed_last_sets_the_size(
    browser: Browser, shared_host: ServedHost, work: Path
) -> None:
    async with session_in(shared_host, "sizes", work) as session:
        path = place(session) + "?panel=terminals"
        async with open_tab(browser, shared_host, DESKTOP, path) as desk:
            await open_terminal(desk)
            await type_line(desk, "echo from-$((1+1))-desk")
            await expect(rows(desk)).to_contain_text("from-2-desk")
            async with open_tab(browser, shared_host, PHONE, path) as phone:
                await expect(rows(phone)).to_contain_text("from-2-desk")
                told = phone.page.get_by_text("Sized by another window.")
                await expect(told).to_be_visible()
                await phone.picture("terminal")
                await phone.page.get_by_role("button", name="Use my size").tap()
                await expect(told).to_be_hidden()
                await expect(desk.page.get_by_text("Sized by another window.")).to_be_visible()
                # Keys that a phone does not have.
                await type_line(phone, "cat -v")
                await phone.page.get_by_role("button", name="Up", exact=True).tap()
                await phone.page.get_by_role("button", name="Escape").tap()
                await expect(rows(phone)).to_contain_text("^[[A^[")
                await phone.page.get_by_role("button", name="Control C").tap()
                await expect(rows(desk)).to_contain_text("^C")
                await type_line(desk, "echo again")
                await expect(desk.page.get_by_text("Sized by another window.")).to_be_hidden()
                await expect(told).to_be_visible()
                await phone.assert_clean(but="favicon")
            await desk.assert_clean(but="favicon")


@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
async def test_notes_are_answered_resolved_and_attached(
    browser: Browser, shared_host: ServedHost, work: Path, screen: Screen
) -> None:
    async with session_in(shared_host, f"notes-{screen.name}", work) as session:
        notes = await session.annotations()
        _, added = notes.add((work / "hello.txt").as_uri(), "Say more here.")
        await added
        async with open_tab(browser, shared_host, screen, place(session) + "?panel=notes") as tab:
            page = tab.page
            await expect(page.get_by_text("Say more here.")).to_be_visible()
            await page.get_by_role("button", name="Reply").click()
            await page.keyboard.type("I will.")
            await page.keyboard.press("Control+Enter")
            await expect(page.get_by_text("I will.")).to_be_visible()
            await notes.channel.until(lambda state: len(state["annotations"][0]["entries"]) == 2)
            await tab.picture("notes")
            await page.get_by_role("button", name="Attach to message").click()
            await page.get_by_role("button", name="Resolve").click()
            await expect(page.get_by_text("No open notes.")).to_be_visible()
            await notes.channel.until(lambda state: state["annotations"][0]["resolved"])
            await tab.open(place(session))
            chat = ChatPage(tab)
            await expect(page.locator(".composer-attached")).to_contain_text("hello.txt")
            await chat.say("Look at the note.")
            followed = await session.chat()
            await followed.channel.until(lambda state: state["turns"])
            attached = followed.state["turns"][0]["message"]["attachments"]
            assert [(each["type"], each["label"]) for each in attached] == [
                ("annotations", "hello.txt")
            ]
            await tab.assert_clean(but="favicon")
