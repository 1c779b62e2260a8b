"""Which tools a custom agent uses: the names in its file, against what there is.

People write such files for several products, so a tool goes by more than one name. What nobody here
knows is left out, and told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agenthost.agents.mcp_tools import OfferedTool

_READ: Final = ("list_files", "read_file")
_SEARCH: Final = ("list_files", "search_files")
# What products call such tools -> ours, all in lower case.
_ALIASES: Final[Mapping[str, Sequence[str]]] = {
    "read": _READ,
    "readfile": _READ,
    "view": _READ,
    "ls": ("list_files",),
    "glob": ("list_files",),
    "listdirectory": ("list_files",),
    "search": _SEARCH,
    "grep": _SEARCH,
    "codebase": _SEARCH,
    "textsearch": _SEARCH,
    "filesearch": _SEARCH,
    "usages": _SEARCH,
    "edit": ("edit_file",),
    "write": ("edit_file",),
    "multiedit": ("edit_file",),
    "editfiles": ("edit_file",),
    "createfile": ("edit_file",),
    "execute": ("run_command",),
    "bash": ("run_command",),
    "shell": ("run_command",),
    "runcommands": ("run_command",),
    "runinterminal": ("run_command",),
    "terminal": ("run_command",),
    # Known, and nothing here does it.
    "agent": (),
    "task": (),
    "todos": (),
    "todowrite": (),
    "think": (),
}
# Names that are told of those that nobody knows.
MOST_TOLD: Final = 8


@dataclass(frozen=True, slots=True)
class AllowedTools:
    """The tools of a custom agent; of one that names none, all."""

    # None for all.
    names: frozenset[str] | None = None
    unknown: tuple[str, ...] = ()

    def allows(self, name: str) -> bool:
        """Say whether the agent uses a tool, by the name that its model knows it by."""
        return self.names is None or name in self.names

    @property
    def problem(self) -> str | None:
        """What people are told of names that mean nothing here; None if all do."""
        if not self.unknown:
            return None
        shown = ", ".join(name[:60] for name in self.unknown[:MOST_TOLD])
        more = len(self.unknown) - MOST_TOLD
        return f"{shown} and {more} more" if more > 0 else shown


ALL_TOOLS: Final = AllowedTools()


def allowed_tools(
    wanted: Sequence[str],
    own: Mapping[str, str],
    others: Iterable[str] = (),
    mcp: Sequence[OfferedTool] = (),
) -> AllowedTools:
    """Return what of all this is meant by the names in an agent's file; no names mean all.

    ``own`` are the agent's tools and their titles, ``others`` the names of clients' tools.
    """
    if not wanted:
        return ALL_TOOLS
    known: dict[str, set[str]] = {alias: set(names) for alias, names in _ALIASES.items()}
    known["*"] = {*own, *others, *(tool.name for tool in mcp)}
    for name, title in own.items():
        _add(known, name, name, title)
    for name in others:
        _add(known, name, name)
    for tool in mcp:
        server, inner = tool.server_name, tool.tool
        spelled = (f"{server}/{inner}", f"mcp__{server}__{inner}", inner)
        _add(known, tool.name, tool.name, tool.title, *spelled)
        _add(known, tool.name, f"{server}/*", f"mcp__{server}", f"mcp__{server}__*", server)
    names: set[str] = set()
    unknown: list[str] = []
    for each in wanted:
        found = known.get(_plain(each))
        names |= found or set()
        if found is None and each.strip():
            unknown.append(each.strip())
    return AllowedTools(frozenset(names), tuple(dict.fromkeys(unknown)))


def _add(known: dict[str, set[str]], name: str, *spellings: str) -> None:
    for spelling in spellings:
        if spelling:
            known.setdefault(spelling.lower(), set()).add(name)


def _plain(name: str) -> str:
    """Return a name as it is looked up: some files say more in brackets, as in Bash(git:*)."""
    return name.partition("(")[0].strip().lower()
