"""What the documents print runs as printed, and nothing that agents may use is left out."""

from __future__ import annotations

import argparse
import ast
import asyncio
import importlib.util
import inspect
import os
import re
import sys
import types
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import (
    Agent,
    AgentError,
    BackgroundWork,
    Confirmation,
    SessionContext,
    ToolCall,
    Turn,
    content,
    inputs,
)
from agenthost.agents.inputs import Answers
from agenthost.agents.turn_port import Worker
from agenthost.cli.interactive import json_lines as jsonlines
from agenthost.cli.interactive.commands.registry import COMMANDS
from agenthost.cli.main import build_parser
from tests.agents.failures import failure, is_resumable
from tests.wire.client import open_client, user_message
from tests.wire.hosting import PATIENCE, embed, serve
from tests.wire.serving_tools import allow, program, working_with
from tests.wire.talking import (
    NEWEST,
    Chat,
    at_chat,
    call_in,
    calls_of,
    completed,
    confirmed,
    input_completed,
    request_in,
    result_confirmed,
    said,
    submitted,
)

ROOT = Path(__file__).parent.parent
README, GUIDE = ROOT / "README.md", ROOT / "docs" / "writing-an-agent.md"

Json = dict[str, Any]


@dataclass(frozen=True)
class Block:
    """A fenced block of Python, and where it stands."""

    path: Path
    line: int
    source: str

    def __str__(self) -> str:
        return f"{self.path.name}:{self.line}"

    @property
    def imports(self) -> set[str]:
        """The packages that it needs."""
        nodes = list(ast.walk(ast.parse(self.source)))
        names = [a.name for n in nodes if isinstance(n, ast.Import) for a in n.names]
        names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
        return {name.partition(".")[0] for name in names}

    @property
    def code(self) -> types.CodeType:
        """What it compiles to: a module, or the body of a coroutine where it awaits."""
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code: types.CodeType = compile(
            self.source, str(self), "exec", flags=flags, dont_inherit=True
        )
        return code

    @property
    def awaits(self) -> bool:
        return bool(self.code.co_flags & inspect.CO_COROUTINE)

    @property
    def missing(self) -> list[str]:
        """The packages that it needs and that are not installed."""
        return [name for name in sorted(self.imports) if importlib.util.find_spec(name) is None]


@cache
def blocks(path: Path) -> list[Block]:
    """Return the Python blocks of a document, in order."""
    text = path.read_text()
    found = re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(path, text[: match.start()].count("\n") + 2, match[1]) for match in found]


async def run(block: Block, names: Json) -> list[str]:
    """Run a block and return what it prints; one that serves for ever is stopped once it does."""
    printed: list[str] = []
    if not block.awaits:
        exec(block.code, names)
        return printed
    speaks = asyncio.Event()

    def print(text: str) -> None:
        printed.append(text)
        speaks.set()

    tasks = {
        asyncio.ensure_future(types.FunctionType(block.code, {**names, "print": print})()),
        asyncio.ensure_future(speaks.wait()),
    }
    try:
        async with asyncio.timeout(60):
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return printed


def defined_before(wanted: Block | None = None) -> Json:
    """Return what the guide's blocks define, all of them or those before one."""
    names: Json = {"__name__": "guide"}
    for block in blocks(GUIDE):
        if block is wanted:
            break
        if not block.awaits and not block.missing:
            exec(block.code, names)
    return names


@pytest.fixture(scope="module")
def guide() -> Callable[[str], Any]:
    """Give what the guide defines, by its name."""
    return defined_before().__getitem__


@asynccontextmanager
async def with_agent(made: type[Agent], *, session: Json | None = None) -> AsyncIterator[Chat]:
    async with embed(made()) as url, at_chat(url, made.provider, **(session or {})) as chat:
        yield chat


@pytest.mark.parametrize("block", blocks(GUIDE), ids=str)
async def test_every_block_of_the_guide_runs(block: Block) -> None:
    if block.missing:
        pytest.skip(f"needs {', '.join(block.missing)}")
    printed = await run(block, defined_before(block))
    if "listen" in block.source:
        assert printed[0].startswith("ws://127.0.0.1:")


