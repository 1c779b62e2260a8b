"""Params and results of the resource commands, which either peer may call on the other.

Types only; files are reached by the workspace.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.params import RootParams
from agenthost.protocol.resource_watch import ResourcePatterns
from agenthost.protocol.schema.scalars import URI, Channel, Count, Integer, OpenWord

ContentEncoding: TypeAlias = Literal["base64", "utf-8"]
ResourceWriteMode: TypeAlias = Literal["truncate", "append", "insert"]
ResourceType: TypeAlias = Annotated[Literal["file", "directory", "symlink"], OpenWord()]


class ResourceReadParams(RootParams):
    """Read a resource, preferably in a given encoding."""

    uri: URI
    encoding: NotRequired[ContentEncoding]


class ResourceReadResult(TypedDict):
    """A resource's content."""

    data: str
    encoding: ContentEncoding
    contentType: NotRequired[str]


class ResourceWriteParams(RootParams):
    """Write a resource; ``position`` counts bytes, from the end when appending."""

    uri: URI
    data: str
    encoding: ContentEncoding
    contentType: NotRequired[str]
    createOnly: NotRequired[bool]
    mode: NotRequired[ResourceWriteMode]
    position: NotRequired[Count]
    ifMatch: NotRequired[str]


class ResourceWriteResult(TypedDict):
    """The resource was written."""


class ResourceListParams(RootParams):
    """List a directory's direct children."""

    uri: URI


class DirectoryEntry(TypedDict):
    """One child of a directory."""

    name: str
    type: Annotated[Literal["file", "directory"], OpenWord()]


class ResourceListResult(TypedDict):
    """A directory's children."""

    entries: list[DirectoryEntry]


class ResourceCopyParams(RootParams):
    """Copy a resource, over an existing one unless told otherwise."""

    source: URI
    destination: URI
    failIfExists: NotRequired[bool]


class ResourceCopyResult(TypedDict):
    """The resource was copied."""


class ResourceDeleteParams(RootParams):
    """Delete a resource, and what is below it if so told."""

    uri: URI
    recursive: NotRequired[bool]


class ResourceDeleteResult(TypedDict):
    """The resource is gone."""


class ResourceRequestParams(RootParams):
    """Ask for access to a resource; to read it when no flag is given."""

    uri: URI
    read: NotRequired[bool]
    write: NotRequired[bool]


class ResourceRequestResult(TypedDict):
    """Access is granted."""


class ResourceMoveParams(RootParams):
    """Move a resource, over an existing one unless told otherwise."""

    source: URI
    destination: URI
    failIfExists: NotRequired[bool]


class ResourceMoveResult(TypedDict):
    """The resource was moved."""


class ResourceResolveParams(RootParams):
    """Find out what a URI stands for, following links unless told otherwise."""

    uri: URI
    followSymlinks: NotRequired[bool]


class ResourceResolveResult(TypedDict):
    """What a URI stands for; ``ctime`` is when it was created."""

    uri: URI
    type: ResourceType
    size: NotRequired[Integer]
    mtime: NotRequired[str]
    ctime: NotRequired[str]
    contentType: NotRequired[str]
    etag: NotRequired[str]


class ResourceMkdirParams(RootParams):
    """Make a directory and those above it."""

    uri: URI


class ResourceMkdirResult(TypedDict):
    """The directory is there."""


class CreateResourceWatchParams(RootParams):
    """Watch a resource, or all below it, for changes."""

    uri: URI
    recursive: NotRequired[bool]
    excludes: NotRequired[ResourcePatterns]
    includes: NotRequired[ResourcePatterns]


class CreateResourceWatchResult(TypedDict):
    """The channel on which the changes will arrive."""

    channel: Channel


class PermissionDeniedErrorData(TypedDict):
    """What a refusal tells: the request with which access may be asked for."""

    request: NotRequired[ResourceRequestParams]
