"""What changed in the list of sessions since a number."""

from __future__ import annotations

import pytest

from agenthost.host.channels.session import catalogue
from agenthost.host.channels.session.catalogue import ListNews


def test_sessions_are_new_changed_or_gone_since_a_number() -> None:
    news = ListNews()
    news.changed("old", 3)
    news.added("new", 5)
    news.changed("new", 6)
    news.added("short", 7)
    news.removed("short", 8)
    assert dict(news.new_since(2)) == {"old": False, "new": True}
    assert dict(news.new_since(4)) == {"new": True}
    assert dict(news.new_since(5)) == {"new": False}
    assert dict(news.new_since(6)) == {}
    assert list(news.gone_since(7)) == ["short"]
    assert list(news.gone_since(8)) == []
    news.added("short", 9)
    assert list(news.gone_since(0)) == []


def test_only_the_latest_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "MOST_REMEMBERED", 2)
    news = ListNews()
    for number, name in enumerate(("a", "b", "a", "c"), 1):
        news.changed(name, number)
        news.removed(f"gone {name}", number)
    assert [uri for uri, _ in news.new_since(0)] == ["a", "c"]
    assert len(list(news.gone_since(0))) == 2
