"""Endpoints that are set and changed while the host runs, and those that take nothing."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from pathlib import Path

import pytest

from agenthost.host import Host
from tests.host.telemetry.collecting import QUICK, collector, recording
from tests.wire.client import open_client
from tests.wire.demonstrating import demo

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in QUICK.items():
        monkeypatch.setenv(name, value)


async def test_an_owner_sets_the_endpoint_and_takes_it_away(tmp_path: Path) -> None:
    async with collector() as collected, Host() as host:
        url = await host.listen(port=0)
        async with open_client(url, "owner") as owner:
            await owner.initialize("ahp-root://")
            config = {"telemetry.endpoint": collected.url, "telemetry.level": "error"}
            await owner.accepted("ahp-root://", {"type": "root/configChanged", "config": config})
            await recording(host)
            async with demo(url, tmp_path) as chat:
                await chat.run("t1", "hello")
                await collected.span("turn", ahp__session__id=chat.session)
            logging.getLogger("agenthost.host.somewhere").warning("not severe enough")
            logging.getLogger("agenthost.host.somewhere").error("severe")
            await collected.until(lambda: collected.logs() or None)
            assert [record["body"]["stringValue"] for record in collected.logs()] == ["severe"]
            config = {"telemetry.endpoint": ""}
            await owner.accepted("ahp-root://", {"type": "root/configChanged", "config": config})
            async with asyncio.timeout(60):
                while host.core.telemetry.active is not None:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)


async def test_what_waits_is_sent_when_the_host_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with collector() as collected:
        monkeypatch.setenv(ENDPOINT, collected.url)
        # Nothing would leave before that.
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "600000")
        async with Host() as host:
            url = await host.listen(port=0)
            await recording(host)
            async with demo(url, tmp_path) as chat:
                await chat.run("t1", "hello")
        await collected.span("turn", ahp__session__id=chat.session)


@pytest.mark.parametrize("kind", ["refuses", "hangs"])
async def test_an_endpoint_that_takes_nothing_harms_nobody(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        if kind == "refuses":
            listening.close()
        monkeypatch.setenv(ENDPOINT, f"http://me:hidden@127.0.0.1:{port}")
        host = await Host().__aenter__()
        url = await host.listen(port=0)
        await recording(host)
        async with demo(url, tmp_path) as chat:
            for number in range(3):
                turn = await chat.run(f"t{number}", "hello")
                assert turn["state"] == "complete"
        if kind == "refuses":
            async with asyncio.timeout(60):
                while not told(caplog):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
        # OpenTelemetry by itself would try for 30 seconds, for each of three signals.
        async with asyncio.timeout(60):
            await host.__aexit__(None, None, None)
    assert "hidden" not in caplog.text


def told(caplog: pytest.LogCaptureFixture) -> bool:
    """Say whether the log says that the endpoint cannot be reached."""
    said = [r.getMessage() for r in caplog.records if "telemetry" in r.name]
    return any(text.startswith("telemetry: cannot send traces to http://") for text in said)


async def test_a_signal_that_cannot_be_sent_takes_no_other_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with collector() as collected:
        monkeypatch.setenv(ENDPOINT, collected.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "grpc")
        async with Host() as host:
            url = await host.listen(port=0)
            await recording(host)
            async with demo(url, tmp_path) as chat:
                await chat.run("t1", "hello")
            await collected.span("turn", ahp__session__id=chat.session)
    package = "opentelemetry-exporter-otlp-proto-grpc"
    assert f"telemetry: metrics are not sent: pip install {package}" in caplog.text


async def test_it_is_off_again_when_nobody_follows_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agenthost.host.telemetry.LINGER_SECONDS", 0.05)
    before = threads()
    async with Host() as host:
        url = await host.listen(port=0)
        async with open_client(url, "owner") as owner:
            await owner.initialize()
            assert await owner.request("subscribe", channel="ahp-otlp://logs") == {}
            await recording(host)
            assert threads() - before
        async with asyncio.timeout(60):
            while threads() - before:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert host.core.telemetry.active is None
        assert logging.getLogger("agenthost").handlers == []


def threads() -> set[threading.Thread]:
    """Return the threads that OpenTelemetry keeps."""
    return {each for each in threading.enumerate() if each.name.startswith("Otel")}
