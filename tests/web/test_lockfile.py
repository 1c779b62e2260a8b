"""The page's lock file installs everywhere, the same way, and from any registry."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tools.web import SOURCE

Json = dict[str, Any]

LOCK: Json = json.loads((SOURCE / "package-lock.json").read_text())
PACKAGES: dict[str, Json] = LOCK["packages"]
WANTED: Json = json.loads((SOURCE / "package.json").read_text())
ALONE = {path: package for path, package in PACKAGES.items() if path}


def found_from(place: str, name: str) -> bool:
    """Say whether a package is where Node looks for it, from the place of another upwards."""
    while True:
        if f"{place}/node_modules/{name}".removeprefix("/") in PACKAGES:
            return True
        if not place:
            return False
        place = place.rpartition("/node_modules/")[0] if "/node_modules/" in place else ""


@pytest.mark.parametrize("place", sorted(PACKAGES))
def test_all_that_a_package_needs_is_listed_for_every_system(place: str) -> None:
    # Where a registry lags, npm leaves the binaries of other systems out, and refuses them later.
    package = PACKAGES[place]
    needed = {**package.get("dependencies", {}), **package.get("optionalDependencies", {})}
    missing = [name for name in needed if not found_from(place, name)]
    assert not missing


def test_no_registry_is_named_and_all_contents_are() -> None:
    assert LOCK["lockfileVersion"] == 3
    assert not [path for path, package in ALONE.items() if "resolved" in package]
    assert all(package["integrity"].startswith("sha512-") for package in ALONE.values())


def test_the_versions_are_exact_and_those_of_the_lock() -> None:
    for group in ("dependencies", "devDependencies"):
        assert WANTED[group] == PACKAGES[""][group]
        for name, version in WANTED[group].items():
            assert re.fullmatch(r"\d+\.\d+\.\d+", version), name
            assert PACKAGES[f"node_modules/{name}"]["version"] == version


def test_the_binaries_of_other_systems_are_there() -> None:
    names = " ".join(PACKAGES)
    for system in ("darwin-arm64", "linux-x64-gnu", "linux-x64-musl", "win32-x64"):
        assert re.search(rf"@rolldown/binding-{system}", names), system
        assert re.search(rf"@oxlint/(binding-)?{system}", names), system
