"""The rules of docs/architecture.md that a machine can check."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from msgspec import Struct

from agenthost.host.channels import registry
from agenthost.host.channels.registry import KINDS

PACKAGE = Path(__file__).parent.parent / "agenthost"
MODULES = sorted(PACKAGE.rglob("*.py"))
# What stands around the package and is read as often.
AROUND = sorted(
    module
    for folder in ("tests", "benchmarks", "soak", "interop", "tools", "examples")
    for module in (PACKAGE.parent / folder).rglob("*.py")
)

# Layer -> the layers it may import. `errors` and `version` are open to all.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "version": set(),
    # The table of variables, for documents and tests.
    "environment": set(),
    "line_matching": set(),
    "line_splitting": set(),
    "clock": set(),
    "protocol": set(),
    "transport": {"line_splitting"},
    "tokens": set(),
    # Where the host of this machine is: for whoever looks for it.
    "local_host": {"tokens"},
    "tasks": set(),
    "workspace": {"protocol", "tasks"},
    "mcp": {"protocol", "workspace", "tasks", "line_splitting"},
    # Of `mcp` only how a server is declared.
    "customizations": {"workspace", "mcp"},
    "agents": {"protocol", "workspace", "line_matching"},
    "client": {"protocol", "transport", "tasks", "clock", "local_host"},
    "host": {
        "protocol",
        "workspace",
        "agents",
        "transport",
        "tokens",
        "tasks",
        "clock",
        "customizations",
        "mcp",
    },
    # Many hosts as one; nothing below knows of it.
    "cluster": {"protocol", "host", "agents", "transport", "tokens", "tasks", "clock"},
    "web": {"host"},
    "cli": {"protocol", "client", "tokens", "tasks", "clock", "local_host", "line_matching"},
    "testing": {"protocol", "workspace", "agents", "client", "host", "transport", "tokens"},
}
# The command that runs a host may reach for it, and the one that lists agents for them.
EXTRA: dict[str, set[str]] = {
    "cli/commands/serve.py": {"host", "web", "agents", "transport", "cluster"},
    "cli/commands/serve_cluster.py": {"host", "agents", "cluster"},
    # What it says of a store that cannot be opened.
    "cli/commands/serve_messages.py": {"host"},
    "cli/commands/agents.py": {"agents"},
    # Loaded with the first agent of another host.
    "agents/ahp/": {"client", "clock", "tasks", "transport"},
    # For `--deep` alone.
    "cli/commands/doctor.py": {"host"},
    # They read and write what is the host's own.
    "cli/commands/backup.py": {"host"},
    "cli/commands/restore.py": {"host"},
    "cli/commands/migrate.py": {"cluster"},
    "cli/cluster_checks.py": {"cluster"},
}
# What a pure layer may not touch: clocks, randomness, files, sockets, processes, event loops.
IMPURE = {
    "asyncio", "datetime.datetime.now", "io", "logging", "os", "pathlib", "random", "secrets",
    "socket", "sqlite3", "subprocess", "threading", "time", "uuid", "websockets",
}  # fmt: skip


def layer_of(module: Path) -> str:
    parts = module.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


@cache
def nodes_of(module: Path) -> tuple[ast.AST, ...]:
    """Return all of a module's syntax, which every rule looks at; the module itself comes first."""
    return tuple(ast.walk(ast.parse(module.read_text())))


@pytest.fixture(scope="module", autouse=True)
def forgotten() -> Iterator[None]:
    """Let go of a million nodes, which every collection of garbage would visit from then on."""
    yield
    nodes_of.cache_clear()


def body_of(module: Path) -> list[ast.stmt]:
    tree = nodes_of(module)[0]
    assert isinstance(tree, ast.Module)
    return tree.body


def imports_of(module: Path) -> Iterator[str]:
    for node in nodes_of(module):
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


def test_a_module_imports_only_the_layers_below_it() -> None:
    faults = []
    for module in MODULES:
        layer = layer_of(module)
        if layer == "__init__":
            continue
        extra = (more for place, more in EXTRA.items() if relative(module).startswith(place))
        allowed = MAY_IMPORT[layer].union(*extra, {layer, "errors", "version"})
        for name in imports_of(module):
            parts = name.split(".")
            if parts[0] == "agenthost" and len(parts) > 1 and parts[1] not in allowed:
                faults.append(f"{relative(module)} may not import {name}")
    assert faults == []


def test_the_protocol_core_is_pure() -> None:
    awaiting = (ast.Await, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith)
    faults = []
    for module in (module for module in MODULES if layer_of(module) == "protocol"):
        impure = [name for name in imports_of(module) if name.split(".")[0] in IMPURE]
        faults += [f"{relative(module)} imports {name}" for name in impure]
        found = [node.lineno for node in nodes_of(module) if isinstance(node, awaiting)]
        faults += [f"{relative(module)}:{number} awaits" for number in found]
    assert faults == []


