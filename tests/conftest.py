"""Settings for all tests, and a line at the end that counts the conformance data they covered."""

from __future__ import annotations

import os
import signal
from collections import Counter, defaultdict
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from agenthost.host.mcp import turn_starts
from tests.conformance.corpus import CONFORMANCE, RAN

# What asserts on behalf of tests says as much as they do.
pytest.register_assert_rewrite("tests.wire.scenes", "tests.wire.client", "tests.wire.talking")

# No test depends on how fast the machine is.
settings.register_profile(
    "untimed",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("untimed")

# Sessions of tests work outside of any repository: what git says of a folder is told some time
# after a session was made, and tests compare states. A test that makes a repository unsets this.
os.environ["GIT_DIR"] = os.devnull

# Nor does a turn of a host in this process begin without the servers that a test wants in it.
turn_starts.PATIENCE = 60.0

# Started by `nohup` the tests, and so their hosts, would ignore hang-ups.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# How the reason begins for which a test of the web page did not run, and a figure that one took.
NOT_RUN = "BROWSER TESTS DID NOT RUN"
FIGURE = "browser/"

# In the order in which they are printed.
WHAT = ("reducers", "round-trips", "differential sequences")


def pytest_xdist_auto_num_workers() -> int:
    """Return how many workers ``-n auto`` is: two more than cores, for tests wait a lot."""
    return (os.cpu_count() or 1) + 2


@pytest.fixture(scope="session", autouse=True)
def folders_of_inner_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give pytest, where tests run it, a place of its own for its folders.

    Each run clears away what earlier ones left beside its own, before it says how it ended; of this
    suite that are gigabytes.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTEST_DEBUG_TEMPROOT", str(tmp_path_factory.mktemp("inner")))
        yield


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one line that counts the fixtures run, from what the tests recorded about themselves.

    Reports, not counters in this process: with several workers the tests ran elsewhere.
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport) and report.when == "call":
                _count(report, counts)
    versions = [f"{name}: {_listed(counts[name])}" for name in sorted(counts, reverse=True)]
    if not CONFORMANCE.is_dir():
        versions = [f"none, for there is no data at {CONFORMANCE}; set AGENTHOST_SHARED"]
    if versions:
        terminalreporter.write_line(f"conformance fixtures run: {'; '.join(versions)}")
    _tell_of_the_page(terminalreporter)


def _tell_of_the_page(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures that tests of the web page took, and loudly that they did not run."""
    skipped = [
        str(report.longrepr[2])
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple) and NOT_RUN in report.longrepr[2]
    ]
    figures = {
        name.removeprefix(FIGURE): value
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, value in report.user_properties
        if name.startswith(FIGURE)
    }
    for name, value in sorted(figures.items()):
        terminalreporter.write_line(f"the web page, {name}: {value}")
    if skipped:
        why = skipped[0].removeprefix("Skipped: ")
        terminalreporter.write_line(f"{why} ({len(skipped)} tests)", red=True, bold=True)


def _count(report: pytest.TestReport, counts: defaultdict[str, Counter[str]]) -> None:
    for name, value in report.user_properties:
        prefix, _, rest = name.partition("/")
        version, _, what = rest.partition("/")
        if prefix == RAN and isinstance(value, int):
            counts[version][what] += value


def _listed(count: Counter[str]) -> str:
    known = [what for what in WHAT if what in count]
    others = sorted(set(count) - set(WHAT))
    return ", ".join(f"{count[what]} {what}" for what in [*known, *others])
