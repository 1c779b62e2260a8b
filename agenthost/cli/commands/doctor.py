"""``agenthost doctor``: check the connection to a host and say how to fix what is wrong."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agenthost.cli.arguments import Subparsers, add_command, add_json_option
from agenthost.cli.commands.serve_cluster import CREDENTIALS_VARIABLE, realm_name, servers
from agenthost.cli.connection.command_hints import hint
from agenthost.cli.connection.host_connection import (
    add_connection_options,
    explain_reason,
    run_command,
    use_colour,
)
from agenthost.cli.connection.host_lookup import find_host
from agenthost.cli.data_dir import STORE_FILE
from agenthost.cli.diagnostics import (
    PATIENCE,
    Address,
    Check,
    HealthPage,
    check_content,
    check_data_dir,
    check_health,
    check_port,
    check_restore,
    check_store,
    check_token_file,
)
from agenthost.cli.exit_codes import FAILED, OK
from agenthost.cli.format.terminal_text import Ink, one_line
from agenthost.client import CannotConnect, Client, GivenUp, NoCommonVersion, NotAdmitted, connect
from agenthost.client.link.addresses import HostPlace, dial, dial_place, is_ssh
from agenthost.errors import AgentHostError, PermissionDenied
from agenthost.local_host import (
    HOST_FILE,
    TOKEN_VARIABLE,
    URL_VARIABLE,
    NoHost,
    NoToken,
    default_data_dir,
)
from agenthost.protocol import SUPPORTED_VERSIONS
from agenthost.protocol.uris import chat_uri
from agenthost.protocol.versions.editors import spoken_by_editors

_PINGS = 5
# Damages of a store that are told in a sentence; `--json` has more.
_MOST_TOLD = 10
# Seconds for a connection to somebody who has been silent already.
_GLANCE = 1.0
# Seconds for a login, and a relay to start.
_LOGIN = 15.0
# Seconds by which clocks may differ before times look odd; the header that tells has whole ones.
_TOLERABLE_SKEW = 5.0

_EXAMPLES = """examples:
  agenthost doctor                           the host on this machine
  agenthost doctor --url box:8765 --token T  another one
  agenthost doctor --deep                    every row of its store as well
  agenthost doctor --cluster nats://n1:4222  the servers and nodes of a realm
  agenthost doctor --json | jq '.checks[] | select(.verdict == "problem")'

