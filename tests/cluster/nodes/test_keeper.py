"""Who owns what when nodes come, die and leave; over subjects and a log in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, cast

import orjson
import pytest

from agenthost.cluster.machines import RealmMachines
from agenthost.cluster.nodes import Claims, Keeper, NodeInfo, Nodes, beats, keeper
from agenthost.cluster.units import REALM
from agenthost.errors import Conflict, NotFound
from agenthost.host.channels.session.drafts import DRAFTS
from agenthost.host.store import SessionPage
from agenthost.protocol.status import IDLE, IN_PROGRESS
from tests.cluster.nodes.plain_subjects import PlainSubjects
from tests.cluster.nodes.test_beats import until

X, Y, DRAFT = "ahp-session:/x", "ahp-session:/y", "ahp-session:/draft"


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BEAT_SECONDS", "DEATH_SECONDS", "_COUNTED_SECONDS", "_CERTAIN_SECONDS"):
        monkeypatch.setattr(beats, name, getattr(beats, name) / 20)
    monkeypatch.setattr(keeper, "_LOOK_SECONDS", 0.02)
    monkeypatch.setattr(keeper, "_TRY_AGAIN_SECONDS", 0.02)


class SharedLog:
    """The realm's log, as far as owners go, and its sessions."""

    def __init__(self) -> None:
        self.owners: dict[str, str | None] = {}
        self.ends: dict[str, int] = {}
        self.position = 0
        self.sessions: dict[str, int] = {}
        self.drafts: set[str] = set()

    def append(self, unit: str, owner: str | None) -> None:
        self.position += 1
        self.owners[unit], self.ends[unit] = owner, self.position


class WholeCopy:
    """A copy that has the log at once."""

    def __init__(self, log: SharedLog) -> None:
        self._log = log
        self.store = self

    def owner_of(self, unit: str) -> str | None:
        return self._log.owners.get(unit)

    def last_of(self, unit: str) -> int:
        return self._log.ends.get(unit, 0)

    def units_of(self, node: str) -> list[str]:
        return [unit for unit, owner in self._log.owners.items() if owner == node]

    async def reached(self, position: int) -> None:
        assert position <= self._log.position

    async def session_summary(self, unit: str) -> bytes | None:
        status = self._log.sessions.get(unit)
        if status is None:
            return None
        return orjson.dumps({"provider": "demo", "status": status, "workingDirectories": []})

    async def records(self, bucket: str) -> dict[str, bytes]:
        return {unit: b"" for unit in self._log.drafts if bucket == DRAFTS}

    async def page_sessions(self, limit: int, cursor: str | None = None) -> Any:
        sessions = self._log.sessions.items()
        return SessionPage(
            [(unit, orjson.dumps({"status": each})) for unit, each in sessions], None
        )


class Machine:
    """A node without hosts."""

    def __init__(self, subjects: PlainSubjects, log: SharedLog, name: str) -> None:
        self.name = name
        self.log = log
        self.link = cast(Any, subjects.link())
        self.copy = cast(Any, WholeCopy(log))
        self.owned: frozenset[str] = frozenset()
        self.led = 0
        self.given_up: list[tuple[str, float]] = []
        # How many hand-overs fail before one succeeds.
        self.failures = 0
        self.is_leaving = False
        self.agents = ["demo"]
        self.nodes = Nodes(
            self.link,
            lambda: NodeInfo(
                name,
                process="1",
                incarnation="i",
                agents=cast(Any, [{"provider": each, "models": []} for each in self.agents]),
                draining=self.keeper.is_draining,
            ),
        )
        self.claims = Claims(self.link, self.nodes, self.copy, name)
        self.followed: list[str] = []
        self.keeper = Keeper(
            self.link,
            self.nodes,
            self.copy,
            self.claims,
            name,
            owner=lambda: self,
            incarnation=lambda: "i",
            followed=lambda: self.followed,
        )
        self.machines = RealmMachines(self.nodes, self.copy, self.claims, name, lambda: None)

    async def own(self, unit: str) -> bool:
        self.log.append(unit, self.name)
        self.owned |= {unit}
        return True

    async def leave(self) -> None:
        self.is_leaving = True

    async def give_up(self, unit: str, to: str | None, *, wait: float) -> None:
        assert self.is_leaving or not self.keeper.is_draining
        self.given_up.append((unit, wait))
        if self.failures:
            self.failures -= 1
            raise TimeoutError
        self.owned -= {unit}
        self.log.append(unit, to)

    def is_busy(self, unit: str) -> bool:
        return self.log.sessions.get(unit) == IN_PROGRESS

    async def lead(self) -> None:
        self.led += 1


