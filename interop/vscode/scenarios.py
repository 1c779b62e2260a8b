"""What people do with VS Code and our host, one function per scenario.

Each works in the session that the one before it left open; after a failure a new one is begun.
What is asserted is what is seen in the page; the wire is looked at beside it.
"""

from __future__ import annotations

import asyncio

from interop.vscode.desk import Desk, Scenario
from interop.vscode.window import ALLOW, DENY, NotSeen
from interop.vscode.workspace_scenarios import WORKSPACE, old_terminal

__all__ = ["SCENARIOS"]


async def new_session(desk: Desk) -> None:
    """A new session with our agent; its first message and answer."""
    await desk.window.choose_agent("Demo")
    await desk.window.say("hello there")
    await desk.window.reply("You said hello there.", "to see what else I can do")
    await desk.window.lists_session("hello there")


async def streaming(desk: Desk) -> None:
    """A long answer that grows before one's eyes."""
    await desk.window.say("/stream 2000 40")
    lengths: set[int] = set()

    async def look() -> str | None:
        text = await desk.window.last_response()
        lengths.add(len(text))
        return None if "1999 ..." in text else f"the answer ends in “{text[-80:]}”"

    await desk.window.until(look, 40)
    if len(lengths) < 3:
        raise NotSeen(f"the answer did not grow, it was seen in {len(lengths)} lengths")


async def run_approved(desk: Desk) -> None:
    """A command that is approved."""
    await desk.window.say("/run echo ran-$((40+2)) > ran.txt")
    await desk.window.approval_shows("Run this command?", "echo ran-")
    await desk.window.picture("run-approved-asking")
    await desk.window.approve(ALLOW)
    await desk.window.reply("The command ended with exit code 0.")
    if (desk.server.workspace / "ran.txt").read_text() != "ran-42\n":
        raise NotSeen("the command did not run")


async def run_denied(desk: Desk) -> None:
    """A command that is denied."""
    await desk.window.say("/run touch never.txt")
    await desk.window.approval_shows("Run this command?", "touch never.txt")
    await desk.window.approve(DENY)
    await desk.window.reply("Then I will not.")
    if (desk.server.workspace / "never.txt").exists():
        raise NotSeen("the command ran although it was denied")


async def edit(desk: Desk) -> None:
    """A change to a file: its diff, then the approval."""
    file = desk.server.workspace / "notes.txt"
    file.write_text("the old line\n")
    await desk.window.say("/edit notes.txt the new line")
    await desk.window.approval_shows("Edit notes.txt?", "+1", "-1")
    await desk.window.open_diff("notes.txt")
    await desk.window.diff_shows("the old line", "the new line")
    await desk.window.picture("edit-diff")
    await desk.window.approve(ALLOW)
    await desk.window.reply("notes.txt is written.", "+1")
    if file.read_text() != "the new line\n":
        raise NotSeen("the file was not written")
    await desk.window.close_editors()


async def ask(desk: Desk) -> None:
    """Questions of every kind."""
    window = desk.window
    await window.say("/ask")
    await window.answer_text("What is your name?", "Ada")
    await window.answer_text("How old are you?", "36")
    await window.answer_text("How tall are you, in metres?", "1.7")
    await window.answer_option("Are you happy?", "False")
    await window.answer_option("Which colour?", "green")
    await window.answer_option("Which fruit?", "apple", "plum")
    await window.picture("ask-last-question")
    await window.submit_answers()
    await window.reply('name: "Ada"', "age: 36", "height: 1.7", "happy: false")
    await window.reply('colour: "green"', 'fruit: ["apple", "plum"]')


async def client_tool(desk: Desk) -> None:
    """A tool of VS Code that the agent calls."""
    await desk.window.say("/client-tool testFailure {}")
    await desk.window.reply("The client answered: No test failures were found yet")


async def subagent(desk: Desk) -> None:
    """A sub-agent, and its chat."""
    await desk.window.say("/subagent greet me")
    await desk.window.reply("The worker is complete: You said greet me.")
    await desk.window.ended()
    await desk.window.picture("subagent-done")
    await desk.window.open_worker()
    await desk.window.page_shows("This chat is read-only")
    await desk.window.picture("subagent-worker")
    await desk.window.close_editors()


async def review(desk: Desk) -> None:
    """A result that may be reviewed: VS Code has no way to ask for that, so it passes."""
    await desk.window.say("/review")
    await desk.window.reply("The report is accepted.")


async def stop(desk: Desk) -> None:
    """A turn that is stopped, and the next one."""
    await desk.window.say("/slow 300")
    await desk.window.reply("working slowly")
    await desk.window.stop()
    await desk.dispatched("chat/turnCancelled")
    await desk.window.say("after the stop")
    await desk.window.reply("You said after the stop.")


async def steer(desk: Desk) -> None:
    """A turn that is steered while it works."""
    await desk.window.say("/slow 300")
    await desk.window.reply("working slowly")
    await desk.window.say("hurry up")
    await desk.window.reply("You steer me: hurry up")


async def steering_left(desk: Desk) -> None:
    """A steering message that Stop finds unread is taken back, and the next send just works."""
    # A command does not look at what is steered while it runs.
    await desk.window.say("/run sleep 300")
    await desk.window.approval_shows("Run this command?")
    await desk.window.approve(ALLOW)
    await desk.window.say("left over")
    await desk.window.conversation_shows("STEERING", "left over")
    await desk.window.stop()
    await desk.window.conversation_hides("STEERING")
    await desk.window.say("go on")
    await desk.window.reply("You said go on.")


