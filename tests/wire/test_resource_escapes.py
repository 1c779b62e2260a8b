"""Nothing outside of the roots is read, listed, written or named, whatever URI asks for it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.host import Host
from tests.wire.client import WireClient, WireFailure, open_client

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="walks need Linux")

SECRET = "the safe's combination"
DENIED, MISSING, INVALID = -32009, -32008, -32602
TEXT: dict[str, Any] = {"data": "changed", "encoding": "utf-8"}


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A root, a folder beside it with a secret, and links of all sorts from one to the other."""
    top = tmp_path.resolve()
    for folder in ("root/d", "root/deep/er", "out/d", "rootless"):
        (top / folder).mkdir(parents=True)
    (top / "root" / "d" / "f").write_text("inside")
    (top / "out" / "secret").write_text(SECRET)
    (top / "out" / "d" / "f").write_text(SECRET)
    (top / "rootless" / "secret").write_text(SECRET)
    links: dict[str, str | Path] = {
        "abs": top / "out", "rel": "../out", "chain": "abs/d", "up": "..", "slash": "/",
        "proc": "/proc/self", "root-of": "/proc/self/root", "cwd": "/proc/self/cwd",
        "deep/er/far": "../../../out",
    }  # fmt: skip
    for name, target in links.items():
        (top / "root" / name).symlink_to(target)
    return top


def everything(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path): path.read_text() for path in files}


async def refusals(client: WireClient, uri: str, inside: str) -> set[int]:
    """Ask for a URI in every way there is; return the codes of the refusals."""
    attempts: list[tuple[str, dict[str, Any]]] = [
        ("resourceRead", {"uri": uri}),
        ("resourceRead", {"uri": uri, "encoding": "base64"}),
        ("resourceList", {"uri": uri}),
        ("resourceResolve", {"uri": uri}),
        ("resourceRequest", {"uri": uri, "read": True}),
        ("resourceWrite", {"uri": uri, **TEXT}),
        ("resourceWrite", {"uri": uri, "mode": "append", **TEXT}),
        ("resourceWrite", {"uri": uri, "createOnly": True, **TEXT}),
        ("resourceMkdir", {"uri": uri}),
        ("resourceDelete", {"uri": uri + "/secret", "recursive": True}),
        ("resourceCopy", {"source": uri, "destination": inside + "/copied"}),
        ("resourceMove", {"source": uri + "/secret", "destination": inside + "/moved"}),
        ("resourceCopy", {"source": inside + "/d", "destination": uri + "/copied"}),
        ("resourceMove", {"source": inside + "/d", "destination": uri + "/moved"}),
    ]
    return {(await client.refusal(method, **params)).code for method, params in attempts}


OUTSIDE = [
    "{root}/../out",
    "{root}/d/../../out",
    "{root}/%2e%2e/out",
    "{root}/%2E./out",
    "{root}/.%2e%2fout",
    "{root}%2f..%2fout",
    "{root}/d/%2e%2e/%2e%2e/out",
    "{root}//..//out",
    "{root}/abs",
    "{root}/rel",
    "{root}/chain",
    "{root}/deep/er/far",
    "{root}/abs/../out",
    "{root}/up/out",
    "{root}/slash{top}/out",
    "{root}/root-of{top}/out",
    "{root}/proc/root{top}/out",
    "{root}/proc",
    "{root}/cwd",
    "{root}less",
    "file:///proc/self/root{top}/out",
    "file:///proc/self/fd",
    "file:////{top}/out",
    "file://localhost{top}/out",
    "file:{top}/out",
    "FILE://{top}/out",
    "fILe:{top}/root/../out",
    "file://{top}",
    "file:///",
    "file:///dev/shm",
    "{root}/../nothing-here",
    "{root}/" + "d/../" * 400 + "../out",
]


@pytest.mark.parametrize("spelling", OUTSIDE)
async def test_every_spelling_of_what_is_outside_is_one_answer(top: Path, spelling: str) -> None:
    before = everything(top)
    host = Host(roots=[top / "root"], default_directory=top / "root")
    uri = spelling.format(root=(top / "root").as_uri(), top=top)
    async with host, open_client(await host.listen(port=0)) as client:
        await client.initialize()
        assert await refusals(client, uri, (top / "root").as_uri()) == {DENIED}
        told = str([message for message in client.received if "error" not in message])
        assert SECRET not in str(client.received)
        # Names are the asker's own words at most.
        assert "secret" not in told
    assert everything(top) == before


@pytest.mark.parametrize(
    "spelling",
    [
        "{root}/d/f%00",
        "{root}/%00",
        "file://evil{top}/root/d/f",
        "file://[::1]{top}/root/d/f",
        "file://[{top}",
        "file:d/f",
        "file:",
        "file://",
        "file",
        "{root}/" + "n" * 5000,
        "{root}/" + "d/../" * 4096 + "../out/secret",
    ],
)
async def test_what_names_no_file_is_no_file(top: Path, spelling: str) -> None:
    host = Host(roots=[top / "root"], default_directory=top / "root")
    uri = spelling.format(root=(top / "root").as_uri(), top=top)
    async with host, open_client(await host.listen(port=0)) as client:
        await client.initialize()
        for method in ("resourceRead", "resourceList", "resourceResolve", "resourceMkdir"):
            refusal = await client.refusal(method, uri=uri)
            assert refusal.code in (INVALID, MISSING, DENIED), (method, refusal)
        assert SECRET not in str(client.received)
        await client.ping()


