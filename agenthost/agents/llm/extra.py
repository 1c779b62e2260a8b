"""The optional dependency: whether pydantic-ai is here, and what to say when it is not.

Everything that imports pydantic-ai at its top is imported only after ``require_extra``.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
from types import ModuleType
from typing import Final

from agenthost.agents.api import AgentError
from agenthost.agents.extras import how_to_install

INSTALL_HINT: Final = f"pydantic-ai is not installed: {how_to_install('llm')}"


def has_extra() -> bool:
    """Say whether pydantic-ai can be imported, without importing it."""
    return importlib.util.find_spec("pydantic_ai") is not None


def require_extra() -> None:
    """Raise an AgentError that says what to install, unless it is installed."""
    if not has_extra():
        raise AgentError(INSTALL_HINT, "missingExtra")


async def load(module: str) -> ModuleType:
    """Import a module that needs pydantic-ai, in a thread: that takes about a second at first."""
    require_extra()
    return await asyncio.to_thread(importlib.import_module, module)