# Packages that take a second and 60 MB to import, and parse what strangers send while they hold the
# interpreter: only the process made for that may.
MCP_PACKAGES = {"mcp", "mcp_types", "httpx2"}


def test_only_the_worker_imports_the_mcp_package() -> None:
    faults = []
    for module in MODULES:
        if relative(module).startswith("mcp/worker/"):
            continue
        for name in imports_of(module):
            theirs = name.split(".")[0] in MCP_PACKAGES
            within = relative(module).startswith("mcp/")
            if theirs or (not within and name.startswith("agenthost.mcp.worker")):
                faults.append(f"{relative(module)} imports {name}")
    assert faults == []


def test_a_module_stays_readable_in_one_sitting() -> None:
    lengths = {relative(module): module.read_text().count("\n") for module in MODULES + AROUND}
    assert {name: length for name, length in lengths.items() if length > 600} == {}


def test_nothing_waits_in_a_way_that_loses_its_end() -> None:
    """On Python 3.11 ``wait_for`` swallows a cancel that comes together with what it waits for."""
    waiting = [relative(module) for module in MODULES if "asyncio.wait_for(" in module.read_text()]
    assert waiting == []


def test_only_the_version_ladder_names_a_version() -> None:
    named = {
        relative(module): re.findall(r"\b0\.[4-9]\.\d+\b", module.read_text())
        for module in MODULES
        if not relative(module).startswith("protocol/versions/")
    }
    assert {module: found for module, found in named.items() if found} == {}


def test_every_module_says_what_it_is() -> None:
    trees = {relative(module): nodes_of(module)[0] for module in MODULES}
    silent = [
        name
        for name, tree in trees.items()
        if isinstance(tree, ast.Module) and not ast.get_docstring(tree)
    ]
    assert silent == []


def is_all(node: ast.Assign | ast.AnnAssign) -> bool:
    """Say whether a module lists there which of its names are for others."""
    return (
        ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target) == "__all__"
    )


@cache
def defined_in(module: Path) -> set[str]:
    """Return what a module defines, or lists as its own where it is the face of a package."""
    names: set[str] = set()
    for node in body_of(module):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
            if is_all(node) and node.value is not None:
                names |= set(ast.literal_eval(node.value))
    return names


def taken_from_others(module: Path) -> Iterator[tuple[str, str]]:
    """Name what a module imports from ours that is no module itself, and from where."""
    for node in nodes_of(module):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("agenthost"):
            continue
        source = PACKAGE.parent.joinpath(*(node.module or "").split("."))
        for name in (alias.name for alias in node.names):
            if not (source / name).is_dir() and not (source / name).with_suffix(".py").is_file():
                yield node.module or "", name


def test_a_module_takes_from_others_only_what_they_define_and_do_not_keep_to_themselves() -> None:
    faults = []
    for module in MODULES:
        for origin, name in taken_from_others(module):
            source = PACKAGE.parent.joinpath(*origin.split("."))
            file = source / "__init__.py" if source.is_dir() else source.with_suffix(".py")
            if name not in defined_in(file):
                faults.append(f"{relative(module)}: {origin} does not define {name}")
            if name.startswith("_") and not name.endswith("__"):
                faults.append(f"{relative(module)}: {origin} keeps {name} to itself")
    assert faults == []


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
    # Of `log_files` how a failure is told, which the log's readers look for.
    "turns": {"log", "store", "trust", "channels", "log_files"},
    "files": {"log", "store", "trust", "clients", "channels"},
    "push": {"trust", "clients"},
    "telemetry": {"log", "trust", "channels", "http", "root_config"},
    "customizations": {
        "log",
        "store",
        "trust",
        "clients",
        "channels",
        "files",
        "root_config",
    },
    "mcp": {
        "log",
        "store",
        "trust",
        "clients",
        "channels",
        "customizations",
        "folder_trust",
        "root_config",
    },
}
HOST_MODULES = [m for m in MODULES if layer_of(m) == "host"]


def test_a_folder_of_the_host_imports_only_those_below_it() -> None:
    faults = []
    for module in HOST_MODULES:
        folder = module.relative_to(PACKAGE / "host").parts[0]
        if folder not in HOST_MAY_IMPORT:
            continue
        # `telemetry` by itself loads nothing.
        allowed = HOST_MAY_IMPORT[folder] | {folder, "core", "telemetry"}
        for name in imports_of(module):
            parts = name.split(".")
            if parts[:2] == ["agenthost", "host"] and len(parts) > 2 and parts[2] not in allowed:
                faults.append(f"{relative(module)} may not import {name}")
    assert faults == []