@asynccontextmanager
async def machines(log: SharedLog, *names: str) -> AsyncIterator[list[Machine]]:
    subjects = PlainSubjects()
    made = [Machine(subjects, log, name) for name in names]
    async with AsyncExitStack() as stack:
        for each in made:
            await stack.enter_async_context(each.nodes)
            stack.push_async_callback(each.claims.close)
        for each in made:
            await each.nodes.look_around()
        for each in made:
            await stack.enter_async_context(each.keeper)
        yield made


def leaders(made: list[Machine]) -> list[str]:
    return [each.name for each in made if REALM in each.owned]


async def test_one_node_leads_and_another_one_when_it_dies() -> None:
    log = SharedLog()
    async with machines(log, "a", "b", "c") as made:
        await until(lambda: len(leaders(made)) == 1)
        (leader,) = (each for each in made if each.led)
        leader.link.is_cut = True
        await until(lambda: log.owners[REALM] != leader.name)
        assert sum(each.led for each in made) == 2


async def test_what_ran_on_a_dead_node_is_taken_over_at_once_and_the_rest_when_needed() -> None:
    log = SharedLog()
    log.sessions = {X: IN_PROGRESS, Y: IDLE}
    async with machines(log, "a", "b", "c") as made:
        a, b, c = made
        for unit in (X, Y):
            await c.own(unit)
        c.link.is_cut = True
        await until(lambda: log.owners[X] in ("a", "b"))
        assert log.owners[Y] == "c"
        owner = await a.claims.owner(Y)
        assert owner in ("a", "b")
        assert owner == log.owners[Y] == await b.claims.owner(Y)


async def test_what_clients_look_at_is_taken_over_at_once() -> None:
    log = SharedLog()
    log.sessions = {Y: IDLE}
    async with machines(log, "a", "b") as (a, b):
        await b.own(Y)
        a.followed = [Y]
        b.link.is_cut = True
        await until(lambda: log.owners[Y] == "a")


async def test_an_owner_that_was_made_anew_takes_its_own_up_again() -> None:
    log = SharedLog()
    log.sessions = {X: IN_PROGRESS}
    log.append(X, "a")
    async with machines(log, "a", "b") as (a, b):
        a.keeper.owner_renewed()
        await until(lambda: X in a.owned)
        assert log.owners[X] == "a"
        a.owned = frozenset()
        a.claims.forget(X)
        assert await b.claims.owner(X) == "a"
        assert X in a.owned


async def test_turns_and_drafts_of_nodes_that_never_came_back_are_taken_over_by_somebody() -> None:
    log = SharedLog()
    log.sessions = {X: IN_PROGRESS, Y: IDLE, DRAFT: IDLE}
    log.drafts = {DRAFT}
    for unit in log.sessions:
        log.append(unit, "gone")
    async with machines(log, "a", "b"):
        await until(lambda: {log.owners[X], log.owners[DRAFT]} <= {"a", "b"})
        assert log.owners[Y] == "gone"


async def test_a_draft_of_a_dead_node_is_taken_over_at_once_for_nobody_else_takes_it_away() -> None:
    log = SharedLog()
    log.sessions, log.drafts = {DRAFT: IDLE}, {DRAFT}
    async with machines(log, "a", "b", "c") as (_, _, c):
        await until(lambda: log.owners.get(REALM) is not None)
        await c.own(DRAFT)
        c.link.is_cut = True
        await until(lambda: log.owners[DRAFT] in ("a", "b"))


