"""Files of a published plugin: asked for once, bounded, kept by nonce as long as there is room."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.customizations import UnreadableCustomization
from agenthost.errors import NotFound
from agenthost.host.customizations.client_tree import (
    MOST_PLUGINS_KEPT,
    ClientTree,
    KeptFiles,
    PluginCache,
)

Json = dict[str, Any]


class Answering:
    """A client with one folder of two files, which counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, method: str, uri: str) -> Json:
        self.asked.append(f"{method} {uri}")
        if method == "resourceList" and uri == "v://p/a%20b":
            return {"entries": [{"name": "x", "type": "file"}, {"name": "d", "type": "directory"}]}
        if method == "resourceRead" and uri == "v://p/a%20b/x":
            return {"data": "text", "encoding": "utf-8"}
        raise NotFound(f"nobody here knows {uri}")


async def test_what_was_read_is_not_asked_for_again() -> None:
    client, kept = Answering(), KeptFiles()
    for _ in range(2):
        tree = ClientTree(client, "v://p", kept)
        assert await tree.list("a b") == [("x", False), ("d", True)]
        assert await tree.below("a b").read("x", 100) == b"text"
        with pytest.raises(NotFound):
            await tree.read("gone", 100)
    assert client.asked == [
        "resourceList v://p/a%20b",
        "resourceRead v://p/a%20b/x",
        "resourceRead v://p/gone",
        # It may be there by now.
        "resourceRead v://p/gone",
    ]


async def test_what_is_too_long_is_refused_and_not_kept() -> None:
    kept = KeptFiles()
    with pytest.raises(UnreadableCustomization):
        await ClientTree(Answering(), "v://p", kept).read("a b/x", 3)
    assert kept.size == 0


async def test_why_a_plugin_is_not_there_is_told() -> None:
    with pytest.raises(UnreadableCustomization, match="nobody here knows v://p"):
        await ClientTree(Answering(), "v://p").list("")


def test_only_the_same_of_the_same_person_is_known_and_the_oldest_goes() -> None:
    cache = PluginCache()
    first = cache.of("ann", "v://p", "n1")
    assert cache.of("ann", "v://p", "n1") is first
    assert cache.of("bob", "v://p", "n1") is not first
    assert cache.of("ann", "v://p", "n2") is not first
    assert cache.of("ann", "v://p", None) is not cache.of("ann", "v://p", None)
    for number in range(2 * MOST_PLUGINS_KEPT):
        cache.of("ann", "v://p", f"again {number}")
    assert len(cache) == MOST_PLUGINS_KEPT


def test_all_together_keep_no_more_than_they_may_and_the_largest_pays() -> None:
    """Also those that nobody finds again, which sessions read by."""
    cache = PluginCache(most=10_000)
    small = cache.of("ann", "v://small", "n")
    small.keep_file("v://small/x", b"x" * 1_000)
    large = [cache.of("eve", f"v://{number}", None) for number in range(5)]
    for number in range(50):
        large[number % 5].keep_file(f"v://{number}", b"x" * 1_500)
        assert cache.size <= 10_000
    assert small.files
    del large
    assert cache.size == small.size


async def test_what_was_let_go_of_is_asked_for_again() -> None:
    client, cache = Answering(), PluginCache(most=10)
    tree = ClientTree(client, "v://p", cache.of("ann", "v://p", "n"))
    for _ in range(2):
        assert await tree.read("a b/x", 100) == b"text"
    assert len(client.asked) == 2


def test_one_plugin_keeps_no_more_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agenthost.host.customizations.client_tree.MOST_KEPT", 2_000)
    kept = KeptFiles()
    kept.keep_file("a", b"x" * 1_000)
    kept.keep_file("b", b"x" * 1_000)
    kept.keep_list("c", [("n", False)] * 2_000)
    assert (list(kept.files), list(kept.lists)) == (["a"], [])
