"""The documentation site: all pages are gathered, and nothing is fetched from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.test_docs_pages import broken
from tools.docs import API, CONFIG, api_page, examples, fetched_from_elsewhere, for_the_site, gather
from tools.pictures import MOST_BYTES, PICTURES, SIZES


@pytest.fixture(scope="module")
def gathered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("site") / "docs"
    gather(into)
    return into


def test_every_link_leads_somewhere_inside_of_the_site(gathered: Path) -> None:
    pages = sorted(gathered.rglob("*.md"))
    found = {page.relative_to(gathered).as_posix(): list(broken(page)) for page in pages}
    assert {page: links for page, links in found.items() if links} == {}
    outside = [
        page for page in pages if re.search(r"\]\((\.\./)*examples/\w+/\)", page.read_text())
    ]
    assert outside == []


def test_the_menu_names_every_page_but_decisions_and_examples(gathered: Path) -> None:
    named = set(re.findall(r"[\w/-]+\.md", str(yaml.safe_load(CONFIG.read_text())["nav"])))
    there = {page.relative_to(gathered).as_posix() for page in gathered.rglob("*.md")}
    assert named <= there
    rest = {page.partition("/")[0] for page in there - named}
    assert rest == {"decisions", "examples"}


def test_each_example_is_shown_with_its_code(gathered: Path) -> None:
    pages = [gathered / "examples" / f"{folder.name}.md" for folder in examples()]
    assert len(pages) > 5
    assert all("```python\n" in page.read_text() for page in pages)
    assert all(page.stem in (gathered / "examples.md").read_text() for page in pages)


@pytest.mark.parametrize("name", API)
def test_the_api_has_every_name_that_a_package_lists(name: str) -> None:
    page = api_page(f"agenthost.{name}")
    assert page.startswith(f"# agenthost.{name}\n\n")
    assert "\n::: agenthost." in page
    if name == "client":
        assert "\n::: agenthost.client.connect\n" in page
    if name == "testing":
        assert "\n\n    from agenthost.testing import run_turn\n" in page


def test_links_and_pipes_are_made_fit_for_the_site() -> None:
    text = "[a](../examples/team/) [b](../CHANGELOG.md) [c](mcp.md#x) | `on\\|off` |"
    made = "[a](examples/team.md) [b](changelog.md) [c](mcp.md#x) | `on|off` |"
    assert for_the_site(text, Path("page.md")) == made


@pytest.mark.parametrize(
    "page",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<img alt="" src="//example.org/x.png">',
        '<link rel="stylesheet" href="https://fonts.example/css">',
        '<style>@import "https://fonts.example/css";</style>',
    ],
)
def test_what_a_browser_would_fetch_from_elsewhere_is_noticed(page: str, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(page)
    (tmp_path / "b.html").write_text('<a href="https://example.org">x</a> <img src="x.png">')
    assert len(list(fetched_from_elsewhere(tmp_path))) == 1


@pytest.mark.parametrize("picture", sorted(PICTURES.glob("*.svg")), ids=lambda path: path.name)
def test_pictures_of_the_terminal_are_small_and_need_nothing_else(picture: Path) -> None:
    drawn = picture.read_text()
    assert len(drawn.encode()) <= MOST_BYTES
    assert re.findall(r"url\([\"']?(?!#)|@import|<image|<script|tkn=", drawn) == []


def test_there_is_a_picture_of_each_size_for_dark_and_light_pages() -> None:
    wanted = {f"{size.name}{light}.svg" for size in SIZES for light in ("", "-light")}
    assert {path.name for path in PICTURES.glob("*.svg")} == wanted
