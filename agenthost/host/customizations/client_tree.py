"""A plugin that a client has published, as a tree to be read: its client is asked for each file.

What was read once is kept with the tree: a client that publishes the same again, as its nonce says,
is not asked for it again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakSet

from agenthost.customizations import Tree, UnreadableCustomization
from agenthost.customizations.types import uri_below
from agenthost.errors import NotFound
from agenthost.host.files.client_resources import decoded_content

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject

# Asks the client: a method, a URI.
AskClient: TypeAlias = Callable[[str, str], Awaitable["JsonObject"]]

# Bytes that one tree keeps, and that all do together, those of sessions among them.
MOST_KEPT = 4 * 1024 * 1024
MOST_KEPT_BY_ALL = 64 * 1024 * 1024
MOST_PLUGINS_KEPT = 256
# What an entry costs besides its bytes, and a name in a list.
_OVERHEAD = 500
_NAME_OVERHEAD = 120


class ClientTree:
    """The files of one published plugin."""

    def __init__(self, ask: AskClient, uri: str, kept: KeptFiles | None = None) -> None:
        self._ask = ask
        self._uri = uri
        self._kept = kept if kept is not None else KeptFiles()

    async def list(self, path: str) -> Sequence[tuple[str, bool]]:
        """Return the names in a folder, each with whether it leads to a folder."""
        uri = uri_below(self._uri, path)
        known = self._kept.lists.get(uri)
        if known is not None:
            return known
        try:
            result = await self._ask("resourceList", uri)
        except NotFound as error:
            if not path:
                # Without the plugin itself, why it is not there is all that can be told.
                raise UnreadableCustomization(str(error)) from None
            raise
        entries = [(each["name"], each["type"] == "directory") for each in result["entries"]]
        self._kept.keep_list(uri, entries)
        return entries

    async def read(self, path: str, most: int) -> bytes:
        """Return the whole of a file; one with more bytes than ``most`` is refused."""
        uri = uri_below(self._uri, path)
        known = self._kept.files.get(uri)
        if known is not None:
            return known
        data = decoded_content(await self._ask("resourceRead", uri))
        if len(data) > most:
            raise UnreadableCustomization(f"it has more than {most >> 10} KiB")
        self._kept.keep_file(uri, data)
        return data

    async def find(self, name: str) -> Sequence[str]:
        """Return nothing: to look for files would take a question for each folder."""
        return ()

    def below(self, path: str) -> Tree:
        """Return one of its folders as a tree."""
        return ClientTree(self._ask, uri_below(self._uri, path), self._kept)


class KeptFiles:
    """What was read of one plugin."""

    def __init__(self, has_grown: Callable[[int], None] | None = None) -> None:
        """``has_grown`` is told by how many bytes it has."""
        self.files: dict[str, bytes] = {}
        self.lists: dict[str, Sequence[tuple[str, bool]]] = {}
        self.size = 0
        self._has_grown = has_grown

    def keep_file(self, uri: str, data: bytes) -> None:
        """Keep a file, while there is room."""
        if self._has_room(len(data)):
            self.files[uri] = data
            self._grow(len(data))

    def keep_list(self, uri: str, entries: Sequence[tuple[str, bool]]) -> None:
        """Keep the names in a folder, while there is room."""
        size = sum(len(name) + _NAME_OVERHEAD for name, _ in entries)
        if self._has_room(size):
            self.lists[uri] = entries
            self._grow(size)

    def clear(self) -> None:
        """Forget everything; whoever needs something of it asks again."""
        self.files.clear()
        self.lists.clear()
        self.size = 0

    def _has_room(self, size: int) -> bool:
        return self.size + size + _OVERHEAD <= MOST_KEPT

    def _grow(self, size: int) -> None:
        self.size += size + _OVERHEAD
        if self._has_grown is not None:
            self._has_grown(size + _OVERHEAD)


class PluginCache:
    """What was read of published plugins: whose, from where, and which nonce it had."""

    def __init__(self, most: int = MOST_KEPT_BY_ALL) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, str, str], KeptFiles] = OrderedDict()
        # Also those that are not found again, for as long as some session reads by them.
        self._alive: WeakSet[KeptFiles] = WeakSet()
        # No less than they have together; what is let go of is not counted at once.
        self._size = 0

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def size(self) -> int:
        """How many bytes are kept."""
        return sum(each.size for each in self._alive)

    def of(self, principal: str, uri: str, nonce: str | None) -> KeptFiles:
        """Return what is known of a plugin; without a nonce nobody can know that it is the same."""
        if nonce is None:
            return self._made()
        key = (principal, uri, nonce)
        if key not in self._kept:
            self._kept[key] = self._made()
        self._kept.move_to_end(key)
        if len(self._kept) > MOST_PLUGINS_KEPT:
            self._kept.popitem(last=False)
        return self._kept[key]

    def _made(self) -> KeptFiles:
        made = KeptFiles(self._has_grown)
        self._alive.add(made)
        return made

    def _has_grown(self, size: int) -> None:
        self._size += size
        if self._size <= self._most:
            return
        self._size = self.size
        # The largest first: whoever publishes little is not to pay for it.
        for each in sorted(self._alive, key=lambda kept: kept.size, reverse=True):
            if self._size <= self._most * 3 // 4:
                break
            self._size -= each.size
            each.clear()
