"""Dataclasses that cost next to nothing until one is made.

``dataclass`` is the standard library's, which writes and compiles the methods of each class while
its module is imported: half a millisecond a class, and most classes are not used by most commands.
Here the class stands at once, with its slots, and the library adds its methods when the first of
them is called. From then on it is the library's own work, at the library's own speed.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

__all__ = ["complete_dataclasses", "dataclass"]

# What the library adds to a class. Each stands for all until one of them is used.
_METHODS = ("__init__", "__repr__", "__eq__")
_FROZEN = ("__hash__", "__setattr__", "__delattr__", "__getstate__", "__setstate__")
_FACTS = ("__dataclass_fields__", "__dataclass_params__")
# Annotations that make no field, or one of an unusual kind.
_UNUSUAL = ("ClassVar", "InitVar", "KW_ONLY")

_NO = dataclasses.MISSING

# The library changes the class it is given, so that two threads must not hand it the same one.
_completing = threading.RLock()
# What completes each class that was not used yet, by module and name.
_waiting: dict[tuple[str, str], Callable[[], None]] = {}


def complete_dataclasses() -> None:
    """Have the library do now what is left to do, so that nobody waits for it later."""
    for complete in list(_waiting.values()):
        complete()


def _quick(cls: type | None = None, /, **options: bool) -> Any:
    """Make a class a dataclass, late where that is the same; options are the library's."""
    if cls is None:
        return lambda decorated: _quick(decorated, **options)
    return _late(cls, options) if _is_plain(cls, options) else _library(cls, options)


def _is_plain(cls: type, options: dict[str, bool]) -> bool:
    """Whether what the library will make of a class is known without asking it."""
    body = cls.__dict__
    annotations: dict[str, Any] = body.get("__annotations__", {})
    defaults = (body.get(name) for name in annotations)
    return (
        cls.__bases__ == (object,)
        and bool(annotations)
        and options.get("slots", False)
        and options.keys() <= {"frozen", "slots"}
        and not any(word in str(kind) for kind in annotations.values() for word in _UNUSUAL)
        and not any(
            isinstance(default, dataclasses.Field) and not (default.init and default.kw_only is _NO)
            for default in defaults
        )
        and not any(name in body for name in (*_METHODS, *_FROZEN, "__slots__", "__match_args__"))
    )


def _library(cls: type, options: dict[str, bool]) -> Any:
    return dataclasses.dataclass(**options)(cls)


def _late(cls: type, options: dict[str, bool]) -> type:
    fields = tuple(cls.__annotations__)
    frozen = options.get("frozen", False)
    stand_ins = (*_METHODS, *(_FROZEN if frozen else ()))
    body = {
        name: value
        for name, value in cls.__dict__.items()
        # A slot and a default of the same name do not go together; the library keeps the default.
        if name not in fields and name not in ("__dict__", "__weakref__")
    }
    key = cls.__module__, cls.__qualname__
    made = False

    def complete() -> None:
        nonlocal made
        with _completing:
            if made:
                return
            complete_class = _library(cls, options)
            for name in (*stand_ins, *_FACTS):
                if name in complete_class.__dict__:
                    setattr(late, name, complete_class.__dict__[name])
                else:
                    delattr(late, name)
            made = True
            _waiting.pop(key, None)

    body |= {name: _stand_in(name, complete) for name in stand_ins}
    body |= {name: _Fact(name, complete) for name in _FACTS}
    if not frozen:
        # What compares by value and changes has no hash.
        body["__hash__"] = None
    late = type(cls)(
        cls.__name__, (object,), {**body, "__slots__": fields, "__match_args__": fields}
    )
    late.__qualname__ = cls.__qualname__
    _waiting[key] = complete
    return late


def _stand_in(name: str, complete: Callable[[], None]) -> Callable[..., Any]:
    """Return a method that has the class completed and hands over to the method of its name."""

    def stand_in(self: Any, *args: Any, **kwargs: Any) -> Any:
        complete()
        return getattr(type(self), name)(self, *args, **kwargs)

    return stand_in


class _Fact:
    """A class attribute of the library's that is worked out when somebody looks at it."""

    def __init__(self, name: str, complete: Callable[[], None]) -> None:
        self._name = name
        self._complete = complete

    def __get__(self, _: object, owner: type) -> Any:
        self._complete()
        return getattr(owner, self._name)


if TYPE_CHECKING:
    # Checkers know what this one does.
    from dataclasses import dataclass
else:
    dataclass = _quick
