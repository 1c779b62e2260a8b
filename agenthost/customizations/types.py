"""What is found when folders are searched for customizations, in no protocol's shapes.

A customization is a file, or a part of one, by which people tell agents what to do: instructions, a
skill, a prompt, a custom agent, a hook, an MCP server. Whoever publishes them gives them ids and
the shapes of the wire; whoever uses one reads its text when it is needed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias
from urllib.parse import quote

from msgspec import Struct

from agenthost.mcp.types import ServerDeclaration

# Instructions are rules, those that always apply among them.
Kind: TypeAlias = Literal["agent", "skill", "prompt", "rule", "hook", "mcpServer"]
Origin: TypeAlias = Literal["user", "workspace", "plugin", "client", "builtin"]
SourceKind: TypeAlias = Literal["directory", "plugin", "file"]
Load: TypeAlias = Literal["loaded", "degraded", "error"]
# First line and character, last line and the character behind the end, all from zero; characters
# as editors count them, in UTF-16.
TextRange: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class FoundCustomization:
    """One customization that was found; with a problem if it cannot be used as it is."""

    kind: Kind
    name: str
    # Below its source; empty if the source is the file itself.
    path: str
    description: str = ""
    # Reads its text without the front matter, anew each time; raises UnreadableCustomization.
    body: Callable[[], Awaitable[str]] | None = field(default=None, compare=False)
    # Of a skill: reads another file of its folder, by a path below that; raises the same.
    beside: Callable[[str], Awaitable[str]] | None = field(default=None, compare=False)
    model: str | None = None
    # Of an agent or a prompt: the only tools that it uses; empty for any.
    tools: tuple[str, ...] = ()
    # Of a rule: whether it applies whatever is worked on, and else to which files.
    always: bool = False
    globs: tuple[str, ...] = ()
    model_may_invoke: bool = True
    user_may_invoke: bool = True
    # Where it stands, if it is a part of its file.
    range: TextRange | None = None
    server: ServerDeclaration | None = None
    problem: str | None = None


class CustomizationSource(Struct, frozen=True):
    """A folder, a plugin or a file, and the customizations that were found in it."""

    # The same whenever it is read again; together with kind, path and name it tells one
    # customization from all others.
    key: str
    kind: SourceKind
    uri: str
    name: str
    # The only kind that it holds; None for a plugin, which holds any.
    contents: Kind | None
    # Whether clients may add to it.
    writable: bool
    origin: Origin
    version: str | None = None
    load: Load = "loaded"
    # Why it is not loaded, or not whole.
    message: str = ""
    found: tuple[FoundCustomization, ...] = ()

    def uri_of(self, found: FoundCustomization) -> str:
        """Return the URI of the file that one of its customizations stands in."""
        return uri_below(self.uri, found.path)


class Tree(Protocol):
    """A folder to be read: one of this machine, or one that a client has published.

    Paths are relative to it, with slashes; the empty one is the folder itself. Nothing leads out of
    it. All methods raise OSError or AgentHostError, FileNotFoundError or NotFound for what is not
    there.
    """

    async def list(self, path: str) -> Sequence[tuple[str, bool]]:
        """Return the names in a folder, each with whether it leads to a folder."""
        ...

    async def read(self, path: str, most: int) -> bytes:
        """Return the whole of a file; one with more bytes than ``most`` is refused."""
        ...

    async def find(self, name: str) -> Sequence[str]:
        """Return the paths of some files of a name in folders below, as far as that is cheap."""
        ...

    def below(self, path: str) -> Tree:
        """Return one of its folders as a tree, which nothing leads out of either."""
        ...


def uri_below(uri: str, path: str) -> str:
    """Return the URI of what lies below a folder, or of the folder itself."""
    return f"{uri.rstrip('/')}/{quote(path)}" if path else uri
