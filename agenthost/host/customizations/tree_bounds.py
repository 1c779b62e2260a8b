"""How much one session shows of what is brought to it, and one client brings (pure).

A session's tree is stored, kept in memory, and sent to everybody who opens the session: one folder
or plugin with very much in it would be paid for by all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from agenthost.customizations import CustomizationSource, FoundCustomization
from agenthost.host.customizations.tree import BroughtSource

# Characters, counted as ``size_of`` does: a few thousand customizations with their descriptions.
MOST_OF_SESSION = 2 * 1024 * 1024
MOST_OF_CLIENT = 512 * 1024
# What an entry takes besides its texts.
_OVERHEAD = 300


def bounded(
    brought: Iterable[BroughtSource], most: int = MOST_OF_SESSION
) -> Iterator[BroughtSource]:
    """Yield sources as far as a session shows them; each says if that is not all."""
    for one in brought:
        source = cut(one.source, most)
        most -= size_of(source)
        yield one if source is one.source else replace(one, source=source)


def cut(source: CustomizationSource, room: int) -> CustomizationSource:
    """Return a source with no more in it than there is room for; it says so if that is not all."""
    kept = 0
    for found in source.found:
        room -= _size(found)
        if room < 0:
            break
        kept += 1
    if kept == len(source.found):
        return source
    notes = [source.message] if source.message else []
    notes.append(f"only the first {kept} are shown, for there is too much in this session")
    return replace(source, found=source.found[:kept], load="degraded", message="; ".join(notes))


def size_of(source: CustomizationSource) -> int:
    """Return how much room a source takes."""
    return sum(map(_size, source.found))


def _size(found: FoundCustomization) -> int:
    texts = (found.name, found.path, found.description, found.problem or "", found.model or "")
    return _OVERHEAD + sum(map(len, (*texts, *found.tools, *found.globs)))
