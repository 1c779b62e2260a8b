"""A tiny generator library: a generator is a function from a source of randomness to a value.

Simulations choose evenly among what is possible, many times in a row, which property-based drawing
neither does nor is fast at. The seed is what a property test draws; see ``tests.strategies``.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

__all__ = ["Gen", "Json", "Random", "ending", "every", "few", "generate", "node", "one_of"]

Json = dict[str, Any]
Gen = Callable[[Random], Any]


def generate(random: Random, value: Any) -> Any:
    """Return what a generator gives, or a constant as it is."""
    return value(random) if callable(value) else value


def one_of(*values: Any) -> Gen:
    """Generate one of some values or of what some generators give, evenly."""
    return lambda random: generate(random, random.choice(values))


def every(*generators: Gen) -> Gen:
    """Generate lists of what each generator gives, in order."""
    return lambda random: [generator(random) for generator in generators]


def few(generator: Gen, at_most: int = 2, unique_by: str | None = None) -> Gen:
    """Generate short lists, of items with different values of a member if it is named."""

    def generate_list(random: Random) -> list[Any]:
        items = [generator(random) for _ in range(random.randint(0, at_most))]
        return (
            items if unique_by is None else list({item[unique_by]: item for item in items}.values())
        )

    return generate_list


def ending(items: Gen, *last: Gen) -> Gen:
    """Generate what one generator gives, which is a list, with some more at the end."""
    return lambda random: [*items(random), *(generator(random) for generator in last)]


def node(required: Json, **optional: Any) -> Gen:
    """Generate objects: what must be there, and each of what may be there half of the time."""

    def generate_node(random: Random) -> Json:
        members = {key: generate(random, value) for key, value in required.items()}
        for key, value in optional.items():
            if random.random() < 0.5:
                members[key] = generate(random, value)
        return members

    return generate_node
