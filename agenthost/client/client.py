"""The client: connect to a host and use everything it has, across every drop of the connection.

Wires the parts together and holds no behaviour of its own::

    async with connect("127.0.0.1:8765", token=token) as client:
        session = await client.sessions.create()
        chat = await session.chat()
        async for event in chat.send("hello"):
            ...
"""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from agenthost.client.automations import Automations
from agenthost.client.canvas import CanvasView
from agenthost.client.chat import Chat, completions
from agenthost.client.errors import ClientClosed
from agenthost.client.link.addresses import dial, usual_host
from agenthost.client.link.connection_status import Closed, Connected, ConnectionStatus
from agenthost.client.link.host_link import LinkOptions, Observe
from agenthost.client.link.resume import Introduction
from agenthost.client.link.supervisor import Dial, Supervisor
from agenthost.client.resources import Allow, ResourceProvider, read_only
from agenthost.client.sessions import Session, Sessions
from agenthost.client.state.client_core import ClientCore
from agenthost.client.state.turn_window import TurnWindow
from agenthost.client.tokens import Tokens
from agenthost.client.tools import ClientTools, ToolFunction
from agenthost.clock import Clock, SystemClock
from agenthost.protocol import SUPPORTED_VERSIONS
from agenthost.protocol.own_members import ME
from agenthost.protocol.uris import ROOT
from agenthost.version import __version__

if TYPE_CHECKING:
    from agenthost.client.files import SessionFiles
    from agenthost.client.link.backoff import Backoff
    from agenthost.client.plugins import PluginFiles
    from agenthost.client.state.channel import Channel
    from agenthost.client.state.dispatches import Dispatch
    from agenthost.client.state.signals import Reader
    from agenthost.client.telemetry import LogLevel, TelemetrySignal
    from agenthost.client.terminals import ClientTerminals
    from agenthost.client.trusted_folders import TrustedFolders
    from agenthost.protocol.chat.commands import CompletionItem
    from agenthost.protocol.commands import InitializeResult
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.own_commands import Me
    from agenthost.protocol.root import RootState

REQUEST_TIMEOUT = 60.0
"""Seconds within which a request must be answered, reconnecting included."""


def connect(
    host: str | Dial | None = None,
    *,
    token: str | None = None,
    token_in_url: bool = False,
    data_dir: Path | None = None,
    tls_ca: Path | None = None,
    client_id: str | None = None,
    versions: Sequence[str] = SUPPORTED_VERSIONS,
    display_name: str | None = None,
    locale: str | None = None,
    mcp_apps: bool = False,
    wait: bool = False,
    request_timeout: float | None = REQUEST_TIMEOUT,
    ping_interval: float = 20.0,
    ping_timeout: float = 20.0,
    backoff: Backoff | None = None,
    clock: Clock | None = None,
    roll: Callable[[], float] = random.random,
    observe: Observe | None = None,
) -> Client:
    """Return a client of a host; ``async with`` connects it.

    Args:
        host: the host's address (``ws``, ``wss``, ``http``, ``https``, ``ssh://machine``, or
            ``host:port``), or what dials it: ``command`` for a process of our own, ``endpoint``
            for a host that is looked for anew at every attempt. Without one it is that of
            ``$AGENTHOST_URL``, or the one that runs on this machine; if none does, entering raises
            NoHost, which says what to start.
        token: what the host lets in; sent as a Bearer header.
        token_in_url: send the token as ``?tkn=`` instead.
        data_dir: where the host of this machine keeps its data, if not in the user's own place.
        tls_ca: a file of certificates to trust, instead of the system's.
        client_id: who this client is across restarts; without one, somebody new.
        versions: the protocol versions to offer, most preferred first.
        display_name: how people see this client in sessions where it offers tools.
        locale: the language for texts of the host, as BCP 47.
        mcp_apps: whether to ask for the side channels of MCP servers.
        wait: whether to wait for a host that is not there yet, rather than fail.
        request_timeout: seconds within which a request must be answered, reconnecting included.
        ping_interval: seconds of silence after which the host is asked whether it is there.
        ping_timeout: seconds within which it must then answer.
        backoff: how long to wait between attempts to reconnect.
        clock: where times come from and waiting happens.
        roll: randomness in [0, 1) for the waiting.
        observe: sees every message, for logs; mind that messages may hold secrets.

    Raises:
        ValueError: the address cannot be one, or a token has no address to go to.
    """
    return Client(
        _dial_for(host, token, token_in_url, data_dir, tls_ca),
        client_id=client_id or f"agenthost-{uuid.uuid4()}",
        introduction=Introduction(versions, info=client_info(), locale=locale, mcp_apps=mcp_apps),
        display_name=display_name,
        wait=wait,
        request_timeout=request_timeout,
        options=LinkOptions(ping_interval, ping_timeout, observe),
        backoff=backoff,
        clock=clock or SystemClock(),
        roll=roll,
    )