async def test_a_node_that_leaves_hands_over_all_it_has() -> None:
    log = SharedLog()
    log.sessions = {X: IN_PROGRESS, Y: IDLE}
    async with machines(log, "a", "b", "c") as made:
        a, b, c = made
        await until(lambda: log.owners.get(REALM) is not None)
        for unit in (X, Y):
            await a.own(unit)
        await a.keeper.drain(5.0)
        assert not a.owned
        # A turn may begin at the last moment.
        assert all(wait > 0 for _, wait in a.given_up)
        assert {X, Y, REALM} <= b.owned | c.owned
        assert await b.claims.owner(X) == log.owners[X] != "a"


async def test_a_node_that_leaves_tries_again_what_could_not_be_handed_over() -> None:
    log = SharedLog()
    async with machines(log, "a", "b") as (a, b):
        await until(lambda: log.owners.get(REALM) is not None)
        for unit in (X, Y):
            await a.own(unit)
        a.failures = 2
        await a.keeper.drain(5.0)
        assert not a.owned
        assert {X, Y, REALM} <= b.owned
        # And it leaves although it cannot get rid of something.
        await b.own(X)
        b.failures = 100
        await b.keeper.drain(0.0)
        assert X in b.owned


async def test_sessions_go_back_to_where_their_agent_is_once_it_is_there_again() -> None:
    log = SharedLog()
    log.sessions = {X: IDLE, Y: IDLE}
    async with machines(log, "a", "b") as (a, b):
        b.agents = []
        b.nodes.tell_now()
        await until(lambda: not a.nodes.living["b"].agents)
        await a.own(X)
        # As while it is restarted: nobody else has it, and somebody needs the session.
        a.agents = []
        a.nodes.tell_now()
        await until(lambda: not b.nodes.living["a"].agents)
        await a.keeper._hand_over(a, X, "b", 0.0)
        await b.own(Y)
        assert {X, Y} <= b.owned
        a.agents = ["demo"]
        a.nodes.tell_now()
        await until(lambda: X in a.owned)
        assert log.owners[X] == "a"
        # What somebody has made there is not sent anywhere.
        assert Y in b.owned


async def test_a_lone_node_keeps_what_it_has() -> None:
    log = SharedLog()
    async with machines(log, "a") as (a,):
        await until(lambda: REALM in a.owned)
        await a.own(Y)
        await a.keeper.drain(5.0)
        assert a.given_up == []


async def test_somebody_moves_a_session() -> None:
    log = SharedLog()
    log.sessions = {X: IDLE}
    async with machines(log, "a", "b", "c") as (a, b, c):
        await a.own(X)
        await c.machines.move(X, "b")
        assert X in b.owned
        assert log.owners[X] == "b"
        with pytest.raises(NotFound, match="no node 'z'; there are a, b, c"):
            await c.machines.move(X, "z")
        with pytest.raises(NotFound, match="no session"):
            await c.machines.move(Y, "b")
        await a.keeper.drain(0.0)
        a.nodes.tell_now()
        await until(lambda: c.nodes.living["a"].draining)
        with pytest.raises(Conflict, match="about to leave"):
            await c.machines.move(X, "a")


async def test_nodes_are_listed_with_who_leads_and_who_is_here() -> None:
    log = SharedLog()
    async with machines(log, "a", "b") as (a, _):
        await until(lambda: log.owners.get(REALM) is not None)
        listed = await a.machines.nodes()
        assert [each["node"] for each in listed] == ["a", "b"]
        assert [each["here"] for each in listed] == [True, False]
        assert [each["node"] for each in listed if each["leads"]] == [log.owners[REALM]]


@pytest.mark.parametrize("body", [b"", b"{}", b"[1]", b'{"unit": 3}', b'"x"'])
async def test_a_question_that_is_none_gets_no_answer_and_does_no_harm(body: bytes) -> None:
    log = SharedLog()
    async with machines(log, "a") as (a,):
        with pytest.raises(TimeoutError):
            await a.link.request("claim.a", body, 0.05)
        async with asyncio.timeout(10):
            assert await a.claims.owner(X) == "a"
