"""What is released: built from this tree, complete, and at work where nothing else is installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.web.browsing import page_required
from tools.dist import IN_WHEEL, Wrong, check_names, main, needed
from tools.web import ROOT

# Imports the hook as a builder does, and has it build a tree.
HOOK = """
import sys
from pathlib import Path
from hatch_build import PageBuildHook

tree = Path(sys.argv[1])
PageBuildHook(str(tree), {}, None, None, str(tree), "wheel").initialize(sys.argv[2], {})
"""


@page_required
def test_the_wheel_of_the_source_archive_serves_its_page_and_answers_in_a_bare_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Without Node, without the network, and without anything that is not asked for.
    code = main(["--offline", "--into", str(tmp_path)])
    said = capsys.readouterr()
    assert code == 0, said.err
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".gz", ".whl"]


@pytest.mark.parametrize(
    "names",
    [
        [name for name in IN_WHEEL if "static" not in name],
        [*IN_WHEEL, "web/node_modules/vite/package.json"],
        [*IN_WHEEL, "tests/test_dist.py"],
    ],
    ids=["without the page", "with packages of npm", "with tests"],
)
def test_an_archive_that_lacks_something_or_holds_too_much_is_not_released(
    names: list[str],
) -> None:
    with pytest.raises(Wrong):
        check_names(names, IN_WHEEL)


def test_a_bare_environment_lacks_what_only_extras_ask_for() -> None:
    lent = needed(["agenthost", "orjson; extra == 'none'"])
    assert {"agenthost", "pydantic", "websockets"} <= lent.keys()
    assert not {"orjson; extra", "mcp", "pytest", "pydantic-ai-slim"} & lent.keys()


@pytest.mark.parametrize(("version", "built"), [("standard", True), ("editable", False)])
def test_the_page_is_built_for_an_archive_but_not_for_an_editable_install(
    tmp_path: Path, version: str, built: bool
) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "web.py").write_text("open('../built', 'w')")
    shutil.copy(ROOT / "hatch_build.py", tmp_path)
    command = [sys.executable, "-c", HOOK, str(tmp_path), version]
    subprocess.run(command, cwd=tmp_path / "tools", env={"PYTHONPATH": str(tmp_path)}, check=True)
    assert (tmp_path / "built").exists() is built
