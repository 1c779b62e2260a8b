"""Decides whether an HTTP request may come in, and as whom.

Pure but for what the authenticator reads: headers in, a principal or a refusal out. What the
principal may do inside is ``policy``'s matter; sockets and responses are the transports'.

Three questions, in this order:

1. *Host*, only without tokens: was this machine addressed by a name that is ours? A page whose
   DNS name was re-pointed at 127.0.0.1 sends its own name, which is how it is recognised.
2. *Origin*: browsers always say which page opens a WebSocket; other programs say nothing and pass.
   A page passes when it is the host's own or its origin was allowed explicitly.
3. *Token*: unless the host runs without.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from agenthost.errors import AgentHostError
from agenthost.host.trust.addresses import Authority, Origin, is_ip, is_loopback, is_wildcard
from agenthost.host.trust.failed_tokens import FailedTokens
from agenthost.host.trust.principals import LOCAL_OWNER, Principal
from agenthost.host.trust.tokens import Authenticator

DESKTOP_ORIGINS = ("vscode-file://vscode-app",)
"""Origins that only an installed application can have, never a web site.

VS Code's window opens its WebSocket with the browser API, hence with this origin.
"""

OPEN_PAGES = frozenset(
    {
        "/healthz",
        "/favicon.ico",
        "/sw.js",
        "/manifest.webmanifest",
        "/icon.svg",
        "/icon-192.png",
        "/icon-512.png",
        "/icon-512-maskable.png",
        "/apple-touch-icon.png",
    }
)
"""Pages that need no token: they hold no secret and nothing about any session."""

OPEN_PREFIX = "/assets/"
"""The page's scripts and styles, the same for everyone."""

PLACES = frozenset({"/", "/automations", "/inspect", "/new", "/settings"})
PLACE_PREFIXES = ("/automations/", "/s/", "/settings/")
"""Places inside the web page: it is the same page at each of them, and knows nothing by itself."""

HTTP_PORT = 80
"""What a Host header without a port means; the host itself never speaks TLS."""

QUOTED_CHARACTERS = 120
"""How much of a stranger's header a refusal quotes back."""


class StartupError(AgentHostError):
    """The host refuses to start as it was told to; the message says why and what to do."""


class Refusal(Struct, frozen=True):
    """Why a request is refused: an HTTP status and a sentence for a person."""

    status: int
    text: str
    # Seconds to wait before trying again, where waiting helps.
    retry_after: int | None = None

    @property
    def headers(self) -> dict[str, str]:
        """The headers that belong to the status."""
        headers = {"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store"}
        if self.status == 401:
            headers["WWW-Authenticate"] = 'Bearer realm="agenthost"'
        if self.retry_after is not None:
            headers["Retry-After"] = str(self.retry_after)
        return headers


def is_open_page(path: str) -> bool:
    """Tell whether a page is for everybody; one that is not known to be harmless is not."""
    return path in OPEN_PAGES or path.startswith(OPEN_PREFIX) or is_place(path)


def is_place(path: str) -> bool:
    """Tell whether a path is a place inside the web page."""
    return path in PLACES or path.startswith(PLACE_PREFIXES)


def check_bind(host: str, *, has_token: bool) -> None:
    """Raise StartupError when the host would be open to the network without a token."""
    if not has_token and not is_loopback(host):
        raise StartupError(
            f"refusing to listen on {host or 'all addresses'} without a token: anyone who reaches "
            "that address could run commands here. Drop --no-token, or listen on 127.0.0.1"
        )


