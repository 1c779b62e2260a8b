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
    for folder in ("tests", "benchmarks", "soak", "interop", "tools")
    for module in (PACKAGE.parent / folder).rglob("*.py")
)

# Layer -> the layers it may import. `errors` is open to all.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "clock": set(),
    "protocol": set(),
    "transport": set(),
    "tokens": set(),
    "tasks": set(),
    "workspace": {"protocol", "tasks"},
    "agents": {"protocol", "workspace"},
    "client": {"protocol", "transport", "tasks", "clock"},
    "host": {"protocol", "workspace", "agents", "transport", "tokens", "tasks", "clock"},
    "web": {"host"},
    "cli": {"protocol", "client", "tokens", "tasks", "clock"},
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
    allowed = MAY_IMPORT[layer] | EXTRA.get(relative(module), set()) | {layer, "errors"}
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
def test_every_module_says_what_it_is(module: Path) -> None:
    assert ast.get_docstring(ast.parse(module.read_text())), f"{relative(module)} has no docstring"


def defined_in(module: Path) -> set[str]:
    """Return what a module defines, or lists as its own where it is the face of a package."""
    names: set[str] = set()
    for node in ast.parse(module.read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
            if ast.unparse(targets[0]) == "__all__" and node.value is not None:
                names |= set(ast.literal_eval(node.value))
    return names


@pytest.mark.parametrize("module", MODULES, ids=relative)
def test_a_module_takes_from_others_only_what_they_define_and_do_not_keep_to_themselves(
    module: Path,
) -> None:
    for node in ast.walk(ast.parse(module.read_text())):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("agenthost"):
            continue
        source = PACKAGE.parent.joinpath(*(node.module or "").split("."))
        for name in (alias.name for alias in node.names):
            if (source / name).is_dir() or (source / name).with_suffix(".py").is_file():
                continue
            origin = source / "__init__.py" if source.is_dir() else source.with_suffix(".py")
            assert name in defined_in(origin), f"{node.module} does not define {name}"
            assert not name.startswith("_"), f"{node.module} keeps {name} to itself"


# Folder of the host -> the folders of it that it may import. `core` names all parts for the type
# checker alone, so anybody may name it; `host` wires everything.
HOST_MAY_IMPORT: dict[str, set[str]] = {
    "store": set(),
    "trust": set(),
    "log": {"store", "trust"},
    "delivery": {"log"},
    "http": {"trust"},
    "transports": {"http", "trust"},
    "clients": {"log", "delivery", "store", "trust"},
    "channels": {"log", "delivery", "store", "trust", "clients"},
    "turns": {"log", "store", "trust", "channels"},
    "files": {"log", "store", "trust", "clients", "channels"},
    "push": {"trust", "clients"},
}
HOST_MODULES = [m for m in MODULES if layer_of(m) == "host"]


@pytest.mark.parametrize("module", HOST_MODULES, ids=relative)
def test_a_folder_of_the_host_imports_only_those_below_it(module: Path) -> None:
    folder = module.relative_to(PACKAGE / "host").parts[0]
    if folder not in HOST_MAY_IMPORT:
        return
    allowed = HOST_MAY_IMPORT[folder] | {folder, "core"}
    for name in imports_of(module):
        parts = name.split(".")
        if parts[:2] == ["agenthost", "host"] and len(parts) > 2:
            assert parts[2] in allowed, f"{relative(module)} may not import {name}"


CHANNEL_KINDS = {
    "root", "session", "chat", "terminal", "changeset", "annotations", "resourceWatch",
}  # fmt: skip


def compares_kinds(node: ast.AST) -> bool:
    """Say whether something looks at what kind a channel is of, by name."""
    if isinstance(node, ast.Match):
        looked_at = ast.walk(node.subject)
        return any(isinstance(n, ast.Attribute) and n.attr == "kind" for n in looked_at)
    if not isinstance(node, ast.Compare):
        return False
    operands = [node.left, *node.comparators]
    literals = {n.value for o in operands for n in ast.walk(o) if isinstance(n, ast.Constant)}
    names = {n.attr for o in operands for n in ast.walk(o) if isinstance(n, ast.Attribute)}
    names |= {n.id for o in operands for n in ast.walk(o) if isinstance(n, ast.Name)}
    return bool(names & {"kind", "channel_kind"}) and bool(literals & CHANNEL_KINDS)


@pytest.mark.parametrize("module", HOST_MODULES, ids=relative)
def test_only_a_kind_of_channel_knows_what_is_special_about_it(module: Path) -> None:
    if relative(module).startswith("host/channels/"):
        return
    for node in ast.walk(ast.parse(module.read_text())):
        assert not compares_kinds(node), f"{relative(module)}:{node.lineno} asks for a kind"  # type: ignore[attr-defined]


def test_no_two_public_classes_share_a_name() -> None:
    places: dict[str, list[str]] = {}
    for module in MODULES:
        for node in ast.parse(module.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(relative(module))
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert shared == {}
