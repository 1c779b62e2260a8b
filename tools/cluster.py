"""Three nodes and three NATS servers on this machine, to try a cluster: ``make cluster``.

Everything lies in one folder that is kept, so that the next start goes on. Ctrl-C ends all of it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".cluster"
NAMES = ("a", "b", "c")
# Seconds for all servers, and for all nodes, to be there.
PATIENCE = 60.0
# Seconds that nodes get to hand over before they end; this is for trying things out.
DRAIN_SECONDS = 3
_READY = "Ctrl-C stops it"


class CannotStart(Exception):
    """The cluster did not come about, with the reason."""


def main(arguments: Sequence[str]) -> int:
    """Run the cluster until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="make cluster", description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where all of it lies")
    parser.add_argument("--port", type=int, default=8771, help="the first of three for clients")
    parser.add_argument("--fresh", action="store_true", help="begin with nothing")
    parser.add_argument("more", nargs="*", metavar="OPTION", help="options for every node")
    args = parser.parse_args(arguments)
    if args.fresh:
        shutil.rmtree(args.folder, ignore_errors=True)
    # Also where whoever started it ignores Ctrl-C, as shells do for what runs in the background.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    processes: list[subprocess.Popen[bytes]] = []
    try:
        urls = start_servers(args.folder, processes)
        start_nodes(args.folder, urls, args.port, args.more, processes)
        print(_what_next(args.folder, args.port), flush=True)
        # One that ends by itself is worth knowing; the others go on, which is the point.
        known = set()
        while True:
            time.sleep(0.5)
            for process in processes:
                if process.poll() is not None and process.pid not in known:
                    known.add(process.pid)
                    print(f"process {process.pid} ended ({process.returncode})", flush=True)
    except CannotStart as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nending all of it …", flush=True)
        return 0
    finally:
        end(processes)


def start_servers(folder: Path, processes: list[subprocess.Popen[bytes]]) -> list[str]:
    """Start three servers that know each other; return their URLs."""
    binary = shutil.which("nats-server", path=f"{ROOT}/.venv/bin{os.pathsep}{os.environ['PATH']}")
    if binary is None:
        raise CannotStart("there is no nats-server: `make setup` installs it")
    ports = free_ports(6)
    clients, routes = ports[:3], ports[3:]
    for name, client, route in zip(NAMES, clients, routes, strict=True):
        place = folder / f"nats-{name}"
        place.mkdir(parents=True, exist_ok=True)
        known = ", ".join(f'"nats://127.0.0.1:{port}"' for port in routes)
        config = place / "server.conf"
        # Without `always`, a power cut can take what was acknowledged.
        config.write_text(
            f'listen: "127.0.0.1:{client}"\nserver_name: "nats-{name}"\n'
            f'jetstream {{ store_dir: "{place}", sync_interval: always }}\n'
            f'cluster {{ name: "try", listen: "127.0.0.1:{route}", routes: [{known}] }}\n'
        )
        processes.append(_start([binary, "-c", str(config)], folder / f"nats-{name}.log"))
    for port in clients:
        _wait(lambda port=port: _answers(port), "the NATS servers", folder / "nats-a.log")
    return [f"nats://127.0.0.1:{port}" for port in clients]


def start_nodes(
    folder: Path,
    urls: Sequence[str],
    port: int,
    more: Sequence[str],
    processes: list[subprocess.Popen[bytes]],
) -> None:
    """Start three nodes with one token, and wait until all of them listen."""
    token = folder / "token"
    if not token.exists():
        token.touch(mode=0o600)
        token.write_text(f"{secrets.token_urlsafe(24)}\n")
    logs = []
    for index, name in enumerate(NAMES):
        data = folder / f"node-{name}"
        data.mkdir(parents=True, exist_ok=True)
        logs.append(folder / f"node-{name}.log")
        command = [
            sys.executable, "-m", "agenthost.cli.main", "serve",
            "--cluster", ",".join(urls), "--node", name, "--label", f"rack={index + 1}",
            "--port", str(port + index), "--data-dir", str(data), "--token-file", str(token),
            "--drain-seconds", str(DRAIN_SECONDS), *more,
        ]  # fmt: skip
        processes.append(_start(command, logs[-1]))
    for process, written in zip(processes[-3:], logs, strict=True):
        _wait(
            lambda process=process, written=written: _is_ready(process, written),
            "the nodes",
            written,
        )


def _what_next(folder: Path, port: int) -> str:
    token = (folder / "token").read_text().strip()
    places = "\n".join(
        f"  {name}  http://127.0.0.1:{port + index}/#tkn={token}"
        for index, name in enumerate(NAMES)
    )
    first = f"--data-dir {folder / 'node-a'}"
    return f"""
Three nodes, one host; the token is in {folder / "token"}:
{places}

Try:
  agenthost nodes {first}
  open two of the pages in two windows, and talk in one session
  kill -9 a node (its number is in `ps`), and go on talking on another one
  agenthost sessions move SESSION --node b {first}

Logs and data are in {folder}; --fresh begins anew. Ctrl-C ends all of it."""


def free_ports(count: int) -> list[int]:
    """Return ports of this machine that nobody listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """End processes in the reverse order of their start: nodes before servers."""
    for group in (processes[3:], processes[:3]):
        for process in group:
            if process.poll() is None:
                process.terminate()
        for process in group:
            try:
                process.wait(timeout=DRAIN_SECONDS + 12)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _start(command: Sequence[str], written: Path) -> subprocess.Popen[bytes]:
    with written.open("wb") as output:
        # In a session of its own: Ctrl-C reaches this program alone, which ends them in order.
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )


def _wait(condition: object, what: str, written: Path) -> None:
    assert callable(condition)
    end_of_patience = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end_of_patience:
            raise CannotStart(f"{what} did not start in {PATIENCE:g} s; {written} says why")
        time.sleep(0.05)


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def _is_ready(process: subprocess.Popen[bytes], written: Path) -> bool:
    text = written.read_text(errors="replace")
    if process.poll() is not None:
        last = (text.strip().splitlines() or ["it said nothing"])[-1]
        raise CannotStart(f"a node ended: {last}")
    return _READY in text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
