"""The pages hang together: links lead somewhere, and the reference is what the code says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from agenthost.agents.ahp import spec
from agenthost.agents.loader import UnknownAgent, configured_specs
from tools.reference import FAR_HOST_KEYS, PAGE, TOML_KEYS, reference

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")


def without_code(text: str) -> str:
    """Return a page without fenced blocks and code in lines, where nothing is a link."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


@cache
def anchors(page: Path) -> set[str]:
    """Return what can stand behind a `#` for a page: its headings, as the generators name them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path) -> Iterator[str]:
    """Yield the links of a page that lead nowhere; what lies elsewhere is not asked for."""
    for found in LINK.finditer(without_code(page.read_text())):
        link = found[1] or found[2]
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_link_of_a_page_leads_nowhere(page: Path) -> None:
    assert list(broken(page)) == []


def test_a_link_that_leads_nowhere_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("# One thing\n")
    page = tmp_path / "a.md"
    page.write_text('[x](b.md#one-thing) [y](b.md#two) `[z](c.md)`\n<img src="d.svg">\n')
    assert list(broken(page)) == ["b.md#two", "d.svg"]


def test_the_reference_is_what_the_code_says() -> None:
    assert PAGE.read_text() == reference(), "python -m tools.reference"


def test_the_reference_depends_on_the_code_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    made = reference()
    for name in ("AGENTHOST_URL", "AGENTHOST_DATA_DIR", "XDG_DATA_HOME", "COLUMNS", "LANG"):
        monkeypatch.setenv(name, "7")
    assert reference() == made


def test_the_configuration_file_may_say_what_the_reference_says(tmp_path: Path) -> None:
    file = tmp_path / "agenthost.toml"
    file.write_text('agents = ["llm"]\n')
    assert (configured_specs(file), list(TOML_KEYS)) == (["llm"], ["agents"])
    file.write_text("port = 1\n")
    with pytest.raises(UnknownAgent, match="there is only 'agents'"):
        configured_specs(file)
    assert tuple(FAR_HOST_KEYS) == spec._SETTINGS


def test_troubleshooting_quotes_what_is_really_said() -> None:
    # Said by a shell, the system and a library.
    by_others = {
        "agenthost: command not found",
        "port 8765: Address already in use",
        "certificate verify failed",
    }
    rows = re.findall(
        r"^\| (.*?) \|", (ROOT / "docs" / "troubleshooting.md").read_text(), re.MULTILINE
    )
    quoted = {text for row in rows for text in re.findall(r"`([^`]+)`", row) if " " in text}
    quoted = {text for text in quoted if not text.startswith("--")} - by_others
    sources = "".join(path.read_text() for path in (ROOT / "agenthost").rglob("*.py"))
    assert (sorted(text for text in quoted if text not in sources), len(quoted) > 5) == ([], True)