def test_the_guide_names_everything_that_an_agent_may_use() -> None:
    text = GUIDE.read_text()
    owners = (
        Agent, AgentError, Answers, BackgroundWork, Confirmation, SessionContext, ToolCall, Turn,
        Worker,
    )  # fmt: skip
    names = {name for owner in owners for name in vars(owner) if not name.startswith("_")}
    names |= {f"content.{name}" for name in content.__all__}
    names |= {f"inputs.{name}" for name in inputs.__all__} - {"inputs.Answers"}
    names -= {"inputs.read_answers"}
    # What the host alone does with a call of a client, and how it reads an error.
    names -= {"wait_for_owner", "error_type"}
    unnamed = sorted(name for name in names if not re.search(rf"\b{re.escape(name)}\b", text))
    assert unnamed == []


# The agent that the README shows


def readme_agent() -> Block:
    (found,) = [block for block in blocks(README) if "(Agent)" in block.source]
    return found


def test_the_agent_of_the_readme_takes_ten_lines_at_most() -> None:
    lines = [line for line in readme_agent().source.splitlines() if line.strip()]
    assert len(lines) <= 10


async def test_the_agent_of_the_readme_serves_as_printed(tmp_path: Path) -> None:
    (tmp_path / "greeter.py").write_text(readme_agent().source)
    async with (
        serve(tmp_path / "data", "--agent", "greeter:Greeter", cwd=tmp_path) as host,
        at_chat(host.url, "readme", "0.5.0", provider="greeter") as chat,
    ):
        await chat.start("t1", "hi there")
        new, old = chat.clients
        request = await request_in(old, chat.uri)
        await chat.answer(input_completed(request, {"answer": submitted("text", "Ann")}), old)
        call = await call_in(new, chat.uri, "pending-confirmation")
        await chat.answer(confirmed("t1", call, True), new)
        turn = await chat.end("t1")
        assert said(turn) == "Hello, Ann! You said: hi there"
        (call,) = calls_of(turn)
        assert (call["success"], call["structuredContent"]["exitCode"]) == (True, 0)
        await chat.assert_at_rest()


async def test_the_host_of_the_readme_runs_as_printed(tmp_path: Path) -> None:
    (embedding,) = [block for block in blocks(README) if block is not readme_agent()]
    (tmp_path / "greeter.py").write_text(readme_agent().source)
    (tmp_path / "embedding.py").write_text(embedding.source)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "embedding.py",
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            url = (await process.stdout.readline()).decode().strip()
        assert url.startswith("ws://127.0.0.1:")
        async with open_client(url) as client:
            await client.initialize()
            await client.subscribe("ahp-root://")
            (agent,) = client.states["ahp-root://"]["agents"]
            assert agent["provider"] == "greeter"
    finally:
        process.kill()
        await process.wait()


# The command line


