"""Folder trust: whose word counts where, for how long, and that it is kept before anything runs."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agenthost.clock import SystemClock
from agenthost.errors import PermissionDenied
from agenthost.host.folder_trust import MOST_KEPT, TRUST, FolderTrust
from agenthost.host.log.ledger import Ledger
from agenthost.host.store import MemoryBacking, MemoryStore, SqliteStore, Store
from agenthost.host.trust import Principal
from agenthost.tokens import Role

OWNER = Principal("owner", Role.OWNER)
OPERATOR = Principal("op", Role.OPERATOR)
VIEWER = Principal("looks", Role.VIEWER)
FOLDER, OTHER = "/repo", "/other"
# Digest -> name, as a folder declares them.
TIME, FILES = {"d-time": "time"}, {"d-files": "files"}
HERE, THERE = "s:/here", "s:/there"


@asynccontextmanager
async def trusting(store: Store | None = None) -> AsyncIterator[FolderTrust]:
    async with store or MemoryStore() as opened:
        ledger = Ledger(opened, release=lambda deliveries: None, on_failure=lambda error: None)
        await ledger.open()
        trust = FolderTrust(opened, ledger, SystemClock())
        await trust.open()
        yield trust
        await ledger.close()


async def test_nothing_is_trusted_before_somebody_says_so() -> None:
    async with trusting() as trust:
        assert trust.decision(FOLDER, "d-time", HERE) is None
        assert not trust.is_trusted(FOLDER, "d-time", HERE)
        assert trust.listed() == []


async def test_an_owners_yes_counts_in_every_session_for_that_declaration_and_folder() -> None:
    async with trusting() as trust:
        trust.trust(FOLDER, TIME, by=OWNER, session=HERE)
        assert trust.is_trusted(FOLDER, "d-time", HERE)
        assert trust.is_trusted(FOLDER, "d-time", THERE)
        # Another declaration, be it of the same name, and another folder are asked about anew.
        assert trust.decision(FOLDER, "d-time-changed", HERE) is None
        assert trust.decision(OTHER, "d-time", HERE) is None
        (listed,) = trust.listed()
        (server,) = listed["servers"]
        assert listed["folder"] == FOLDER
        assert (server["name"], server["trusted"], server["by"]) == ("time", True, "owner")


async def test_an_operators_word_counts_in_one_session_and_goes_with_it() -> None:
    async with trusting() as trust:
        trust.trust(FOLDER, TIME, by=OPERATOR, session=HERE)
        trust.refuse(FOLDER, FILES, by=OPERATOR, session=HERE, kept=True)
        assert trust.is_trusted(FOLDER, "d-time", HERE)
        assert trust.decision(FOLDER, "d-files", HERE) is False
        for digest in ("d-time", "d-files"):
            assert trust.decision(FOLDER, digest, THERE) is None
        assert trust.listed() == []
        trust.session_ends(HERE, keep=True)
        assert trust.decision(FOLDER, "d-time", HERE) is None


async def test_viewers_decide_nothing() -> None:
    async with trusting() as trust:
        with pytest.raises(PermissionDenied):
            trust.trust(FOLDER, TIME, by=VIEWER, session=HERE)
        with pytest.raises(PermissionDenied):
            trust.refuse(FOLDER, TIME, by=VIEWER, session=HERE)
        assert trust.decision(FOLDER, "d-time", HERE) is None


async def test_a_no_counts_in_its_session_and_an_owners_never_in_all() -> None:
    async with trusting() as trust:
        trust.refuse(FOLDER, TIME, by=OWNER, session=HERE)
        assert trust.decision(FOLDER, "d-time", HERE) is False
        assert trust.decision(FOLDER, "d-time", THERE) is None
        trust.refuse(FOLDER, TIME, by=OWNER, session=HERE, kept=True)
        assert trust.decision(FOLDER, "d-time", THERE) is False


async def test_an_owners_word_goes_before_what_was_said_in_a_session() -> None:
    async with trusting() as trust:
        trust.trust(FOLDER, TIME, by=OPERATOR, session=HERE)
        trust.refuse(FOLDER, TIME, by=OWNER, session=THERE, kept=True)
        assert not trust.is_trusted(FOLDER, "d-time", HERE)
        trust.refuse(FOLDER, TIME, by=OPERATOR, session=HERE)
        trust.trust(FOLDER, TIME, by=OWNER, session=THERE)
        assert trust.is_trusted(FOLDER, "d-time", HERE)


async def test_an_owners_no_is_told_to_who_runs_what_somebody_trusted() -> None:
    async with trusting() as trust:
        told: list[str] = []
        trust.trust(FOLDER, TIME, by=OPERATOR, session=HERE)
        trust.on_withdrawn(told.append)
        trust.refuse(FOLDER, TIME, by=OWNER, session=THERE, kept=True)
        assert told == [FOLDER]


async def test_what_is_forgotten_is_asked_again_everywhere_and_told_to_who_runs_it() -> None:
    async with trusting() as trust:
        told: list[str] = []
        trust.on_withdrawn(told.append)
        trust.trust(FOLDER, TIME, by=OWNER, session=HERE)
        trust.trust(FOLDER, FILES, by=OPERATOR, session=HERE)
        trust.trust(OTHER, TIME, by=OWNER, session=HERE)
        assert trust.forget(FOLDER)
        assert not trust.forget(FOLDER)
        assert told == [FOLDER]
        assert trust.decision(FOLDER, "d-time", HERE) is None
        assert trust.decision(FOLDER, "d-files", HERE) is None
        assert trust.is_trusted(OTHER, "d-time", HERE)


async def test_what_an_owner_decided_is_there_after_a_kill_and_what_was_forgotten_is_not(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.sqlite"
    async with trusting(SqliteStore(path)) as trust:
        trust.trust(FOLDER, TIME, by=OWNER, session=HERE)
        trust.refuse(FOLDER, FILES, by=OWNER, session=HERE, kept=True)
        trust.trust(OTHER, TIME, by=OWNER, session=HERE)
        trust.trust("/operated", TIME, by=OPERATOR, session=HERE)
        trust.forget(OTHER)
        await trust.settled()
        # What a process finds that is started after this one was killed.
        with contextlib.closing(sqlite3.connect(path)) as beside:
            rows = beside.execute("SELECT key FROM record WHERE bucket = ?", [TRUST]).fetchall()
        assert rows == [(FOLDER,)]
    async with trusting(SqliteStore(path)) as trust:
        assert trust.is_trusted(FOLDER, "d-time", THERE)
        assert trust.decision(FOLDER, "d-files", THERE) is False
        assert trust.decision(OTHER, "d-time", HERE) is None
        assert trust.decision("/operated", "d-time", HERE) is None


async def test_of_declarations_that_change_all_the_time_the_newest_are_kept() -> None:
    async with trusting() as trust:
        for number in range(MOST_KEPT + 10):
            trust.trust(FOLDER, {f"d-{number}": "time"}, by=OWNER, session=HERE)
        assert len(trust.listed()[0]["servers"]) == MOST_KEPT
        assert trust.is_trusted(FOLDER, f"d-{MOST_KEPT + 9}", HERE)
        assert trust.decision(FOLDER, "d-0", HERE) is None


async def test_who_runs_something_is_told_what_another_host_has_withdrawn() -> None:
    backing = MemoryBacking()
    told: list[str] = []
    async with trusting(MemoryStore(backing)) as trust:
        for folder in (FOLDER, OTHER):
            trust.trust(folder, TIME, by=OWNER, session=HERE)
        await trust.settled()
        trust.on_withdrawn(told.append)
        await trust.open()
        assert told == []
        # What another host of the realm does, a copy of the log brings here.
        del backing.records[TRUST][FOLDER]
        await trust.open()
        assert told == [FOLDER]
        assert not trust.is_trusted(FOLDER, "d-time", HERE)
        assert trust.is_trusted(OTHER, "d-time", HERE)


# Each makes a store.
@settings(max_examples=40)
@given(
    words=st.lists(
        st.tuples(
            st.sampled_from([OWNER, OPERATOR]),
            st.sampled_from([HERE, THERE]),
            st.booleans(),
            st.booleans(),
        ),
        max_size=12,
    )
)
async def test_nothing_an_operator_says_reaches_another_session(
    words: list[tuple[Principal, str, bool, bool]],
) -> None:
    async with trusting() as trust:
        owners: bool | None = None
        in_there: bool | None = None
        for by, session, yes, kept in words:
            if yes:
                trust.trust(FOLDER, TIME, by=by, session=session)
            else:
                trust.refuse(FOLDER, TIME, by=by, session=session, kept=kept)
            if by is OWNER and (yes or kept):
                owners, in_there = yes, None
            elif session == THERE:
                in_there = yes
        expected = owners if in_there is None else in_there
        assert trust.decision(FOLDER, "d-time", THERE) is expected
