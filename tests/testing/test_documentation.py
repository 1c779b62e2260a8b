"""docs/testing-an-agent.md: its examples run as printed, and it names all that there is."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

from agenthost import testing

PAGE = (Path(__file__).parents[2] / "docs" / "testing-an-agent.md").read_text()


def test_its_examples_run_as_printed() -> None:
    names: dict[str, Any] = {"__name__": "testing_an_agent"}
    for block in re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        exec(compile(block, "testing-an-agent.md", "exec"), names)
    tests = [name for name in names if name.startswith("test_")]
    assert len(tests) == 2
    for name in tests:
        names[name]()


def test_it_names_all_that_tests_see() -> None:
    seen = [*dataclasses.fields(testing.SeenTurn), *dataclasses.fields(testing.SeenCall)]
    for name in [field.name for field in seen] + ["succeeded", "error"]:
        assert f"`{name}`" in PAGE, name
    for name in ("Unanswered", "DECLINE", "talk", "run_turn"):
        assert f"`{name}`" in PAGE, name