def options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield every long option of a command and of those below it that is for people."""
    for action in parser._actions:
        if action.help == argparse.SUPPRESS:
            continue
        yield from (name for name in action.option_strings if name.startswith("--"))
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from options(below)


def test_every_option_is_documented_and_every_documented_option_exists() -> None:
    pages = [README, *sorted((ROOT / "docs").glob("*.md"))]
    text = "\n".join(page.read_text() for page in pages)
    known = {*options(build_parser())}
    # An option of somebody else's command.
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) - {"--acp"}
    assert (sorted(known - named), sorted(named - known)) == ([], [])


def test_everything_that_can_be_typed_in_a_chat_is_documented() -> None:
    text = (ROOT / "docs" / "command-line.md").read_text()
    assert [name for name in COMMANDS if f"`/{name}" not in text] == []
    assert [name for name in jsonlines._COMMANDS if f"`{name}`" not in text] == []
    typed = re.findall(r"`/(\w+)( [^`]+)?`", text.replace("\\|", "|"))
    shown = {(name, usage.strip()) for name, usage in typed if name in COMMANDS and usage}
    # A value, as an example.
    shown -= {("agent", "none")}
    assert sorted(shown - {(c.name, c.usage) for c in COMMANDS.values()}) == []


def named_modules(page: str = "architecture.md") -> set[str]:
    """Return what a page names in code: words, paths and file names."""
    text = (ROOT / "docs" / page).read_text()
    return {name.removesuffix(".py") for name in re.findall(r"`([\w./]+)`", text)}


# Where the paths begin that a page names.
PLACES = {
    "architecture.md": ("", "agenthost"),
    "adding-a-channel.md": ("", "agenthost/host", "agenthost/protocol"),
}


@pytest.mark.parametrize("page", PLACES)
def test_every_module_that_is_named_with_its_path_exists(page: str) -> None:
    paths = [name for name in named_modules(page) if "/" in name.rstrip("/")]
    places = [ROOT / place for place in PLACES[page]]
    known = [
        path
        for path in paths
        if any((place / path).is_dir() or (place / f"{path}.py").is_file() for place in places)
    ]
    assert (sorted(known), len(paths) > 5) == (sorted(paths), True)


@pytest.mark.parametrize("folder", ["host", "agents", "client", "cli"])
def test_the_architecture_says_where_every_module_belongs(folder: str) -> None:
    """Also the other way round: each row of a folder's table names what is there."""
    found = {
        path.stem if path.is_file() else f"{path.name}/"
        for path in (ROOT / "agenthost" / folder).iterdir()
        # A folder of caches alone is what a checkout leaves of one that has moved.
        if not path.name.startswith("__") and (path.is_file() or any(path.glob("*.py")))
    }
    text = (ROOT / "docs" / "architecture.md").read_text()
    table = text.partition(f"| In `{folder}/` | |")[2].partition("\n\n")[0]
    named = {name for row in table.splitlines() for name in re.findall(r"`([\w/]+)`", row)}
    beside = {"host/", "tokens/"} if folder == "host" else set()
    assert (sorted(found - named), sorted(named - found - beside)) == ([], [])


# The agents that the guide shows, each at work


async def test_tool_calls_are_shown_as_the_guide_says(guide: Callable[[str], Any]) -> None:
    async with with_agent(guide("Lister")) as chat:
        (call,) = calls_of(await chat.run("t1", "go"))
        assert (call["toolInput"], call["intention"]) == ('{"path": "src"}', "look around")
        assert call["content"] == [content.text("a.py\nb.py")]
        shown = await chat.client.action(chat.uri, "chat/toolCallContentChanged")
        assert shown["content"] == [content.text("looking …\n")]


async def test_commands_run_in_terminals_as_the_guide_says(guide: Callable[[str], Any]) -> None:
    async with with_agent(guide("Runner")) as chat:
        turn = await chat.run("t1", "go")
        built, server = calls_of(turn)
        (terminal, *_) = built["content"]
        assert (terminal["type"], terminal["result"]["exitCode"]) == ("terminal", 0)
        assert "built" in terminal["result"]["preview"]
        assert "result" not in server["content"][0]
        assert "In the background: True." in said(turn)


async def test_approvals_are_given_as_the_guide_says(
    guide: Callable[[str], Any], tmp_path: Path
) -> None:
    session = {"workingDirectories": [tmp_path.as_uri()]}
    async with with_agent(guide("Shell"), session=session) as chat:
        await chat.start("t1", "echo one")
        call = await call_in(chat.client, chat.uri, "pending-confirmation")
        await chat.answer(confirmed("t1", call, True, editedToolInput="echo two"))
        turn = await chat.end("t1")
        assert calls_of(turn)[0]["content"] == [content.text("two\n")]
        assert said(turn) == "It ended with 0."
        await chat.start("t2", "rm -r .")
        call = await call_in(chat.client, chat.uri, "pending-confirmation")
        suggestion = user_message("look first")
        deny = confirmed("t2", call, False, reasonMessage="no", userSuggestion=suggestion)
        await chat.answer(deny)
        assert said(await chat.end("t2")) == "Not run. no look first"


