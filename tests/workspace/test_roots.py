"""Nothing outside of the roots is reached, whatever is asked for and whoever swaps links."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agenthost.workspace.paths import file_path
from agenthost.workspace.roots import OutsideRoots, Roots

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="walks need Linux")


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root, what is outside of it, and links of every kind between them."""
    top = tmp_path_factory.mktemp("top").resolve()
    root, out = top / "root", top / "out"
    for folder in (root / "d" / "e", out / "d", root / "data"):
        folder.mkdir(parents=True)
    (root / "d" / "f").write_text("inside")
    (root / "data" / "token").write_text("TOKEN")
    for secret in (out / "f", out / "d" / "f"):
        secret.write_text("SECRET")
    links: dict[str, str | Path] = {
        "abs": out / "d", "rel": "../out/d", "ok": "d", "loop": "loop", "one": "two", "two": "one",
        "env": "/proc/self/environ", "gone": "missing", "lost": "../out/missing", "up": "..",
        "tofile": "d/f", "totoken": "data/token", "round": "../root/d", "self": ".",
    }  # fmt: skip
    for name, target in links.items():
        (root / name).symlink_to(target)
    (out / "back").symlink_to(root)
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        # Its address may be no longer than this allows.
        here = os.getcwd()
        os.chdir(root)
        listening.bind("socket")
        os.chdir(here)
    return top


@pytest.fixture
def roots(top: Path) -> Iterator[Roots]:
    roots = Roots([top / "root"], [top / "root" / "data"])
    yield roots
    roots.close()


def read(roots: Roots, path: str | Path) -> str:
    with roots.walk(path) as place, open(place.open(), encoding="utf-8") as file:
        return file.read()


@pytest.mark.parametrize(
    "path",
    ["d/f", "ok/f", "d/../d/f", "tofile", "self/self/d/f", "../root/d/f", "round/f", "up/root/d/f",
     "../out/back/d/f", "./d//f", "d/e/../../d/f"],
)  # fmt: skip
def test_what_is_inside_is_reached_by_every_way_that_leads_there(
    top: Path, roots: Roots, path: str
) -> None:
    with roots.walk(f"{top}/root/{path}") as place:
        assert place.real == top / "root" / "d" / "f"
        assert place.name == "f"
        assert os.path.samestat(os.fstat(place.folder), os.stat(top / "root" / "d"))
    assert read(roots, f"{top}/root/{path}") == "inside"


@pytest.mark.parametrize(
    "path",
    ["abs/f", "rel/f", "../out/f", "ok/../../out/f", "env", "data/token", "data/missing", "data",
     "totoken", "../missing", "lost", "..", "../../../../../../etc/passwd", "up", "up/missing/x",
     "abs/../missing", "\0", "\ud800", "a/../" * 1000, "../" + "x" * 5000,
     "abs", "up/out/f/../x"],
)  # fmt: skip
def test_what_is_outside_is_one_answer_whether_it_is_there_or_not(
    top: Path, roots: Roots, path: str
) -> None:
    with pytest.raises(OutsideRoots) as caught:
        roots.walk(f"{top}/root/{path}")
    # The words of the one who asked, and nothing that was found.
    assert "SECRET" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_relative_path_leads_nowhere(roots: Roots) -> None:
    for path in ("", "d/f", "."):
        with pytest.raises(OutsideRoots):
            roots.walk(path)


@pytest.mark.parametrize(
    ("uri", "reached"),
    [("%2e%2e/out/f", False), ("..%2fout%2ff", False), ("d%2ff", True), ("abs%2ff", False),
     ("%64/f", True), ("d/%2e%2e/d/f", True), ("%252e%252e/out/f", None)],
)  # fmt: skip
def test_percent_encoding_opens_no_other_way(
    top: Path, roots: Roots, uri: str, reached: bool | None
) -> None:
    path = file_path(f"file://{top}/root/{uri}")
    assert path is not None
    if reached:
        assert read(roots, path) == "inside"
    else:
        with pytest.raises(OutsideRoots if reached is False else FileNotFoundError):
            roots.walk(path)


def test_inside_the_kernel_says_what_is_wrong(top: Path, roots: Roots) -> None:
    root = top / "root"
    for path in ("loop", "one"):
        with pytest.raises(OSError, match="symbolic link"):
            roots.walk(root / path)
    for path in ("missing/x", "missing/.."):
        with pytest.raises(FileNotFoundError):
            roots.walk(f"{root}/{path}")
    for path in ("d/f/x", "d/f/.."):
        with pytest.raises(NotADirectoryError):
            roots.walk(f"{root}/{path}")
    with pytest.raises(OSError, match="too long"):
        roots.walk(root / ("n" * 300))


