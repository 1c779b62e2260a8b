"""VS Code without VS Code: what it sent in a whole run of ``make vscode``, message for message."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.wire.client import WireClient
from tests.wire.hosting import serve
from tests.wire.mirrors import assert_ascending, assert_mirrors
from tests.wire.replaying import Replay
from tests.workspace.git.repositories import repository

Json = dict[str, Any]

SCRIPTS = Path(__file__).parent / "vscode"
# The versions that VS Code 1.139 was recorded in.
VERSIONS = ["0.7.0", "0.9.0"]
# What is right to be refused; `interop/vscode/wire.py` says why.
REFUSED_METHODS = {"createResourceWatch"}
REFUSED_ACTIONS = {"chat/toolCallConfirmed", "chat/draftChanged", "terminal/resized"}


@pytest.fixture(params=VERSIONS)
async def replay(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Replay]:
    version: str = request.param
    script = (SCRIPTS / f"1.139.1-at-{version}.jsonl").read_text().splitlines()
    monkeypatch.delenv("GIT_DIR")
    workspace = repository(tmp_path / "workspace")
    (workspace / "notes.txt").write_text("the old line\n")
    async with (
        serve(tmp_path / "data") as host,
        Replay(host, version, workspace) as replay,
    ):
        await replay.play(script)
        yield replay


async def test_a_whole_day_of_vscode(replay: Replay, tmp_path: Path) -> None:
    # One test, because the day is played once: every line is what a person would notice.
    for client in replay.clients:
        assert_ascending(client)
    assert_everything_answered(replay)
    assert_nothing_refused(replay)
    await assert_nothing_doubled(replay)
    await forget_what_is_gone(replay.client)
    await assert_mirrors(replay.client)
    assert (tmp_path / "workspace" / "notes.txt").read_text() == "the new line\n"
    assert (tmp_path / "workspace" / "ran.txt").read_text() == "ran-42\n"
    assert not (tmp_path / "workspace" / "never.txt").exists()


def assert_everything_answered(replay: Replay) -> None:
    for method, answer in replay.answers:
        # What was asked of a host that was killed never is.
        if answer.cancelled() or answer.exception() is not None:
            assert method == "ping", method
            continue
        message = answer.result()
        refused = "error" in message
        assert not refused or method in REFUSED_METHODS, f"{method}: {message['error']}"


def assert_nothing_refused(replay: Replay) -> None:
    for client in replay.clients:
        for seen in client.envelopes.values():
            for envelope in seen:
                refused = "rejectionReason" in envelope
                assert not refused or envelope["action"]["type"] in REFUSED_ACTIONS, envelope


async def assert_nothing_doubled(replay: Replay) -> None:
    """Every turn that was begun is in exactly one place, and every session is listed once."""
    sent = [message for client in replay.clients for message in client.sent]
    created = [m["params"]["channel"] for m in sent if m.get("method") == "createSession"]
    begun = [
        (message["params"]["channel"], message["params"]["action"]["turnId"])
        for message in sent
        if message.get("method") == "dispatchAction"
        and message["params"]["action"]["type"] == "chat/turnStarted"
    ]
    items = (await replay.client.request("listSessions"))["items"]
    listed = [item["resource"] for item in items]
    assert len(listed) == len(set(listed))
    assert set(listed) <= set(created)
    kept: dict[str, list[str]] = {}
    for session in listed:
        state = await replay.client.fresh(session)
        chats = [chat["resource"] for chat in state["chats"]]
        assert len(chats) == len(set(chats))
        for chat in chats:
            turns = (await replay.client.fresh(chat))["turns"]
            kept[chat] = [turn["id"] for turn in turns]
            assert len(kept[chat]) == len(set(kept[chat]))
    for chat, turn in begun:
        # Sessions that were deleted took theirs along.
        assert chat not in kept or kept[chat].count(turn) == 1, (chat, turn)
    assert len(kept) > 1


async def forget_what_is_gone(client: WireClient) -> None:
    """Drop the mirrors of channels that ended: no more is told about them."""
    removed = {
        message["params"]["session"]
        for message in client.received
        if message.get("method") == "root/sessionRemoved"
    }
    for channel in list(client.states):
        if channel in removed or client.states[channel].get("session") in removed:
            del client.states[channel]
