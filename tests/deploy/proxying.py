"""Proxies before a host, started with the very files of ``deploy/``."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

DEPLOY = Path(__file__).parents[2] / "deploy"
PATIENCE = 60.0


@dataclass(frozen=True)
class Proxy:
    """A proxy that runs."""

    # Host and port at which it listens.
    address: str
    # All that it writes: its log of requests, and its own.
    logs: Path

    async def logged(self, path: str) -> str:
        """Return everything that it has written to disk, once that names a path."""
        async with asyncio.timeout(PATIENCE):
            # A request is logged after it was answered.
            while path not in (written := await asyncio.to_thread(self._written)):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        return written

    def _written(self) -> str:
        files = [path for path in self.logs.rglob("*") if path.is_file()]
        return "\n".join(path.read_text(errors="replace") for path in files)


def find_program(name: str) -> str | None:
    """Return the path of a program, if it is installed."""
    # Distributions put servers where only root looks.
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")


def program(name: str) -> str:
    """Return the path of a program, or skip the test."""
    found = find_program(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def nginx_configuration(folder: Path, address: str, upstream: str) -> str:
    """Return a whole configuration around the snippet, with other addresses and no TLS."""
    text = (DEPLOY / "nginx.conf").read_text()
    for pattern, new in (
        (r"listen 443 ssl;", f"listen {address};"),
        (r"ssl_certificate\w* +\S+;\n", ""),
        (r"http://127\.0\.0\.1:8765", f"http://{upstream}"),
        (r"/var/log/nginx", str(folder)),
    ):
        text, count = re.subn(pattern, new, text)
        assert count, pattern
    temporary = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in temporary)
    return (
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log info;\n"
        f"events {{}}\nhttp {{\n{paths}{text}}}\n"
    )


@asynccontextmanager
async def running(
    folder: Path, address: str, *command: str, **environ: str
) -> AsyncIterator[Proxy]:
    """Run a proxy until the block ends; it listens when the block begins."""
    with open(folder / "output.log", "wb") as output:  # noqa: ASYNC230
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,
            env={**os.environ, "HOME": str(folder), **environ},
        )
    try:
        await _listens(process, address)
        yield Proxy(address, folder)
    finally:
        if process.returncode is None:
            process.terminate()
        async with asyncio.timeout(PATIENCE):
            await process.wait()


async def _listens(process: asyncio.subprocess.Process, address: str) -> None:
    host, _, port = address.partition(":")
    async with asyncio.timeout(PATIENCE):
        while True:
            assert process.returncode is None, "the proxy ended"
            try:
                _, writer = await asyncio.open_connection(host, int(port))
            except ConnectionRefusedError:
                # Nothing tells when somebody begins to listen.
                await asyncio.sleep(0.05)
                continue
            writer.close()
            await writer.wait_closed()
            return


@asynccontextmanager
async def caddy(folder: Path, upstream: str) -> AsyncIterator[Proxy]:
    """Run Caddy with ``deploy/Caddyfile``."""
    address = f"127.0.0.1:{free_port()}"
    configuration = folder / "Caddyfile"
    # No interface to administer it: another Caddy may have that port.
    text, count = re.subn(r"^{$", "{\n\tadmin off", (DEPLOY / "Caddyfile").read_text(), flags=re.M)
    assert count == 1
    configuration.write_text(text)
    command = (program("caddy"), "run", "--config", str(configuration), "--adapter", "caddyfile")
    settings = {"AGENTHOST_DOMAIN": f"http://{address}", "AGENTHOST_UPSTREAM": upstream}
    async with running(folder, address, *command, **settings) as proxy:
        yield proxy


@asynccontextmanager
async def nginx(folder: Path, upstream: str) -> AsyncIterator[Proxy]:
    """Run nginx with ``deploy/nginx.conf``."""
    address = f"127.0.0.1:{free_port()}"
    configuration = folder / "nginx.conf"
    configuration.write_text(nginx_configuration(folder, address, upstream))
    command = (program("nginx"), "-c", str(configuration), "-p", str(folder))
    async with running(folder, address, *command) as proxy:
        yield proxy


PROXIES = [
    pytest.param(
        run,
        id=run.__name__,
        marks=pytest.mark.skipif(
            find_program(run.__name__) is None, reason=f"{run.__name__} is not installed"
        ),
    )
    for run in (caddy, nginx)
]
