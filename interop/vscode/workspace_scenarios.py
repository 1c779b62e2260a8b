"""What people do with files, terminals and changes in VS Code.

All in one session of its own, in a real git repository: how much it has changed is told in several
places, and must be the same in all of them.
"""

from __future__ import annotations

from interop.vscode.desk import Desk, Scenario
from interop.vscode.repository import git
from interop.vscode.window import ALLOW, NotSeen

__all__ = ["WORKSPACE", "old_terminal"]

SESSION = "work in the repository"
CODE = "src/reckoning.py"


async def session_changes(desk: Desk) -> None:
    """An edit: what its turn and the session changed, in the chat, the list and the editor."""
    window = desk.window
    await window.new_session()
    await window.say(SESSION)
    await window.reply(f"You said {SESSION}.")
    await window.say(f"/edit {CODE} def double(number): return 2 * number")
    await window.approval_shows(f"Edit {CODE}?", "+1", "-2")
    await window.approve(ALLOW)
    await window.reply(f"{CODE} is written.", "1 file changed", "+1", "-2")
    await window.turn_changes_show("reckoning.py")
    await window.picture("changes-of-the-turn")
    await window.open_turn_change("reckoning.py")
    await window.diff_shows("return number + number", "return 2 * number")
    await window.picture("changes-of-the-turn-diff")
    await window.close_editors()
    await window.changes_show("1 File", "+1", "-2")
    await window.lists_changes(SESSION, "+1", "-2")
    await window.open_changes("Session Changes (1 file)", "reckoning.py", "src")
    await window.editor_shows("return 2 * number")
    await window.picture("changes-of-the-session")
    await window.close_editors()
    if git(desk.server.workspace, "stash", "list"):
        raise NotSeen("the user's stash was touched")


async def edited_file(desk: Desk) -> None:
    """The edited file is opened; what is added by hand is a change of the session at once."""
    window = desk.window
    await window.open_file(CODE)
    await window.editor_shows("return 2 * number")
    await window.add_line("# twice")
    await window.changes_show("1 File", "+2", "-2")
    await window.picture("edited-file")
    await window.close_editors()


async def completion(desk: Desk) -> None:
    """Files are offered behind ``@`` and ``#``, and what is taken goes with the message."""
    window = desk.window
    await window.attach("look at @greet", "greetings.py")
    await window.picture("completion-offered")
    await window.take_suggestion()
    await window.attach("and #testre", "test_reckoning.py")
    await window.take_suggestion()
    await window.picture("completion-taken")
    await window.send()
    await window.reply("You said look at @src/greetings.py and #tests/test_reckoning.py")
    await desk.dispatched("chat/turnStarted")
    attached = {
        attachment.get("uri")
        for action in desk.host.wire.dispatched("chat/turnStarted", desk.since)
        for attachment in action["message"].get("attachments", ())
    }
    folder = desk.server.workspace.as_uri()
    if attached != {f"{folder}/src/greetings.py", f"{folder}/tests/test_reckoning.py"}:
        raise NotSeen(f"attached is {attached}")


async def terminal_of_command(desk: Desk) -> None:
    """A command's output is seen while it runs; its terminal is opened and typed into."""
    window = desk.window
    script = "echo Who-$((40+2)); read name; echo hello $name | tee greeted.txt; read end"
    await window.say(f"/run {script}")
    await window.approval_shows("Run this command?")
    await window.approve(ALLOW)
    await window.reply("Who-42")
    await window.picture("terminal-live")
    await window.in_terminal("Show and Focus Terminal")
    await window.terminal_shows("Who-42")
    await window.type_in_terminal("Ada")
    await window.terminal_shows("Ada", "hello Ada")
    await window.reply("hello Ada")
    await window.picture("terminal-typed")
    await window.type_in_terminal("")
    await window.reply("The command ended with exit code 0.")
    await window.maximize()
    if (desk.server.workspace / "greeted.txt").read_text() != "hello Ada\n":
        raise NotSeen("what was typed did not reach the command")


async def background(desk: Desk) -> None:
    """A command goes on in the background: its turn ends, and what it does comes later."""
    window = desk.window
    late = desk.server.workspace / "late.txt"
    await window.say("/run until test -e go; do sleep 0.2; done; rm go; echo late > late.txt")
    await window.approval_shows("Run this command?")
    await window.approve(ALLOW)
    await window.in_terminal("Continue in Background")
    await window.reply("The command runs in the background now.")
    await window.ended()
    await window.picture("background")
    (desk.server.workspace / "go").touch()
    # The code, what was greeted, and this.
    await window.changes_show("3 Files")
    if not late.exists():
        raise NotSeen("the command did not go on")


async def own_terminal(desk: Desk) -> None:
    """A terminal of one's own on the host: opened, typed into, closed."""
    window = desk.window
    await window.new_terminal("Agent Host")
    await window.type_in_terminal("echo own-$((40+2))")
    await window.terminal_shows("own-42")
    await window.picture("own-terminal-open")
    await window.kill_terminal()
    wire = desk.host.wire
    await desk.wire(lambda: wire.sent("disposeTerminal", desk.since), "no disposeTerminal was sent")
    channel = wire.sent("disposeTerminal", desk.since)[0]["channel"]
    await desk.wire(
        lambda: channel not in str(wire.told("root/terminalsChanged", desk.since)[-1]),
        "the host still lists the terminal",
    )
    await window.maximize()


async def shell_message(desk: Desk) -> None:
    """A message that begins with ``!`` is a command, which nobody has to approve."""
    await desk.window.say("!echo shell-$((40+2))")
    await desk.window.reply("shell-42")


async def folder_inside(desk: Desk) -> None:
    """A new session works in a folder inside of the workspace, which is chosen under the input."""
    window = desk.window
    await window.new_session()
    whole = "The working directory"
    await window.pick(whole, whole, "src", "tests", choose="src")
    await window.pick("src", whole, choose=whole)
    await window.pick(whole, "src", choose="src")
    await window.say("!pwd; echo in-$((40+2))")
    await window.reply(f"{desk.server.workspace}/src", "in-42")


async def old_terminal(desk: Desk) -> None:
    """What a command printed before the host was started anew can still be seen."""
    await desk.window.open_session(SESSION)
    await desk.window.unfold_command("echo Who-")
    await desk.window.conversation_shows("hello Ada")


WORKSPACE: dict[str, Scenario] = {
    "changes of turn, session": session_changes,
    "edited file opened": edited_file,
    "@ and # completion": completion,
    "terminal of a command": terminal_of_command,
    "continue in background": background,
    "terminal of one's own": own_terminal,
    "! command": shell_message,
    "folder inside": folder_inside,
}
