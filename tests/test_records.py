"""Dataclasses of ours are the standard library's in every respect but when they are made."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from agenthost.records import complete_dataclasses, dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """A point."""

    x: int
    y: int = 0
    labels: list[str] = dataclasses.field(default_factory=list, compare=False)

    def moved(self, x: int) -> Point:
        return dataclasses.replace(self, x=self.x + x)


@dataclass(slots=True)
class Tally:
    """A count."""

    count: int = 0

    def __post_init__(self) -> None:
        self.count += 1


@dataclass(frozen=True, slots=True)
class Special:
    """Has what is no field, and one that nobody can give."""

    kind: ClassVar[str] = "special"
    given: int
    made: int = dataclasses.field(default=3, init=False)


@dataclass(frozen=True, slots=True)
class Far(Point):
    """A point with one more field."""

    distance: int = 7


# What may be the first thing that is done with a class, and what comes of it.
FIRST_USES: dict[str, Callable[[Any], object]] = {
    "make": lambda cls: (cls(1).x, cls(1).y, cls(1, y=5).y, cls(1).labels),
    "show": lambda cls: repr(cls(1)).rpartition(".")[2],
    "compare": lambda cls: (cls(1) == cls(1), cls(1) == cls(2), cls(1) == (1, 0), cls(1) != cls(1)),
    "hash": lambda cls: {cls(1), cls(1)} == {cls(1)},
    "fields": lambda cls: [(f.name, f.type, f.compare) for f in dataclasses.fields(cls)],
    "is one": dataclasses.is_dataclass,
    "as dict": lambda cls: dataclasses.asdict(cls(1)),
    "replace": lambda cls: dataclasses.replace(cls(1), y=4).y,
    "match": lambda cls: cls.__match_args__,
    "slots": lambda cls: (cls.__slots__, hasattr(cls(1), "__dict__")),
    "names": lambda cls: (cls.__name__, cls.__module__, cls.__doc__),
    "copy": lambda cls: copy.deepcopy(cls(1, 2)).y,
    "subclass": lambda cls: [f.name for f in dataclasses.fields(type("Sub", (cls,), {}))],
    "too few": lambda cls: refusal(lambda: cls()),
    "change": lambda cls: refusal(lambda: setattr(cls(1), "x", 2)),
    "remove": lambda cls: refusal(lambda: delattr(cls(1), "x")),
    "signature": lambda cls: (cls(1), str(inspect.signature(cls)))[1],
}


def refusal(do: Callable[[], object]) -> object:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        do()
    return type(caught.value), str(caught.value).rpartition(".")[2]


def defined(decorate: Any) -> Any:
    """Define the same class anew, so that nothing was done with it before."""

    @decorate(frozen=True, slots=True)
    class Fresh:
        """A point."""

        x: int
        y: int = 0
        labels: list[str] = dataclasses.field(default_factory=list, compare=False)

    return Fresh


@pytest.mark.parametrize("use", FIRST_USES.values(), ids=FIRST_USES)
def test_whatever_is_done_first_comes_out_as_with_the_library(
    use: Callable[[Any], object],
) -> None:
    assert use(defined(dataclass)) == use(defined(dataclasses.dataclass))


def test_the_library_works_when_a_class_is_used_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    library = dataclasses.dataclass

    def counting(**options: Any) -> Any:
        asked.append(options)
        return library(**options)

    monkeypatch.setattr(dataclasses, "dataclass", counting)
    cls = defined(dataclass)
    assert asked == []
    assert cls(1) == cls(1)
    assert repr(cls(2))
    assert asked == [{"frozen": True, "slots": True}]


def test_what_is_left_can_be_done_before_somebody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    cls = defined(dataclass)
    complete_dataclasses()
    monkeypatch.setattr(dataclasses, "dataclass", None)
    assert cls(1) == cls(1)


def test_methods_and_copies_work() -> None:
    assert Point(1, 2).moved(3) == Point(4, 2)
    assert pickle.loads(pickle.dumps(Point(1, 2, ["a"]))).labels == ["a"]
    match Point(5, 6):
        case Point(x, y):
            assert (x, y) == (5, 6)


def test_what_changes_has_no_hash_and_is_prepared_after_it_is_made() -> None:
    tally = Tally(4)
    tally.count += 1
    assert tally == Tally(5)
    with pytest.raises(TypeError, match="unhashable"):
        hash(tally)


def test_unusual_classes_are_the_librarys_at_once() -> None:
    assert (Special(1).made, Special.kind, Special.__match_args__) == (3, "special", ("given",))
    assert Far(1, distance=2) == Far(1, 0, [], 2)
    assert [field.name for field in dataclasses.fields(Far)] == ["x", "y", "labels", "distance"]


def test_two_threads_may_be_the_first() -> None:
    for _ in range(20):
        cls = defined(dataclass)
        barrier = threading.Barrier(4)
        made: list[Any] = []

        def work(cls: Any = cls, barrier: threading.Barrier = barrier, made: Any = made) -> None:
            barrier.wait(10)
            made.append(cls(1, y=2))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert made == [cls(1, 2)] * 4
