"""The mirror: what shows, what the host confirmed, and how the one becomes the other."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.client.state.mirror import Mirror
from agenthost.errors import RemoteProtocolError
from agenthost.protocol import NEWEST, SUPPORTED_VERSIONS, reduce, translator
from agenthost.protocol.json_edits import same
from agenthost.protocol.versions import Untranslatable, touched_in
from agenthost.protocol.versions.supported import parse_version
from tests.conformance import corpus
from tests.protocol.samples import frozen
from tests.strategies import History, chat_histories, histories, session_histories
from tests.thoroughness import examples

ME, NOW = "me", "2026-01-01T00:00:00.000Z"

Json = dict[str, Any]

SESSION: Json = {
    "provider": "demo",
    "title": "First",
    "status": 1,
    "lifecycle": "ready",
    "activeClients": [],
    "chats": [],
}
CHAT: Json = {
    "resource": "ahp-chat:/1",
    "title": "Chat",
    "status": 8,
    "modifiedAt": NOW,
    "turns": [],
    "activeTurn": {
        "id": "t",
        "startedAt": NOW,
        "message": {"text": "hi", "origin": {"kind": "user"}},
        "responseParts": [{"kind": "markdown", "id": "p", "content": ""}],
    },
}


def titled(title: str) -> Json:
    return {"type": "session/titleChanged", "title": title}


def delta(text: str) -> Json:
    return {"type": "chat/delta", "turnId": "t", "partId": "p", "content": text}


def envelope(
    seq: int,
    action: Json,
    *,
    client: str | None = None,
    client_seq: int = 0,
    reason: str | None = None,
) -> Json:
    made: Json = {"channel": "ahp-session:/1", "action": action, "serverSeq": seq}
    if client is not None:
        made["origin"] = {"clientId": client, "clientSeq": client_seq}
    if reason is not None:
        made["rejectionReason"] = reason
    return made


def session_mirror() -> Mirror:
    return Mirror("session", NEWEST, SESSION, 10, client_id=ME)


def test_a_dispatched_action_shows_at_once_and_is_not_confirmed() -> None:
    mirror = session_mirror()
    mirror.dispatch(1, titled("Mine"), NOW)
    assert mirror.state["title"] == "Mine"
    assert mirror.confirmed is SESSION
    assert mirror.pending == (1,)


def test_the_echo_of_an_action_confirms_it() -> None:
    mirror = session_mirror()
    mirror.dispatch(1, titled("Mine"), NOW)
    received = mirror.receive(envelope(11, titled("Mine"), client=ME, client_seq=1), NOW)
    assert (received.verdict, received.own) == ("applied", True)
    assert mirror.confirmed["title"] == "Mine"
    assert mirror.state is mirror.confirmed
    assert mirror.pending == ()


def test_a_rejection_takes_the_action_back() -> None:
    mirror = session_mirror()
    mirror.dispatch(1, titled("Mine"), NOW)
    answer = envelope(11, titled("Mine"), client=ME, client_seq=1, reason="no")
    assert mirror.receive(answer, NOW).verdict == "rejected"
    assert mirror.state is SESSION
    assert mirror.seq == 11


def test_nobody_applies_the_rejected_action_of_another_client() -> None:
    mirror = session_mirror()
    mirror.dispatch(1, titled("Mine"), NOW)
    received = mirror.receive(
        envelope(11, titled("Theirs"), client="other", client_seq=1, reason="no"), NOW
    )
    assert (received.verdict, received.own) == ("rejected", False)
    assert mirror.confirmed is SESSION
    assert mirror.state["title"] == "Mine"


def test_a_foreign_action_goes_below_what_is_pending() -> None:
    mirror = session_mirror()
    mirror.dispatch(1, titled("Mine"), NOW)
    theirs = {"type": "session/activityChanged", "activity": "working"}
    mirror.receive(envelope(11, theirs), NOW)
    mirror.receive(envelope(12, titled("Theirs"), client="other", client_seq=1), NOW)
    assert mirror.confirmed["title"] == "Theirs"
    assert mirror.state["title"] == "Mine"
    assert mirror.state["activity"] == "working"


def test_the_same_number_of_another_client_answers_nothing_of_ours() -> None:
    mirror = session_mirror()
    mirror.dispatch(1, titled("Mine"), NOW)
    received = mirror.receive(envelope(11, titled("Theirs"), client="other", client_seq=1), NOW)
    assert not received.own
    assert mirror.pending == (1,)


def test_an_echo_of_ours_that_is_not_pending_counts_as_foreign() -> None:
    mirror = session_mirror()
    received = mirror.receive(envelope(11, titled("Earlier"), client=ME, client_seq=7), NOW)
    assert (received.verdict, received.own) == ("applied", False)
    assert mirror.state["title"] == "Earlier"


@pytest.mark.parametrize("seq", [10, 9, 0])
def test_what_the_snapshot_holds_already_is_dropped(seq: int) -> None:
    mirror = session_mirror()
    assert mirror.receive(envelope(seq, titled("Old")), NOW).verdict == "stale"
    assert mirror.state is SESSION
    assert mirror.seq == 10


def test_gaps_in_the_numbers_mean_nothing() -> None:
    mirror = session_mirror()
    mirror.receive(envelope(1_000_000, titled("Later")), NOW)
    assert mirror.receive(envelope(1_000_000, titled("Again")), NOW).verdict == "stale"
    assert mirror.state["title"] == "Later"


def test_answers_may_come_out_of_order() -> None:
    mirror = session_mirror()
    mirror.dispatch(1, titled("One"), NOW)
    mirror.dispatch(2, titled("Two"), NOW)
    mirror.receive(envelope(11, titled("Two"), client=ME, client_seq=2), NOW)
    assert mirror.pending == (1,)
    assert mirror.confirmed["title"] == "Two"
    assert mirror.state["title"] == "One"


def test_a_reset_may_lower_the_numbers_and_forgets_what_was_pending() -> None:
    mirror = session_mirror()
    mirror.dispatch(1, titled("Mine"), NOW)
    mirror.reset({**SESSION, "title": "Fresh"}, 3)
    assert (mirror.seq, mirror.pending, mirror.state["title"]) == (3, (), "Fresh")
    assert mirror.receive(envelope(4, titled("Next")), NOW).verdict == "applied"


def test_pending_actions_can_be_forgotten_one_by_one() -> None:
    mirror = session_mirror()
    for number in (1, 2, 3):
        mirror.dispatch(number, titled(str(number)), NOW)
    assert mirror.forget(3)
    assert not mirror.forget(3)
    assert mirror.state["title"] == "2"
    assert mirror.forget(1)
    assert mirror.forget(2)
    assert (mirror.pending, mirror.state) == ((), SESSION)


def test_an_unknown_action_keeps_its_place_and_changes_nothing() -> None:
    mirror = session_mirror()
    assert mirror.receive(envelope(11, {"type": "session/fromTheFuture"}), NOW).verdict == "applied"
    assert mirror.state is SESSION
    assert mirror.seq == 11


def test_a_state_is_the_same_object_until_something_changes() -> None:
    mirror = session_mirror()
    mirror.dispatch(1, titled("Mine"), NOW)
    shown = mirror.state
    assert mirror.state is shown
    mirror.receive(envelope(11, {"type": "session/unknown"}), NOW)
    assert mirror.state is shown
    assert shown["chats"] is SESSION["chats"], "what does not change is shared"


def test_streamed_text_is_whole_whenever_somebody_looks() -> None:
    mirror = Mirror("chat", NEWEST, frozen(CHAT), 0)
    for seq, word in enumerate(("one ", "two ", "three "), 1):
        mirror.receive(envelope(seq, delta(word)), NOW)
    assert text_of(mirror.state) == "one two three "
    mirror.receive(envelope(4, delta("four ")), NOW)
    mirror.receive(envelope(5, {"type": "chat/activityChanged", "activity": "typing"}), NOW)
    mirror.receive(envelope(6, delta("five")), NOW)
    assert text_of(mirror.state) == "one two three four five"
    assert mirror.state["activity"] == "typing"


def test_a_pending_action_stays_on_top_of_text_that_streams_below_it() -> None:
    mirror = Mirror("chat", NEWEST, CHAT, 0, client_id=ME)
    mirror.receive(envelope(1, delta("one ")), NOW)
    mirror.dispatch(1, {"type": "chat/turnCancelled", "turnId": "t", "duration": 1}, NOW)
    mirror.receive(envelope(2, delta("two")), NOW)
    mirror.receive(envelope(3, delta("!")), NOW)
    assert "activeTurn" not in mirror.state
    assert text_of(mirror.confirmed) == "one two!"
    assert mirror.state["turns"][0]["responseParts"][0]["content"] == "one two!"


def text_of(chat: Json) -> str:
    text: str = chat["activeTurn"]["responseParts"][0]["content"]
    return text


@pytest.mark.parametrize(
    "action",
    [
        {"type": "session/titleChanged"},
        {"type": "session/chatUpdated", "chat": "x", "changes": 7},
        {"type": "session/chatAdded", "summary": "no"},
    ],
)
def test_an_action_that_does_not_fit_asks_for_a_snapshot(action: Json) -> None:
    state = {**SESSION, "chats": [{"resource": "x"}]}
    mirror = Mirror("session", NEWEST, state, 0)
    with pytest.raises(RemoteProtocolError):
        mirror.receive(envelope(1, action), NOW)


# Older hosts


OLDER = SUPPORTED_VERSIONS[1:]


@pytest.mark.parametrize("version", OLDER)
def test_an_action_is_sent_in_the_words_of_the_hosts_version(version: str) -> None:
    message = {"text": "hi", "origin": {"kind": "user"}}
    started = {"type": "chat/turnStarted", "turnId": "t2", "startedAt": NOW, "message": message}
    idle = {key: value for key, value in CHAT.items() if key != "activeTurn"}
    mirror = Mirror("chat", version, translator(version).state_down("chat", idle), 0, client_id=ME)
    told = mirror.dispatch(1, started, NOW)
    assert ("startedAt" in told) == (parse_version(version) >= (0, 6, 0))
    mirror.receive(envelope(1, told, client=ME, client_seq=1), NOW)
    assert mirror.pending == ()
    assert mirror.raw["activeTurn"] == mirror.confirmed["activeTurn"]
    assert mirror.confirmed["activeTurn"]["id"] == "t2"


def test_the_state_of_an_old_host_shows_in_the_newest_form() -> None:
    old = {**SESSION, "workingDirectory": "file:///work"}
    mirror = Mirror("session", "0.6.0", old, 0, client_id=ME)
    assert mirror.state["workingDirectories"] == ["file:///work"]
    assert mirror.raw is old
    mirror.dispatch(1, titled("Mine"), NOW)
    assert mirror.state["title"] == "Mine"
    assert mirror.state["workingDirectories"] == ["file:///work"]


def test_what_an_old_host_cannot_be_told_is_refused_and_leaves_no_trace() -> None:
    mirror = Mirror("session", "0.6.0", SESSION, 0, client_id=ME)
    with pytest.raises(Untranslatable):
        mirror.dispatch(1, {"type": "session/workingDirectorySet", "directory": "file:///x"}, NOW)
    assert mirror.pending == ()
    assert mirror.state == SESSION


def test_an_action_without_effect_here_is_sent_to_an_old_host_all_the_same() -> None:
    mirror = Mirror("session", "0.5.1", SESSION, 0, client_id=ME)
    assert mirror.dispatch(1, titled(SESSION["title"]), NOW) == titled(SESSION["title"])


def test_a_page_of_a_host_without_cursors_goes_in_front() -> None:
    def turn(number: int) -> Json:
        return {
            "id": f"t{number}",
            "message": {"text": "", "origin": {"kind": "user"}},
            "responseParts": [],
            "state": "complete",
        }

    state = {**CHAT, "turns": [turn(5), turn(6)]}
    del state["activeTurn"]
    mirror = Mirror("chat", "0.5.0", state, 0)
    assert mirror.state["turnsNextCursor"] == "t5", "it does not say that there are no older ones"
    mirror.load_page([turn(3), turn(4), turn(5)], has_more=True)
    assert [turn["id"] for turn in mirror.state["turns"]] == ["t3", "t4", "t5", "t6"]
    assert mirror.state["turnsNextCursor"] == "t3"
    mirror.load_page([turn(2)], has_more=False)
    assert "turnsNextCursor" not in mirror.state
    assert [turn["id"] for turn in mirror.state["turns"]] == ["t2", "t3", "t4", "t5", "t6"]


# Published fixtures


FIXTURES = corpus.reducer_fixtures(NEWEST)
EACH_FIXTURE = pytest.mark.parametrize(
    "path", corpus.parameters(FIXTURES, (fixture.stem for fixture in FIXTURES))
)
Record = Callable[[str, object], None]


def expect(state: Any, expected: Any) -> None:
    assert corpus.without_nulls(state) == corpus.without_nulls(expected)


@EACH_FIXTURE
def test_a_fixture_holds_with_every_action_pending_then_confirmed(
    path: corpus.Fixture, record_property: Record
) -> None:
    fixture = corpus.read_reducer_fixture(path)
    mirror = Mirror(fixture.kind, NEWEST, frozen(fixture.initial), 0, client_id=ME)
    for number, action in enumerate(fixture.actions, 1):
        mirror.dispatch(number, frozen(action), corpus.CLOCK)
    expect(mirror.state, fixture.expected)
    expect(mirror.confirmed, fixture.initial)
    for number, action in enumerate(fixture.actions, 1):
        answer = envelope(number, frozen(action), client=ME, client_seq=number)
        mirror.receive(answer, corpus.CLOCK)
        expect(mirror.state, fixture.expected)
    expect(mirror.confirmed, fixture.expected)
    assert mirror.pending == ()
    record_property(*corpus.ran(NEWEST, "reducers through a mirror"))


@EACH_FIXTURE
def test_a_fixture_holds_with_every_action_pending_then_rejected(path: corpus.Fixture) -> None:
    fixture = corpus.read_reducer_fixture(path)
    mirror = Mirror(fixture.kind, NEWEST, frozen(fixture.initial), 0, client_id=ME)
    for number, action in enumerate(fixture.actions, 1):
        mirror.dispatch(number, frozen(action), corpus.CLOCK)
    for number, action in enumerate(fixture.actions, 1):
        answer = envelope(number, frozen(action), client=ME, client_seq=number, reason="no")
        mirror.receive(answer, corpus.CLOCK)
    expect(mirror.state, fixture.initial)
    assert mirror.state is mirror.confirmed


@EACH_FIXTURE
def test_a_fixture_holds_with_every_action_foreign(path: corpus.Fixture) -> None:
    fixture = corpus.read_reducer_fixture(path)
    mirror = Mirror(fixture.kind, NEWEST, frozen(fixture.initial), 0, client_id=ME)
    for number, action in enumerate(fixture.actions, 1):
        mirror.receive(envelope(number, frozen(action)), corpus.CLOCK)
    expect(mirror.state, fixture.expected)


# Properties


MODEST = examples(150)


class Model:
    """The algorithm of the specification, word for word and without any cache."""

    def __init__(self, kind: str, state: Any, seq: int) -> None:
        self.kind, self.confirmed, self.seq = kind, state, seq
        self.pending: list[tuple[int, Json]] = []

    def receive(self, envelope: Json) -> None:
        if envelope["serverSeq"] <= self.seq:
            return
        self.seq = envelope["serverSeq"]
        origin = envelope.get("origin", {})
        if origin.get("clientId") == ME:
            self.pending = [mine for mine in self.pending if mine[0] != origin["clientSeq"]]
        if "rejectionReason" not in envelope:
            self.confirmed = reduce(self.kind, self.confirmed, envelope["action"], now=NOW)

    @property
    def state(self) -> Any:
        state = self.confirmed
        for _, action in self.pending:
            state = reduce(self.kind, state, action, now=NOW)
        return state


# What becomes of each action of a history, and whether somebody looks at the state then.
FATES = st.lists(
    st.tuples(
        st.sampled_from(["host", "other", "stale", "mine", "mine", "refused", "theirs refused"]),
        st.booleans(),
        st.integers(0, 3),
    ),
    min_size=40,
    max_size=40,
)


@MODEST
@given(chat_histories() | session_histories(), FATES)
def test_a_mirror_holds_what_the_plain_algorithm_would(
    history: History, fates: list[tuple[str, bool, int]]
) -> None:
    mirror = Mirror(history.kind, NEWEST, frozen(history.initial), 5, client_id=ME)
    model = Model(history.kind, history.initial, 5)
    seq, unanswered = 5, list[tuple[int, Json, bool]]()

    def answer_oldest() -> None:
        nonlocal seq
        seq += 1
        number, action, refused = unanswered.pop(0)
        reason = "no" if refused else None
        both(envelope(seq, action, client=ME, client_seq=number, reason=reason))

    def both(sent: Json) -> None:
        mirror.receive(frozen(sent), NOW)
        model.receive(sent)

    for number, (action, (fate, looks, answers)) in enumerate(
        zip(history.actions, fates, strict=False), 1
    ):
        seq += 1
        if fate in ("mine", "refused"):
            mirror.dispatch(number, frozen(action), NOW)
            model.pending.append((number, action))
            unanswered.append((number, action, fate == "refused"))
        else:
            sent_seq = 5 if fate == "stale" else seq
            client = None if fate == "host" else "other"
            reason = "no" if fate == "theirs refused" else None
            both(envelope(sent_seq, action, client=client, client_seq=number, reason=reason))
        if looks:
            assert same(mirror.state, model.state)
            assert same(mirror.confirmed, model.confirmed)
        for _ in range(min(answers, len(unanswered))):
            answer_oldest()
    assert mirror.pending == tuple(number for number, _ in model.pending)
    assert same(mirror.state, model.state)
    while unanswered:
        answer_oldest()
    assert same(mirror.state, model.confirmed)
    assert mirror.state is mirror.confirmed


@MODEST
@given(histories(), st.sampled_from(OLDER))
def test_what_shows_of_an_old_host_is_its_state_translated_whole(
    history: History, version: str
) -> None:
    ladder = translator(version)
    mirror = Mirror(history.kind, version, ladder.state_down(history.kind, history.initial), 0)
    before = history.initial
    for number, action in enumerate(history.actions, 1):
        after = reduce(history.kind, before, action, now=NOW)
        for sent in ladder.action_down(history.kind, before, action, after):
            mirror.receive(envelope(number, sent), NOW)
        assert mirror.state == ladder.state_up(history.kind, mirror.raw)
        before = after


@MODEST
@given(chat_histories() | session_histories(), st.randoms(use_true_random=False))
def test_what_is_pending_shows_right_on_whatever_others_do(
    history: History, random: Random
) -> None:
    mirror = Mirror(history.kind, NEWEST, frozen(history.initial), 0, client_id=ME)
    model = Model(history.kind, history.initial, 0)
    for number, action in enumerate(history.actions, 1):
        # Pending are only those of whom it is known what they touch: others run anew each time.
        if touched_in(NEWEST, action["type"]) is not None and random.random() < 0.7:
            mirror.dispatch(number, frozen(action), NOW)
            model.pending.append((number, action))
        else:
            sent = envelope(number, action)
            mirror.receive(frozen(sent), NOW)
            model.receive(sent)
        if random.random() < 0.7:
            assert same(mirror.state, model.state)
    assert same(mirror.state, model.state)


QUESTION: Json = {"id": "q", "kind": "text", "message": "?"}
REQUEST: Json = {"id": "r", "message": "Who?", "questions": [QUESTION]}
TURN: Json = {**CHAT["activeTurn"], "usage": {"inputTokens": 1}}
TURN["responseParts"] = [*TURN["responseParts"], {"kind": "inputRequest", "request": REQUEST}]
ASKING: Json = {**CHAT, "activeTurn": TURN}


def answered(number: int) -> Json:
    answer = {"state": "draft", "value": {"kind": "text", "value": str(number)}}
    asked = {"requestId": "r", "questionId": "q", "answer": answer}
    return {"type": "chat/inputAnswerChanged", **asked}


def drafted(number: int) -> Json:
    message = {"text": str(number), "origin": {"kind": "user"}}
    return {"type": "chat/draftChanged", "draft": message}


def used(number: int) -> Json:
    return {"type": "chat/usage", "turnId": "t", "usage": {"inputTokens": number}}


@pytest.mark.parametrize("own", [answered, drafted])
@pytest.mark.parametrize("theirs", [lambda number: delta(str(number)), used])
def test_what_is_pending_does_not_run_anew_for_what_it_does_not_touch(
    own: Callable[[int], Json], theirs: Callable[[int], Json], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def counted(kind: str, state: Any, action: Json, **others: Any) -> Any:
        ran.append(action["type"])
        return reduce(kind, state, action, **others)

    monkeypatch.setattr("agenthost.client.state.mirror.reduce", counted)
    mirror = Mirror("chat", NEWEST, frozen(ASKING), 0, client_id=ME)
    for number in range(50):
        mirror.dispatch(number, own(number), NOW)
    expected = mirror.state
    ran.clear()
    for number in range(1, 101):
        mirror.receive(envelope(number, theirs(number)), NOW)
        expected = reduce("chat", expected, theirs(number), now=NOW)
        assert same(mirror.state, expected)
    assert len(ran) <= 200
