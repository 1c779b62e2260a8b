"""The web page's files: read once, served by exact name, the same for everyone.

No path of a request is ever joined to a folder: what was not read at the first request does not
exist. The page runs under a policy that lets it load nothing but itself and talk to nobody but
this host; ``/s/…`` and the like are places inside of it, so they are answered with its index.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from agenthost.host.http.messages import HttpRequest, HttpResponse
from agenthost.host.trust.gate import OPEN_PREFIX, is_place

# Where the build puts the page; empty in a clone that was not set up.
STATIC = Path(__file__).parents[2] / "web" / "static"

INDEX = "/index.html"

# Names in this folder hold a hash of what is in them, so that they never go stale.
FOREVER = "public, max-age=31536000, immutable"
# May be kept, if it is asked for each time whether it is still so.
ASK_AGAIN = "no-cache"

PAGE_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' blob:",
            "connect-src 'self'",
            "worker-src 'self'",
            "manifest-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types agenthost",
        )
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
"""On everything that belongs to the page: a worker's policy is that of its own response."""

# Told rather than guessed from the system's own tables, which differ.
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
# How a file may lie beside itself packed, best first: its suffix by what requests call it.
_PACKED = {"br": ".br", "gzip": ".gz"}


@dataclass(frozen=True, slots=True)
class Asset:
    """One file as it is sent."""

    body: bytes = field(repr=False)
    content_type: str
    # Of the content, whichever way it is packed.
    digest: str
    cache_control: str
    # The same packed, by encoding.
    packed: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    def answer(self, headers: Mapping[str, str]) -> HttpResponse:
        """Return the file as the request takes it, or that it has not changed."""
        taken = _encodings(headers.get("Accept-Encoding", ""))
        encoding = next((name for name in self.packed if name in taken), None)
        etag = f'"{self.digest}{f"-{encoding}" if encoding else ""}"'
        told = {**PAGE_HEADERS, "ETag": etag, "Vary": "Accept-Encoding"}
        if _matches(headers.get("If-None-Match", ""), etag):
            return HttpResponse(304, b"", self.content_type, self.cache_control, told)
        if encoding is not None:
            told["Content-Encoding"] = encoding
        body = self.body if encoding is None else self.packed[encoding]
        return HttpResponse(200, body, self.content_type, self.cache_control, told)


class Assets:
    """All files of the page, by the path under which each is asked for."""

    def __init__(self, files: Mapping[str, Asset]) -> None:
        self._files = files

    @classmethod
    def load(cls, folder: Path = STATIC) -> Assets:
        """Read a built page; there are no files where it was not built."""
        paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        found = {f"/{path.relative_to(folder).as_posix()}": path for path in paths}
        packed = {f"{name}{suffix}" for name in found for suffix in _PACKED.values()}
        return cls(
            {
                name: _read(name, path)
                for name, path in found.items()
                if name not in packed and not _is_hidden(name)
            }
        )

    def answer(self, request: HttpRequest) -> HttpResponse | None:
        """Return a file of the page, or its index at a place inside it; None for neither."""
        asset = self._files.get(INDEX if is_place(request.path) else request.path)
        return None if asset is None else asset.answer(request.headers)


def _read(name: str, path: Path) -> Asset:
    body = path.read_bytes()
    packed = {
        encoding: beside.read_bytes()
        for encoding, suffix in _PACKED.items()
        if (beside := path.with_name(path.name + suffix)).is_file()
    }
    return Asset(
        body,
        _TYPES.get(PurePosixPath(name).suffix, "application/octet-stream"),
        hashlib.sha256(body).hexdigest()[:20],
        FOREVER if name.startswith(OPEN_PREFIX) else ASK_AGAIN,
        packed,
    )


def _is_hidden(name: str) -> bool:
    """Tell whether the build keeps a file for itself."""
    return any(part.startswith(".") for part in PurePosixPath(name).parts)


def _encodings(header: str) -> set[str]:
    """Return what an ``Accept-Encoding`` header takes; nothing where it refuses by ``q=0``."""
    taken = set()
    for item in header.lower().split(","):
        name, *parameters = (part.strip() for part in item.split(";"))
        refused = any(part.replace(" ", "").rstrip("0.") == "q=" for part in parameters)
        if name and not refused:
            taken.add(name)
    return taken


def _matches(header: str, etag: str) -> bool:
    tags = {tag.strip().removeprefix("W/") for tag in header.split(",")}
    return etag in tags or "*" in tags
