"""Every command line that is printed can be pasted: it parses, and it is for the same host."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import AsyncIterator, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
import pytest_asyncio

import agenthost
from agenthost.cli.main import _COMMANDS, build_parser
from tests.cli.running import Cli, serving

PACKAGE = Path(agenthost.__file__).parent
PARSER = build_parser()
# What makes a command line, and the words that it begins with besides those it is given.
MAKERS: dict[str, list[str]] = {
    "hint": [],
    "command": [],
    "command_line": [],
    "server_hint": ["mcp"],
}
# Stands for words that are no constants.
SAMPLE = "3f2a"
WITH_VERBS = ("mcp", "sessions")
BARE = re.compile(rf"agenthost ({'|'.join(_COMMANDS)})\b")
# Where command lines are examples, which another test parses: a module, and calls.
EXAMPLES = ("help.py",)
EXPLAINING = ("add", "add_argument_group", "add_verb", "add_command", "add_argument", "add_parser")
# How the chat calls itself to a host.
CLIENT = "agenthost chat"
# What these do cannot be tried here: they go on, or need a terminal.
LASTING = ("serve", "chat", "watch", "terminal new", "terminal attach")


# In the code


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """The calls of functions and methods, by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Name):
                yield function.id, node
            elif isinstance(function, ast.Attribute):
                yield f".{function.attr}", node


def written_words(name: str, call: ast.Call) -> list[str]:
    """The words of a call; an argument that stands for several is left out."""
    words = [each for each in call.args if not isinstance(each, ast.Starred)]
    written = [str(each.value) if isinstance(each, ast.Constant) else SAMPLE for each in words]
    # The last that it is given says which session.
    return [*MAKERS[name], *(written[:-1] if name == "server_hint" else written)]


def hints() -> Iterator[tuple[str, list[str]]]:
    for path in sorted((PACKAGE / "cli").rglob("*.py")):
        text = path.read_text()
        if not any(f"{name}(" in text for name in MAKERS):
            continue
        for name, call in calls(ast.parse(text)):
            words = written_words(name, call) if name in MAKERS else []
            # What only hands words on has none of its own; what verb it is may be known later.
            if words and SAMPLE not in words[: 2 if words[0] in WITH_VERBS else 1]:
                yield f"{path.name}:{call.lineno}", words


HINTS = list(hints())


def test_there_are_hints_to_look_at() -> None:
    assert len(HINTS) > 20


@pytest.mark.parametrize("words", [words for _, words in HINTS], ids=[place for place, _ in HINTS])
def test_every_hint_is_a_command_line(words: list[str]) -> None:
    assert words[0] in _COMMANDS
    check_parses(words)


def check_parses(words: list[str]) -> None:
    """Parse a command line; help, which some are for, ends that at once."""
    with pytest.raises(SystemExit, match="0") if words[-1] == "--help" else nullcontext():
        PARSER.parse_args(words)


def messages(tree: ast.Module) -> Iterator[ast.Constant]:
    """The texts of a module's functions, without docstrings and what explains options."""
    left_out = {
        id(inner)
        for name, call in calls(tree)
        if name.lstrip(".") in EXPLAINING
        for inner in ast.walk(call)
    }
    left_out |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    # Constants of modules are examples.
    left_out |= {
        id(inner)
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in left_out:
            yield node


def test_no_message_names_a_command_line_that_knows_no_host() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{text.lineno}: {text.value}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name not in EXAMPLES and BARE.search(source := path.read_text())
        for text in messages(ast.parse(source))
        if isinstance(text.value, str) and BARE.search(text.value) and text.value != CLIENT
    ]
    assert found == []


# As they are printed


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def host(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cli]:
    """A host in a folder whose name needs quoting."""
    async with serving(tmp_path_factory.mktemp("it's here")) as running:
        yield running


def elsewhere(host: Cli) -> Cli:
    """Another terminal, which knows no data directory."""
    return Cli(host.cwd / "nowhere", host.cwd)


def printed_commands(text: str) -> list[str]:
    """The command lines in backquotes."""
    return re.findall(r"`(agenthost [^`]+)`", text)


async def paste(host: Cli, line: str) -> None:
    words = shlex.split(line)[1:]
    check_parses(words)
    if not " ".join(words).startswith(LASTING):
        done = await elsewhere(host).main(*words)
        assert done.code == 0 or words[0] == "doctor", (line, done)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "words",
    [
        "terminal",
        "terminal show nothing",
        "mcp trusted",
        "mcp start nothing",
        "customizations disable nothing",
        "automations",
        "automations add --message hi",
        "automations add --message hi --cron '0 9 * * *' --paused",
        "sessions show nothing",
        "sessions restore nothing",
        "chat",
        "token list",
        "logs --data-dir empty",
        "sessions --data-dir empty",
        "doctor --data-dir empty",
        "qr",
    ],
)
async def test_what_is_printed_can_be_pasted_elsewhere(host: Cli, words: str) -> None:
    if words == "terminal":
        # The first: others have a session to say something about.
        await host.new("hello")
    here = [] if "--data-dir" in words else ["--data-dir", str(host.data_dir)]
    done = await elsewhere(host).main(*shlex.split(words), *here)
    lines = printed_commands(done.out + done.err)
    assert lines, done
    for line in lines:
        await paste(host, line)


@pytest.mark.asyncio(loop_scope="module")
async def test_at_an_address_the_hints_are_for_that_address_without_the_token(host: Cli) -> None:
    address = ("--url", host.host.address)
    done = await elsewhere(host).main("mcp", "start", "x", *address, "--token", host.host.token)
    (line,) = printed_commands(done.err)
    assert line == f"agenthost mcp list --url {host.host.address} --token TOKEN"
    assert host.host.token not in done.out + done.err
    # As the person fills it in.
    words = shlex.split(line.replace("TOKEN", host.host.token))[1:]
    assert (await elsewhere(host).main(*words)).code == 0
