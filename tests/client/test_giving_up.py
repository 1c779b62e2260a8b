"""Which ends of a connection are for good, and which attempts are made again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agenthost.client import (
    CannotConnect,
    ChannelGone,
    GivenUp,
    NoCommonVersion,
    NotAdmitted,
    Uncertain,
)
from tests.client.follower import closed, followed, titled
from tests.client.scripted import (
    ROOT,
    SESSION,
    ScriptedHost,
    snapshot,
)

Json = dict[str, Any]


async def test_a_refused_token_is_not_tried_again() -> None:
    host = ScriptedHost()
    host.failures.append(NotAdmitted("401: not valid here", status=401))
    with pytest.raises(NotAdmitted, match="not valid"):
        async with host.client(wait=True):
            raise AssertionError("nobody gets in")
    assert host.dials == 1
    assert host.clock.asked == []


async def test_a_token_that_is_refused_at_a_reconnect_ends_everything_at_once() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        sent = client.dispatch(SESSION, titled("Sent"))
        await side.next("dispatchAction")
        host.failures.append(NotAdmitted("403: go away", status=403))
        await side.close()
        assert isinstance(await closed(client), NotAdmitted)
        assert host.dials == 2
        with pytest.raises(Uncertain):
            await sent
        with pytest.raises(ChannelGone):
            await session.until(lambda state: False)
        with pytest.raises(NotAdmitted):
            client.dispatch(SESSION, titled("Later"))
        with pytest.raises(NotAdmitted):
            await client.request("ping")
        with pytest.raises(NotAdmitted):
            await client.subscribe(SESSION)


async def test_a_host_without_a_common_version_is_not_tried_again() -> None:
    host = ScriptedHost()
    entering = asyncio.create_task(host.client(wait=True).__aenter__())
    side = await host.accept()
    request = await side.next("initialize")
    side.refuse(request, -32005, data={"supportedVersions": ["9.0.0"]})
    with pytest.raises(NoCommonVersion) as failure:
        await entering
    assert failure.value.supported == ("9.0.0",)
    assert host.dials == 1


@pytest.mark.parametrize("code", [-32009, -32602, -32007])
async def test_a_client_that_initialize_refuses_for_good_is_told_so(code: int) -> None:
    host = ScriptedHost()
    entering = asyncio.create_task(host.client(wait=True).__aenter__())
    side = await host.accept()
    side.refuse(await side.next("initialize"), code, "that id is somebody else's")
    with pytest.raises(NotAdmitted, match="somebody else's"):
        await entering
    assert host.dials == 1


async def test_a_host_that_chooses_a_version_nobody_offered_is_no_host() -> None:
    host = ScriptedHost()
    entering = asyncio.create_task(host.client(versions=["0.6.0"], wait=True).__aenter__())
    side = await host.accept()
    await side.initialize(snapshot(ROOT, 1), version="0.7.0")
    with pytest.raises(GivenUp, match="not offered"):
        await entering
    assert host.dials == 1


async def test_a_connection_that_breaks_the_hosts_rules_is_not_opened_again() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        await side.close(1008, "the token was revoked or has expired")
        assert isinstance(await closed(client), NotAdmitted)
        assert host.dials == 1


async def test_a_host_that_is_not_there_fails_the_first_connection_unless_waited_for() -> None:
    host = ScriptedHost()
    host.failures.append(CannotConnect("refused"))
    with pytest.raises(CannotConnect):
        async with host.client():
            raise AssertionError("nobody is there")
    host.failures.extend([CannotConnect("refused"), OSError("unreachable")])
    client = host.client(wait=True)
    await host.welcome(client)
    assert host.dials == 4
    await client.aclose()


async def test_a_host_in_trouble_is_tried_again() -> None:
    host = ScriptedHost()
    entering = asyncio.create_task(host.client(wait=True).__aenter__())
    side = await host.accept()
    side.refuse(await side.next("initialize"), -32603, "storage failed")
    side = await host.accept()
    await side.initialize(snapshot(ROOT, 1), seq=1)
    await (await entering).aclose()
