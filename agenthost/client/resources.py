"""Resources that a client serves to its host.

Owns which URIs are served, by whom, and under which policy. A host may read what a client publishes
under a prefix of its choosing, and nothing else: everything that was not offered is refused.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from agenthost.errors import InvalidParams, MethodNotFound, NotFound, PermissionDenied
from agenthost.protocol import translator
from agenthost.protocol.inbound import accept_params
from agenthost.protocol.uris import ROOT

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.resources import (
        DirectoryEntry,
        ResourceCopyParams,
        ResourceCopyResult,
        ResourceDeleteParams,
        ResourceDeleteResult,
        ResourceListParams,
        ResourceListResult,
        ResourceMkdirParams,
        ResourceMkdirResult,
        ResourceMoveParams,
        ResourceMoveResult,
        ResourceReadParams,
        ResourceReadResult,
        ResourceResolveParams,
        ResourceResolveResult,
        ResourceWriteParams,
        ResourceWriteResult,
    )

Allow = Callable[[str, str], bool]
"""Says whether a method, such as ``resourceRead``, may be carried out on a URI."""

READING = frozenset({"createResourceWatch", "resourceList", "resourceRead", "resourceResolve"})

# Where a method names what it works on; ``resourceRequest`` is decided by the policy alone.
_TARGETS: Mapping[str, tuple[str, ...]] = {
    "resourceCopy": ("source", "destination"),
    "resourceMove": ("source", "destination"),
}


def read_only(method: str, uri: str) -> bool:
    """The default policy: allow reading, refuse changes."""
    return method in READING


class ResourceProvider:
    """Serves resources: override what can be served; everything else is refused as unknown.

    Every method gets the command's validated params and returns its result, and raises the
    errors of ``agenthost.errors``: NotFound, PermissionDenied, AlreadyExists, Conflict.
    """

    async def read(self, params: ResourceReadParams) -> ResourceReadResult:
        """Serve ``resourceRead``."""
        raise MethodNotFound("resourceRead is not served here")

    async def write(self, params: ResourceWriteParams) -> ResourceWriteResult:
        """Serve ``resourceWrite``."""
        raise MethodNotFound("resourceWrite is not served here")

    async def list(self, params: ResourceListParams) -> ResourceListResult:
        """Serve ``resourceList``."""
        raise MethodNotFound("resourceList is not served here")

    async def copy(self, params: ResourceCopyParams) -> ResourceCopyResult:
        """Serve ``resourceCopy``."""
        raise MethodNotFound("resourceCopy is not served here")

    async def move(self, params: ResourceMoveParams) -> ResourceMoveResult:
        """Serve ``resourceMove``."""
        raise MethodNotFound("resourceMove is not served here")

    async def delete(self, params: ResourceDeleteParams) -> ResourceDeleteResult:
        """Serve ``resourceDelete``."""
        raise MethodNotFound("resourceDelete is not served here")

    async def resolve(self, params: ResourceResolveParams) -> ResourceResolveResult:
        """Serve ``resourceResolve``."""
        raise MethodNotFound("resourceResolve is not served here")

    async def mkdir(self, params: ResourceMkdirParams) -> ResourceMkdirResult:
        """Serve ``resourceMkdir``."""
        raise MethodNotFound("resourceMkdir is not served here")


class MemoryResources(ResourceProvider):
    """Serves texts and bytes out of a mapping from URI to content, which may change meanwhile.

    For reading alone: the mapping is its owner's to change, and no host's.
    """

    def __init__(self, contents: Mapping[str, str | bytes]) -> None:
        self._contents = contents

    async def read(self, params: ResourceReadParams) -> ResourceReadResult:
        """Return the content, as text where it is one and nobody asked otherwise."""
        content = self._find(params["uri"])
        data = content.encode() if isinstance(content, str) else content
        if params.get("encoding") != "base64":
            try:
                return {"data": data.decode(), "encoding": "utf-8"}
            except UnicodeDecodeError:
                # Bytes that are no text travel as base64, whatever was asked for.
                pass
        return {"data": base64.b64encode(data).decode(), "encoding": "base64"}

    async def list(self, params: ResourceListParams) -> ResourceListResult:
        """Return the direct children of a URI, each once."""
        base = params["uri"].rstrip("/") + "/"
        children: dict[str, DirectoryEntry] = {}
        for uri in self._contents:
            name, slash, _ = uri.removeprefix(base).partition("/")
            if uri.startswith(base) and name:
                children[name] = {"name": name, "type": "directory" if slash else "file"}
        if not children:
            raise NotFound(f"there is no folder {params['uri']}")
        return {"entries": [*children.values()]}

    async def resolve(self, params: ResourceResolveParams) -> ResourceResolveResult:
        """Return the type and size of a resource; a folder is what something is below of."""
        uri = params["uri"]
        if uri not in self._contents and self._is_folder(uri):
            return {"uri": uri, "type": "directory"}
        content = self._find(uri)
        size = len(content.encode() if isinstance(content, str) else content)
        return {"uri": uri, "type": "file", "size": size}

    def _is_folder(self, uri: str) -> bool:
        base = uri.rstrip("/") + "/"
        return any(known.startswith(base) and known != base for known in self._contents)

    def _find(self, uri: str) -> str | bytes:
        if uri not in self._contents:
            raise NotFound(f"there is no resource {uri}")
        return self._contents[uri]


@dataclass(frozen=True, slots=True)
class _Offer:
    prefix: str
    provider: ResourceProvider
    allow: Allow


class ResourceServer:
    """Routes the host's resource requests to the providers of one client."""

    def __init__(self) -> None:
        self._offers: list[_Offer] = []

    def offer(
        self, prefix: str, provider: ResourceProvider, allow: Allow = read_only
    ) -> Callable[[], None]:
        """Serve the URIs that begin with a prefix; return what ends that."""
        if not prefix:
            raise ValueError("name the prefix of the URIs to serve")
        offer = _Offer(prefix, provider, allow)
        # The longest prefix decides, so a part of what is offered can be offered otherwise; of two
        # that are the same, the newer one.
        self._offers = sorted([offer, *self._offers], key=lambda o: -len(o.prefix))

        def end() -> None:
            self._offers = [kept for kept in self._offers if kept is not offer]

        return end

    async def serve(self, method: str, params: JsonObject, version: str) -> Any:
        """Carry out a request of the host, or raise the error that it gets."""
        if not self._offers:
            raise MethodNotFound(f"this client does not serve {method}")
        accepted = accept_params(version, method, params)
        uris = [accepted[key] for key in _TARGETS.get(method, ("uri",))]
        offers = {self._offer_of(method, uri) for uri in uris}
        if len(offers) > 1:
            raise PermissionDenied("the two are served by different providers")
        (offer,) = offers
        if method == "resourceRequest":
            return self._grant(accepted, offer)
        for uri in uris:
            if not offer.allow(method, uri):
                raise _denied(method, uri)
        result = await _handler(offer.provider, method)(accepted)
        return translator(version).result_down(method, accepted, result)

    def _offer_of(self, method: str, uri: str) -> _Offer:
        if any(segment in (".", "..") for segment in unquote(uri).split("/")):
            # It would begin with the prefix and lead out of it.
            raise InvalidParams("a URI with dot segments is not served", path="uri")
        for offer in self._offers:
            if uri.startswith(offer.prefix):
                return offer
        raise _denied(method, uri)

    def _grant(self, params: JsonObject, offer: _Offer) -> JsonObject:
        wanted = {"resourceWrite"} if params.get("write") else set()
        if params.get("read") or not wanted:
            wanted.add("resourceRead")
        for method in wanted:
            if not offer.allow(method, params["uri"]):
                raise PermissionDenied("this client does not grant that")
        return {}


def _denied(method: str, uri: str) -> PermissionDenied:
    access = "read" if method in READING else "write"
    request = {"channel": ROOT, "uri": uri, access: True}
    return PermissionDenied("this client does not allow that", request=request)


def _handler(
    provider: ResourceProvider, method: str
) -> Callable[[Any], Coroutine[Any, Any, Mapping[str, Any]]]:
    handlers: dict[str, Callable[[Any], Coroutine[Any, Any, Mapping[str, Any]]]] = {
        "resourceRead": provider.read,
        "resourceWrite": provider.write,
        "resourceList": provider.list,
        "resourceCopy": provider.copy,
        "resourceMove": provider.move,
        "resourceDelete": provider.delete,
        "resourceResolve": provider.resolve,
        "resourceMkdir": provider.mkdir,
    }
    if method not in handlers:
        # Watching the other way round is not a typed part of the protocol.
        raise MethodNotFound(f"this client does not serve {method}")
    return handlers[method]