exit codes: 0 nothing is wrong, or nothing but warnings; 1 something is
"""


def register(subparsers: Subparsers) -> None:
    """Add ``doctor`` to the argument tree."""
    doctor = add_command(
        subparsers, "doctor", "find out what is wrong, and how to fix it", run, _EXAMPLES
    )
    doctor.add_argument(
        "--deep", action="store_true", help="read the whole store of this machine's host too"
    )
    doctor.add_argument(
        "--cluster", type=servers, metavar="URL", help="look at the servers of a realm instead"
    )
    doctor.add_argument(
        "--realm", type=realm_name, default="main", metavar="NAME", help="which (%(default)s)"
    )
    doctor.add_argument(
        "--cluster-credentials", type=Path, metavar="FILE", help=f"(${CREDENTIALS_VARIABLE})"
    )
    add_json_option(doctor)
    add_connection_options(doctor)


def run(args: argparse.Namespace) -> int:
    """Run all checks; 1 when one found a problem."""
    return run_command(args, _examine)


async def _examine(args: argparse.Namespace) -> int:
    ink = Ink(use_colour())
    checks: list[Check] = []
    async for check in _cluster_checks(args) if args.cluster else _checks(args):
        checks.append(check)
        if not args.json:
            print("\n".join(check.lines(ink)), flush=True)
    problems = sum(check.verdict == "problem" for check in checks)
    if args.json:
        told = {"ok": not problems, "checks": [check.as_json() for check in checks]}
        print(json.dumps(told, indent=2))
    else:
        warnings = sum(check.verdict == "warning" for check in checks)
        print(f"\n{_verdict(problems, warnings)}")
    return FAILED if problems else OK


def _verdict(problems: int, warnings: int) -> str:
    if not problems and not warnings:
        return "Everything is fine."
    counts = [(problems, "problem"), (warnings, "warning")]
    return ", ".join(f"{n} {name}{'s' if n > 1 else ''}" for n, name in counts if n) + "."


async def _cluster_checks(args: argparse.Namespace) -> AsyncIterator[Check]:
    from agenthost.cli.cluster_checks import cluster_checks

    async for check in cluster_checks(args):
        yield check


async def _checks(args: argparse.Namespace) -> AsyncIterator[Check]:
    if args.url is None:
        folder = args.data_dir or default_data_dir()
        found = check_data_dir(folder)
        yield found
        if found.verdict == "problem":
            # Nothing in it can be looked at, nor can its host be found.
            return
        for check in _local_checks(folder, args.token):
            yield check
        if args.deep:
            yield await asyncio.to_thread(_check_contents, folder / STORE_FILE)
    else:
        if args.deep:
            yield Check("store contents", "skipped", "only a store of this machine can be read")
        if is_ssh(args.url) and args.token is not None:
            fix = f"leave --token out, and ${TOKEN_VARIABLE} unset"
            yield Check("token", "problem", "ssh:// takes no token", fix)
            return
        if is_ssh(args.url):
            yield Check("token", "skipped", "who may log in there needs none")
        elif args.token is None and "tkn=" not in args.url:
            detail = f"none is given by --token or ${TOKEN_VARIABLE}"
            yield Check("token", "skipped", detail)
    try:
        address = Address.of(find_host(args.url, args.token, args.data_dir), args.tls_ca)
    except NoHost as error:
        yield _no_host(error)
        return
    except ValueError:
        fix = f"--url or ${URL_VARIABLE} is like 127.0.0.1:8765, wss://host/path or ssh://host"
        yield Check("host", "problem", f"{args.url.partition('?')[0]} is no address", fix)
        return
    async for check in _remote_checks(address):
        yield check


def _no_host(error: NoHost) -> Check:
    if isinstance(error, NoToken):
        # What is wrong with it, and the remedy, is the check of the token.
        return Check("host", "skipped", "it is not asked anything without its token")
    detail, _, advice = str(error).partition(": ")
    if advice.startswith("start"):
        return Check("host", "problem", detail, advice)
    return Check("host", "problem", str(error), f"start it again: {hint('serve')}")


# This machine.


def _local_checks(folder: Path, token: str | None) -> Iterator[Check]:
    pid, token_file = _announced(folder / HOST_FILE)
    if (unfinished := check_restore(folder)) is not None:
        yield unfinished
    yield check_store(folder / STORE_FILE, pid)
    yield check_content(folder / STORE_FILE)
    if token is not None:
        yield Check("token", "ok", f"given by --token or ${TOKEN_VARIABLE}")
    elif token_file is not None:
        yield check_token_file(Path(token_file))


def _check_contents(path: Path) -> Check:
    """Check that every row of a store is as it was written; reads the whole store."""
    # The host's, and slow to import: nothing else here needs it.
    from agenthost.host.store.inspection import inspect_store

    name = "store contents"
    if not path.exists():
        return Check(name, "skipped", f"{path} does not exist yet")
    found = inspect_store(path)
    if not found.damages:
        older = f", {found.unchecked:,} of them without a checksum" if found.unchecked else ""
        return Check(name, "ok", f"{found.rows:,} rows are as they were written{older}")
    more = found.damages - len(found.findings)
    told = [one_line(finding) for finding in found.findings[:_MOST_TOLD]]
    told += [f"and {found.damages - len(told):,} more"] if found.damages > len(told) else []
    detail = f"{found.damages:,} damages in {found.rows:,} rows: {'; '.join(told)}"
    fix = (
        "stop the host and put a copy of the store back; without one, sessions that are not named "
        f"here can be used on, and `sqlite3 {path} .recover` may save more"
    )
    data = {"rows": found.rows, "damages": found.findings, "more": more}
    return Check(name, "problem", detail, fix, data)


def _announced(path: Path) -> tuple[int | None, str | None]:
    """Return the process id and the token file from a host's announcement file."""
    try:
        told = json.loads(path.read_text())
        return int(told["pid"]), told["tokenFile"]
    except (OSError, ValueError, KeyError, TypeError):
        return None, None


