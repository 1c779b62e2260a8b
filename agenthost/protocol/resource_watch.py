"""The resource watch channel: what is watched, and the changes seen there.

The state is only the watch's description and never changes; subscribers read the actions
themselves. Watching files is the workspace's affair.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.schema.scalars import URI, OpenWord

ResourceChangeType: TypeAlias = Annotated[Literal["added", "updated", "deleted"], OpenWord()]


class ResourcePatterns(TypedDict):
    """Globs, or paths relative to the watched resource."""

    items: list[str]


class ResourceWatchState(TypedDict):
    """What is watched."""

    root: URI
    recursive: bool
    excludes: NotRequired[ResourcePatterns]
    includes: NotRequired[ResourcePatterns]


class ResourceChange(TypedDict):
    """One resource that changed, and how."""

    uri: URI
    type: ResourceChangeType


class ResourceChanges(TypedDict):
    """The changes that were seen together."""

    items: list[ResourceChange]


class ResourceWatchChangedAction(TypedDict):
    """Resources changed."""

    type: Literal["resourceWatch/changed"]
    changes: ResourceChanges
