"""Units, numbers and commits: what goes into the stream comes out of it."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.cluster.commits import (
    LARGEST_BODY,
    BadCommit,
    Commit,
    CommitReader,
    Own,
    RealmWrite,
    Tell,
    encode_commit,
    unit_of_body,
)
from agenthost.cluster.numbers import MOST_WRITES, PER_MESSAGE, message_of, number
from agenthost.cluster.units import MISC, REALM, unit_of_token, unit_token
from agenthost.host.store.contract import (
    Append,
    DropBlobs,
    DropChannel,
    DropRecord,
    DropSession,
    MoveBlobs,
    PutBlob,
    PutRecord,
    PutSession,
    SaveSnapshot,
    TrimLog,
)

TEXT = st.text(max_size=20)
EVERY_WRITE: list[RealmWrite] = [
    Append(0, "ahp-session:/a", "2026-01-01T00:00:00.000Z", b'{"type":"x"}', b"{}"),
    Append(0, "ahp-session:/ü", "now", b"", None),
    SaveSnapshot("ahp-session:/a", "session", 0, b"\x00\xff"),
    DropChannel("c"),
    TrimLog("c", 0, None),
    TrimLog("c", 0, 5),
    PutSession("s", "k", b"{}"),
    DropSession("s"),
    PutBlob("b", "o", None, b"data"),
    PutBlob("b", "o", "text/plain", b""),
    DropBlobs("o"),
    MoveBlobs("o", "p", None),
    MoveBlobs("o", "p", "b"),
    PutRecord("r", "k", b"v"),
    DropRecord("r", "k"),
    Own("node"),
    Own(None),
    Tell("ahp-root:/", "root/sessionAdded", b"{}"),
]


def read(bodies: list[bytes]) -> list[Commit]:
    reader = CommitReader()
    return [commit for body in bodies if (commit := reader.feed(body)) is not None]


@given(st.one_of(st.sampled_from([REALM, MISC]), st.text(min_size=1, max_size=2048)))
def test_a_token_names_its_unit_and_nothing_else(unit: str) -> None:
    token = unit_token(unit)
    assert re.fullmatch(r"[A-Za-z0-9_=~-]+", token)
    assert len(token) <= 400
    assert unit_of_token(token) in (unit, None)
    assert token != unit_token(unit + "x")


@given(st.integers(1, 2**43), st.integers(0, MOST_WRITES - 1))
def test_numbers_grow_with_the_messages(message: int, index: int) -> None:
    assert message_of(number(message, index)) == message
    assert number(message, MOST_WRITES - 1) < number(message + 1, 0)
    assert number(message + 1, 0) - number(message, 0) == PER_MESSAGE
    # What is free behind a message belongs to it, up to the next one's first number.
    assert message_of(number(message + 1, 0) - 1) == message


def test_every_write_comes_back() -> None:
    commit = Commit("id", "ahp-session:/ü", "node", tuple(EVERY_WRITE))
    [body] = encode_commit(commit)
    assert read([body]) == [commit]
    assert unit_of_body(body) == commit.unit


def test_an_empty_commit_is_a_message() -> None:
    commit = Commit("id", REALM, "node", ())
    assert read(encode_commit(commit)) == [commit]


@given(st.lists(st.builds(PutRecord, TEXT, TEXT, st.binary(max_size=100)), max_size=600))
def test_many_writes_become_several_messages(writes: list[PutRecord]) -> None:
    commits = read(encode_commit(Commit("id", "unit", "node", tuple(writes))))
    assert [write for commit in commits for write in commit.writes] == writes
    assert all(len(commit.writes) <= MOST_WRITES for commit in commits)
    assert [commit.continues for commit in commits[::-1]] == [False] + [True] * (len(commits) - 1)


@pytest.mark.parametrize("size", [LARGEST_BODY - 20_000, LARGEST_BODY, 3 * LARGEST_BODY + 7])
def test_a_large_write_is_cut_and_joined_again(size: int) -> None:
    data = random.Random(size).randbytes(size)
    writes = (PutRecord("r", "before", b""), PutBlob("b", "o", None, data), Own("node"))
    bodies = encode_commit(Commit("id", "u" * 2048, "node", writes))
    assert max(map(len, bodies)) <= LARGEST_BODY
    commits = read(bodies)
    assert tuple(write for commit in commits for write in commit.writes) == writes
    assert {unit_of_body(body) for body in bodies} == {"u" * 2048}


def test_parts_without_their_rest_or_their_beginning_are_dropped() -> None:
    large = (PutBlob("b", "o", None, bytes(2 * LARGEST_BODY)),)
    parts = encode_commit(Commit("large", "unit", "node", large))
    [small] = encode_commit(Commit("small", "unit", "node", (Own("node"),)))
    reader = CommitReader()
    assert reader.feed(parts[0]) is None
    assert reader.unfinished == {"large"}
    assert reader.feed(small) is not None
    assert reader.unfinished == frozenset()
    assert [reader.feed(part) for part in parts[1:]] == [None] * (len(parts) - 1)
    assert reader.unfinished == frozenset()


@given(st.binary(max_size=60))
def test_what_is_no_commit_is_refused(body: bytes) -> None:
    with pytest.raises(BadCommit):
        CommitReader().feed(body)


def test_a_commit_that_was_cut_short_is_refused() -> None:
    [body] = encode_commit(Commit("id", "unit", "node", (PutRecord("r", "k", b"value"),)))
    with pytest.raises(BadCommit, match="its end is missing"):
        CommitReader().feed(body[:-1])


def test_what_a_newer_version_wrote_is_refused() -> None:
    [body] = encode_commit(Commit("id", "unit", "node", (Own("node"),)))
    with pytest.raises(BadCommit, match="newer"):
        CommitReader().feed(body.replace(b'"own"', b'"new"'))
