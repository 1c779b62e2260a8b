"""Trust without a turn to be asked in: given, listed and forgotten by owners alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from agenthost.tokens import Role
from tests.wire.people import peopled
from tests.wire.serving_tools import MARKER, declare, entry_of, listed, program

pytestmark = pytest.mark.asyncio(loop_scope="module")

SESSION = "ahp-session:/trust"


async def test_owners_trust_list_and_forget_and_others_do_not(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    declare(folder, it=program(), other=program("other = 1"))
    async with (
        peopled(tmp_path / "tokens", default_directory=folder) as people,
        people.client("owner") as owner,
        people.client("op", Role.OPERATOR) as operator,
        people.client("looks", Role.VIEWER) as viewer,
    ):
        await owner.ready_session(SESSION)
        await listed(owner, SESSION, "it")
        ids = [entry_of(owner, SESSION, name)["id"] for name in ("it", "other")]
        for client in (operator, viewer):
            for method, params in (
                ("trustFolder", {"channel": SESSION, "ids": ids}),
                ("forgetTrust", {"channel": "ahp-root://", "folder": str(folder)}),
                ("listTrust", {"channel": "ahp-root://"}),
            ):
                refused = await client.refusal(f"agenthost/{method}", **params)
                assert "may not call" in refused.message
        assert (await owner.request("agenthost/listTrust"))["items"] == []
        unknown = await owner.refusal("agenthost/trustFolder", channel=SESSION, ids=["c-0"])
        assert unknown.code == -32008
        nowhere = await owner.refusal("agenthost/trustFolder", channel="s:/none", ids=ids)
        assert nowhere.code == -32001
        seen = entry_of(owner, SESSION, "it")["_meta"]["agenthost/trust"]["digest"]
        stale = await owner.refusal(
            "agenthost/trustFolder", channel=SESSION, ids=ids, digests=[seen]
        )
        assert "other is declared otherwise by now" in stale.message
        assert (await owner.request("agenthost/listTrust"))["items"] == []
        await owner.request("agenthost/trustFolder", channel=SESSION, ids=ids[:1], digests=[seen])
        (item,) = (await owner.request("agenthost/listTrust"))["items"]
        assert item["folder"] == str(folder)
        (server,) = item["servers"]
        assert (server["name"], server["trusted"], server["by"]) == ("it", True, "owner")
        await owner.request("agenthost/forgetTrust", folder=str(folder))
        assert (await owner.request("agenthost/listTrust"))["items"] == []
        again = await owner.refusal("agenthost/forgetTrust", folder=str(folder))
        assert "nothing was decided" in again.message
        # To say that it may start is not to start it.
        assert not (folder / MARKER).exists()
