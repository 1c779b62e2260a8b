"""Telemetry of the host: logs, traces and metrics in batches of OTLP/JSON, while somebody reads.

Owns how a signal's channel is named and read. What is in a batch is OpenTelemetry's affair.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from urllib.parse import quote

from agenthost.client.errors import Unsupported
from agenthost.client.state.signals import Feed

if TYPE_CHECKING:
    from agenthost.client.state.channel import Channel
    from agenthost.client.state.client_core import ClientCore
    from agenthost.protocol.common import JsonObject

TelemetrySignal: TypeAlias = Literal["logs", "traces", "metrics"]
LogLevel: TypeAlias = Literal["trace", "debug", "info", "warn", "error", "fatal"]

_NOTIFICATIONS = {
    "logs": "otlp/exportLogs",
    "traces": "otlp/exportTraces",
    "metrics": "otlp/exportMetrics",
}

# An expression of a URI template: its operator, and the names that it asks for.
_EXPRESSION = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")

MOST_WAITING = 256
"""Batches that may wait to be read; a host sends about one a second."""


async def telemetry(
    core: ClientCore, signal: TelemetrySignal, level: LogLevel | None
) -> AsyncIterator[JsonObject]:
    """Yield a host's batches of one signal; see ``Client.telemetry``."""
    offered = core.host.get("telemetry") or {}
    template = offered.get(signal)
    if not isinstance(template, str):
        raise Unsupported(f"this host tells no {signal}")
    uri = telemetry_uri(template, level)
    feed: Feed[JsonObject] = Feed(MOST_WAITING)
    reader = feed.read()

    def take(method: str, params: Any) -> None:
        if method == _NOTIFICATIONS[signal] and params.get("channel") == uri:
            payload = params.get("payload")
            if isinstance(payload, dict):
                feed.publish(payload)

    core.on_notice.append(take)
    try:
        channel = await core.subscribe(uri)
        ending = core.tasks.start(_end_with(channel, feed), name=f"telemetry {signal}")
        try:
            async for payload in reader:
                yield payload
        finally:
            ending.cancel()
            core.unfollow(channel)
    finally:
        core.on_notice.remove(take)


async def _end_with(channel: Channel[Any], feed: Feed[JsonObject]) -> None:
    try:
        while channel.gone is None:
            await channel.changed.wait_past(channel.changed.count)
    finally:
        # Also where the client is closed, which ends the channel and then this.
        feed.close(channel.gone)


def telemetry_uri(template: str, level: str | None) -> str:
    """Return the URI that a template means; ``level`` is the one variable that is known."""

    def expanded(found: re.Match[str]) -> str:
        operator, names = found[1], found[2].split(",")
        if level is None or "level" not in (name.strip("*") for name in names):
            return ""
        value = quote(level, safe="")
        match operator:
            case "?" | "&" | ";":
                return f"{operator}level={value}"
            case "/" | "." | "#":
                return f"{operator}{value}"
        return value

    return _EXPRESSION.sub(expanded, template)
