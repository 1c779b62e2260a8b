"""Run all benchmarks, or those named on the command line."""

from __future__ import annotations

import importlib
import sys

NAMES = (
    "core",
    "store",
    "transport",
    "host",
    "versions",
    "client",
    "workspace",
    "small",
    "telemetry",
    "terminal",
    "cluster",
)


def main() -> int:
    names = sys.argv[1:] or NAMES
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        print(f"unknown benchmark {unknown[0]}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    for name in names:
        print(f"\n== {name} ==", flush=True)
        importlib.import_module(f"benchmarks.{name}").run()
    return 0


sys.exit(main())
