from __future__ import annotations

from agenthost.host.trust.failed_tokens import FailedTokens


def fail(failed_tokens: FailedTokens, peer: str, times: int, now: float) -> list[int]:
    return [failed_tokens.failed(peer, now) for _ in range(times)]


def test_a_few_failures_are_forgiven_and_the_next_means_a_pause() -> None:
    failed_tokens = FailedTokens(failures=3, window=60, pause=30)
    assert fail(failed_tokens, "10.0.0.1", 5, now=0.0) == [0, 0, 0, 30, 30]


def test_the_pause_shrinks_and_ends_and_does_not_grow_by_trying() -> None:
    failed_tokens = FailedTokens(failures=3, window=60, pause=30)
    fail(failed_tokens, "10.0.0.1", 4, now=0.0)
    assert failed_tokens.failed("10.0.0.1", 10.5) == 20
    assert failed_tokens.failed("10.0.0.1", 29.9) == 1
    assert fail(failed_tokens, "10.0.0.1", 4, now=30.0) == [0, 0, 0, 30]


def test_failures_far_apart_never_add_up() -> None:
    failed_tokens = FailedTokens(failures=3, window=60, pause=30)
    assert all(failed_tokens.failed("10.0.0.1", number * 30.0) == 0 for number in range(100))


def test_one_peers_failures_are_not_anothers() -> None:
    failed_tokens = FailedTokens(failures=3)
    fail(failed_tokens, "10.0.0.1", 10, now=0.0)
    assert failed_tokens.failed("10.0.0.2", 0.0) == 0


def test_success_wipes_the_slate() -> None:
    failed_tokens = FailedTokens(failures=3)
    fail(failed_tokens, "10.0.0.1", 10, now=0.0)
    failed_tokens.succeeded("10.0.0.1")
    failed_tokens.succeeded("never-seen")
    assert failed_tokens.failed("10.0.0.1", 0.0) == 0
    assert len(failed_tokens) == 1


def test_memory_is_bounded_and_the_busiest_peer_is_remembered() -> None:
    failed_tokens = FailedTokens(failures=3, peers=10)
    fail(failed_tokens, "10.0.0.1", 4, now=0.0)
    for number in range(1_000):
        failed_tokens.failed(f"peer-{number}", 1.0)
        assert failed_tokens.failed("10.0.0.1", 1.0) > 0
    assert len(failed_tokens) == 10
