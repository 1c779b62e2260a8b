"""The agent that needs no model: it shows what a host can do, offline.

Also a worked example: each command is one small method, and uses one feature of ``turn``.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar

from agenthost.agents import content, inputs
from agenthost.agents.api import Agent, AgentError, SlashCommand
from agenthost.agents.demo_brought import call_tool, show_customizations, show_servers
from agenthost.agents.turn import Turn

# About the size of what models stream.
DEFAULT_DELTA_BYTES = 24
# More would only fill the disk.
MOST_DELTAS = 10_000_000
MOST_DELTA_BYTES = 1_000_000
LONGEST_SLEEP = 3600
# No sensible numbers take more characters.
LONGEST_NUMBERS = 40

Command = Callable[["Demo", Turn, str], Awaitable[None]]


class Demo(Agent):
    """Streams canned answers; ``/help`` lists what else it can do."""

    provider = "demo"
    display_name = "Demo"
    description = "An offline agent that shows what a host can do; say /help"
    models = ({"id": "demo", "provider": "demo", "name": "Demo, offline"},)
    tools = (
        {"name": "list", "description": "Lists the working directory"},
        {"name": "shell", "description": "Runs a command"},
        {"name": "edit", "description": "Writes a file"},
    )

    uses_mcp = True

    # The word after the slash -> the method; filled below the class.
    commands: ClassVar[dict[str, Command]] = {}

    async def run(self, turn: Turn) -> None:
        """Answer the message, or do what its slash command says."""
        word, _, rest = turn.text.strip().partition(" ")
        if not word.startswith("/"):
            await self._answer(turn)
            return
        command = self.commands.get(word[1:])
        if command is None:
            raise AgentError(f"unknown command {word}; /help lists what there is", "unknownCommand")
        await command(self, turn, rest.strip())

    async def _answer(self, turn: Turn) -> None:
        text = turn.text.strip()
        for word in f"You said **{text}**.\n\nSay `/help` to see what else I can do.".split(" "):
            await turn.write(word + " ")

    async def _help(self, turn: Turn, rest: str) -> None:
        """This list."""
        for name, command in self.commands.items():
            await turn.write(f"- `/{name}` {(command.__doc__ or '').splitlines()[0]}\n")

    async def _stream(self, turn: Turn, rest: str) -> None:
        """N [BYTES]: N pieces of text as fast as the host takes them."""
        count, size = _numbers(rest, "/stream N [BYTES]", 1, 2)
        if not size:
            raise AgentError("a piece has at least one byte", "badArguments")
        if count > MOST_DELTAS or size > MOST_DELTA_BYTES:
            raise AgentError("that is more than I will stream", "badArguments")
        for number in range(count):
            await turn.write(f"{number} ".ljust(size, ".")[:size])

    async def _think(self, turn: Turn, rest: str) -> None:
        """Reasoning, then an answer."""
        for thought in ("Let me see. ", "A question deserves an answer. ", "Here is one."):
            await turn.think(thought)
        await turn.write("I thought about it, and the answer is yes.")

    async def _tool(self, turn: Turn, rest: str) -> None:
        """A tool call that needs no approval: lists the working directory."""
        async with turn.tool(
            "list",
            display_name="List files",
            intention="see what is here",
            meta={"toolKind": "read"},
        ) as call:
            for piece in ('{"path"', ': "', ".", '"}'):
                await call.stream_input(piece)
            await call.start({"path": "."}, invocation="List the working directory")
            names = sorted(os.listdir(_folder(turn)))
            await call.complete("Listed the working directory", [content.text("\n".join(names))])
        await turn.write(f"There are {len(names)} entries.")

    async def _run(self, turn: Turn, rest: str) -> None:
        """CMD: runs a shell command in a terminal, after asking; the input may be edited."""
        if not rest:
            raise AgentError("usage: /run CMD", "badArguments")
        async with turn.tool(
            "shell", display_name="Shell", input=rest, meta={"toolKind": "terminal"}
        ) as call:
            answer = await call.confirm(
                "Run this command?", invocation=f"Run {rest}", editable=True
            )
            if not answer:
                await turn.write(_refused(answer.reason_message, answer.suggestion))
                return
            result = await call.run_in_terminal(answer.input or rest, cwd=_folder(turn))
        if result.background is not None:
            await turn.write("The command runs in the background now.")
        else:
            await turn.write(f"The command ended with exit code {result.exit_code}.")

    async def _edit(self, turn: Turn, rest: str) -> None:
        """PATH TEXT: writes a file, after showing the change and asking."""
        name, _, text = rest.partition(" ")
        if not name:
            raise AgentError("usage: /edit PATH TEXT", "badArguments")
        async with turn.tool(
            "edit", display_name="Edit file", input={"path": name, "text": text}
        ) as call:
            done = await call.edit(name, f"{text}\n")
        if done:
            await turn.write(f"`{name}` is written.")
        else:
            await turn.write(_refused(done.reason_message, done.suggestion))

    async def _review(self, turn: Turn, rest: str) -> None:
        """A tool call whose result must be approved."""
        async with turn.tool("report", display_name="Report") as call:
            await call.start(invocation="Write a report")
            approved = await call.review("Wrote a report", [content.text("All is well.")])
        await turn.write("The report is accepted." if approved else "The report is withdrawn.")

    async def _ask(self, turn: Turn, rest: str) -> None:
        """One question of every kind."""
        answers = await turn.ask_all(
            [
                inputs.text("name", "What is your name?", min=1, max=40),
                inputs.integer("age", "How old are you?", min=0, max=150, required=False),
                inputs.number("height", "How tall are you, in metres?", min=0.3, max=3,
                              required=False),
                inputs.boolean("happy", "Are you happy?", default=True, required=False),
                inputs.choice("colour", "Which colour?", ["red", "green", "blue"], freeform=True,
                              required=False),
                inputs.choices("fruit", "Which fruit?", ["apple", "pear", "plum"], max=2,
                               required=False),
            ],
            message="A few questions",
        )  # fmt: skip
        if not answers:
            await turn.write(f"You chose to {answers.response}.")
            return
        for id, value in answers.values.items():
            await turn.write(f"- {id}: {json.dumps(value, ensure_ascii=False)}\n")

    async def _client_tool(self, turn: Turn, rest: str) -> None:
        """NAME JSON: a tool of an attached client."""
        name, _, text = rest.partition(" ")
        usage = AgentError("usage: /client-tool NAME JSON", "badArguments")
        if not name:
            raise usage
        try:
            input = json.loads(text or "{}")
        except ValueError as error:
            raise usage from error
        ended = await turn.call_client_tool(name, input)
        if ended.get("success"):
            await turn.write(f"The client answered: {_texts(ended)}")
        else:
            why = (ended.get("error") or {}).get("message", "no reason given")
            await turn.write(f"The client's tool failed: {why}")

    async def _mcp(self, turn: Turn, rest: str) -> None:
        """[CALL SERVER TOOL JSON]: the MCP servers and their tools, or calls one after asking."""
        word, _, arguments = rest.partition(" ")
        if word.lower() == "call":
            await call_tool(turn, arguments)
        elif rest:
            raise AgentError("usage: /mcp, or /mcp call SERVER TOOL {…}", "badArguments")
        else:
            await show_servers(turn)

    async def _customizations(self, turn: Turn, rest: str) -> None:
        """[NAME]: what people brought: instructions, skills and prompts, or the text of one."""
        await show_customizations(turn, rest)

    async def _subagent(self, turn: Turn, rest: str) -> None:
        """TEXT: a worker chat answers TEXT."""
        async with turn.tool(
            "subagent", display_name="Worker", input={"text": rest}, meta={"toolKind": "subagent"}
        ) as call:
            worker = await call.delegate(rest or "hello", title="Worker")
        await turn.write(f"The worker is {worker.state}: {worker.error or worker.text}")

    async def _slow(self, turn: Turn, rest: str) -> None:
        """SECONDS: works until done, cancelled or steered."""
        seconds = _seconds(rest or "10", "/slow SECONDS")
        if seconds > LONGEST_SLEEP:
            raise AgentError("that is longer than I will wait", "badArguments")
        await turn.set_activity("working slowly")
        try:
            async with asyncio.timeout(seconds):
                await turn.write(f"You steer me: {await turn.next_steering()}")
        except TimeoutError:
            await turn.write(f"Done after {seconds:g} seconds.")
        finally:
            await turn.set_activity(None)

    async def _background(self, turn: Turn, rest: str) -> None:
        """SECONDS|STOP: a command that runs on beside the chat, or ends what runs there."""
        if rest.lower() == "stop":
            stopped = [await turn.stop_background_work(w["id"]) for w in turn.background_work]
            await turn.write(f"I stopped {sum(stopped)} of what ran in the background.")
            return
        seconds = _seconds(rest, "/background SECONDS|STOP")
        if seconds > LONGEST_SLEEP:
            raise AgentError("that is longer than I will wait", "badArguments")
        label = f"Sleep for {seconds:g} seconds"
        await turn.background_shell(label, f"sleep {seconds:g}")
        await turn.write("It runs in the background now; I am free for other things.")

    async def _fail(self, turn: Turn, rest: str) -> None:
        """[RESUMABLE]: ends in an error; a resumable one is gone when the turn is resumed."""
        if turn.is_resumed:
            await turn.write(" And yet it does, at the second attempt.")
            return
        await turn.write("This will not end well.")
        can_resume = rest.lower() == "resumable"
        message = "the demo agent failed, as it was told to"
        raise AgentError(message, "demoFailure", resumable=can_resume)


Demo.commands.update(
    {
        "help": Demo._help,
        "stream": Demo._stream,
        "think": Demo._think,
        "tool": Demo._tool,
        "run": Demo._run,
        "edit": Demo._edit,
        "review": Demo._review,
        "ask": Demo._ask,
        "client-tool": Demo._client_tool,
        "mcp": Demo._mcp,
        "customizations": Demo._customizations,
        "subagent": Demo._subagent,
        "slow": Demo._slow,
        "background": Demo._background,
        "fail": Demo._fail,
    }
)


def _slash_command(name: str, command: Command) -> SlashCommand:
    """Read a command's arguments and description out of the first line of its docstring."""
    summary = (command.__doc__ or "").splitlines()[0]
    hint, colon, description = summary.partition(": ")
    if not colon or hint != hint.upper():
        return SlashCommand(name, summary)
    return SlashCommand(name, description, hint)


Demo.slash_commands = tuple(_slash_command(*entry) for entry in Demo.commands.items())


def _numbers(text: str, usage: str, least: int, most: int) -> list[int]:
    words = text.split()
    fits = least <= len(words) <= most and all(word.isdecimal() for word in words)
    if not fits or len(text) > LONGEST_NUMBERS:
        raise AgentError(f"usage: {usage}", "badArguments")
    numbers = [int(word) for word in words]
    return numbers + [DEFAULT_DELTA_BYTES] * (most - len(numbers))


def _seconds(text: str, usage: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not seconds >= 0:
        raise AgentError(f"usage: {usage}", "badArguments")
    return seconds


def _folder(turn: Turn) -> str:
    folder = turn.session.folder
    if folder is None or not os.path.isdir(folder):
        raise AgentError("this session has no folder to work in", "noFolder")
    return folder


def _refused(reason: str | None, suggestion: str | None) -> str:
    told = f" You said: {reason}" if reason else ""
    instead = f" You suggest: {suggestion}" if suggestion else ""
    return f"Then I will not.{told}{instead}"


def _texts(call: Mapping[str, Any]) -> str:
    blocks = call.get("content") or ()
    return " ".join(block["text"] for block in blocks if block.get("type") == "text")
