"""``agenthost doctor`` with a host that is well, and with everything that can be wrong."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agenthost.cli.commands.doctor import check_editors
from agenthost.protocol import SUPPORTED_VERSIONS
from agenthost.protocol.versions.editors import spoken_by_editors
from tests.cli.running import Cli, Done, serving

pytestmark = pytest.mark.asyncio(loop_scope="module")


def checks(done: Done) -> dict[str, Any]:
    return {check["name"]: check for check in done.json["checks"]}


async def test_a_host_that_is_well_gets_a_clean_bill(cli: Cli) -> None:
    text, document = await asyncio.gather(cli("doctor"), cli("doctor", "--json"))
    assert text.code == document.code == 0
    assert text.out.endswith("Everything is fine.\n")
    assert document.json["ok"] is True
    found = checks(document)
    assert {check["verdict"] for check in found.values()} == {"ok"}
    assert found["versions"]["data"] == list(SUPPORTED_VERSIONS)
    assert found["editors"]["data"] == spoken_by_editors(SUPPORTED_VERSIONS)
    assert "VS Code 1.139 speaks 0.9.0" in text.out
    assert found["role"]["data"] == "owner"
    assert str(cli.host.pid) in found["store"]["detail"]
    assert found["agents"]["data"] == ["demo"]
    assert cli.host.token not in document.out


async def test_editors_that_a_host_is_too_old_for_are_named() -> None:
    old = check_editors(["0.7.0"])
    assert old.verdict == "warning"
    assert old.detail == "VS Code 1.139 speaks 0.7.0, newer VS Code cannot connect"
    none = check_editors(["0.4.0"])
    assert none.detail == "VS Code 1.139 and newer VS Code cannot connect"


async def test_a_deep_look_reads_the_whole_store(cli: Cli) -> None:
    done = await cli("doctor", "--deep", "--json")
    assert done.code == 0
    contents = checks(done)["store contents"]
    assert contents["verdict"] == "ok"
    assert "rows are as they were written" in contents["detail"]


async def test_a_damaged_row_is_named_by_a_deep_look_and_by_no_other(tmp_path: Path) -> None:
    async with serving(tmp_path) as cli:
        with closing(sqlite3.connect(cli.host.data_dir / "agenthost.sqlite")) as database, database:
            database.execute("UPDATE snapshot SET state = '{}' WHERE rowid = 1")
        assert (await cli.main("doctor")).code == 0
        done = await cli.main("doctor", "--deep", "--json")
        assert done.code == 1
        contents = checks(done)["store contents"]
        assert contents["verdict"] == "problem"
        assert contents["data"]["damages"] == [
            "the snapshot of ahp-root:// is not as it was written"
        ]
        assert "copy of the store" in contents["fix"]


@pytest.mark.parametrize("role", ["viewer", "operator"])
async def test_who_i_am_is_found_out_without_touching_anything(cli: Cli, role: str) -> None:
    before = await cli.main("sessions", "--all", "--json")
    created = await cli.main("token", "create", role, "--role", role)
    done = await cli.main("doctor", "--json", "--token", created.out.strip())
    assert done.code == 0
    assert checks(done)["role"]["data"] == role
    assert (await cli.main("sessions", "--all", "--json")).out == before.out


async def test_a_wrong_token_is_told_apart_from_none(cli: Cli) -> None:
    given = ("doctor", "--json", "--url", cli.host.address)
    wrong, none = await cli.main(*given, "--token", "w" * 43), await cli.main(*given)
    for done in (wrong, none):
        assert done.code == 1
        connection = checks(done)["connection"]
        assert connection["verdict"] == "problem"
        assert "--token" in connection["fix"]
    assert checks(none)["token"]["verdict"] == "skipped"
    assert "required" in checks(none)["connection"]["detail"]


async def test_no_host_is_a_problem_with_a_remedy(alone: Cli) -> None:
    done = await alone.main("doctor", "--json")
    assert done.code == 1
    assert checks(done)["host"]["verdict"] == "problem"
    assert "agenthost serve" in checks(done)["host"]["fix"]


async def test_a_host_that_died_is_a_problem(tmp_path: Path) -> None:
    async with serving(tmp_path) as cli:
        await cli.host.kill()
        done = await cli.main("doctor", "--json")
    assert done.code == 1
    assert "crashed or was killed" in checks(done)["host"]["detail"]
    assert "agenthost serve" in checks(done)["host"]["fix"]


async def test_a_damaged_store_is_told_with_what_to_do_about_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as cli:
        await cli.host.kill()
        (cli.data_dir / "agenthost.sqlite").write_bytes(b"garbage" * 1000)
        done = await cli.main("doctor", "--json")
    assert done.code == 1
    store = checks(done)["store"]
    assert (store["verdict"], "is damaged" in store["detail"]) == ("problem", True)
    assert "move" in store["fix"]


async def test_a_host_that_is_stopped_is_told_by_its_process_and_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("diagnostics.PATIENCE", "commands.doctor.PATIENCE", "commands.doctor._GLANCE"):
        monkeypatch.setattr(f"agenthost.cli.{name}", 0.2)
    async with serving(tmp_path) as cli:
        os.kill(cli.host.pid, signal.SIGSTOP)
        try:
            done = await cli.main("doctor", "--json")
        finally:
            os.kill(cli.host.pid, signal.SIGCONT)
    assert done.code == 1
    connection = checks(done)["connection"]
    assert f"process {cli.host.pid} listens, but does not answer" in connection["detail"]
    assert f"kill -CONT {cli.host.pid}" in connection["fix"]
    assert "Error" not in done.out


async def test_a_token_and_a_directory_that_others_can_read_are_found(tmp_path: Path) -> None:
    async with serving(tmp_path) as cli:
        cli.data_dir.chmod(0o755)
        (cli.data_dir / "token").chmod(0o644)
        done = await cli.main("doctor", "--json")
    assert done.code == 1
    found = checks(done)
    assert found["data directory"]["verdict"] == "warning"
    assert "chmod 700" in found["data directory"]["fix"]
    assert found["token"]["verdict"] == "problem"
    assert "chmod 600" in found["token"]["fix"]
    fixes = " ".join(check["fix"] or "" for check in found.values())
    assert "agenthost serve" not in fixes


async def test_addresses_that_lead_nowhere_say_so(alone: Cli) -> None:
    closed = await alone.main("doctor", "--json", "--url", "127.0.0.1:1")
    unknown = await alone.main("doctor", "--json", "--url", "no.such.host.invalid:1")
    nonsense = await alone.main("doctor", "--json", "--url", "ftp://box")
    assert closed.code == unknown.code == nonsense.code == 1
    assert "refused" in checks(closed)["port"]["detail"]
    assert checks(unknown)["port"]["verdict"] == "problem"
    assert checks(nonsense)["host"]["verdict"] == "problem"


async def test_something_else_than_a_host_is_recognised(alone: Cli) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        date = b"Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
        writer.write(b"HTTP/1.1 404 Not Found\r\n" + date + b"Content-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        done = await alone.main("doctor", "--json", "--url", f"127.0.0.1:{port}")
    assert done.code == 1
    found = checks(done)
    assert found["port"]["verdict"] == "ok"
    assert found["health"]["verdict"] == "skipped"
    assert "address of a host" in found["connection"]["fix"]


async def test_somebody_who_does_not_even_speak_http_is_recognised(alone: Cli) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"220 mail.example ESMTP\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        done = await alone.main("doctor", "--json", "--url", f"127.0.0.1:{port}")
    assert done.code == 1
    found = checks(done)
    assert "does not speak HTTP" in found["health"]["detail"]
    assert "speaks neither HTTP nor WebSocket" in found["connection"]["detail"]
    assert "something else than a host" in found["connection"]["fix"]


async def test_a_stale_note_of_another_process_does_not_fool_it(alone: Cli) -> None:
    alone.data_dir.mkdir(mode=0o700)
    (alone.data_dir / "agenthost.sqlite").touch()
    told = {"url": "ws://127.0.0.1:1", "pid": os.getpid(), "tokenFile": None}
    (alone.data_dir / "host.json").write_text(json.dumps(told))
    done = await alone.main("doctor", "--json")
    assert done.code == 1
    assert "not in use" in checks(done)["store"]["detail"]
    assert checks(done)["port"]["verdict"] == "problem"


SSH = """#!/bin/sh
for last; do :; done
exec sh -c "$last"
"""


async def test_a_host_behind_ssh_is_looked_at_through_it(cli: Cli, tmp_path: Path) -> None:
    ssh = tmp_path / "ssh"
    await asyncio.to_thread(ssh.write_text, SSH)
    await asyncio.to_thread(ssh.chmod, 0o755)
    far = f"{shlex.quote(sys.executable)} -m agenthost.cli.main"
    environ = {"AGENTHOST_SSH": str(ssh), "AGENTHOST_FAR_COMMAND": far}
    url = f"ssh://box{cli.data_dir}"
    done, refused = await asyncio.gather(
        cli("doctor", "--json", "--url", url, **environ),
        cli("doctor", "--json", "--url", url, "--token", "t", **environ),
    )
    assert done.code == 0, done.out
    found = checks(done)
    skipped = {name for name, check in found.items() if check["verdict"] == "skipped"}
    assert skipped == {"token", "health", "versions", "clock"}
    assert found["role"]["data"] == "owner"
    assert "port" not in found
    assert refused.code == 1
    assert "takes no token" in checks(refused)["token"]["detail"]


async def test_of_a_folder_that_cannot_be_entered_nothing_more_is_asked(
    alone: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone.data_dir.mkdir(0o700)
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(os, "getuid", lambda: alone.data_dir.stat().st_uid + 1)
    done = await alone.main("doctor", "--json")
    (check,) = done.json["checks"]
    assert (done.code, check["name"], check["verdict"]) == (1, "data directory", "problem")
    assert "leave out --data-dir to use your own" in check["fix"]
