"""Streamable HTTP to a server, with every body counted.

The package bounds single events of a stream and nothing else.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client

from agenthost.mcp.limits import MOST_LINE
from agenthost.mcp.worker.message_gate import MessageGate

# Seconds to connect and to send. How long an answer may take is not decided here: a person may be
# thinking about a question.
_PATIENCE = 10.0


class TooMuchBody(httpx2.StreamError):
    """A response is longer than any message may be."""

    def __init__(self) -> None:
        super().__init__(f"a response of more than {MOST_LINE >> 20} MiB")


class PackedBody(httpx2.StreamError):
    """A response is compressed although nobody asked for that."""

    def __init__(self) -> None:
        super().__init__("a compressed response, which nobody asked for")


class _CountedBody(httpx2.AsyncByteStream):
    """A body that ends with an error when it is too long."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner
        self._left = MOST_LINE

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._inner:
            self._left -= len(part)
            if self._left < 0:
                raise TooMuchBody
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()


class _SlowedBody(httpx2.AsyncByteStream):
    """A stream of events, which may go on for ever and comes no faster than notices may."""

    def __init__(self, inner: httpx2.AsyncByteStream, gate: MessageGate) -> None:
        self._inner = inner
        self._gate = gate

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._inner:
            await self._gate.slow_down(len(part))
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()


class CountingTransport(httpx2.AsyncHTTPTransport):
    """Sends requests, counts what comes back, and remembers the last refusal."""

    def __init__(self, gate: MessageGate) -> None:
        super().__init__()
        self._gate = gate
        # The status of the last response that was an error, which the package does not tell.
        self.refusal: int | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request."""
        response = await super().handle_async_request(request)
        if response.status_code >= 400:
            self.refusal = response.status_code
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.stream.aclose()
            raise PackedBody
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            response.stream = _SlowedBody(response.stream, self._gate)
        else:
            response.stream = _CountedBody(response.stream)
        return response


def http_client(
    transport: CountingTransport, headers: Mapping[str, str], auth: httpx2.Auth
) -> httpx2.AsyncClient:
    """Return a client that sends as declared, and nothing of this machine's own."""
    return httpx2.AsyncClient(
        transport=transport,
        # A few bytes, unpacked, may be any number.
        headers={**headers, "Accept-Encoding": "identity"},
        auth=auth,
        timeout=httpx2.Timeout(_PATIENCE, read=None),
    )


@contextlib.asynccontextmanager
async def http_transport(url: str, client: httpx2.AsyncClient) -> AsyncIterator[TransportStreams]:
    """Carry messages over HTTP."""
    opened = streamable_http_client(url, http_client=client, max_sse_event_size=MOST_LINE)
    async with opened as streams:
        yield streams
