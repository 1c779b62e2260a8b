"""Names of changesets, and which a session offers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.channels.changeset.catalogue import (
    ChangesetName,
    Offer,
    chat_entries,
    read_name,
    session_entries,
)

S = "ahp-session:/s"


@given(st.lists(st.text(min_size=1).filter(lambda t: "{" not in t), min_size=2, max_size=2))
def test_a_name_is_read_as_it_was_written(turns: list[str]) -> None:
    # Half of a surrogate pair cannot be said in a URI.
    turns = [turn.encode(errors="replace").decode() for turn in turns]
    name = ChangesetName(S, "compare", tuple(turns))
    assert read_name(name.uri) == name
    assert name.uri.count("/") == S.count("/") + 4


@pytest.mark.parametrize(
    "uri",
    [
        S,
        f"{S}/changeset",
        f"{S}/changeset/",
        f"{S}/changeset/nothing",
        f"{S}/changeset/turn/",
        f"{S}/changeset/turn/%7B" + "x{",
        f"{S}/changeset/turn/{{turnId}}",
        f"{S}/changeset/session/",
        f"{S}/changeset/session/changeset/session",
        "/changeset/session",
    ],
)
def test_what_is_no_name_is_read_as_none(uri: str) -> None:
    assert read_name(uri) is None


@pytest.mark.parametrize(
    ("offer", "kinds"),
    [
        (Offer(has_git=True, is_used=False, base="main"), ["uncommitted"]),
        (Offer(has_git=False, is_used=False), []),
        (Offer(has_git=False), ["session", "turn"]),
        (Offer(has_git=True), ["session", "uncommitted", "turn", "compare-turns"]),
        (
            Offer(has_git=True, branch="x", base="main"),
            ["branch", "session", "uncommitted", "turn", "compare-turns"],
        ),
    ],
)
def test_a_session_offers_what_there_is_to_compare(offer: Offer, kinds: list[str]) -> None:
    entries = session_entries(S, offer)
    assert [entry["changeKind"] for entry in entries] == kinds
    reviewable = {entry["changeKind"] for entry in entries if "capabilities" in entry}
    assert reviewable == set(kinds) & {"branch", "uncommitted", "session"}
    assert all("capabilities" not in entry for entry in chat_entries("ahp-chat:/c", offer))


def test_a_detached_head_is_compared_by_that_name() -> None:
    (entry, *_) = session_entries(S, Offer(has_git=True, base="main"))
    assert entry["description"] == "HEAD → main"