def _dial_for(
    host: str | Dial | None,
    token: str | None,
    token_in_url: bool,
    data_dir: Path | None,
    tls_ca: Path | None,
) -> Dial:
    if host is not None and data_dir is not None:
        raise ValueError("a data directory is where a host is looked for; one is named already")
    if isinstance(host, str):
        return dial(host, token, tls_ca=tls_ca, token_in_url=token_in_url)
    if host is None:
        return usual_host(token, data_dir=data_dir, tls_ca=tls_ca)
    if token is not None or token_in_url or tls_ca is not None:
        raise ValueError("a token goes with an address; what dials the host has its own")
    return host


class Client:
    """A client of one host, made by ``connect``."""

    def __init__(
        self,
        dial: Dial,
        *,
        client_id: str,
        introduction: Introduction,
        display_name: str | None,
        wait: bool,
        request_timeout: float | None,
        options: LinkOptions,
        backoff: Backoff | None,
        clock: Clock,
        roll: Callable[[], float],
    ) -> None:
        self.client_id = client_id
        self._dial = dial
        self._introduction = introduction
        self._display_name = display_name
        self._wait = wait
        self._request_timeout = request_timeout
        self._options = options
        self._backoff = backoff
        self._clock = clock
        self._roll = roll
        # How the connection is doing: ``state``, ``on_change``, and iteration over changes.
        self.connection = ConnectionStatus()
        self._started = False

    async def __aenter__(self) -> Self:
        if self._started:
            raise RuntimeError("a client connects once; make another one")
        self._started = True
        self._core = ClientCore(
            client_id=self.client_id,
            clock=self._clock,
            # Numbers go on rising over restarts of a client that keeps its id, unless it sent more
            # than one action per microsecond; and they stay exact where all numbers are floats.
            first_seq=time.time_ns() // 1000,
            status=self.connection,
            request_timeout=self._request_timeout,
        )
        self._tokens = Tokens(self._core)
        self._tools = ClientTools(self._core, self._display_name)
        self._root: Channel[RootState] = self._core.follow(ROOT)
        # All sessions of the host.
        self.sessions = Sessions(self._core)
        # All automations of the host.
        self.automations = Automations(self._core)
        supervisor = Supervisor(
            self._core,
            self._dial,
            self._introduction,
            backoff=self._backoff,
            roll=self._roll,
            options=self._options,
            patient=self._wait,
        )
        self._running = asyncio.create_task(supervisor.run(), name="client")
        try:
            await self._first_connection()
        except BaseException:
            await self.aclose()
            raise
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the connection and everything that waits for it; idempotent."""
        if not self._started:
            return
        await self._tools.close()
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        if not isinstance(self.connection.state, Closed):
            self.connection.change_to(Closed())
        self._core.close(None)
        await self._core.tasks.close()

    @property
    def version(self) -> str:
        """The protocol version spoken with the host."""
        return self._core.version

    @property
    def host(self) -> InitializeResult:
        """What the host said of itself: ``serverInfo``, ``defaultDirectory`` and so on.

        Without the snapshots that came with it: the channels have them.
        """
        return self._core.host

    @property
    def me(self) -> Me | None:
        """Who this client is at the host, as ``name`` and ``role``; None where it does not say."""
        match (self.host.get("_meta") or {}).get(ME):
            case {"name": str(name), "role": str(role)}:
                return {"name": name, "role": role}
        return None

    @property
    def root(self) -> Channel[RootState]:
        """The host's own channel: its agents, its terminals, its settings."""
        return self._root

    def configure(self, values: Mapping[str, Any]) -> Dispatch:
        """Change settings of the host; those not named stay as they are."""
        return self.dispatch(ROOT, {"type": "root/configChanged", "config": dict(values)})

    @property
    def terminals(self) -> ClientTerminals:
        """All terminals of the host; those made here belong to this client."""
        from agenthost.client.terminals import ClientTerminals

        return ClientTerminals(self._core)

    @property
    def files(self) -> SessionFiles:
        """The files of the host, by absolute path or URI; sessions have those of their folders."""
        from agenthost.client.files import SessionFiles

        return SessionFiles(self._core, lambda: self.host.get("defaultDirectory"))

    @property
    def trusted_folders(self) -> TrustedFolders:
        """The folders whose MCP servers may be started; for owners."""
        from agenthost.client.trusted_folders import TrustedFolders

        return TrustedFolders(self._core)

    def telemetry(
        self, signal: TelemetrySignal, level: LogLevel | None = None
    ) -> AsyncIterator[JsonObject]:
        """Yield what the host tells of itself, in batches of OTLP/JSON, until this is closed.

        ``level`` is the least severe of the logs that are wanted. Batches that come while the
        connection is lost, or while nobody reads, are not told again.

        Raises:
            Unsupported: the host does not tell this.
            PermissionDenied: it does not tell this client.
            Lagged: too many batches waited to be read.
        """
        from agenthost.client.telemetry import telemetry

        return telemetry(self._core, signal, level)

    async def complete(
        self, chat: str | Chat, text: str, offset: int | None = None
    ) -> list[CompletionItem]:
        """Ask what could be inserted into a message, at a character or at the end.

        Each item says what to insert and which range of the text it replaces, counted in UTF-16
        code units, and brings the attachment that goes with it. Triggers are the characters in
        ``host["completionTriggerCharacters"]``.

        Raises:
            Unsupported: the host has no completions.
        """
        uri = chat if isinstance(chat, str) else chat.uri
        return await completions(self._core, uri, text, offset)

    # Everything that has no method of its own.

    async def request(
        self, method: str, params: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> Any:
        """Send any request and return its result; ``channel`` is the root unless it is given.

        Raises:
            WireError: the host refuses.
            ConnectionLost: the answer was lost; the request may have been carried out.
            TimeoutError: there was no answer in time.
            Unsupported: the host's version has no such thing.
        """
        return await self._core.request(method, params or {}, timeout=timeout)

    async def subscribe(
        self, uri: str, *, turns: int | None = None, max_latency_ms: int | None = None
    ) -> Channel[Any]:
        """Follow a channel; ``turns`` asks for the newest turns of a chat only.

        Raises:
            WireError: the host refuses; NotFound where there is no such channel.
            TimeoutError: the host was there and did not answer in time.
        """
        return await self._core.subscribe(uri, TurnWindow(turns), max_latency_ms)

    async def canvas(self, uri: str) -> CanvasView:
        """Follow a page that an agent shows; chats list theirs as ``canvases``.

        Raises:
            WireError: the host refuses; NotFound where it is closed, or the host has none.
            TimeoutError: the host was there and did not answer in time.
        """
        return CanvasView(self._core, await self._core.subscribe(uri))

    def unsubscribe(self, channel: Channel[Any]) -> None:
        """Stop following a channel, once everybody who subscribed to it has done so."""
        self._core.unfollow(channel)

    def dispatch(self, uri: str, action: Mapping[str, Any]) -> Dispatch:
        """Dispatch an action on a channel, followed or not; await it for what became of it."""
        return self._core.dispatch(uri, action)

    def notifications(self) -> Reader[tuple[str, dict[str, Any]]]:
        """Return an iterator over (method, params) of every notification but actions, from now."""
        return self._core.notifications.read()

    async def authenticate(
        self,
        resource: str,
        token: str,
        *,
        scopes: Sequence[str] | None = None,
        expires_in: float | None = None,
    ) -> None:
        """Hand over a token for a protected resource, now and after every reconnect.

        ``expires_in`` says for how many seconds it is good; afterwards, or once the host asks for
        another because it has expired, it is not handed over again.
        """
        await self._tokens.hand_over(resource, token, scopes=scopes, expires_in=expires_in)

    async def revoke(self, resource: str) -> None:
        """Let the host forget the token for a resource, and hand it over no more.

        Raises:
            Unsupported: the host's version cannot be told; it forgets with the connection.
        """
        await self._tokens.revoke(resource)

    # What the host may ask of this client.

    def serve_resources(
        self, prefix: str, provider: ResourceProvider, *, allow: Allow = read_only
    ) -> Callable[[], None]:
        """Let the host reach URIs that begin with a prefix; return what ends that.

        ``allow(method, uri)`` decides on every request; by default reading is allowed.
        """
        return self._core.resources.offer(prefix, provider, allow)

    async def tool(
        self,
        session: str | Session,
        name: str,
        function: ToolFunction,
        *,
        description: str = "",
        schema: Mapping[str, Any] | None = None,
    ) -> Callable[[], None]:
        """Offer an async function to a session's agent as a tool; return what takes it back.

        ``function`` gets the arguments as a mapping, and a ``ToolRun`` if it takes two.
        """
        uri = session if isinstance(session, str) else session.uri
        return await self._tools.add(uri, name, function, description=description, schema=schema)

    async def publish(
        self,
        session: str | Session,
        name: str,
        files: PluginFiles,
        *,
        version: str | None = None,
        uri: str | None = None,
    ) -> Callable[[], None]:
        """Bring a plugin to a session: skills, prompts, agents, rules, MCP servers in files.

        The host reads the files from this client; publishing the plugin again says that they have
        changed. It goes when this client goes, or when what this returns is called.

        Args:
            session: where it is to count.
            name: what people see.
            files: contents by path, such as ``skills/tidy/SKILL.md``.
            version: what people see of its version.
            uri: how it is called, for decisions about it to be found again; made from the client's
                id and the name by default.

        Raises:
            Rejected: the host does not take it.
            ValueError: a path leads out of the plugin.
        """
        from agenthost.client.plugins import publish_plugin

        target = session if isinstance(session, str) else session.uri
        return await publish_plugin(
            self._core, self._tools, target, name, files, version=version, uri=uri
        )

    async def _first_connection(self) -> None:
        while True:
            count = self.connection.changed.count
            match self.connection.state:
                case Connected():
                    return
                case Closed(error):
                    raise error or ClientClosed("the client was closed")
            await self.connection.changed.wait_past(count)


def client_info() -> Mapping[str, Any]:
    """Return the name and version that the host is told."""
    return {"name": "agenthost-client", "version": __version__}