def test_a_missing_last_name_has_a_place(top: Path, roots: Roots) -> None:
    for path in ("missing", "gone", "d/../missing"):
        with roots.walk(f"{top}/root/{path}") as place:
            assert (place.real, place.name, place.leaf) == (top / "root/missing", "missing", None)
            with pytest.raises(FileNotFoundError):
                place.open()


def test_a_link_is_itself_where_it_is_not_followed(top: Path, roots: Roots) -> None:
    with roots.walk(top / "root" / "abs", follow=False) as place:
        assert place.real == top / "root" / "abs"
        with pytest.raises(OSError, match="Invalid"):
            place.open()
    with pytest.raises(OutsideRoots):
        roots.walk(top / "root" / "abs" / "f", follow=False)


@pytest.mark.parametrize("name", ["fifo", "socket"])
def test_what_is_neither_file_nor_folder_is_never_opened(
    top: Path, roots: Roots, name: str
) -> None:
    with roots.walk(top / "root" / name) as place, pytest.raises(OSError, match="Invalid"):
        place.open()


@pytest.mark.parametrize(
    "path",
    ["/proc/self/environ", "/proc/self/root/proc/self/mem", "/sys",
     "/sys/kernel", "/proc"],
)  # fmt: skip
def test_the_machine_itself_is_in_nobodys_folder(path: str) -> None:
    with pytest.raises(OutsideRoots):
        Roots(["/"]).walk(path)


def test_the_root_itself_is_reached_but_not_the_folder_that_holds_it(
    top: Path, roots: Roots
) -> None:
    for path in ("root", "root/d/..", "root/self"):
        with roots.walk(f"{top}/{path}") as place:
            assert place.is_root
            with pytest.raises(OutsideRoots):
                _ = place.folder
    with roots.walk(f"{top}/root/d/e/..") as place:
        assert not place.is_root
        assert os.path.samestat(os.fstat(place.folder), os.stat(top / "root"))


def test_what_is_denied_stays_so_when_it_is_replaced_linked_or_made_later(tmp_path: Path) -> None:
    token, later = tmp_path / "token", tmp_path / "later"
    token.write_text("1")
    roots = Roots([tmp_path], [token, later])
    os.link(token, tmp_path / "hard")
    (tmp_path / "new").write_text("2")
    os.replace(tmp_path / "new", token)
    later.write_text("3")
    for path in ("token", "hard", "later", "later/x"):
        with pytest.raises(OutsideRoots):
            roots.walk(tmp_path / path)
    with pytest.raises(OutsideRoots):
        roots.walk(later / "a" / "b", make_folders=True)
    assert roots.holds_denied((tmp_path.stat().st_dev, tmp_path.stat().st_ino))


def test_a_root_counts_as_soon_as_it_is_there_and_when_it_is_made_anew(tmp_path: Path) -> None:
    root = tmp_path / "root"
    roots = Roots([root])
    with pytest.raises(OutsideRoots):
        roots.walk(root)
    for _ in range(2):
        root.mkdir()
        roots.walk(root).close()
        shutil.rmtree(root)
    roots.close()
    root.mkdir()
    with pytest.raises(OutsideRoots):
        roots.walk(root)


def test_a_root_that_leads_out_of_the_outer_roots_does_not_count(tmp_path: Path) -> None:
    for name in ("outer/work", "elsewhere/deep"):
        (tmp_path / name).mkdir(parents=True)
    outer = Roots([tmp_path / "outer"])
    inner = Roots([tmp_path / "outer/work", tmp_path / "elsewhere"], within=outer)
    inner.walk(tmp_path / "outer/work/x").close()
    for path in ("elsewhere", "outer", "outer/x"):
        with pytest.raises(OutsideRoots):
            inner.walk(tmp_path / path)
    (tmp_path / "outer/work").rmdir()
    (tmp_path / "outer/work").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutsideRoots):
        Roots([tmp_path / "outer/work"], within=outer).walk(tmp_path / "elsewhere/deep")


