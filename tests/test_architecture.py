"""The rules of docs/architecture.md that a machine can check."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "agenthost"
MODULES = sorted(PACKAGE.rglob("*.py"))
# What stands around the package and is read as often.
AROUND = sorted(
    module
    for folder in ("tests", "benchmarks", "soak", "interop")
    for module in (PACKAGE.parent / folder).rglob("*.py")
)

# Layer -> the layers it may import. `errors` and `records` are open to all.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "records": set(),
    "protocol": set(),
    "transport": set(),
    "tokens": set(),
    "tasks": set(),
    "workspace": {"protocol"},
    "agents": {"protocol", "workspace"},
    "client": {"protocol", "transport", "tasks"},
    "host": {"protocol", "workspace", "agents", "transport", "tokens", "tasks"},
    "web": {"host"},
    "cli": {"protocol", "client", "tokens"},
    "testing": {"protocol", "workspace", "agents", "client", "host", "transport", "tokens"},
}
# The command that runs a host may reach for it, and the one that lists agents for them.
EXTRA: dict[str, set[str]] = {
    "cli/commands/serve.py": {"host", "web", "agents", "transport"},
    "cli/commands/agents.py": {"agents"},
    # For `--deep` alone.
    "cli/commands/doctor.py": {"host"},
}
# What a pure layer may not touch: clocks, randomness, files, sockets, processes, event loops.
IMPURE = {
    "asyncio", "datetime.datetime.now", "io", "logging", "os", "pathlib", "random", "secrets",
    "socket", "sqlite3", "subprocess", "threading", "time", "uuid", "websockets",
}  # fmt: skip


def layer_of(module: Path) -> str:
    parts = module.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def imports_of(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative imports hide who imports whom"
            yield node.module or ""
            # `from agenthost import errors` names a layer too.
            if node.module == "agenthost":
                yield from (f"agenthost.{alias.name}" for alias in node.names)


def relative(module: Path) -> str:
    inside = module.is_relative_to(PACKAGE)
    return module.relative_to(PACKAGE if inside else PACKAGE.parent).as_posix()


@pytest.mark.parametrize("module", MODULES, ids=relative)
def test_a_module_imports_only_the_layers_below_it(module: Path) -> None:
    layer = layer_of(module)
    if layer == "__init__":
        return
    allowed = MAY_IMPORT[layer] | EXTRA.get(relative(module), set()) | {layer, "errors", "records"}
    for name in imports_of(module):
        parts = name.split(".")
        if parts[0] == "agenthost" and len(parts) > 1:
            assert parts[1] in allowed, f"{relative(module)} may not import {name}"


@pytest.mark.parametrize("module", [m for m in MODULES if layer_of(m) == "protocol"], ids=relative)
def test_the_protocol_core_is_pure(module: Path) -> None:
    for name in imports_of(module):
        assert name.split(".")[0] not in IMPURE, f"{relative(module)} imports {name}"
    awaiting = (ast.Await, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith)
    for node in ast.walk(ast.parse(module.read_text())):
        assert not isinstance(node, awaiting), f"{relative(module)}:{node.lineno} awaits"


@pytest.mark.parametrize("module", [*MODULES, *AROUND], ids=relative)
def test_a_module_stays_readable_in_one_sitting(module: Path) -> None:
    assert len(module.read_text().splitlines()) <= 600


@pytest.mark.parametrize("module", MODULES, ids=relative)
def test_only_the_version_ladder_names_a_version(module: Path) -> None:
    if relative(module).startswith("protocol/versions/"):
        return
    named = re.findall(r"\b0\.[4-9]\.\d+\b", module.read_text())
    assert not named, f"{relative(module)} names {named}"


@pytest.mark.parametrize("module", MODULES, ids=relative)
def test_every_module_says_what_it_owns_and_what_it_exports(module: Path) -> None:
    source = module.read_text()
    tree = ast.parse(source)
    assert ast.get_docstring(tree), f"{relative(module)} has no docstring"
    assert "__all__" in source, f"{relative(module)} has no __all__"


def exports_of(module: Path) -> set[str]:
    for node in ast.parse(module.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


@pytest.mark.parametrize("module", MODULES, ids=relative)
def test_a_module_takes_from_others_only_what_they_export(module: Path) -> None:
    for node in ast.walk(ast.parse(module.read_text())):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("agenthost"):
            continue
        source = PACKAGE.parent.joinpath(*(node.module or "").split("."))
        for name in (alias.name for alias in node.names):
            if (source / name).is_dir() or (source / name).with_suffix(".py").is_file():
                continue
            origin = source / "__init__.py" if source.is_dir() else source.with_suffix(".py")
            assert name in exports_of(origin), f"{node.module} does not export {name}"
