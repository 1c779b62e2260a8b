"""Automations on a host in a process of its own, which is killed at any moment."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from pathlib import Path
from typing import Any

import pytest

from agenthost.tokens import BOOK_FILE, Role, TokenBook
from tests.wire.client import WireClient, open_client
from tests.wire.hosting import ServedHost, serve

Json = dict[str, Any]
VERSION = "1.0.0"
CATALOGUE = "ahp-automations://"
AUTOMATION = "ahp-automation:/a1"
ROUNDS = 6


def definition(text: str, **more: Any) -> Json:
    return {
        "title": "Killed",
        "message": {"text": text, "origin": {"kind": "automation"}},
        "session": {},
        "enabled": True,
        "triggers": [],
        **more,
    }


async def create(client: WireClient, text: str) -> None:
    action = {"type": "automation/createRequested", "resource": AUTOMATION}
    await client.accepted(CATALOGUE, {**action, "definition": definition(text)})
    await client.action(CATALOGUE, "automation/set")


def runs_of(client: WireClient) -> list[Json]:
    runs: list[Json] = client.states[CATALOGUE]["entries"][0]["runs"]
    return runs


def is_over(run: Json) -> bool:
    return run["lifecycle"]["status"] not in ("pending", "running")


async def all_over(client: WireClient) -> list[Json]:
    await client.until(lambda: {} if all(map(is_over, runs_of(client))) else None)
    return runs_of(client)


async def check(client: WireClient, runs: list[Json]) -> None:
    """Check that each run has at most one session, with at most one turn, and both agree."""
    listed = (await client.request("listSessions"))["items"]
    for run in runs:
        own = [item for item in listed if item["origin"]["run"] == run["resource"]]
        assert [item["resource"] for item in own] == [run["primarySession"]]
        session = await client.fresh(run["primarySession"])
        chat = await client.fresh(session["defaultChat"])
        assert len(chat["turns"]) == 1
        state = await client.fresh(run["resource"])
        assert state["lifecycle"] == run["lifecycle"]
    assert len(listed) == len(runs)


async def test_whatever_a_killed_host_leaves_every_request_is_one_run(tmp_path: Path) -> None:
    moments = random.Random(11)
    host = ServedHost(tmp_path)
    asked: dict[str, str | None] = {}
    numbers = itertools.count(1)
    try:
        for each in range(ROUNDS):
            await host.start()
            async with open_client(host.url, f"c{each}", VERSION) as client:
                await client.initialize(CATALOGUE)
                if not client.states[CATALOGUE]["entries"]:
                    await create(client, "/stream 40")
                known = {run["resource"] for run in await all_over(client)}
                assert {run for run in asked.values() if run is not None} <= known
                # Whose answer was lost is asked for again.
                for request in [id for id, run in asked.items() if run is None]:
                    asked[request] = await run_now(client, request)
                request = f"r{next(numbers)}"
                asked[request] = None
                killing = asyncio.create_task(kill_after(host, moments.uniform(0.0, 0.15)))
                try:
                    asked[request] = await run_now(client, request)
                except AssertionError:
                    # The connection ended first.
                    assert client.closed.done()
                await killing
        await host.start()
        async with open_client(host.url, "last", VERSION) as client:
            await client.initialize(CATALOGUE)
            for request, run in asked.items():
                assert await run_now(client, request) == (run or await run_now(client, request))
            runs = await all_over(client)
            assert len(runs) == len(asked)
            await check(client, runs)
    finally:
        await host.kill()


async def run_now(client: WireClient, request: str) -> str:
    result = await client.request(
        "runAutomation", channel=CATALOGUE, automation=AUTOMATION, requestId=request
    )
    run: str = result["resource"]
    return run


async def kill_after(host: ServedHost, seconds: float) -> None:
    await asyncio.sleep(seconds)
    await host.kill()


@pytest.mark.parametrize(("ends", "error"), [("kill", "hostRestarted"), ("stop", "hostStopped")])
async def test_a_host_that_ends_in_mid_run(tmp_path: Path, ends: str, error: str) -> None:
    async with serve(tmp_path) as host:
        async with open_client(host.url, "before", VERSION) as client:
            await client.initialize(CATALOGUE)
            await create(client, "/stream 1000000")
            run = await run_now(client, "r1")
            await client.subscribe(run)
            await client.until(
                lambda: client.states[run] if client.states[run]["sessions"] else None
            )
            await (host.kill() if ends == "kill" else host.stop())
        await host.start()
        async with open_client(host.url, "after", VERSION) as client:
            await client.initialize(CATALOGUE)
            runs = await all_over(client)
            assert [run["lifecycle"]["error"]["errorType"] for run in runs] == [error]
            await check(client, runs)


async def test_nothing_runs_on_behalf_of_somebody_whose_token_is_gone(tmp_path: Path) -> None:
    async with serve(tmp_path) as host:
        book = TokenBook(host.data_dir / BOOK_FILE)
        token = book.create("phone", Role.OPERATOR, expires=None, now=time.time())
        async with open_client(f"ws://{host.address}/?tkn={token.secret}", "p", VERSION) as phone:
            await phone.initialize(CATALOGUE)
            await create(phone, "hello")
            await run_now(phone, "r1")
            (run,) = await all_over(phone)
            assert run["lifecycle"]["status"] == "completed"
        book.revoke("phone")
        async with open_client(host.url, "owner", VERSION) as owner:
            await owner.initialize(CATALOGUE)
            await run_now(owner, "r2")
            refused = (await all_over(owner))[0]
            assert refused["lifecycle"]["status"] == "failed"
            assert "the token was revoked" in refused["lifecycle"]["error"]["message"]
            change = {"message": definition("hello again")["message"]}
            action = {"type": "automation/updateRequested", "resource": AUTOMATION}
            await owner.accepted(CATALOGUE, {**action, "changes": change})
            await run_now(owner, "r3")
            assert (await all_over(owner))[0]["lifecycle"]["status"] == "completed"
