"""The table of environment variables has what the package reads, and nothing else."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from agenthost.environment import GROUPS, VARIABLES

PACKAGE = Path(__file__).parent.parent / "agenthost"
# What an environment is called where one is looked into.
LOOKED_INTO = {"environ", "env", "environment", "given"}
# Variables of the system that are read through a constant or in a loop.
OF_THE_SYSTEM = {
    "EDITOR", "LANG", "LC_ALL", "LC_MESSAGES", "LESS", "NO_COLOR", "PAGER", "TERM", "TZ", "VISUAL",
}  # fmt: skip
A_NAME = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")
BY_ITS_NAME = re.compile(r"AGENTHOST_\w+|OTEL_\w+|\w+_API_KEY")
# Those of shells, which find them as they were.
HANDED_ON = {"LC_CTYPE", "ZDOTDIR"}


def looked_up(node: ast.AST) -> str | None:
    """Return the name of a variable that a node looks up in an environment, if it does."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        place, key = node.value, node.slice
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        if node.func.attr not in ("get", "pop"):
            return None
        place, key = node.func.value, node.args[0]
    else:
        return None
    name = ast.unparse(place).rpartition(".")[2]
    if name not in LOOKED_INTO or not isinstance(key, ast.Constant):
        return None
    return key.value if isinstance(key.value, str) and A_NAME.fullmatch(key.value) else None


def read_in(source: str) -> Iterator[str]:
    """Yield the variables that a module names."""
    in_this_one = OF_THE_SYSTEM if "environ" in source else set()
    for node in ast.walk(ast.parse(source)):
        found = looked_up(node)
        if found is not None:
            yield found
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            by_its_name = BY_ITS_NAME.fullmatch(node.value) and A_NAME.fullmatch(node.value)
            if by_its_name or node.value in in_this_one:
                yield node.value


@cache
def read_in_the_package() -> set[str]:
    modules = (path for path in PACKAGE.rglob("*.py") if path.name != "environment.py")
    return {name for module in modules for name in read_in(module.read_text())} - HANDED_ON


def told() -> list[str]:
    return [name for variable in VARIABLES for name in variable.name.split(", ")]


def test_every_variable_that_is_read_is_in_the_table() -> None:
    assert sorted(read_in_the_package() - set(told())) == []


def test_every_variable_in_the_table_is_read() -> None:
    # Telemetry makes these of the names of signals.
    made = re.compile(r"OTEL_(\w+_)?(TRACES|METRICS|LOGS)_\w+")
    unread = set(told()) - read_in_the_package()
    assert sorted(name for name in unread if not made.fullmatch(name)) == []


def test_each_is_told_once_and_says_what_it_is_for() -> None:
    assert [name for name, times in Counter(told()).items() if times > 1] == []
    assert {variable.group for variable in VARIABLES} == set(GROUPS)
    assert [v.name for v in VARIABLES if not v.what or not v.read_by] == []


def test_a_new_variable_would_be_noticed() -> None:
    source = (
        'import os\nA = os.environ.get("EDITOR")\nB = os.environ["MINE"]\nC = "AGENTHOST_NEW"\n'
    )
    assert set(read_in(source)) == {"EDITOR", "MINE", "AGENTHOST_NEW"}