async def test_unusual_names_inside_are_ordinary_files(top: Path) -> None:
    host = Host(roots=[top / "root"], default_directory=top / "root")
    async with host, open_client(await host.listen(port=0)) as client:
        await client.initialize()
        root = (top / "root").as_uri()
        for spelled, name in (
            ("%2e%2e%2e", b"..."),
            ("%c0%ae%c0%ae", b"\xc0\xae\xc0\xae"),
            ("%252e%252e", b"%2e%2e"),
            ("a%5c..%5cb", b"a\\..\\b"),
            ("%ed%a0%80", b"\xed\xa0\x80"),
            ("%20%0a%09", b" \n\t"),
            ("-rf", b"-rf"),
            ("~", b"~"),
            ("$HOME", b"$HOME"),
        ):
            assert await client.request("resourceWrite", uri=f"{root}/d/{spelled}", **TEXT) == {}
            assert (top / "root" / "d" / os.fsdecode(name)).read_text() == "changed"
            read = await client.request("resourceRead", uri=f"{root}/d/{spelled}")
            assert read["data"] == "changed"
        # Those that JSON cannot say are left out, and the others are told.
        listed = await client.request("resourceList", uri=f"{root}/d")
        assert "~" in [entry["name"] for entry in listed["entries"]]


# Swaps a folder and a file for links to the outside and back, as fast as it can.
RACER = """
import os, sys
top = sys.argv[1]
root = top + "/root"
os.symlink(top + "/out/d", top + "/link1"); os.symlink(top + "/out/secret", top + "/link2")
print("ready", flush=True)
while True:
    for name, link in (("d", "link1"), ("x", "link2")):
        try:
            os.rename(f"{root}/{name}", f"{top}/hold"); os.rename(f"{top}/{link}", f"{root}/{name}")
            os.rename(f"{root}/{name}", f"{top}/{link}"); os.rename(f"{top}/hold", f"{root}/{name}")
        except OSError:
            sys.exit("somebody took what is raced for")
"""


@contextmanager
def racing(top: Path) -> Iterator[subprocess.Popen[str]]:
    racer = subprocess.Popen(
        [sys.executable, "-c", RACER, str(top)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert racer.stdout is not None
        racer.stdout.readline()
        yield racer
    finally:
        racer.kill()
        racer.communicate()


async def test_a_link_that_is_swapped_in_while_clients_ask_leads_nowhere(top: Path) -> None:
    (top / "root" / "x").write_text("inside")
    host = Host(roots=[top / "root"], default_directory=top / "root")
    seen = {"answered": 0, "refused": 0}
    root = (top / "root").as_uri()
    attempts: list[tuple[str, dict[str, Any]]] = [
        ("resourceRead", {"uri": root + "/d/f"}),
        ("resourceRead", {"uri": root + "/x"}),
        ("resourceList", {"uri": root + "/d"}),
        ("resourceResolve", {"uri": root + "/x"}),
        ("resourceWrite", {"uri": root + "/d/f", "data": "inside", "encoding": "utf-8"}),
        ("resourceWrite", {"uri": root + "/d/new", **TEXT}),
        ("resourceCopy", {"source": root + "/d/f", "destination": root + "/caught"}),
        ("resourceDelete", {"uri": root + "/d/new"}),
    ]

    async def attempt(client: WireClient, method: str, params: dict[str, Any]) -> None:
        try:
            answer = await client.request(method, **params)
        except WireFailure as failure:
            # Between two renames there is nothing at all.
            if failure.code not in (DENIED, MISSING):
                raise
            seen["refused"] += failure.code == DENIED
        else:
            seen["answered"] += 1
            assert SECRET not in str(answer)
            assert answer.get("uri", root).startswith(root)

    async with host, open_client(await host.listen(port=0), "1") as one:
        await one.initialize()
        async with open_client(await host.listen(port=0), "2") as two:
            await two.initialize()
            with racing(top) as racer:
                # As long as it takes to have met both states of the race often.
                while seen["answered"] < 500 or seen["refused"] < 50:
                    await asyncio.gather(
                        *(attempt(client, *what) for client in (one, two) for what in attempts)
                    )
                assert racer.poll() is None, "the race has ended"
    outside = everything(top / "out")
    assert set(outside.values()) == {SECRET}
    assert len(outside) == 2
    assert (top / "root" / "caught").read_text() == "inside"


async def test_what_the_kernel_shows_of_itself_is_kept_even_with_the_root_as_root() -> None:
    host = Host(roots=["/"], default_directory="/tmp")
    async with host, open_client(await host.listen(port=0)) as client:
        await client.initialize()
        for path in (
            "/proc/self/environ",
            "/proc/self/mem",
            "/proc/1/root",
            "/sys/kernel",
            "/proc",
        ):
            for method in ("resourceRead", "resourceList", "resourceResolve"):
                assert (await client.refusal(method, uri=f"file://{path}")).code == DENIED
        assert (await client.refusal("resourceRead", uri="file:///dev/zero")).code in (
            DENIED,
            INVALID,
        )
