"""Optional dependencies: whether they are installed, and what to say when they are not.

Everything that imports pydantic-ai at its top is imported only after ``require_pydantic_ai``.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
from types import ModuleType

from agenthost.agents.api import AgentError


def how_to_install(extra: str) -> str:
    """Return how to install an extra, of the package or of a checkout."""
    return f"pip install 'agenthost[{extra}]', or in a checkout pip install '.[{extra}]'"


NO_PYDANTIC_AI = f"pydantic-ai is not installed: {how_to_install('llm')}"


def has_pydantic_ai() -> bool:
    """Return whether pydantic-ai can be imported, without importing it."""
    return importlib.util.find_spec("pydantic_ai") is not None


def require_pydantic_ai() -> None:
    """Raise an AgentError that says what to install, unless it is installed."""
    if not has_pydantic_ai():
        raise AgentError(NO_PYDANTIC_AI, "missingExtra")


async def load_with_pydantic_ai(module: str) -> ModuleType:
    """Import a module that needs pydantic-ai, in a thread: that takes about a second at first."""
    require_pydantic_ai()
    return await asyncio.to_thread(importlib.import_module, module)