def test_folders_are_made_inside_only(top: Path, roots: Roots) -> None:
    made = top / "root" / "made" / "deep"
    with roots.walk(made, make_folders=True) as place:
        assert place.leaf is not None
    assert made.is_dir()
    for path in ("root/abs/made", "root/up/made/x", "made"):
        with pytest.raises(OutsideRoots):
            roots.walk(top / path, make_folders=True)
    assert not (top / "made").exists()
    assert not (top / "out" / "d" / "made").exists()


def test_no_walk_leaves_a_descriptor_behind_and_deep_paths_need_few(
    top: Path, roots: Roots
) -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    deep = top / "root" / Path(*["n"] * 900)
    roots.walk(deep, make_folders=True).close()
    before = descriptors()
    with roots.walk(deep):
        assert descriptors() <= before + 2
    for path in ("d/f", "abs/f", "loop", "missing", "missing/x", "ok/../d/..", "data", "self/gone"):
        for follow in (True, False):
            with contextlib.suppress(OSError, OutsideRoots):
                roots.walk(f"{top}/root/{path}", follow=follow).close()
    assert descriptors() == before


def test_a_place_that_nobody_waits_for_any_more_holds_no_descriptors(
    top: Path, roots: Roots
) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        roots.walk(top / "root" / "d" / "f")
    assert len(os.listdir("/proc/self/fd")) == before


def test_roots_that_nobody_needs_any_more_hold_no_descriptors(top: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        Roots([top / "root"], [top / "root" / "data"]).walk(top / "root").close()
    assert len(os.listdir("/proc/self/fd")) == before


NAMES = ["..", ".", "", "d", "e", "f", "missing", "root", "out", "abs", "rel", "ok", "loop", "up",
         "gone", "lost", "tofile", "round", "self", "back", "data", "token"]  # fmt: skip


@settings(max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(st.sampled_from(NAMES), max_size=8))
def test_a_walk_ends_where_the_kernel_would_or_not_at_all(
    top: Path, roots: Roots, names: list[str]
) -> None:
    path = f"{top}/root/{'/'.join(names)}"
    try:
        place = roots.walk(path)
    except (OSError, OutsideRoots):
        return
    with place:
        inside = top / "root"
        assert place.real.is_relative_to(inside)
        assert not place.real.is_relative_to(inside / "data")
        if place.leaf is not None and names and names[-1] not in ("", "."):
            assert os.path.samestat(os.fstat(place.leaf), os.stat(path))


# Swaps a folder and a file for links to the outside and back, as fast as it can.
RACER = """
import os, sys
top = sys.argv[1]
root = top + "/root"
os.symlink(top + "/out/d", top + "/link1"); os.symlink(top + "/out/f", top + "/link2")
print("ready", flush=True)
while True:
    for name, link in (("d", "link1"), ("x", "link2")):
        os.rename(f"{root}/{name}", f"{top}/hold"); os.rename(f"{top}/{link}", f"{root}/{name}")
        os.rename(f"{root}/{name}", f"{top}/{link}"); os.rename(f"{top}/hold", f"{root}/{name}")
"""


def test_a_link_that_is_swapped_in_between_shows_nothing_outside(tmp_path: Path) -> None:
    top = tmp_path.resolve()
    for name, text in (("root/d/f", "inside"), ("root/x", "inside"), ("out/d/f", "SECRET")):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    (top / "out" / "f").write_text("SECRET")
    roots = Roots([top / "root"])
    racer = subprocess.Popen(
        [sys.executable, "-c", RACER, str(top)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert racer.stdout is not None
        racer.stdout.readline()
        seen: dict[str, int] = {}
        # As long as it takes to have met both states of the race often.
        while seen.get("inside", 0) < 1000 or seen.get("outside", 0) < 50:
            for name in ("d/f", "x"):
                try:
                    answer = read(roots, top / "root" / name)
                except OutsideRoots:
                    answer = "outside"
                except FileNotFoundError:
                    answer = "missing"
                seen[answer] = seen.get(answer, 0) + 1
    finally:
        racer.kill()
        racer.communicate()
    assert set(seen) <= {"inside", "outside", "missing"}


def test_links_that_go_to_and_fro_are_not_walked_for_long(top: Path, roots: Roots) -> None:
    target = "d"
    for number in range(3):
        (top / "root" / f"l{number}").symlink_to("d/../" * 400 + target)
        target = f"l{number}"
    assert read(roots, top / "root" / "l0" / "f") == "inside"
    with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
        roots.walk(top / "root" / "l2")
