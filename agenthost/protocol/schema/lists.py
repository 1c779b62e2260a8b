"""Rules for whole lists, beside what holds for each of their items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from msgspec import Struct

from agenthost.protocol.schema.unions import tags_of


class UniqueBy(Struct, frozen=True):
    """No two items of a list share a known literal under one key.

    ``Annotated[list[Item], UniqueBy("kind")]`` is ``list[Item]`` to the type checker. Kinds that a
    newer peer may know are not counted.
    """

    key: str

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Build the validator: the list's own, and this rule behind it."""
        from pydantic_core import PydanticCustomError, core_schema

        (item_type,) = get_args(source)
        known = frozenset(tags_of(item_type, self.key))

        def check(items: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
            met: set[object] = set()
            for item in items:
                tag = item[self.key]
                if tag in met:
                    expected = f"each {self.key} at most once"
                    raise PydanticCustomError("refused", "refused", {"expected": expected})
                if tag in known:
                    met.add(tag)
            return items

        return core_schema.no_info_after_validator_function(check, handler(source))
