"""What clients of a front ask for and do is decided by the owner, and comes back in their words."""

from __future__ import annotations

from pathlib import Path

import pytest

from agenthost.protocol import SUPPORTED_VERSIONS
from tests.cluster.forwarding.bed import bed, until
from tests.wire.client import ROOT
from tests.wire.mirrors import assert_ascending, assert_mirrors

SESSION = "ahp-session:/s"


@pytest.mark.parametrize("version", [SUPPORTED_VERSIONS[0], SUPPORTED_VERSIONS[-1]])
async def test_a_session_lives_through_a_front_as_on_its_owner(
    tmp_path: Path, version: str
) -> None:
    async with bed(tmp_path) as realm, realm.client("ann", ROOT, version=version) as ann:
        chat = await ann.ready_session(SESSION)
        await ann.subscribe(chat)
        async with realm.client("bob", ROOT, SESSION) as bob:
            await bob.subscribe(chat)
            await ann.run_turn(chat, "t1", "hello")
            await bob.turn_end(chat, "t1")
            for client in (ann, bob):
                await assert_mirrors(client)
                assert_ascending(client)
        assert len(realm.forwarding.pending) == 0
        await ann.request("disposeSession", channel=SESSION)
        assert realm.owner.core.directory.get(SESSION) is None


async def test_a_refusal_comes_back_to_its_sender_with_the_owner_s_reason(tmp_path: Path) -> None:
    async with bed(tmp_path) as realm, realm.client("ann", ROOT) as ann:
        chat = await ann.ready_session(SESSION)
        await ann.subscribe(chat)
        unknown = {"type": "chat/turnCancelled", "turnId": "none"}
        assert await ann.rejected(chat, unknown)
        assert len(realm.forwarding.pending) == 0
        failure = await ann.refusal("createSession", channel=SESSION, provider="nobody")
        assert failure.code == -32002
        failure = await ann.refusal("createChat", channel="ahp-session:/none", chat="ahp-chat:/x")
        assert failure.code == -32001


async def test_the_owner_knows_who_follows_and_who_has_left(tmp_path: Path) -> None:
    async with bed(tmp_path) as realm:
        async with realm.client("ann", ROOT) as ann:
            chat = await ann.ready_session(SESSION)
            await ann.subscribe(chat)
            directory = realm.owner.core.directory

            def followers(uri: str) -> set[str]:
                channel = directory.get(uri)
                return {each.client_id for each in channel.subscriptions} if channel else set()

            await until(lambda: "ann" in followers(chat) and "ann" in followers(SESSION))
            assert all(
                view.is_quiet
                for view in directory.get(chat).subscriptions.values()  # type: ignore[union-attr]
            )
            await ann.send({"method": "unsubscribe", "params": {"channel": chat}})
            await until(lambda: "ann" not in followers(chat))
            assert "ann" in followers(SESSION)
        await until(lambda: not realm.owner.core.clients.is_here("ann"))
        assert followers(SESSION) == set()


async def test_files_are_read_and_written_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("there")
    async with bed(tmp_path) as realm, realm.client("ann", ROOT) as ann:
        uri = (tmp_path / "a.txt").as_uri()
        read = await ann.request("resourceRead", channel=ROOT, uri=uri)
        assert read["data"] == "there"
        await ann.request("resourceWrite", channel=ROOT, uri=uri, data="new", encoding="utf-8")
        assert (tmp_path / "a.txt").read_text() == "new"
        missing = (tmp_path / "none").as_uri()
        assert (await ann.refusal("resourceRead", channel=ROOT, uri=missing)).code == -32008


async def test_a_watch_tells_its_maker_through_the_front(tmp_path: Path) -> None:
    async with bed(tmp_path) as realm, realm.client("ann", ROOT) as ann:
        made = await ann.request("createResourceWatch", channel=ROOT, uri=tmp_path.as_uri())
        await ann.subscribe(made["channel"])
        (tmp_path / "new.txt").write_text("x")
        await ann.action(made["channel"], "resourceWatch/changed")
