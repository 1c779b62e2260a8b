"""The protocol core: exact, pure, and in every version. No I/O, no clock, no randomness."""

from typing import TYPE_CHECKING, Any

__all__ = ["NEWEST", "SUPPORTED_VERSIONS", "negotiate", "reduce", "translator"]

if TYPE_CHECKING:
    from agenthost.protocol.versions import (
        NEWEST,
        SUPPORTED_VERSIONS,
        negotiate,
        reduce,
        translator,
    )
else:

    def __getattr__(name: str) -> Any:
        # Late, because many need one small module of the protocol and not every version of it.
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from agenthost.protocol import versions

        return getattr(versions, name)