async def test_files_are_edited_as_the_guide_says(
    guide: Callable[[str], Any], tmp_path: Path
) -> None:
    session = {"workingDirectories": [tmp_path.as_uri()]}
    async with with_agent(guide("Noter"), session=session) as chat:
        await chat.start("t1", "milk")
        call = await call_in(chat.client, chat.uri, "pending-confirmation")
        await chat.answer(confirmed("t1", call, True))
        assert said(await chat.end("t1")) == "+1 -0"
        await chat.start("t2", "eggs")
        call = await call_in(chat.client, chat.uri, "pending-confirmation")
        await chat.answer(confirmed("t2", call, False))
        assert said(await chat.end("t2")) == "Then I will not."
    assert (tmp_path / "notes.txt").read_text() == "milk\n"


@pytest.mark.parametrize("kept", [True, False])
async def test_everything_is_confirmed_as_the_guide_says(
    guide: Callable[[str], Any], kept: bool
) -> None:
    async with with_agent(guide("Editor")) as chat:
        await chat.start("t1", "go")
        call = await call_in(chat.client, chat.uri, "pending-confirmation")
        assert [item["id"] for item in call["options"]] == ["yes", "draft", "no"]
        assert call["riskAssessment"]["safety"] == 0.9
        await chat.answer(confirmed("t1", call, True, selectedOptionId="draft"))
        title = "Really overwrite it?"
        call = await call_in(chat.client, chat.uri, "pending-confirmation", confirmationTitle=title)
        assert "options" not in call
        await chat.answer(confirmed("t1", call, True))
        call = await call_in(chat.client, chat.uri, "pending-result-confirmation")
        assert call["pastTenseMessage"] == "Edited (draft)"
        assert call["content"][0]["type"] == "fileEdit"
        await chat.answer(result_confirmed("t1", call, kept))
        assert said(await chat.end("t1")) == ("Kept." if kept else "Thrown away.")


async def test_what_people_bring_is_used_as_the_guide_says(
    guide: Callable[[str], Any], tmp_path: Path
) -> None:
    pytest.importorskip("mcp", reason="MCP servers need the extra")
    skill = tmp_path / ".agents" / "skills" / "tidy" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: tidy\ndescription: Tidies\n---\nTidy it.")
    async with (
        embed(guide("Librarian")()) as url,
        working_with(url, tmp_path, {"clock": program()}) as chat,
    ):
        await chat.start("t1", "/tidy the attic")
        call = await call_in(chat.client, chat.uri, "pending-confirmation")
        await allow(chat, "t1", call)
        turn = await chat.end("t1")
        told = said(turn)
        assert told.startswith("You are a librarian.")
        assert "tidy: 8 characters" in told
        assert "Tidy it." in told.partition("characters")[2]
        assert [call["success"] for call in calls_of(turn)] == [True]


async def test_clients_run_their_tools_as_the_guide_says(guide: Callable[[str], Any]) -> None:
    async with with_agent(guide("Looker")) as chat:
        turn = await chat.run("t0", "go")
        assert failure(turn)["message"] == "nobody here can take a screenshot"
        tool = {"name": "screenshot", "inputSchema": {"type": "object"}}
        entry = {"clientId": chat.client.client_id, "tools": [tool]}
        action = {"type": "session/activeClientSet", "activeClient": entry}
        await chat.client.accepted(chat.session, action)
        for turn_id, success, reply in (
            ("t1", True, "1 pictures"),
            ("t2", False, "No picture: it did not work"),
        ):
            await chat.start(turn_id, "go")
            call = await call_in(chat.client, chat.uri, "running")
            result = {"content": [content.embedded(b"x", "image/png")]}
            await chat.answer(completed(turn_id, call, success, result=result))
            assert said(await chat.end(turn_id)) == reply


async def test_questions_are_asked_as_the_guide_says(guide: Callable[[str], Any]) -> None:
    async with with_agent(guide("Surveyor")) as chat:
        await chat.start("t1", "go")
        for answers in (
            {"answer": submitted("text", "Ann")},
            {
                "colour": submitted("selected", "", freeformValues=["mauve"]),
                "fruit": submitted("selected-many", ["plum"]),
                "age": submitted("number", 42),
            },
            None,
        ):
            request = await request_in(chat.client, chat.uri)
            await chat.answer(input_completed(request, answers))
        assert request["url"] == "https://example.org/sign-in"
        assert said(await chat.end("t1")) == "Ann: mauve, ['plum'], 42 Welcome."
        await chat.start("t2", "go")
        for response in ("accept", "decline"):
            request = await request_in(chat.client, chat.uri)
            answers = {"answer": submitted("text", "Ann")} if response == "accept" else None
            await chat.answer(input_completed(request, answers, response))
        assert said(await chat.end("t2")) == "You chose to decline."


