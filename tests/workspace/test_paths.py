"""Where a path leads, compared with what the kernel opens."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agenthost.workspace import file_path, resolve


@pytest.mark.parametrize(
    "uri",
    ["http://x/y", "file://server/y", "file:///a%00b", "file:a/b", "file:", "file://[", "/a", ""],
)
def test_only_files_of_this_machine_have_a_path(uri: str) -> None:
    assert file_path(uri) is None


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a%20b", "/a b"),
        ("FILE://localhost/a%20b", "/a b"),
        # Once, and no more.
        ("file:///a%252fb", "/a%2fb"),
        ("file:///link%2f..", "/link/.."),
        ("file:///link%2F%2e%2e", "/link/.."),
        ("file:///%ff", os.fsdecode(b"/\xff")),
    ],
)
def test_a_path_is_decoded_once_and_nothing_is_folded(uri: str, path: str) -> None:
    assert str(file_path(uri)) == path


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders, files and links of every kind, two levels below where the kernel may go."""
    base = tmp_path_factory.mktemp("tree").resolve()
    root = base / "root"
    for folder in (root / "d" / "e", base / "out" / "f"):
        folder.mkdir(parents=True)
    (root / "file").write_text("")
    (base / "out" / "file").write_text("")
    links: dict[str, str | Path] = {
        "down": "d/e", "up": "..", "away": base / "out" / "f", "self": ".", "loop": "loop",
        "one": "two", "two": "one", "gone": "missing", "chain": "down",
        "far": base / "missing" / "x", "slash": "d//e/", "tofile": "file",
        "through": "away/../file", "astray": "file/..",
    }  # fmt: skip
    for name, target in links.items():
        (root / name).symlink_to(target)
    (root / "d" / "back").symlink_to("../down/../..")
    return root


NAMES = [
    "..", ".", "", "d", "e", "file", "missing", "root", "out", "f", "down", "up", "away", "self",
    "loop", "one", "gone", "far", "chain", "slash", "tofile", "through", "astray", "back",
    "n" * 300,
]  # fmt: skip


@settings(max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(st.sampled_from(NAMES), max_size=8))
def test_a_path_leads_where_the_kernel_says(tree: Path, names: list[str]) -> None:
    path = f"{tree}/{'/'.join(names)}"
    try:
        number = os.open(path, os.O_PATH)
    except OSError as error:
        opened: str | int | None = error.errno
    else:
        opened = os.readlink(f"/proc/self/fd/{number}")
        os.close(number)
    try:
        led: str | int | None = str(resolve(path))
    except OSError as error:
        led = error.errno
    if opened == errno.ENOENT and isinstance(led, str):
        # What is not there yet has a place, and in it there are no links and no way up.
        assert not os.path.lexists(led)
        assert os.path.normpath(led) == os.path.realpath(led) == led
    elif opened == errno.ENAMETOOLONG and isinstance(led, str):
        assert not os.path.lexists(os.path.dirname(led))
    elif opened == errno.ENOTDIR and isinstance(led, str):
        # The kernel minds `file/` and `file/.`, which name nothing but the file.
        assert names[-1] in ("", ".")
    else:
        assert led == opened


@pytest.mark.parametrize("links", [40, 41])
def test_a_chain_of_links_ends_where_the_kernel_ends_it(tmp_path: Path, links: int) -> None:
    (tmp_path / "0").mkdir()
    for number in range(links):
        (tmp_path / str(number + 1)).symlink_to(str(number))
    last = tmp_path / str(links)
    if links <= 40:
        assert resolve(last) == (tmp_path / "0").resolve()
        assert last.exists()
    else:
        for attempt in (resolve, os.stat):
            with pytest.raises(OSError, match="symbolic link") as caught:
                attempt(last)
            assert caught.value.errno == errno.ELOOP


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("relative/x", errno.EINVAL),
        ("", errno.EINVAL),
        ("/a\0b", errno.EINVAL),
        ("/\ud800", errno.EILSEQ),
        ("/" + "x/" * 5000, errno.ENAMETOOLONG),
        ("/" + "x" * 300, errno.ENAMETOOLONG),
        ("/missing-folder/..", errno.ENOENT),
        ("/etc/passwd/..", errno.ENOTDIR),
    ],
)
def test_hostile_paths_lead_nowhere(path: str, number: int) -> None:
    with pytest.raises(OSError, match=os.strerror(number)) as caught:
        resolve(path)
    assert caught.value.errno == number
    assert len(str(caught.value)) < 500


def test_links_that_go_to_and_fro_are_not_followed_for_long(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    target = "a"
    for number in range(3):
        (tmp_path / f"l{number}").symlink_to("a/../" * 400 + target)
        target = f"l{number}"
    assert os.stat(tmp_path / "l2").st_ino == os.stat(tmp_path / "a").st_ino
    assert resolve(tmp_path / "l0") == tmp_path / "a"
    with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
        resolve(tmp_path / "l2")
