"""Memory of large blocks goes back to the system once they are freed."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from agenthost.cli import allocator

# Large blocks, and smaller ones between them that stay.
SCRIPT = """
import sys
from agenthost.cli.allocator import return_large_blocks


def pages():
    return int(open("/proc/self/statm").read().split()[1])


return_large_blocks()
block = b"x" * (16 << 20)
del block
before, blocks, kept = pages(), [], []
for number in range(8):
    blocks.append(b"x" * (10 << 20))
    kept.append(b"y" * 200_000)
del blocks
print(pages() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not glibc")
def test_large_blocks_are_not_kept_once_they_are_freed() -> None:
    environment = {name: each for name, each in os.environ.items() if "MALLOC" not in name}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(allocator.__file__).parents[2],
        env=environment,
    )
    # Of some eighty megabytes.
    assert int(done.stdout) * os.sysconf("SC_PAGE_SIZE") < 10 << 20


def test_what_somebody_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_ARENA_MAX", "2")
    # Not looked for any more.
    monkeypatch.setitem(sys.modules, "ctypes", None)
    allocator.return_large_blocks()
