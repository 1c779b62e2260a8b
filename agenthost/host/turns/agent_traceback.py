"""How an agent failed, for whoever writes it: its traceback, without secrets and of some length.

Begins with the agent's own code, for what of the host called it says nothing. Where the agent calls
libraries, or the host again, those lines stay.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import agenthost
from agenthost.agents.sanitize import valid_text
from agenthost.host.trust.redaction import redact

LONGEST: Final = 8 * 1024
"""Bytes of a traceback; of a longer one the middle is left out."""

_CUT: Final = "\n…\n"
_PACKAGE: Final = Path(agenthost.__file__).parent
# What calls agents.
_MACHINERY: Final = (
    f"{_PACKAGE / 'host'}/",
    f"{_PACKAGE / 'agents' / 'reloading.py'}",
    f"{Path(asyncio.__file__).parent}/",
)

log = logging.getLogger(__name__)


def agent_traceback(error: BaseException, mask: Callable[[str], str] = str) -> str:
    """Return the traceback of an agent's failure, as it may be shown in a chat.

    ``mask`` takes out what the caller alone knows to be secret.
    """
    try:
        told = traceback.TracebackException.from_exception(error, compact=True)
        for each in _chain(told):
            _begin_with_agent(each.stack)
        text = "".join(told.format())
    except Exception:
        # Classes of an agent's own need not behave, and the turn must end.
        log.warning("an agent's traceback cannot be made", exc_info=True)
        return ""
    return _shortened(redact(mask(valid_text(text))).rstrip())


def _chain(told: traceback.TracebackException) -> Iterator[traceback.TracebackException]:
    """Yield an error, what it came of, and what it is a group of."""
    waiting = [told]
    while waiting:
        each = waiting.pop()
        yield each
        more = (each.__cause__, each.__context__, *(each.exceptions or ()))
        waiting += [other for other in more if other is not None]


def _begin_with_agent(stack: traceback.StackSummary) -> None:
    """Drop the frames before the agent's first; all stay where there is none of its own."""
    for index, frame in enumerate(stack):
        if not frame.filename.startswith(_MACHINERY):
            del stack[:index]
            return


def _shortened(text: str) -> str:
    data = text.encode()
    if len(data) <= LONGEST:
        return text
    # Its beginning is where the agent went wrong, its end is what that led to.
    half = (LONGEST - len(_CUT.encode())) // 2
    return data[:half].decode(errors="ignore") + _CUT + data[-half:].decode(errors="ignore")