# The host.


async def _remote_checks(address: Address) -> AsyncIterator[Check]:
    if address.by_ssh:
        page = HealthPage(Check("health", "skipped", "ssh leads to the host, not to its pages"))
    else:
        port = await check_port(address)
        yield port
        if port.verdict == "problem":
            return
        page = await asyncio.to_thread(check_health, address)
    yield page.check
    try:
        async with AsyncExitStack() as connection:
            async with asyncio.timeout(_patience(address, page)):
                client = await connection.enter_async_context(_connect(address))
            yield _connection(client)
            versions = await _check_versions(address)
            yield versions
            if versions.verdict == "ok":
                yield check_editors(versions.data)
            yield await _check_role(client)
            yield await _check_latency(client)
            yield await _check_clock(address, client, page)
            yield _check_agents(client)
    except (AgentHostError, TimeoutError) as error:
        yield _refused(error, address, page.advice)


def _patience(address: Address, page: HealthPage) -> float:
    """Return the seconds that a connection may take to come about."""
    if address.by_ssh:
        return _LOGIN
    return _GLANCE if page.is_silent else PATIENCE


@asynccontextmanager
async def _connect(address: Address, *versions: str) -> AsyncIterator[Client]:
    offered = versions or SUPPORTED_VERSIONS
    host = address.host
    if address.tls_ca is not None:
        way = dial(host.url, host.token, tls_ca=address.tls_ca, may_ask=False)
    else:
        way = dial_place(HostPlace(host.url, host.token, host.tls_cert))
    async with connect(way, versions=offered, request_timeout=PATIENCE) as client:
        yield client


def _connection(client: Client) -> Check:
    info: Mapping[str, Any] = client.host.get("serverInfo") or {}
    name = one_line(f"{info.get('name', 'a host without a name')} {info.get('version', '')}")
    data = {"server": dict(info), "version": client.version}
    return Check("connection", "ok", f"{name}, protocol {client.version}", data=data)


def _refused(error: Exception, address: Address, advice: str) -> Check:
    fix = ""
    if isinstance(error, TimeoutError):
        return _silent(address.host.pid)
    match error:
        case NotAdmitted(status=401 | 403):
            making = hint("token", "create", "--help")
            fix = f"give one with --token or ${TOKEN_VARIABLE}; {making} on its machine makes one"
        case NoCommonVersion():
            fix = "update agenthost here, or the host there"
        case NotAdmitted(status=int()):
            fix = advice or "is this the address of a host, and of its WebSocket?"
        case CannotConnect() | GivenUp():
            fix = advice or "is something else than a host listening there? look at its log"
    return Check("connection", "problem", explain_reason(one_line(str(error))), fix)


def _silent(pid: int | None) -> Check:
    if pid is None:
        fix = "is the host stopped, or is something else listening there? look at its log"
        return Check("connection", "problem", "no answer in time, though somebody listens", fix)
    detail = f"process {pid} listens, but does not answer: it is stopped, or it hangs"
    fix = f"wake it (kill -CONT {pid}), or end it (kill -KILL {pid}) and start it again"
    return Check("connection", "problem", detail, fix)


