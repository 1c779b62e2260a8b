"""A host whose telemetry goes to a collector in a process of its own."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from agenthost.host import Host

__all__ = ["CollectorProcess", "collector", "recording"]

Json = dict[str, Any]
_T = TypeVar("_T")
PATIENCE = 60.0
# Quickly, because tests wait for it.
QUICK = {
    "OTEL_BSP_SCHEDULE_DELAY": "100",
    "OTEL_BLRP_SCHEDULE_DELAY": "100",
    "OTEL_METRIC_EXPORT_INTERVAL": "200",
}


@dataclass
class CollectorProcess:
    """What a collector has been sent so far."""

    url: str
    requests: list[Json] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def environment(self) -> dict[str, str]:
        """What the standard variables must be for a host to send here."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url, **QUICK}

    def spans(self) -> list[Json]:
        """Return all spans, with ids as texts and attributes as one object."""
        spans = []
        for scope in self._scopes("/v1/traces", "resourceSpans", "scopeSpans"):
            for span in scope.get("spans", []):
                ids = {
                    name: base64.b64decode(span[name]).hex()
                    for name in ("traceId", "spanId", "parentSpanId")
                    if name in span
                }
                spans.append({**span, **ids, "attributes": _object(span.get("attributes", []))})
        return spans

    def logs(self) -> list[Json]:
        scopes = self._scopes("/v1/logs", "resourceLogs", "scopeLogs")
        return [record for scope in scopes for record in scope.get("logRecords", [])]

    def metrics(self) -> list[Json]:
        scopes = self._scopes("/v1/metrics", "resourceMetrics", "scopeMetrics")
        return [metric for scope in scopes for metric in scope.get("metrics", [])]

    async def until(self, find: Callable[[], _T | None]) -> _T:
        """Wait until something was sent."""
        async with asyncio.timeout(PATIENCE):
            while True:
                self._changed.clear()
                found = find()
                if found:
                    return found
                await self._changed.wait()

    async def span(self, name: str, **attributes: Any) -> Json:
        """Wait for a span of a name and with attributes, whose dots are written as ``__``."""
        wanted = {key.replace("__", "."): value for key, value in attributes.items()}

        def find() -> Json | None:
            named = (span for span in self.spans() if span["name"] == name)
            return next((s for s in named if wanted.items() <= s["attributes"].items()), None)

        return await self.until(find)

    def _scopes(self, path: str, resources: str, scopes: str) -> Iterator[Json]:
        for request in self.requests:
            if request["path"] == path:
                for resource in request["request"].get(resources, []):
                    yield from resource.get(scopes, [])

    async def read(self, output: asyncio.StreamReader) -> None:
        while line := await output.readline():
            self.requests.append(json.loads(line))
            self._changed.set()


@asynccontextmanager
async def collector(*arguments: str) -> AsyncIterator[CollectorProcess]:
    """Run a collector for the length of a test."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.host.telemetry.collector",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        limit=2**26,
    )
    assert process.stdout is not None
    port = int(await asyncio.wait_for(process.stdout.readline(), PATIENCE))
    collected = CollectorProcess(f"http://127.0.0.1:{port}")
    reading = asyncio.create_task(collected.read(process.stdout))
    try:
        yield collected
    finally:
        process.kill()
        await process.wait()
        await reading


async def recording(host: Host) -> None:
    """Wait until a host records."""
    async with asyncio.timeout(PATIENCE):
        # A thread loads what it needs, and tells nobody but the host.
        while not host.core.telemetry.is_recording:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def _object(attributes: list[Json]) -> Json:
    return {each["key"]: next(iter(each["value"].values()), None) for each in attributes}
