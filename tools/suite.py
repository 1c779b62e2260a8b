"""Runs all tests beside each other, and those that failed there once more, alone.

A machine that is busy with everything at once finds races in tests as well as in the host. Which
of them a failure is, is told apart here: what fails alone too is broken, and so is the suite. What
passes alone is unsteady; it is named at the end, to be looked into. More than a few failures are
never unsteady tests, and get no second try.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

# How many tests may be tried again, of some twenty thousand.
MOST_RETRIED = 8
# What pytest exits with when tests failed, and nothing else went wrong.
TESTS_FAILED = 1


def run_suite(arguments: Sequence[str], beside: Sequence[str]) -> int:
    """Run pytest with arguments, ``beside`` only the first time; return its exit code."""
    with tempfile.TemporaryDirectory(prefix="agenthost-suite-") as cache:
        pytest = [sys.executable, "-m", "pytest", "-o", f"cache_dir={cache}", *arguments]
        code = subprocess.call([*pytest, *beside])
        failed = failures(Path(cache))
        if code != TESTS_FAILED or not 0 < len(failed) <= MOST_RETRIED:
            return code
        print(f"\n{len(failed)} failed beside others; once more, alone:", flush=True)
        again = subprocess.call([*pytest, "--last-failed", "--last-failed-no-failures", "none"])
        if again != 0:
            return again
    print("\nUNSTEADY, look into them: they failed beside others and passed alone")
    for test in failed:
        print(f"  {test}")
    return 0


def failures(cache: Path) -> list[str]:
    """Return the tests that failed, by what pytest has left in its cache."""
    found = cache / "v" / "cache" / "lastfailed"
    return sorted(json.loads(found.read_text())) if found.exists() else []


if __name__ == "__main__":
    sys.exit(run_suite(sys.argv[1:], ["-n", "auto", "--dist", "worksteal"]))
