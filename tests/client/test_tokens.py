"""Tokens for protected resources: how long they are good, and when they are taken back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agenthost.client import Client, Unsupported
from agenthost.protocol import SUPPORTED_VERSIONS, translator
from tests.client.follower import assert_quiet, connected, followed, resumed
from tests.client.scripted import ROOT, ScriptedHost, Side, snapshot

Json = dict[str, Any]

API = "https://api.example"
NOTHING_NEW: Json = {"type": "replay", "actions": [], "missing": []}


async def hand_over(client: Client, side: Side, **options: Any) -> Json:
    """Authenticate, and return what the host was told."""
    handing = asyncio.create_task(client.authenticate(API, "secret", **options))
    request = await side.next("authenticate")
    side.answer(request, {})
    await handing
    params: Json = request["params"]
    return params


async def come_back(host: ScriptedHost, client: Client, side: Side) -> Side:
    await side.close()
    side = await resumed(host, NOTHING_NEW)
    await connected(client)
    return side


async def test_how_long_a_token_is_good_is_told_from_when_it_is_sent() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        told = await hand_over(client, side, expires_in=60, scopes=["read"])
        assert (told["expiresIn"], told["scopes"]) == (60, ["read"])
        host.clock.advance(15.5)
        side = await come_back(host, client, side)
        again = (await side.next("authenticate"))["params"]
        assert again == {**told, "expiresIn": 44}


async def test_a_token_of_unknown_life_is_handed_over_as_it_is() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        assert "expiresIn" not in await hand_over(client, side)


async def test_a_token_that_has_expired_is_not_handed_over_again() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        await hand_over(client, side, expires_in=5)
        host.clock.advance(10)
        side = await come_back(host, client, side)
        await assert_quiet(client, side)


@pytest.mark.parametrize(("reason", "is_kept"), [("expired", False), ("required", True)])
async def test_a_token_that_the_host_finds_expired_is_not_handed_over_again(
    reason: str, is_kept: bool
) -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        await hand_over(client, side)
        notices = client.notifications()
        side.notify("auth/required", resource={"resource": API}, reason=reason)
        method, params = await anext(notices)
        assert (method, params["resource"]) == ("auth/required", {"resource": API})
        side = await come_back(host, client, side)
        if is_kept:
            assert (await side.next("authenticate"))["params"]["token"] == "secret"
        else:
            await assert_quiet(client, side)


async def test_a_revoked_token_is_taken_back_and_not_handed_over_again() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        await hand_over(client, side)
        revoking = asyncio.create_task(client.revoke(API))
        request = await side.next("authenticate")
        assert (request["params"]["resource"], request["params"]["token"]) == (API, "")
        side.answer(request, {})
        await revoking
        side = await come_back(host, client, side)
        await assert_quiet(client, side)


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS[1:])
async def test_an_older_host_is_told_what_it_understands(version: str) -> None:
    host = ScriptedHost()
    client = host.client()
    side = await host.welcome(client, version=version)
    try:
        assert "expiresIn" not in await hand_over(client, side, expires_in=60)
        with pytest.raises(Unsupported, match="taking back a token"):
            await client.revoke(API)
    finally:
        await client.aclose()


@pytest.mark.parametrize(("token", "seconds"), [("", None), ("secret", 0), ("secret", -1)])
async def test_what_is_no_token_is_refused_here(token: str, seconds: float | None) -> None:
    host = ScriptedHost()
    async with followed(host) as (client, _side, _):
        with pytest.raises(ValueError, match="token"):
            await client.authenticate(API, token, expires_in=seconds)


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
async def test_a_resource_that_needs_a_token_is_described_whatever_the_host_speaks(
    version: str,
) -> None:
    api = {"resource": API, "resource_name": "The API", "required": True}
    agent = {"provider": "demo", "displayName": "Demo", "description": "", "models": []}
    root = snapshot(ROOT, 1, agents=[{**agent, "protectedResources": [api]}])
    ladder = translator(version)
    host = ScriptedHost()
    client = host.client()
    older = {**root, "state": ladder.state_down("root", root["state"])}
    side = await host.welcome(client, version=version, snapshots=[older])
    try:
        notices = client.notifications()
        params = {"channel": ROOT, "resource": api, "reason": "required"}
        side.send(
            {
                "method": "auth/required",
                "params": ladder.notification_down("auth/required", params),
            }
        )
        assert await anext(notices) == ("auth/required", params)
    finally:
        await client.aclose()
