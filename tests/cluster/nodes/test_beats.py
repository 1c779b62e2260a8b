"""Who lives, by what is heard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agenthost.cluster.nodes import beats
from agenthost.cluster.nodes.beats import NodeNameTaken, Nodes
from agenthost.cluster.nodes.node_info import NodeInfo
from agenthost.cluster.nodes.node_name import BadNodeName, check_node_name, own_name
from tests.cluster.nodes.plain_subjects import PlainSubjects, SubjectsLink


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BEAT_SECONDS", "DEATH_SECONDS", "_COUNTED_SECONDS", "_CERTAIN_SECONDS"):
        monkeypatch.setattr(beats, name, getattr(beats, name) / 20)


class Machine:
    """A node that tells what the test says."""

    def __init__(self, subjects: PlainSubjects, name: str, process: str = "1") -> None:
        self.link: SubjectsLink = subjects.link()
        self.info = NodeInfo(name, process=process, started=float(process))
        self.nodes = Nodes(self.link, lambda: self.info)  # type: ignore[arg-type]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def test_nodes_find_each_other_whoever_came_first() -> None:
    subjects = PlainSubjects()
    a, b = Machine(subjects, "a"), Machine(subjects, "b")
    async with a.nodes:
        await a.nodes.look_around()
        assert set(a.nodes.living) == {"a"}
        async with b.nodes:
            await b.nodes.look_around()
            assert set(b.nodes.living) == {"a", "b"}
            await until(lambda: set(a.nodes.living) == {"a", "b"})


async def test_a_node_that_falls_silent_dies_and_one_that_leaves_is_gone_at_once() -> None:
    subjects = PlainSubjects()
    a, b, c = (Machine(subjects, name) for name in "abc")
    gone: list[str] = []
    a.nodes.on_death(lambda info: gone.append(info.id))
    async with a.nodes, b.nodes:
        async with c.nodes:
            await until(lambda: set(a.nodes.living) == {"a", "b", "c"})
        assert gone == ["c"]
        b.link.is_cut = True
        await until(lambda: gone == ["c", "b"])
        b.link.is_cut = False
        await until(lambda: "b" in a.nodes.living)


async def test_who_does_not_hear_itself_holds_nobody_for_dead() -> None:
    subjects = PlainSubjects()
    a, b = Machine(subjects, "a"), Machine(subjects, "b")
    async with a.nodes, b.nodes:
        await until(lambda: "b" in a.nodes.living and "a" in b.nodes.living)
        a.link.is_cut = True
        await until(lambda: "a" not in b.nodes.living)
        assert not a.nodes.is_certain
        assert "b" in a.nodes.living
        a.link.is_cut = False
        await until(lambda: a.nodes.is_certain and "a" in b.nodes.living)
        assert "b" in a.nodes.living


async def test_beats_are_small_and_the_rest_is_told_when_it_changes() -> None:
    subjects = PlainSubjects()
    a, b = Machine(subjects, "a"), Machine(subjects, "b")
    async with a.nodes, b.nodes:
        await until(lambda: "b" in a.nodes.living)
        await until(lambda: b.link.sent[-6:] == ["beat"] * 6)
        b.info = replace(b.info, turns=4)
        await until(lambda: a.nodes.living["b"].turns == 4)
        told = b.link.sent.count("node.info")
        b.info = replace(b.info, labels={"zone": "x"})
        await until(lambda: a.nodes.living["b"].labels == {"zone": "x"})
        assert b.link.sent.count("node.info") == told + 1


async def test_a_node_started_again_under_its_name_dies_first() -> None:
    subjects = PlainSubjects()
    a, first, second = (
        Machine(subjects, "a"),
        Machine(subjects, "b", "1"),
        Machine(subjects, "b", "2"),
    )
    gone: list[str] = []
    a.nodes.on_death(lambda info: gone.append(info.process))
    async with a.nodes, first.nodes:
        await until(lambda: "b" in a.nodes.living)
        first.link.is_cut = True
        async with second.nodes:
            await until(lambda: "b" in a.nodes.living and a.nodes.living["b"].process == "2")
            assert gone == ["1"]


async def test_two_nodes_of_one_name_are_one_too_many() -> None:
    subjects = PlainSubjects()
    first, second = Machine(subjects, "a", "1"), Machine(subjects, "a", "2")
    async with first.nodes:
        await first.nodes.look_around()
        async with second.nodes:
            with pytest.raises(NodeNameTaken, match="--node"):
                await second.nodes.look_around()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"id": 1, "revision": 1}',
        b'{"id": "b"}',
        b'{"id": "b.*", "revision": 1}',
        b'{"id": "b", "revision": 1, "agents": [1]}',
        b'{"id": "b", "revision": 1, "turns": "x"}',
        b'{"id": "b", "revision": 1, "roots": [1]}',
        b"\xff" * 2000,
    ],
)
async def test_what_is_no_node_s_word_is_no_news(body: bytes) -> None:
    subjects = PlainSubjects()
    a, hostile = Machine(subjects, "a"), subjects.link()
    async with a.nodes:
        await a.nodes.look_around()
        for subject in ("beat", "node.info", "node.ask", "node.leave"):
            await hostile.publish(subject, body)
        assert set(a.nodes.living) == {"a"}


async def test_made_up_nodes_do_not_fill_the_memory() -> None:
    subjects = PlainSubjects()
    a, hostile = Machine(subjects, "a"), subjects.link()
    async with a.nodes:
        await a.nodes.look_around()
        for number in range(2000):
            await hostile.publish("node.info", NodeInfo(f"n{number}").encode(1))
        assert len(a.nodes.living) < 1000


@pytest.mark.parametrize("name", ["", "a.b", "a b", "*", "x" * 49, "ä"])
def test_a_name_that_subjects_cannot_hold_is_refused(name: str) -> None:
    with pytest.raises(BadNodeName, match="letters"):
        check_node_name(name)


def test_a_machine_that_was_given_no_name_keeps_the_one_it_got(tmp_path: Path) -> None:
    first = own_name(tmp_path / "one")
    assert check_node_name(first) == first == own_name(tmp_path / "one")
    assert own_name(tmp_path / "two") != first
