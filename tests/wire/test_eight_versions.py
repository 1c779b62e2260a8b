"""One client of every version in one chat: each holds the truth, in its own words, at every step.

What a client holds is what the reducers of its own version made of what it was told. It is held
against a fresh snapshot in that version, and every message against that version's schema.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.host import Host
from agenthost.host.channels.registry import KINDS
from agenthost.host.log.kind import AnyKind, ChannelKind
from agenthost.protocol import SUPPORTED_VERSIONS
from tests.thoroughness import THOROUGH
from tests.wire.client import ROOT, WireClient, open_client
from tests.wire.enduring import Enduring
from tests.wire.hosting import embed, serve
from tests.wire.mirrors import assert_ascending
from tests.wire.schemas import complaints_about, needs_schemas
from tests.wire.talking import call_in, confirmed, input_completed, request_in, submitted
from tests.wire.wording import annotation, exit_code, failure_of, failure_told, since

pytestmark = needs_schemas

REPOSITORY = Path(__file__).parents[2]
SESSION = "ahp-session:/eight"
NOTES = f"{SESSION}/annotations"
NEWEST = SUPPORTED_VERSIONS[0]
ANSWER = {"colour": submitted("text", "green")}
ENDINGS = ("chat/turnComplete", "chat/error", "chat/turnCancelled")

Json = dict[str, Any]


class Company:
    """A client of every version in one chat."""

    def __init__(self, url: str, clients: list[WireClient], chat: str) -> None:
        self.url = url
        self.clients = clients
        self.chat = chat
        # Turns carry numbers, whoever starts them.
        self.turns = 0
        # Client -> how many of its messages were held against the schemas.
        self._checked: dict[str, int] = {}

    def speaking(self, version: str) -> WireClient:
        return next(client for client in self.clients if client.version == version)

    @property
    def newest(self) -> WireClient:
        return self.clients[0]

    async def start(self, client: WireClient, text: str) -> str:
        self.turns += 1
        turn = f"t{self.turns}"
        envelope = await client.start_turn(self.chat, turn, text)
        assert "rejectionReason" not in envelope, envelope
        return turn

    async def ended(self, turn: str, *, times: int = 1) -> None:
        """Wait until everybody has seen a turn end for the so-manieth time."""
        for client in self.clients:
            await client.until(lambda c=client: _ends(c, self.chat, turn, times))  # type: ignore[misc]

    async def everybody(self, find: Callable[[WireClient], Any]) -> None:
        for client in self.clients:
            await find(client)

    async def hold_the_truth(self) -> None:
        """Check what everybody holds, and what everybody was told."""
        for client in self.clients:
            await client.ping()
        for client in self.clients:
            await holds_the_truth(client, self._checked.get(client.client_id, 0))
            self._checked[client.client_id] = len(client.received)


def _ends(client: WireClient, chat: str, turn: str, times: int) -> Json | None:
    ends = [
        envelope
        for envelope in client.envelopes[chat]
        if envelope["action"]["type"] in ENDINGS and envelope["action"]["turnId"] == turn
    ]
    return {} if len(ends) >= times else None


async def holds_the_truth(client: WireClient, checked: int = 0) -> None:
    """Check that a client holds what a fresh snapshot does, by what its version has words for."""
    assert_ascending(client)
    for channel in list(client.states):
        mirrored, fresh = await client.compared(channel)
        assert mirrored == fresh, f"{client.version} {channel}"
    assert complaints_about(client, checked) == [], client.version


@asynccontextmanager
async def gathered(
    url: str, versions: tuple[str, ...] = SUPPORTED_VERSIONS, name: str = "c"
) -> AsyncIterator[Company]:
    async with AsyncExitStack() as stack:
        clients = []
        for number, version in enumerate(versions):
            opening = open_client(url, f"{name} {number} {version}", version)
            clients.append(await stack.enter_async_context(opening))
            await clients[-1].initialize(ROOT)
        chat = await clients[0].ready_session(SESSION, provider="enduring")
        for client in clients:
            for channel in (SESSION, chat, NOTES):
                await client.subscribe(channel)
        yield Company(url, clients, chat)


@pytest.fixture
async def company(tmp_path: Path) -> AsyncIterator[Company]:
    """The eight at a host in a process of its own."""
    options = ("--agent", "tests.wire.enduring:Enduring")
    async with (
        serve(tmp_path / "data", *options, cwd=REPOSITORY) as host,
        gathered(host.url) as company,
    ):
        yield company


async def test_what_any_of_them_starts_streams_to_all(company: Company) -> None:
    for client in company.clients:
        turn = await company.start(client, "think write use")
        await company.ended(turn)
    await company.hold_the_truth()
    for client in company.clients:
        turns = client.states[company.chat]["turns"]
        assert [turn["state"] for turn in turns] == ["complete"] * len(SUPPORTED_VERSIONS)
        # In whatever version it was told, it is the same text.
        texts = {part["content"] for turn in turns for part in turn["responseParts"]}
        assert texts == {"Hm. Yes.", "a few words that come one by one "}


async def test_any_of_them_approves_and_all_see_the_terminal(company: Company) -> None:
    for client in company.clients:
        turn = await company.start(company.newest, "approve write")
        await company.everybody(lambda c: call_in(c, company.chat, "pending-confirmation"))
        await company.hold_the_truth()
        call = await call_in(client, company.chat, "pending-confirmation")
        await client.accepted(company.chat, confirmed(turn, call, True))
        await company.ended(turn)
    await company.hold_the_truth()
    for client in company.clients:
        for turn in client.states[company.chat]["turns"]:
            block = turn["responseParts"][0]["toolCall"]["content"][0]
            assert (block["type"], block["resource"]) == ("terminal", "ahp-terminal:/1")


async def test_what_is_to_be_approved_changes_for_all(company: Company) -> None:
    for client in company.clients:
        await company.ended(await company.start(client, "change write"))
    await company.hold_the_truth()


async def test_any_of_them_answers_a_question(company: Company) -> None:
    for client in company.clients:
        turn = await company.start(company.newest, "ask write")
        await company.everybody(lambda c: request_in(c, company.chat))
        await company.hold_the_truth()
        request = await request_in(client, company.chat)
        await client.accepted(company.chat, input_completed(request, ANSWER))
        await company.ended(turn)
    await company.hold_the_truth()


async def test_all_see_a_turn_fail_twice_and_go_on(company: Company) -> None:
    await company.ended(await company.start(company.newest, "write"))
    turn = await company.start(company.newest, "write use approve think fail write fail think")
    call = await call_in(company.newest, company.chat, "pending-confirmation")
    await company.newest.accepted(company.chat, confirmed(turn, call, True))
    await company.ended(turn)
    await company.hold_the_truth()
    for client in company.clients:
        failed = client.states[company.chat]["turns"][-1]
        assert failure_of(failed) == {"errorType": "tired", "message": "out of breath"}
        told = await client.action(company.chat, "chat/error")
        assert failure_told(told)["errorType"] == "tired"
    resume = {"type": "chat/turnResume", "turnId": turn}
    for client in company.clients:
        if not since(client.version, "0.9.0"):
            refused = await client.rejected(company.chat, resume)
            assert refused == f"chat/turnResume is not part of protocol {client.version}"
    for times, version in ((2, "0.9.0"), (3, NEWEST)):
        await company.speaking(version).accepted(company.chat, resume)
        await company.ended(turn, times=times)
        await company.hold_the_truth()
    await company.hold_the_truth()
    for client in company.clients:
        (_, done) = client.states[company.chat]["turns"]
        assert (done["id"], failure_of(done)) == (turn, {})
        assert done["state"] == "complete"


async def test_any_of_them_truncates(company: Company) -> None:
    for _ in range(len(company.clients) + 1):
        await company.ended(await company.start(company.newest, "write"))
    kept = [f"t{number}" for number in range(1, company.turns + 1)]
    for client in company.clients:
        await company.hold_the_truth()
        kept.pop()
        await client.accepted(company.chat, {"type": "chat/truncated", "turnId": kept[-1]})
        for each in company.clients:
            await each.ping()
            assert [turn["id"] for turn in each.states[company.chat]["turns"]] == kept
    await company.newest.accepted(company.chat, {"type": "chat/truncated"})
    await company.hold_the_truth()
    assert company.clients[-1].states[company.chat]["turns"] == []


async def test_a_failed_turn_that_is_cut_off_is_gone_for_all(company: Company) -> None:
    await company.ended(await company.start(company.newest, "write"))
    await company.ended(await company.start(company.newest, "write fail"))
    oldest = company.clients[-1]
    await oldest.accepted(company.chat, {"type": "chat/truncated", "turnId": "t1"})
    await company.ended(await company.start(oldest, "write"))
    await company.hold_the_truth()


async def test_any_of_them_annotates_and_all_know_of_what(company: Company) -> None:
    turn = await company.start(company.newest, "write")
    await company.ended(turn)
    for number, client in enumerate(company.clients):
        # Newer ones name the chat as well, and older ones need not.
        noted = annotation(client.version, f"n{number}", SESSION, company.chat, turn)
        await client.accepted(NOTES, noted)
        bare = annotation(client.version, f"b{number}", SESSION)
        await client.accepted(NOTES, bare)
        updated = {"type": "annotations/updated", "annotationId": f"b{number}", "resolved": True}
        await client.accepted(NOTES, updated)
    await company.hold_the_truth()
    origin = {"session": SESSION, "chat": company.chat, "turnId": turn}
    for client in company.clients:
        notes = client.states[NOTES]["annotations"]
        if since(client.version, "0.9.0"):
            said = [note["origin"] for note in notes]
            assert said == [origin, {"session": SESSION}] * len(SUPPORTED_VERSIONS)
        else:
            assert [note["turnId"] for note in notes] == [turn, ""] * len(SUPPORTED_VERSIONS)


# Away


async def play(company: Company) -> None:
    """Everything that some version needs several actions for, and what lies between."""
    newest, chat = company.newest, company.chat
    turn = await company.start(newest, "think change write use approve fail ask fail write")
    # Of the two, the one that waits for somebody.
    call = await call_in(newest, chat, "pending-confirmation", toolName="shell")
    await newest.accepted(chat, confirmed(turn, call, True))
    await newest.until(lambda: _ends(newest, chat, turn, 1))
    resume = {"type": "chat/turnResume", "turnId": turn}
    await newest.accepted(chat, resume)
    request = await request_in(newest, chat)
    await newest.accepted(chat, input_completed(request, ANSWER))
    await newest.until(lambda: _ends(newest, chat, turn, 2))
    await newest.accepted(chat, resume)
    await newest.until(lambda: _ends(newest, chat, turn, 3))
    await newest.accepted(NOTES, annotation(NEWEST, "n", SESSION, chat, turn))
    await newest.accepted(chat, {"type": "chat/truncated", "turnId": "t1"})
    await company.ended(await company.start(newest, "write"))
    for client in company.clients:
        await client.ping()


async def test_who_was_away_is_told_what_those_who_stayed_were_told(company: Company) -> None:
    await company.ended(await company.start(company.newest, "write"))
    away, told = [], {}
    for client in company.clients:
        await client.ping()
        told[client.version] = len(client.received)
        async with open_client(company.url, f"away {client.version}", client.version) as leaver:
            await leaver.initialize(ROOT, SESSION, company.chat, NOTES)
            leaver.abort()
        away.append(leaver)
    await play(company)
    for former, stayed in zip(away, company.clients, strict=True):
        async with open_client(company.url, former.client_id, former.version) as again:
            result = await again.resume(former)
            assert (result["type"], result["missing"]) == ("replay", [])
            assert result["actions"] == actions_in(stayed.received[told[stayed.version] :], again)
            await holds_the_truth(again)
    await company.hold_the_truth()


def actions_in(messages: list[Json], followed: WireClient) -> list[Json]:
    """Return the envelopes in what a client received, on the channels that another one follows."""
    return [
        message["params"]
        for message in messages
        if message.get("method") == "action" and message["params"]["channel"] in followed.states
    ]


class Leaver:
    """A client that loses its connection behind so many envelopes."""

    def __init__(self, client: WireClient, after: int) -> None:
        self.client = client
        self._left = after
        client.drop_when = self._is_over

    def _is_over(self, message: Json) -> bool:
        self._left -= message.get("method") == "action"
        return self._left <= 0


def places_to_cut(version: str) -> range:
    """Say behind how many envelopes to cut: each version has every third, beginning elsewhere."""
    return range(1, 60) if THOROUGH else range(1 + SUPPORTED_VERSIONS.index(version) % 3, 60, 3)


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
async def test_who_is_cut_off_anywhere_is_told_the_rest_and_nothing_twice(version: str) -> None:
    """Also between two of the actions that one became."""
    versions = (NEWEST, version)
    async with embed(Enduring()) as url, gathered(url, versions) as company, AsyncExitStack() as on:
        stays = company.clients[-1]
        await company.ended(await company.start(company.newest, "write"))
        leavers = []
        for after in places_to_cut(version):
            opening = open_client(url, f"leaver {after}", version)
            leaver = await on.enter_async_context(opening)
            await leaver.initialize(SESSION, company.chat, NOTES)
            leavers.append(Leaver(leaver, after))
        await stays.ping()
        begun = len(stays.received)
        await play(company)
        whole = actions_in(stays.received[begun:], leavers[0].client)
        cut = [each for each in leavers if each.client.closed.done()]
        # It happened everywhere, up to the end or as far as there were some to leave.
        assert len(cut) == sum(after <= len(whole) for after in places_to_cut(version))
        for each in cut:
            former = each.client
            heard = actions_in(former.received, former)
            async with open_client(url, former.client_id, version) as again:
                result = await again.resume(former)
                assert (result["type"], result["missing"]) == ("replay", [])
                assert heard + result["actions"] == whole
                await holds_the_truth(again)


async def test_all_go_on_behind_a_crash(tmp_path: Path) -> None:
    options = ("--agent", "tests.wire.enduring:Enduring")
    async with serve(tmp_path / "data", *options, cwd=REPOSITORY) as host:
        async with gathered(host.url) as company:
            chat = company.chat
            await company.ended(await company.start(company.newest, "write"))
            turn = await company.start(company.newest, "think write use hang write")
            await company.everybody(lambda client: _hangs(client, chat))
            await host.kill()
            for client in company.clients:
                await client.closed
        await host.start()
        async with AsyncExitStack() as stack:
            clients = []
            for former in company.clients:
                opening = open_client(host.url, former.client_id, former.version)
                clients.append(await stack.enter_async_context(opening))
                await clients[-1].resume(former)
            after = Company(host.url, clients, chat)
            await after.hold_the_truth()
            for client in clients:
                failed = client.states[chat]["turns"][-1]
                assert failure_of(failed)["errorType"] == "hostRestarted"
            await clients[0].accepted(chat, {"type": "chat/turnResume", "turnId": turn})
            for client in clients:
                await client.action(chat, "chat/turnComplete", turnId=turn)
            await after.hold_the_truth()


async def _hangs(client: WireClient, chat: str) -> Json:
    return await client.until(
        lambda: {} if client.states[chat].get("activity") == "hanging" else None
    )


# Terminals


class Terminals(ChannelKind[Any]):
    """Terminals, which this host does not have by itself."""

    name = "terminal"


RUNNING: Json = {
    "title": "Shell",
    "content": [],
    "lifecycle": {"status": "running"},
    "claim": {"kind": "session", "session": SESSION, "chat": "ahp-chat:/1"},
}
CLAIM = {"kind": "session", "session": SESSION, "chat": "ahp-chat:/2", "toolCallId": "c"}
HAPPENS: list[Json] = [
    {"type": "terminal/data", "data": "$ make\r\n"},
    {"type": "terminal/claimed", "claim": CLAIM},
    {"type": "terminal/commandDetectionAvailable"},
    {"type": "terminal/data", "data": "done\r\n"},
    {"type": "terminal/resized", "cols": 80, "rows": 24},
]


@pytest.mark.parametrize("code", [0, 137, None])
async def test_all_see_a_terminal_and_its_end(code: int | None) -> None:
    uri = "ahp-terminal:/1"
    exited: Json = {"type": "terminal/exited"} | ({} if code is None else {"exitCode": code})
    kinds: list[AnyKind] = [*KINDS, Terminals()]
    async with Host(kinds=kinds) as host, AsyncExitStack() as stack:
        channel = host.core.directory.create(uri, kinds[-1], RUNNING)
        url = await host.listen(port=0)
        clients, away = [], []
        for version in SUPPORTED_VERSIONS:
            clients.append(await stack.enter_async_context(open_client(url, version, version)))
            await clients[-1].initialize(uri)
            async with open_client(url, f"away {version}", version) as leaver:
                await leaver.initialize(uri)
                leaver.abort()
            away.append(leaver)
        for action in (*HAPPENS, exited):
            assert host.core.writer.apply(channel, action)
        for former in away:
            opening = open_client(url, former.client_id, former.version)
            clients.append(await stack.enter_async_context(opening))
            assert (await clients[-1].resume(former))["type"] == "replay"
        for client in clients:
            await client.ping()
            await holds_the_truth(client)
            state = client.states[uri]
            assert exit_code(state) == code
            assert "".join(part["value"] for part in state["content"]) == "$ make\r\ndone\r\n"
