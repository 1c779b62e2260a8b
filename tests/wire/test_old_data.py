"""A data directory of an older agenthost: this one shows all of it as that one did, and goes on."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agenthost.protocol import SUPPORTED_VERSIONS
from agenthost.protocol.uris import ROOT
from tests.host.store.make_old_data import AGENTS, shown_to
from tests.host.store.old_data import MODEL, told, unpacked
from tests.wire.client import open_client
from tests.wire.hosting import refusal, serve
from tests.wire.mirrors import assert_mirrors

Json = dict[str, Any]

NEWEST = SUPPORTED_VERSIONS[0]


async def test_a_client_of_then_is_shown_what_the_host_of_then_showed(tmp_path: Path) -> None:
    unpacked(tmp_path, is_young=True)
    async with serve(tmp_path, *AGENTS, "--root", "/tmp") as host:
        begun, ended = host.output.splitlines()[:2]
        assert begun == (
            f"This data directory is of an older agenthost (protocol {MODEL}): "
            f"bringing 11 sessions up to {NEWEST} …"
        )
        assert ended.startswith(f"11 sessions brought up to {NEWEST} in ")
        assert ended.endswith("; nothing was lost")
        async with open_client(host.url, "looks", MODEL) as client:
            await client.initialize(ROOT)
            shown = await shown_to(client)
        without_news(shown["channels"], told()["channels"])
        cut_off = set(interrupted(told()["channels"]))
        assert len(cut_off) == 12
        for what in ("summaries", "channels", "contents"):
            assert set(shown[what]) == set(told()[what])
            for uri, before in told()[what].items():
                assert timeless(shown[what][uri], uri, cut_off) == timeless(before, uri, cut_off)
        assert [item["session"] for item in shown["trash"]] == ["ahp-session:/trashed"]
        assert await host.stop() == 0
        await host.start()
        assert "brought up" not in host.output


def without_news(channels: Json, before: Json) -> None:
    """Take away what the host of then did not have: settings, what lies in folders, its version."""
    for root in (channels[ROOT], before[ROOT]):
        root["_meta"]["agenthost"].pop("version", None)
    config, known = channels[ROOT]["config"], before[ROOT]["config"]["values"]
    assert set(known) <= set(config["values"])
    for bag in (config["values"], config["schema"]["properties"]):
        for key in bag.keys() - known.keys():
            del bag[key]
    for uri, state in channels.items():
        if "customizations" not in before.get(uri, {}):
            state.pop("customizations", None)


def interrupted(channels: Json) -> Iterator[str]:
    """Yield the chats whose turn was cut off, with their sessions: those ended when shown."""
    for uri, state in channels.items():
        last: Json = next(reversed(state.get("turns", ())), {})
        if (last.get("error") or {}).get("errorType") == "hostRestarted":
            yield uri
    yield from ("ahp-session:/waiting", "ahp-session:/streaming")


def timeless(value: Json, uri: str, cut_off: set[str]) -> Json:
    """Leave out when a turn ended that ended at another time."""
    if uri not in cut_off:
        return value
    kept = {key: item for key, item in value.items() if key != "modifiedAt"}
    if "chats" in kept:
        kept["chats"] = [timeless(chat, chat["resource"], cut_off) for chat in kept["chats"]]
    if "turns" in kept:
        *turns, last = kept["turns"]
        kept["turns"] = [*turns, {key: last[key] for key in last if key != "duration"}]
    return kept


async def test_a_client_that_was_there_then_comes_back_and_is_given_snapshots(
    tmp_path: Path,
) -> None:
    unpacked(tmp_path)
    last = told()["last"]
    session = "ahp-session:/streaming"
    async with (
        serve(tmp_path, *AGENTS, "--root", "/tmp") as host,
        open_client(host.url, last["clientId"], MODEL) as client,
    ):
        (sent,) = last["sent"]
        notes = sent["channel"]
        result = await client.reconnect(last["lastSeen"], ROOT, session, notes)
        assert result["type"] == "snapshot"
        assert {item["resource"] for item in result["snapshots"]} == {ROOT, session, notes}
        assert client.states[notes] == told()["stored"][notes]["state"]
        # It did not hear that this was done, and says so again.
        heard = len(client.envelopes[notes])
        await client.send({"method": "dispatchAction", "params": sent})
        await client.ping()
        assert client.states[notes] == told()["stored"][notes]["state"]
        for envelope in client.envelopes[notes][heard:]:
            assert "rejectionReason" not in envelope
        await assert_mirrors(client)


async def test_a_data_directory_of_a_newer_agenthost_is_refused_and_left_untouched(
    tmp_path: Path,
) -> None:
    path = unpacked(tmp_path)
    async with serve(tmp_path, *AGENTS) as host:
        assert await host.stop() == 0
    with closing(sqlite3.connect(path)) as plain, plain:
        plain.execute("UPDATE content SET version = '7.1.0'")
    before = {file.name: file.read_bytes() for file in files(tmp_path)}
    code, out, err = await refusal("--port", "0", "--data-dir", str(tmp_path))
    assert (code, out) == (1, "")
    assert err == (
        f"agenthost: {path} holds sessions of protocol 7.1.0, written by a newer agenthost; this "
        f"one knows up to {NEWEST}. Nothing was changed: run the newer agenthost\n"
    )
    assert {file.name: file.read_bytes() for file in files(tmp_path)} == before


def files(directory: Path) -> list[Path]:
    return [path for path in directory.iterdir() if path.is_file()]


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
async def test_every_chat_of_then_goes_on_for_clients_of_every_version(
    tmp_path: Path, version: str
) -> None:
    unpacked(tmp_path)
    async with (
        serve(tmp_path, *AGENTS, "--root", "/tmp") as host,
        open_client(host.url, "goes on", version) as client,
    ):
        await client.initialize(ROOT)
        for item in (await client.request("listSessions", limit=100))["items"]:
            session = await client.subscribe(item["resource"])
            await client.subscribe(f"{item['resource']}/annotations")
            for chat in session["chats"]:
                await client.subscribe(chat["resource"])
        for name in ("questions", "chats", "notes", "calls", "truncated"):
            chat = client.states[f"ahp-session:/{name}"]["defaultChat"]
            turns = len(client.states[chat]["turns"])
            await client.run_turn(chat, "new", "hello again")
            assert len(client.states[chat]["turns"]) == turns + 1
        await assert_mirrors(client)
