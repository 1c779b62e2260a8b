"""``agenthost new-agent NAME``: a package with an agent and its test, to begin with.

Needs no network: what it prints runs without installing anything.
"""

from __future__ import annotations

import argparse
import importlib.util
import keyword
import re
import shlex
import sys
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from string import Template

from agenthost.cli.arguments import Subparsers, add_command
from agenthost.cli.connection.command_hints import command_line
from agenthost.cli.exit_codes import FAILED, OK, report_failure
from agenthost.local_host import NoHost, NoToken, find_local_host

_NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
_LONGEST = 40
# Names of agents that are there already, and of what its own modules use.
_TAKEN = frozenset(
    {"acp", "ahp", "demo", "llm", "agent", "turn", "path", "conftest", "src", "test", "tests"}
)
# Where a host of the new agent keeps its data if there is another host, in the agent's folder.
_OWN_DATA = ".agenthost"
_EXAMPLES = """examples:
  agenthost new-agent greeter             makes the folder greeter
  agenthost new-agent greeter --dir work  makes it in another folder"""

# Template -> where it goes; ``$module`` is the package's name.
_FILES: Mapping[str, str] = {
    "pyproject.toml.tmpl": "pyproject.toml",
    "README.md.tmpl": "README.md",
    "init.py.tmpl": "src/$module/__init__.py",
    "agent.py.tmpl": "src/$module/agent.py",
    "test_agent.py.tmpl": "tests/test_agent.py",
}


def register(subparsers: Subparsers) -> None:
    """Add ``new-agent`` to the argument tree."""
    parser = add_command(
        subparsers, "new-agent", "make a package with an agent and its test", run, _EXAMPLES
    )
    parser.add_argument(
        "name", metavar="NAME", type=_name, help="small letters, digits and hyphens"
    )
    parser.add_argument(
        "--dir",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="where to make its folder (default: here)",
    )


def run(args: argparse.Namespace) -> int:
    """Write the files and print what to do with them; 1 where there is such a folder already."""
    words = names_for(args.name)
    folder: Path = args.dir.expanduser() / words["distribution"]
    try:
        write_agent(folder, words)
    except FileExistsError:
        return report_failure(args, f"there is a {folder} already", FAILED, "failed")
    except OSError as error:
        why = f"{folder} cannot be written: {error.strerror}"
        return report_failure(args, why, FAILED, "failed")
    print(f"Made {folder} with an agent and its test. What to do next:", file=sys.stderr)
    # A host that runs already would be in the way: it knows no new agent, and keeps its port.
    own = folder.absolute() / _OWN_DATA if _host_is_running() else None
    for line in next_commands(folder, words, own):
        print(f"  {line}")
    if own:
        print("A host runs here already; this is a second one, with its own data.", file=sys.stderr)
    return OK


def names_for(name: str) -> dict[str, str]:
    """Return what an agent of a name is called: by hosts, by Python and by people."""
    words = re.split("[-_]", name)
    return {
        "distribution": "-".join(words),
        "module": "_".join(words),
        "class_name": "".join(word.capitalize() for word in words),
        "title": " ".join(words).capitalize(),
    }


def write_agent(folder: Path, words: Mapping[str, str]) -> None:
    """Write a new agent's package; FileExistsError if there is anything of that name."""
    templates = resources.files("agenthost") / "templates" / "agent"
    folder.mkdir(parents=True)
    for template, place in _FILES.items():
        path = folder / Template(place).substitute(words)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = (templates / template).read_text(encoding="utf-8")
        path.write_text(Template(text).substitute(words), encoding="utf-8")


def next_commands(
    folder: Path, words: Mapping[str, str], data_dir: Path | None = None
) -> list[str]:
    """Return three command lines: its tests, a host that offers it, and a chat with it.

    With ``data_dir``, the host is one beside the user's own, and keeps its data there.
    """
    spec = f"{words['module']}.agent:{words['class_name']}"
    there = f"cd {shlex.quote(str(folder))}"
    python = shlex.quote(sys.executable)
    # Whoever makes an agent is about to change it.
    port = ["--port", "0"] if data_dir else []
    serve = command_line("serve", "--agent", spec, "--reload", "--dev", *port, data_dir=data_dir)
    return [
        f"({there} && {python} -m pytest)",
        f"({there} && PYTHONPATH=src {_absolute(serve)})",
        command_line("chat", "--agent", words["distribution"], data_dir=data_dir),
    ]


def _host_is_running() -> bool:
    try:
        find_local_host()
    except NoToken:
        return True
    except NoHost:
        return False
    return True


def _absolute(command: str) -> str:
    """Return a command line that works in another folder too."""
    program, *words = shlex.split(command)
    if "/" in program:
        program = str(Path(program).absolute())
    return shlex.join([program, *words])


def _name(text: str) -> str:
    module = text.replace("-", "_")
    if not _NAME.fullmatch(text) or len(text) > _LONGEST:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no name for an agent: use small letters, digits and hyphens"
        )
    if module in _TAKEN or _is_python_s(module) or _is_installed(module):
        raise argparse.ArgumentTypeError(f"{text!r} is taken; choose another name")
    return text


def _is_python_s(module: str) -> bool:
    words = (module, names_for(module)["class_name"])
    return any(keyword.iskeyword(word) for word in words) or module in sys.stdlib_module_names


def _is_installed(module: str) -> bool:
    """Return whether there is a package or module of that name, which the agent would hide."""
    # A folder of that name, also the agent's own from before, is no module: it has no loader.
    found = importlib.util.find_spec(module)
    return found is not None and found.loader is not None and found.origin is not None