async def queue(desk: Desk) -> None:
    """A message that waits for its turn."""
    await desk.window.say("/slow 4")
    await desk.window.reply("working slowly")
    await desk.window.say("wait for me", key="Alt+Enter")
    await desk.window.conversation_shows("QUEUED", "wait for me")
    await desk.window.picture("queue-waiting")
    await desk.window.reply("You said wait for me.")
    await desk.window.conversation_hides("QUEUED")


async def rename(desk: Desk) -> None:
    """A session gets a name of one's own."""
    await desk.window.new_session()
    await desk.window.say("name me")
    await desk.window.reply("You said name me.")
    await desk.window.session_menu("name me", "Rename...")
    await desk.window.type_over("A name of my own")
    await desk.window.lists_session("A name of my own")
    await desk.window.lists_no_session("name me")


async def fork(desk: Desk) -> None:
    """A conversation that goes another way from an earlier point."""
    await desk.window.say("left behind")
    await desk.window.reply("You said left behind.")
    await desk.window.fork_at("left behind")
    await desk.wire(lambda: desk.host.wire.sent("createChat", desk.since), "no createChat was sent")
    await desk.window.conversation_hides("left behind")
    await desk.window.conversation_shows("You said name me.")


async def second_chat(desk: Desk) -> None:
    """The fork is a second chat of its session: what is said there stays there."""
    await desk.window.say("only in the second chat")
    await desk.window.reply("You said only in the second chat.")
    await desk.window.picture("second-chat-itself")
    await desk.window.open_session("A name of my own")
    await desk.window.conversation_shows("You said left behind.")
    await desk.window.conversation_hides("only in the second chat")


async def archive(desk: Desk) -> None:
    """A session is done with, and leaves the list."""
    await desk.window.new_session()
    await desk.window.say("to be archived")
    await desk.window.reply("You said to be archived.")
    await desk.window.ended()
    await desk.window.session_menu("to be archived", "Mark as Done")
    await desk.dispatched("session/isArchivedChanged")
    await desk.window.lists_no_session("to be archived")
    await desk.window.is_empty()


async def delete(desk: Desk) -> None:
    """A session is deleted."""
    await desk.window.new_session()
    await desk.window.say("to be deleted")
    await desk.window.reply("You said to be deleted.")
    await desk.window.ended()
    await desk.window.session_menu("to be deleted", "Delete...")
    await desk.window.picture("delete-asking")
    await desk.window.press_in_dialog("Delete")
    await desk.window.lists_no_session("to be deleted")
    await desk.window.is_empty()
    # Archived sessions are folded away: one that came back among them is not in sight.
    desk.host.wire.refresh()
    if len(added := desk.host.wire.notified("root/sessionAdded", "to be deleted", desk.since)) > 0:
        raise NotSeen(f"it came back: {added[-1]}")


async def reload(desk: Desk) -> None:
    """The page is loaded again, and everything is there."""
    await desk.window.open_session("A name of my own")
    await desk.window.conversation_shows("You said left behind.")
    await desk.window.say("before the reload")
    await desk.window.reply("You said before the reload.")
    # VS Code notes that the draft is gone a little later, and would type it again.
    await desk.wire(lambda: not desk.drafts() or not desk.drafts()[-1], "the draft stays")
    await desk.window.picture("reload-before")
    before = await desk.window.sessions()
    await desk.window.reload()
    await desk.window.lists_session("A name of my own")
    # What was open is opened again, if VS Code had noted it in time.
    await desk.window.open_session("A name of my own")
    await desk.window.conversation_shows("You said left behind.", "You said before the reload.")
    await desk.window.say("after the reload")
    await desk.window.reply("You said after the reload.")
    # Sessions that were never used may go meanwhile.
    if gone := set(before) - {"New session"} - set(await desk.window.sessions()):
        raise NotSeen(f"no longer in the list: {sorted(gone)}")


async def killed(desk: Desk) -> None:
    """The host is killed in mid-turn and started again; the window comes back by itself."""
    await desk.window.say("before the crash")
    await desk.window.reply("You said before the crash.")
    await desk.window.say("/slow 300")
    await desk.window.reply("working slowly")
    await desk.host.kill()
    await asyncio.sleep(2)
    await desk.window.picture("killed-host-away")
    await desk.host.serve()
    await desk.window.ended()
    await desk.window.picture("killed-host-back")
    await desk.window.say("back again")
    await desk.window.reply("You said back again.", seconds=40)
    await desk.window.conversation_shows("the host stopped", "You said before the crash.")


SCENARIOS: dict[str, Scenario] = {
    "new session": new_session,
    "streaming": streaming,
    "/run approved": run_approved,
    "/run denied": run_denied,
    "/edit with its diff": edit,
    "/ask, every kind": ask,
    "/client-tool": client_tool,
    "/subagent": subagent,
    "/review": review,
    "stop": stop,
    "steer": steer,
    "steering left at stop": steering_left,
    "queue": queue,
    **WORKSPACE,
    "rename": rename,
    "fork": fork,
    "second chat": second_chat,
    "archive": archive,
    "delete": delete,
    "reload": reload,
    "host killed in mid-turn": killed,
    "terminal of before": old_terminal,
}