class Gate:
    """Decides who comes in; ``tokens`` is None when the host runs without."""

    def __init__(
        self,
        tokens: Authenticator | None,
        *,
        allowed_origins: Iterable[str] = (),
        bound_hosts: Iterable[str] = (),
        failed_tokens: FailedTokens | None = None,
    ) -> None:
        self._tokens = tokens
        self._failed_tokens = FailedTokens() if failed_tokens is None else failed_tokens
        # Origins allowed as a whole, and schemes of which every origin is.
        self._origins: set[Origin] = set()
        self._schemes: set[str] = set()
        # What this host is called: hosts with the port it listens on.
        self._bound: set[Authority] = set()
        for origin in (*DESKTOP_ORIGINS, *allowed_origins):
            self._allow(origin)
        for bound in bound_hosts:
            authority = Authority.parse(bound)
            if authority is None:
                raise StartupError(f"{_quote(bound)} is not host:port")
            self.serve_at(authority.host, authority.port)

    def serve_at(self, host: str, port: int | None) -> None:
        """Add an address the host listens on, or a name it goes by; called once it listens."""
        self._bound.add(Authority.of(host, port))

    def check(
        self, *, token: str | None, origin: str | None, host: str | None, peer: str, now: float
    ) -> Principal | Refusal:
        """Decide on an upgrade or a page; ``now`` is Unix seconds, ``host`` the Host header."""
        refusal = self._refuse_place(origin, host, peer)
        if refusal is not None:
            return refusal
        return self._admit(token, peer, now)

    def still_valid(self, principal: Principal, now: float) -> bool:
        """Tell whether someone let in earlier would be let in now with the same token."""
        return self._tokens is None or self._tokens.still_valid(principal, now)

    @property
    def is_certain(self) -> bool:
        """Whether who is not valid has lost their token for good, and nothing need be kept."""
        # An embedder's own accounts need not have it.
        return bool(getattr(self._tokens, "is_readable", True))

    def _admit(self, token: str | None, peer: str, now: float) -> Principal | Refusal:
        if self._tokens is None:
            return LOCAL_OWNER
        if token is None:
            return Refusal(401, "a token is required: send it as a Bearer header or as ?tkn=")
        principal = self._tokens.authenticate(token, now)
        if principal is not None:
            self._failed_tokens.succeeded(peer)
            return principal
        pause = self._failed_tokens.failed(peer, now)
        if pause:
            return Refusal(429, f"too many wrong tokens; try again in {pause} s", pause)
        return Refusal(401, "the token is not valid here, or it has expired")

    def _refuse_place(self, origin: str | None, host: str | None, peer: str) -> Refusal | None:
        addressed = None if host is None else Authority.parse(host)
        if self._tokens is None:
            # An empty peer is a transport without addresses: a pipe or a socket in the file system.
            if peer and not is_loopback(peer):
                return Refusal(403, "this host runs without a token and serves this machine alone")
            if addressed is None or not self._goes_by(addressed):
                return Refusal(403, f"this host does not go by the name {_quote(host or '')}")
        if origin is None or self._is_allowed(Origin.parse(origin), addressed):
            return None
        return Refusal(
            403,
            f"pages from {_quote(origin)} may not connect; "
            "--allow-origin on the host's command line lets an origin in",
        )

    def _is_allowed(self, origin: Origin | None, addressed: Authority | None) -> bool:
        if origin is None:
            return False
        if origin in self._origins or origin.scheme in self._schemes:
            return True
        page = origin.authority
        if page is None or addressed is None:
            return False
        # Same host and port as the request itself: the page came from where the socket goes.
        return page == addressed.at_port(page.port) and self._is_own(addressed)

    def _goes_by(self, addressed: Authority) -> bool:
        """Without tokens: loopback or a bound name, with our own port, or an allowed origin's."""
        allowed = (origin.authority for origin in self._origins)
        if any(page and page == addressed.at_port(page.port) for page in allowed):
            return True
        ports = {bound.port for bound in self._bound}
        named = is_loopback(addressed.host) or addressed.host in self._bound_names()
        return named and addressed.at_port(HTTP_PORT).port in ports

    def _is_own(self, addressed: Authority) -> bool:
        """With tokens the port may differ: a tunnel listens on another one."""
        if self._tokens is None:
            # The Host header has passed the stricter rule already.
            return True
        if is_loopback(addressed.host) or addressed.host in self._bound_names():
            return True
        # An address cannot be re-pointed by DNS, so a page at it came from this host.
        return is_ip(addressed.host) and any(is_wildcard(bound.host) for bound in self._bound)

    def _bound_names(self) -> set[str]:
        return {bound.host for bound in self._bound if not is_wildcard(bound.host)}

    def _allow(self, text: str) -> None:
        scheme, separator, rest = text.partition("://")
        if separator and rest == "*" and scheme.lower() not in ("http", "https"):
            self._schemes.add(scheme.lower())
            return
        origin = Origin.parse(text)
        if origin is None or "*" in origin.rest:
            raise StartupError(
                f"{_quote(text)} is not an origin to allow: write scheme://host[:port], "
                "or scheme://* for a scheme that web sites cannot have"
            )
        self._origins.add(origin)


def _quote(text: str) -> str:
    shown = text if len(text) <= QUOTED_CHARACTERS else text[: QUOTED_CHARACTERS - 1] + "…"
    return ascii(shown)