async def test_turns_are_steered_as_the_guide_says(guide: Callable[[str], Any]) -> None:
    async with with_agent(guide("Walker")) as chat:
        await chat.start("t1", "go")
        await chat.client.action(chat.uri, "chat/activityChanged", activity="walking")
        steer = {"type": "chat/pendingMessageSet", "kind": "steering", "id": "m1"}
        await chat.answer({**steer, "message": user_message("left")})
        assert said(await chat.end("t1")) == "Turning left. There."


async def test_workers_work_as_the_guide_says(guide: Callable[[str], Any]) -> None:
    async with with_agent(guide("Boss")) as chat:
        turn = await chat.run("t1", "the dishes")
        assert said(turn) == "My helper is complete: I did the dishes."
        worker = chat.client.states[chat.session]["chats"][1]
        assert (worker["title"], worker["interactivity"]) == ("Helper", "hidden")


async def test_turns_go_on_after_a_failure_as_the_guide_says(guide: Callable[[str], Any]) -> None:
    async with with_agent(guide("Climber")) as chat:
        turn = await chat.run("t1", "go")
        assert (failure(turn)["message"], is_resumable(turn)) == ("the weather is bad", True)
        await chat.answer({"type": "chat/turnResume", "turnId": "t1"})
        await chat.client.action(chat.uri, "chat/turnComplete")
        (done,) = chat.state["turns"]
        assert said(done) == "Step 0. Step 1. Step 2. Step 3. "


async def test_work_goes_on_in_the_background_as_the_guide_says(
    guide: Callable[[str], Any],
) -> None:
    async with with_agent(guide("Watcher")) as chat:
        assert said(await chat.run("t1", "watch")) == "I looked around. It runs: True."
        (work,) = chat.state["backgroundWork"]
        assert work["label"] == "Development server"
        await chat.run("t2", "stop")
        await chat.client.until(lambda: None if chat.state["backgroundWork"] else {})


async def test_models_and_settings_are_chosen_as_the_guide_says(
    guide: Callable[[str], Any],
) -> None:
    made = guide("Choosy")
    async with with_agent(made, session={"config": {"mode": "act"}}) as chat:
        assert said(await chat.run("t1", "go")) == "small {'effort': 'low'} act"
        tools = chat.client.states[chat.session]["serverTools"]
        assert tools == [{"name": "dig", "description": "Digs a hole"}]
        offered = await chat.client.request(
            "sessionConfigCompletions", provider="choosy", property="release", query="ma"
        )
        assert offered["items"] == [{"value": "main", "label": "main"}]
        other = await chat.client.ready_session("ahp-session:/next", config={"release": "next"})
        await chat.client.subscribe(other)
        await chat.client.run_turn(other, "t1", "go")
        (turn,) = chat.client.states[other]["turns"]
        assert failure(turn)["message"] == "there is no release next yet"


async def test_tokens_are_asked_for_as_the_guide_says(guide: Callable[[str], Any]) -> None:
    async with embed(guide("Caller")()) as url, open_client(url, version=NEWEST) as client:
        await client.initialize()
        refusal = await client.refusal("createSession", channel="ahp-session:/s1")
        (resource,) = refusal.data["resources"]
        short = await client.refusal("authenticate", resource=resource["resource"], token="short")
        assert short.message == "that is no token of ours"
        await client.request("authenticate", resource=resource["resource"], token="long enough")
        chat = await client.ready_session("ahp-session:/s1")
        await client.subscribe(chat)
        await client.run_turn(chat, "t1", "go")
        assert said(client.states[chat]["turns"][0]) == "Called."
        await client.request("authenticate", resource=resource["resource"], token="expired one")
        await client.run_turn(chat, "t2", "go")
        assert failure(client.states[chat]["turns"][1])["message"] == "please sign in again"
        await client.notification("auth/required", lambda params: params["reason"] == "expired")
