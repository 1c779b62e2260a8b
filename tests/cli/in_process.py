"""Runs one command of the command line in this process."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


class CommandInProcess:
    """Runs ``agenthost NAME …`` on a data directory; gives the exit code and what it printed."""

    def __init__(
        self,
        name: str,
        register: Callable[[Any], None],
        data_dir: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        self.data_dir = data_dir
        self._name, self._register, self._capsys = name, register, capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        parser = argparse.ArgumentParser(prog="agenthost")
        self._register(parser.add_subparsers(required=True))
        code: Any
        try:
            args = parser.parse_args([self._name, *arguments, "--data-dir", str(self.data_dir)])
            code = args.run(args)
        except SystemExit as stopped:
            code = stopped.code
        out, err = self._capsys.readouterr()
        return code, out, err
