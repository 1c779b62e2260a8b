"""The scalars of the wire: whole and finite numbers, non-empty strings, channel URIs.

Each is an ordinary ``int``, ``float`` or ``str`` to the type checker, annotated with a rule that
validation enforces at the edge. The rules know nothing of objects and unions (``unions`` does) nor
of how a refusal is worded for a peer (``validation`` does). The validation library is imported
only when a validator is built, so importing the wire types stays cheap.
"""

import math
from typing import Annotated, Any, ClassVar, TypeAlias

from msgspec import Struct

from agenthost.protocol.uris import AUTOMATIONS, ROOT, is_automations, is_root

# Sequence numbers are 64-bit on the wire, and encoders and stores share that limit.
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


class Rule(Struct, frozen=True):
    """A condition on one JSON value; subclasses say which values pass and what these are called."""

    words: ClassVar[str] = "a value"
    # The least that passes, of numbers.
    minimum: int | None = None

    @property
    def expected(self) -> str:
        """Name what passes, in words that fit after "expected"."""
        return self.words if self.minimum is None else f"{self.words} of at least {self.minimum}"

    def accepts(self, value: object) -> bool:
        """Say whether the value passes."""
        return True

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Build the validator for this rule; it replaces the one of the annotated type."""
        from pydantic_core import PydanticCustomError, core_schema

        def check(value: object) -> object:
            if not self.accepts(value):
                raise PydanticCustomError("refused", "refused", {"expected": self.expected})
            return value

        return core_schema.no_info_plain_validator_function(check)


class Whole(Rule, frozen=True):
    """A 64-bit integer, optionally not below a minimum."""

    words = "a whole number"

    def accepts(self, value: object) -> bool:
        """Say whether the value is such an integer; booleans and fractions are not."""
        if not isinstance(value, int) or isinstance(value, bool):
            return False
        return (_SMALLEST if self.minimum is None else self.minimum) <= value <= _LARGEST


class Finite(Rule, frozen=True):
    """A number that JSON can carry, optionally not below a minimum."""

    words = "a number"

    def accepts(self, value: object) -> bool:
        """Say whether the value is such a number; booleans, NaN and infinities are not."""
        if isinstance(value, float):
            return math.isfinite(value) and (self.minimum is None or value >= self.minimum)
        return Whole(self.minimum).accepts(value)


class NonEmpty(Rule, frozen=True):
    """A string of at least one character."""

    words = "a non-empty string"

    def accepts(self, value: object) -> bool:
        """Say whether the value is a string with content."""
        return isinstance(value, str) and value != ""


class OpenWord(Rule, frozen=True):
    """Any string, though the type names those that mean something in this version.

    ``Annotated[Literal["a", "b"], OpenWord()]`` is ``Literal["a", "b"]`` to the type checker. What
    a newer peer says instead is kept, and counts for nothing where its meaning would be needed.
    """

    words = "a string"

    def accepts(self, value: object) -> bool:
        """Say whether the value is a string."""
        return isinstance(value, str)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Build the validator: the library's own for strings, which is quicker."""
        from pydantic_core import core_schema

        return core_schema.str_schema()


class RootSpelling(Rule, frozen=True):
    """The root channel's URI, in any spelling met in the field."""

    words = f'"{ROOT}"'

    def accepts(self, value: object) -> bool:
        """Say whether the value names the root channel."""
        return isinstance(value, str) and is_root(value)


class CatalogueSpelling(Rule, frozen=True):
    """The URI of the catalogue of automations, in any spelling met in the field."""

    words = f'"{AUTOMATIONS}"'

    def accepts(self, value: object) -> bool:
        """Say whether the value names the catalogue of automations."""
        return isinstance(value, str) and is_automations(value)


class Primitive(Rule, frozen=True):
    """A string, a number, a boolean or null."""

    words = "a string, a number, a boolean or null"

    def accepts(self, value: object) -> bool:
        """Say whether the value is a JSON primitive."""
        return value is None or isinstance(value, str | bool) or Finite().accepts(value)


class Unchecked(Rule, frozen=True):
    """Any JSON value: it is checked elsewhere."""


URI: TypeAlias = str
Integer: TypeAlias = Annotated[int, Whole()]
Count: TypeAlias = Annotated[int, Whole(minimum=0)]
Positive: TypeAlias = Annotated[int, Whole(minimum=1)]
Number: TypeAlias = Annotated[float, Finite()]
NonNegative: TypeAlias = Annotated[float, Finite(minimum=0)]
NonEmptyString: TypeAlias = Annotated[str, NonEmpty()]
Channel: TypeAlias = Annotated[str, NonEmpty()]
RootChannel: TypeAlias = Annotated[str, RootSpelling()]
CatalogueChannel: TypeAlias = Annotated[str, CatalogueSpelling()]
JsonPrimitive: TypeAlias = Annotated[str | float | bool | None, Primitive()]
