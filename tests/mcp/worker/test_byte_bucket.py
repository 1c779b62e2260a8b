"""A rate of bytes, on a clock of the test's."""

from __future__ import annotations

from agenthost.mcp.worker.byte_bucket import ByteBucket


def test_what_comes_faster_than_the_rate_waits() -> None:
    now = 0.0
    bucket = ByteBucket(100, lambda: now)
    assert bucket.take(100) == 0
    assert bucket.take(50) == 0.5
    now = 0.5
    assert bucket.take(0) == 0
    now = 10.0
    # What was not used in time is not saved up for ever.
    assert bucket.take(100) == 0
    assert bucket.take(100) == 1.0
