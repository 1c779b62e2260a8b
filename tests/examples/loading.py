"""Loads a module of an example, as `agenthost serve --agent` does in its folder."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(example: str, module: str = "agent") -> ModuleType:
    """Return a module of an example; each has modules of the same names."""
    path = EXAMPLES / example / f"{module}.py"
    name = f"examples_{example}_{module}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    # Dataclasses look for it there.
    sys.modules[name] = loaded
    spec.loader.exec_module(loaded)
    return loaded