async def _check_versions(address: Address) -> Check:
    if address.by_ssh:
        return Check("versions", "skipped", "to try each would take a login of its own")
    spoken: list[str] = []
    for version in SUPPORTED_VERSIONS:
        try:
            async with _connect(address, version):
                spoken.append(version)
        except NoCommonVersion:
            continue
        except (AgentHostError, TimeoutError) as error:
            detail = f"{version} could not be tried: {one_line(str(error))}"
            return Check("versions", "warning", detail)
    missing = [version for version in SUPPORTED_VERSIONS if version not in spoken]
    detail = f"the host speaks {', '.join(spoken)}"
    detail += f", not {', '.join(missing)}" if missing else ""
    return Check("versions", "ok", detail, data=spoken)


def check_editors(spoken: Sequence[str]) -> Check:
    """Check which version today's editors would speak with a host of these versions."""
    editors = spoken_by_editors(spoken)
    able = [f"{editor} speaks {version}" for editor, version in editors.items() if version]
    unable = [editor for editor, version in editors.items() if version is None]
    if not unable:
        return Check("editors", "ok", ", ".join(able), data=editors)
    detail = ", ".join([*able, f"{' and '.join(unable)} cannot connect"])
    return Check("editors", "warning", detail, "update the host", editors)


async def _check_role(client: Client) -> Check:
    """Check what the token allows, by asking for things that do not exist.

    Without the role the host denies permission; with it, the host says that there is no such thing.
    """
    nothing = str(uuid.uuid4())
    message = {"kind": "userMessage", "text": "", "offset": 0}
    probes: dict[str, dict[str, Any]] = {
        "completions": {"channel": chat_uri(nothing, "none"), **message},
        "resourceRead": {"uri": f"file:///{nothing}"},
    }
    role = "owner"
    for method, params in probes.items():
        try:
            await client.request(method, params)
        except PermissionDenied as error:
            if named := re.search(r"the role (\w+)", error.message):
                role = named[1]
                break
        except (AgentHostError, TimeoutError):
            continue
    return Check("role", "ok", f"{role}: {_MEANINGS.get(role, 'limited')}", data=role)


_MEANINGS = {
    "owner": "may do everything, as far as can be told",
    "operator": "may run sessions, but not change the host or leave the sessions' folders",
    "viewer": "may look, but not send, approve or answer",
}


async def _check_latency(client: Client) -> Check:
    times: list[float] = []
    try:
        for _ in range(_PINGS):
            start = time.perf_counter()
            await client.request("ping")
            times.append((time.perf_counter() - start) * 1000)
    except (AgentHostError, TimeoutError) as error:
        return Check("latency", "warning", f"ping: {one_line(str(error)) or 'no answer'}")
    median = round(statistics.median(times), 1)
    return Check("latency", "ok", f"{median} ms (median of {_PINGS})", data=median)


async def _check_clock(address: Address, client: Client, page: HealthPage) -> Check:
    skew = page.skew
    if skew is None:
        if address.is_local:
            return Check("clock", "ok", "the same machine, the same clock")
        skew = await _lead(client)
    if skew is None:
        return Check("clock", "skipped", "the host does not tell its time")
    if abs(skew) <= _TOLERABLE_SKEW:
        return Check("clock", "ok", "here and there agree", data=round(skew, 1))
    ahead = "ahead of" if skew > 0 else "behind"
    detail = f"the host's clock is {abs(skew):.0f} s {ahead} ours"
    return Check("clock", "warning", detail, "synchronise both with NTP", round(skew, 1))


async def _lead(client: Client) -> float | None:
    """Return how far in the future, by this clock, the newest session was changed."""
    try:
        items = (await client.sessions.page(limit=1))["items"]
        changed = datetime.fromisoformat(items[0]["modifiedAt"]) if items else None
    except (AgentHostError, TimeoutError, ValueError):
        return None
    lead = (changed - datetime.now(UTC)).total_seconds() if changed is not None else 0.0
    return lead if lead > 0 else None


def _check_agents(client: Client) -> Check:
    agents = client.root.state["agents"]
    if not agents:
        return Check(
            "agents", "warning", "the host offers none", f"{hint('agents')}, where it runs"
        )
    names = [one_line(agent["provider"]) for agent in agents]
    return Check("agents", "ok", ", ".join(names), data=names)
