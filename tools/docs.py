"""Builds the documentation site into ``build/site``, with nothing from the network.

``python -m tools.docs``: gathers ``docs/``, the changelog, the examples and pages for the API in
``build/docs``, lets zensical make the site of them, and looks through the result for anything that
a browser would fetch from elsewhere.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.reference import PAGE, reference

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
CONFIG = ROOT / "mkdocs.yml"
GATHERED = ROOT / "build" / "docs"
SITE = ROOT / "build" / "site"

API = ("client", "agents", "host", "testing", "errors")
"""The public packages and modules, a page of the API each."""

STYLE = """\
/* Many tables have no words above their columns; the first column is what one looks for. */
thead:not(:has(th:not(:empty))) { display: none; }
td:first-child code { white-space: nowrap; }
"""
"""What the site adds to the generator's looks."""

_LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)]*)?(\))")
# What a browser fetches by itself, unlike a link that somebody follows.
_FETCHED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\ssrc(?:set)?=[\"']?(https?:)?//[^\s>]*"
    r"|<link\b(?![^>]*rel=[\"']?canonical)[^>]*?\shref=[\"']?(https?:)?//[^\s>]*"
    r"|@import\s+(?:url\()?[\"']?(https?:)?//[^\s)]*|url\([\"']?(https?:)?//[^\s)]*"
)


def gather(into: Path = GATHERED) -> None:
    """Put together all pages of the site, with links that lead inside of it."""
    shutil.rmtree(into, ignore_errors=True)
    shutil.copytree(DOCS, into)
    for page in sorted(into.rglob("*.md")):
        page.write_text(for_the_site(page.read_text(), page.relative_to(into)))
    (into / "changelog.md").write_text(
        for_the_site((ROOT / "CHANGELOG.md").read_text(), Path("../CHANGELOG.md"))
    )
    (into / "site.css").write_text(STYLE)
    (into / "examples").mkdir()
    for folder in examples():
        (into / "examples" / f"{folder.name}.md").write_text(example_page(folder))
    (into / "api").mkdir()
    for name in API:
        (into / "api" / f"{name}.md").write_text(api_page(f"agenthost.{name}"))


def examples() -> list[Path]:
    """Return the folders of the examples."""
    return sorted(readme.parent for readme in (ROOT / "examples").glob("*/README.md"))


def for_the_site(text: str, place: Path) -> str:
    """Return a page as the site needs it, from where it lies below ``docs/``.

    Links to examples and to the changelog lead to their pages here, and a pipe within code in a
    table stands as it is, which GitHub's Markdown would take for the end of a cell.
    """

    def lead(found: re.Match[str]) -> str:
        return f"{found[1]}{_target(found[2], place)}{found[3] or ''}{found[4]}"

    text = _LINK.sub(lead, text)
    return re.sub(r"`[^`\n]*`", lambda code: code[0].replace("\\|", "|"), text)


def _target(link: str, place: Path) -> str:
    up = "../" * (len(place.parts) - 1)
    if place == Path("../CHANGELOG.md"):
        return link.removeprefix("docs/")
    if found := re.fullmatch(r"(?:\.\./)+examples/(\w+)/?", link):
        return f"{up}examples/{found[1]}.md"
    return re.sub(r"^(?:\.\./)+CHANGELOG\.md$", f"{up}changelog.md", link)


def example_page(folder: Path) -> str:
    """Return an example with its code behind its words."""
    page = [(folder / "README.md").read_text().rstrip()]
    for module in sorted(folder.glob("*.py")):
        page.append(f"## {module.name}\n\n```python\n{module.read_text().rstrip()}\n```")
    return "\n\n".join(page) + "\n"


def api_page(module: str) -> str:
    """Return the page of a package: each name that it lists, from its docstrings."""
    found = importlib.import_module(module)
    names = getattr(found, "__all__", None)
    about, block, code = inspect.cleandoc(found.__doc__ or "").partition("::\n\n")
    if block:
        # Two colons begin code in docstrings, in Markdown its indentation does. Where only code
        # follows, formatters have taken that away.
        about += ":\n\n" + (code if code.startswith(" ") else textwrap.indent(code, "    "))
    lines = [f"# {module}", "", about, ""]
    if names is None:
        return "\n".join(
            [*lines, f"::: {module}", "    options:", "      show_root_heading: false"]
        )
    for name in sorted(names, key=str.lower):
        lines += [f"::: {module}.{name}", "    options:", "      heading_level: 2", ""]
    return "\n".join(lines)


def fetched_from_elsewhere(site: Path = SITE) -> Iterator[str]:
    """Yield what the pages of a site would fetch from other places by themselves."""
    for page in sorted([*site.rglob("*.html"), *site.rglob("*.css")]):
        for found in _FETCHED.finditer(page.read_text(errors="replace")):
            yield f"{page.relative_to(site)}: {found[0][:160]}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the site, and say what is wrong with it."""
    argparse.ArgumentParser(prog="python -m tools.docs", description=__doc__).parse_args(arguments)
    if PAGE.read_text() != reference():
        print("docs/reference.md is not what the code says: python -m tools.reference")
        return 1
    gather()
    shutil.rmtree(SITE, ignore_errors=True)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    try:
        subprocess.run([*command, "--config-file", str(CONFIG)], cwd=ROOT, check=True)
    except subprocess.CalledProcessError:
        print("the site was not built: see above")
        return 1
    for problem in (problems := list(fetched_from_elsewhere())):
        print("from elsewhere:", problem)
    pages = sum(1 for _ in SITE.rglob("*.html"))
    print(f"{pages} pages in {SITE.relative_to(ROOT)}; open {SITE / 'index.html'}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
