"""What failed beside others is tried again alone, and named; what fails alone fails the suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.suite import MOST_RETRIED, TESTS_FAILED, run_suite

# Fails when it is run for the first time only.
UNSTEADY = """
def test_it(request):
    mark = request.path.with_suffix(".seen")
    seen = mark.exists()
    mark.touch()
    assert seen
"""
BROKEN = "def test_it():\n    assert False\n"
SOUND = "def test_it():\n    pass\n"


def write(folder: Path, **tests: str) -> list[str]:
    (folder / "pytest.ini").write_text("[pytest]\n")
    for name, text in tests.items():
        (folder / f"test_{name}.py").write_text(text)
    return [str(folder), "-q", "--rootdir", str(folder)]


def test_a_test_that_passes_alone_is_named_and_fails_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_suite(write(tmp_path, unsteady=UNSTEADY, sound=SOUND), []) == 0
    told = capfd.readouterr().out
    assert "UNSTEADY" in told
    assert "test_unsteady.py::test_it" in told.split("UNSTEADY")[1]
    assert "test_sound" not in told.split("UNSTEADY")[1]


def test_a_test_that_fails_alone_too_fails_the_suite(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_suite(write(tmp_path, broken=BROKEN, unsteady=UNSTEADY), []) == TESTS_FAILED
    assert "UNSTEADY" not in capfd.readouterr().out


def test_many_failures_are_not_tried_again(tmp_path: Path) -> None:
    many = {f"unsteady{number}": UNSTEADY for number in range(MOST_RETRIED + 1)}
    assert run_suite(write(tmp_path, **many), []) == TESTS_FAILED


def test_what_cannot_be_collected_is_not_unsteady(tmp_path: Path) -> None:
    assert run_suite(write(tmp_path, sound=SOUND, torn="import nothing_of_the_kind\n"), []) != 0


def test_a_sound_suite_passes_at_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_suite(write(tmp_path, sound=SOUND), []) == 0
    assert "alone" not in capfd.readouterr().out
