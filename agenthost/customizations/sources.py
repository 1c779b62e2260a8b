"""Makes a source of what was found in one place, with how that went in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from agenthost.customizations.fields import plain
from agenthost.customizations.types import (
    CustomizationSource,
    FoundCustomization,
    Kind,
    Load,
    Origin,
    SourceKind,
    uri_below,
)

_LONGEST_MESSAGE = 500


def source_of(
    uri: str, path: str, kind: SourceKind, name: str, contents: Kind | None, origin: Origin
) -> CustomizationSource:
    """Return a source without anything in it: what lies at a path below a folder's URI."""
    place = uri_below(uri, path)
    return CustomizationSource(
        key=f"{origin} {kind} {contents or 'any'} {place}",
        kind=kind,
        uri=place,
        name=name,
        contents=contents,
        writable=False,
        origin=origin,
    )


def filled(
    source: CustomizationSource,
    found: Sequence[FoundCustomization],
    most: int,
    note: str | None = None,
) -> CustomizationSource:
    """Return a source with what was found in it, at most some; a note says what is missing."""
    # Twice the same, by two ways that lead there, could not be told apart.
    different: dict[tuple[str, str, str], FoundCustomization] = {}
    for one in found:
        before = different.setdefault((one.kind, one.path, one.name), one)
        if before.problem is not None and one.problem is None:
            different[one.kind, one.path, one.name] = one
    unique = tuple(different.values())
    kept = unique[:most]
    notes = [note] if note else []
    if len(unique) > most:
        notes.append(f"only the first {most} are shown")
    if broken := [entry for entry in kept if entry.problem is not None]:
        first = broken[0]
        what = first.path or first.name
        notes.insert(0, f"{len(broken)} of {len(kept)} cannot be used: {what}: {first.problem}")
    load: Load = "degraded" if notes else "loaded"
    return replace(source, found=kept, load=load, message=plain("; ".join(notes), _LONGEST_MESSAGE))


def failed(source: CustomizationSource, why: str) -> CustomizationSource:
    """Return a source of which nothing could be read."""
    return replace(source, load="error", message=plain(why, _LONGEST_MESSAGE))
