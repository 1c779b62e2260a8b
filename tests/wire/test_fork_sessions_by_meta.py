"""Forking a whole session: no member of the protocol any more, but one of this host's own."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.protocol import SUPPORTED_VERSIONS
from agenthost.protocol.own_members import FORK
from tests.wire.agents import Puppet
from tests.wire.client import WireClient, open_client
from tests.wire.hosting import embed

Json = dict[str, Any]
SOURCE, COPY = "ahp-session:/source", "ahp-session:/copy"


def asked(client: WireClient, fork: Any) -> Json:
    """Return the params that ask for a fork in a client's own version."""
    if client.version in ("1.0.0", "0.9.0"):
        return {"channel": COPY, "_meta": {FORK: fork}}
    return {"channel": COPY, "fork": fork}


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
async def test_a_session_starts_as_the_copy_of_another(version: str) -> None:
    async with embed(Puppet()) as url, open_client(url, "c", version) as client:
        await client.initialize()
        chat = await client.used_session(SOURCE, config={"mode": "ask"})
        await client.run_turn(chat, "t2", "more")
        params = asked(client, {"session": SOURCE, "turnId": "t1"})
        await client.request("createSession", **params)
        state = await client.subscribe(COPY)
        copy = await client.subscribe(state["defaultChat"])
        assert copy["turns"] == client.states[chat]["turns"][:1]
        assert copy["origin"] == {"kind": "fork", "chat": chat, "turnId": "t1"}
        assert state["chats"][0]["origin"] == copy["origin"]


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
async def test_a_client_is_told_by_its_own_name_what_is_wrong_with_a_fork(version: str) -> None:
    async with embed(Puppet()) as url, open_client(url, "c", version) as client:
        await client.initialize()
        await client.used_session(SOURCE, config={"mode": "ask"})
        named = "fork" if "fork" in asked(client, {}) else f"_meta.{FORK}"
        params = asked(client, {"session": SOURCE, "turnId": "gone"})
        refused = await client.refusal("createSession", **params)
        assert (refused.code, refused.data) == (-32602, {"path": f"{named}.turnId"})
        malformed: list[Any] = [{"session": SOURCE}, {"turnId": "t1"}, [], "text", {"session": 1}]
        for wrong in malformed:
            refused = await client.refusal("createSession", **asked(client, wrong))
            assert refused.code == -32602
            assert refused.data["path"].startswith(named)
        params = asked(client, {"session": "ahp-session:/x", "turnId": "t1"})
        assert (await client.refusal("createSession", **params)).code == -32001