KIND_NAMES = {kind.name for kind in KINDS}
# What the registry calls them.
KIND_OBJECTS = {name for name, value in vars(registry).items() if value in KINDS}


def compares_kinds(node: ast.AST) -> bool:
    """Say whether something looks at what kind a channel is of, by name or by the kind itself."""
    compared: list[ast.AST]
    if isinstance(node, ast.Match):
        subject = ast.walk(node.subject)
        if any(isinstance(n, ast.Attribute) and n.attr == "kind" for n in subject):
            return True
        compared = [node.subject, *(case.pattern for case in node.cases)]
    elif isinstance(node, ast.Compare):
        compared = [node.left, *node.comparators]
    else:
        return False
    parts = [part for each in compared for part in ast.walk(each)]
    literals = {n.value for n in parts if isinstance(n, ast.Constant)}
    names = {n.attr for n in parts if isinstance(n, ast.Attribute)}
    names |= {n.id for n in parts if isinstance(n, ast.Name)}
    return bool(names & {"kind", "channel_kind"}) and bool(
        literals & KIND_NAMES or names & KIND_OBJECTS
    )


def test_only_a_kind_of_channel_knows_what_is_special_about_it() -> None:
    asking = [
        f"{relative(module)}:{node.lineno}"  # type: ignore[attr-defined]
        for module in HOST_MODULES
        if not relative(module).startswith("host/channels/")
        for node in nodes_of(module)
        if compares_kinds(node)
    ]
    assert asking == []


@pytest.mark.parametrize(
    "line",
    [
        "channel.kind.name == 'chat'",
        "write.kind in ('session', 'canvas')",
        "channel.kind is not SESSION",
        "kind in (CHAT, otlp.OTLP)",
        "match channel.kind:\n    case _:\n        pass",
        "match kind.name:\n    case 'session' | 'chat':\n        pass",
        "match kind:\n    case registry.SESSION:\n        pass",
    ],
)
def test_a_look_at_a_kind_is_seen(line: str) -> None:
    assert any(compares_kinds(node) for node in ast.walk(ast.parse(line)))


@pytest.mark.parametrize(
    "line",
    [
        "reason.kind == 'failed'",
        "channel.kind is kind",
        "SESSION",
        "match kind:\n    case 'failed':\n        pass",
    ],
)
def test_a_look_at_something_else_is_none(line: str) -> None:
    assert not any(compares_kinds(node) for node in ast.walk(ast.parse(line)))


# Modules that people import by their names, so that they say what of them is for everybody.
PUBLIC_MODULES = {
    "errors.py", "version.py",
    "agents/content.py", "agents/inputs.py", "client/actions.py", "client/events.py",
}  # fmt: skip


def test_a_module_lists_names_only_where_people_import_it() -> None:
    listing = {
        relative(module)
        for module in MODULES
        if module.name != "__init__.py"
        and any(isinstance(node, ast.Assign) and is_all(node) for node in body_of(module))
    }
    assert listing == PUBLIC_MODULES


def test_no_two_public_classes_share_a_name() -> None:
    places: dict[str, list[str]] = {}
    for module in MODULES:
        for node in body_of(module):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(relative(module))
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert shared == {}


@pytest.mark.parametrize("package", ["agents", "client", "host", "protocol", "testing"])
def test_no_public_record_is_a_struct(package: str) -> None:
    # Who uses them may call `dataclasses.replace`: docs/decisions/0020-records-are-structs.md.
    face = importlib.import_module(f"agenthost.{package}")
    public = [getattr(face, name) for name in face.__all__]
    assert [each for each in public if isinstance(each, type) and issubclass(each, Struct)] == []


# What serves clients asks ``workspace.paths`` where a path leads. Who does not, and why nobody
# is let in by it.
RESOLVES_BY_ITSELF = {
    "host/backup/create.py": "the host's own store",
    "host/channels/session/places.py": "whether git is worth asking; git says where it is",
    "host/channels/session/worktrees.py": "below a folder that git named",
    "host/customizations/folder_readings.py": "only whether it leads elsewhere than before",
    "host/mcp/server_context.py": "only whether it leads elsewhere than before",
    "host/store/inspection.py": "the host's own store",
    "host/store/sqlite.py": "the host's own store",
    "workspace/git/repository.py": "what git named, and folders below it",
    "workspace/git/worktrees.py": "what git named",
    "workspace/roots.py": "folders that nobody may reach",
}


def test_one_function_says_where_a_path_leads() -> None:
    asking = {
        relative(module)
        for module in MODULES
        if layer_of(module) in {"workspace", "agents", "customizations", "mcp", "host"}
        for node in nodes_of(module)
        if isinstance(node, ast.Attribute) and node.attr in {"realpath", "normpath"}
    }
    assert asking == set(RESOLVES_BY_ITSELF)
