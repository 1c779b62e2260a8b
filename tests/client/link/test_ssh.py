"""``ssh://``: how ssh is called, what its failures mean, and a host at the other end of it.

A script stands in for ssh, except in the last test, which logs in to this machine by a real one.
"""

from __future__ import annotations

import asyncio
import io
import os
import shlex
import shutil
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agenthost.client import (
    CannotConnect,
    ClientError,
    Connected,
    NotAdmitted,
    Reconnecting,
    connect,
    dial,
)
from agenthost.client.link.ssh import SshPlace, explain_exit
from agenthost.host import Host
from agenthost.local_host import announce
from agenthost.transport import Encoded, TransportClosed

FOREVER = 60
# How this very agenthost is started "there".
HERE = f"{shlex.quote(sys.executable)} -m agenthost.cli.main"
# What the real one does with the last of its words; the words are kept for the test.
ACT = 'printf "%s\\n" "$@" >> "$0.words"; for last; do :; done\n'
PLACE = SshPlace("box")

Stub = Callable[[str], Path]


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stub:
    """Make a script that is called instead of ssh."""

    def make(script: str) -> Path:
        path = tmp_path / "ssh stub"
        path.write_text(f"#!/bin/sh\n{ACT}{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("AGENTHOST_SSH", f"{shlex.quote(str(path))} -F none")
        monkeypatch.setenv("AGENTHOST_FAR_COMMAND", HERE)
        return path

    return make


def kept(script: Path, what: str) -> list[str]:
    """Return the lines that a script has kept."""
    return Path(f"{script}.{what}").read_text().splitlines()


async def failure(address: str = "ssh://box") -> ClientError:
    """Return why an address cannot be dialled."""
    with pytest.raises(ClientError) as failed:
        async with asyncio.timeout(FOREVER):
            await dial(address)()
    return failed.value


# Addresses and words


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("ssh://box", SshPlace("box")),
        ("ssh://box/", SshPlace("box")),
        ("ssh://me@box.example:2022", SshPlace("box.example", "me", 2022)),
        ("ssh://me@[::1]/srv/data", SshPlace("::1", "me", None, "/srv/data")),
        ("ssh://box/~/my%20data", SshPlace("box", data_dir="~/my data")),
    ],
)
def test_an_address_is_read_and_written(address: str, place: SshPlace) -> None:
    assert SshPlace.parse(address) == place
    assert SshPlace.parse(str(place)) == place


@pytest.mark.parametrize(
    "address",
    [
        "ssh://-oProxyCommand=evil",
        "ssh://-l@box",
        "ssh://me@-box",
        "ssh://box;ls",
        "ssh://box:99999",
        "ssh://box:0",
        "ssh://box/a%0ab",
        "ssh://box/?tkn=s3cret",
        "ssh://me:s3cret@box",
        "ssh://b ox",
        "ssh://",
    ],
)
def test_what_ssh_could_take_for_something_else_is_refused_and_not_quoted(address: str) -> None:
    with pytest.raises(ValueError, match="not the address") as refused:
        SshPlace.parse(address)
    assert "s3cret" not in str(refused.value)


def test_ssh_is_called_with_one_quoted_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENTHOST_SSH", raising=False)
    monkeypatch.delenv("AGENTHOST_FAR_COMMAND", raising=False)
    words = SshPlace.parse("ssh://me@box:2022/a%20b;$(x)").argv(batch=True)
    assert words[:2] == ["ssh", "-T"]
    assert words[-3:] == ["--", "me@box", "agenthost relay --stdio --data-dir '/a b;$(x)'"]
    assert words[words.index("-p") + 1] == "2022"
    assert "BatchMode=yes" in words
    assert "BatchMode=yes" not in PLACE.argv(batch=False)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


async def test_only_the_first_login_at_a_terminal_may_ask_for_a_password(
    stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = stub("echo agenthost-relay 1; exec cat")
    for name in ("stdin", "stderr"):
        monkeypatch.setattr(sys, name, Terminal())
    asking, never = dial("ssh://box"), dial("ssh://box", may_ask=False)
    for way, times in ((asking, 0), (asking, 1), (never, 2)):
        await (await way()).close()
        assert kept(script, "words").count("BatchMode=yes") == times


# Failures


async def test_what_ssh_says_is_told_without_what_a_terminal_obeys(stub: Stub) -> None:
    stub(r'printf "one\ntwo\nthree\n\033[2Jssh: no route to box\r\n" >&2; exit 255')
    error = await failure()
    assert isinstance(error, CannotConnect)
    assert str(error) == "ssh://box: ssh: two; three; [2Jssh: no route to box"


@pytest.mark.parametrize(
    ("code", "line", "final", "said"),
    [
        (255, "me@box: Permission denied (publickey).", True, "ssh: me@box: Permission denied"),
        (255, "Host key verification failed.", True, "Host key verification failed"),
        (255, "", False, "failed without a word"),
        (127, "sh: agenthost: not found", True, "agenthost is not installed there"),
        (2, "invalid choice: 'relay'", False, "exit code 2: invalid choice: 'relay'"),
        (3, '{"agenthost": "noToken", "message": "it is gone"}', False, "ssh://box: it is gone"),
    ],
)
def test_each_end_of_ssh_has_its_words(code: int, line: str, final: bool, said: str) -> None:
    error = explain_exit(PLACE, code, [line] if line else [])
    assert said in str(error)
    assert isinstance(error, NotAdmitted) is final


async def test_no_ssh_at_all_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTHOST_SSH", "/no/such/ssh")
    assert "/no/such/ssh cannot be started" in str(await failure())


async def test_a_machine_that_prints_for_ever_is_no_host(stub: Stub) -> None:
    stub("exec yes")
    error = await failure()
    assert isinstance(error, CannotConnect)
    assert "is no agenthost" in str(error)


async def test_an_agenthost_that_is_not_there_is_told(
    stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub('exec sh -c "$last"')
    monkeypatch.setenv("AGENTHOST_FAR_COMMAND", "no-such-agenthost")
    error = await failure()
    assert isinstance(error, NotAdmitted)
    assert "not installed there" in str(error)


# A host at the other end


async def test_noise_of_the_far_shell_is_skipped_and_messages_pass(stub: Stub) -> None:
    words = stub('echo "Welcome to box"; echo agenthost-relay 1; exec cat')
    transport = await dial("ssh://me@box")()
    transport.write([Encoded(b'{"n":1}'), Encoded('{"t":"grüße"}'.encode())])
    assert await transport.receive() == b'{"n":1}'
    assert await transport.receive() == '{"t":"grüße"}'.encode()
    assert transport.peer == "ssh://me@box"
    await transport.close()
    assert "me@box" in kept(words, "words")


async def test_the_end_of_ssh_is_told_with_its_words(stub: Stub) -> None:
    stub("echo agenthost-relay 1; echo Connection to box closed by remote host. >&2; exit 255")
    transport = await dial("ssh://box")()
    with pytest.raises(TransportClosed, match="ssh: Connection to box closed by remote host"):
        await transport.receive()
    await transport.close()


@asynccontextmanager
async def announced_host(data_dir: Path) -> AsyncIterator[Host]:
    async with asyncio.timeout(FOREVER), Host() as host:
        with announce(data_dir, await host.listen(port=0), None):
            yield host


async def test_the_host_that_runs_there_is_reached_again_after_a_loss(
    stub: Stub, tmp_path: Path
) -> None:
    script = stub('echo $$ >> "$0.pids"; exec sh -c "exec $last"')
    (data_dir := tmp_path / "far data").mkdir()
    async with (
        announced_host(data_dir),
        connect(f"ssh://box{data_dir}", roll=lambda: 0.0) as client,
    ):
        chat = await (await client.sessions.create()).chat()
        assert "hello" in await chat.ask("hello")
        (pid,) = kept(script, "pids")
        os.kill(int(pid), 9)
        lost = False
        async for state in client.connection:
            lost = lost or isinstance(state, Reconnecting)
            if lost and isinstance(state, Connected):
                break
        assert "again" in await chat.ask("again")
    assert len(kept(script, "pids")) == 2


# The real one

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
CONFIGURATION = """
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
"""


async def run(*words: str | Path) -> int:
    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*words, stdout=quiet, stderr=quiet)
    return await process.wait()


@asynccontextmanager
async def sshd(folder: Path) -> AsyncIterator[int]:
    """Run a server of our own, with keys of its own, on a free port; skip where there is none."""
    if SSHD is None or shutil.which("ssh-keygen") is None:
        pytest.skip("there is no sshd here")
    for name in ("host_key", "key"):
        await run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    conf = folder / "sshd_config"
    await asyncio.to_thread(conf.write_text, CONFIGURATION.format(port=port, folder=folder))
    if await run(SSHD, "-t", "-f", conf):
        pytest.skip("the sshd here cannot be run by this user")
    process = await asyncio.create_subprocess_exec(
        SSHD, "-D", "-e", "-f", conf, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        while b"Server listening" not in await process.stderr.readline():
            assert process.returncode is None
        yield port
    finally:
        process.terminate()
        await process.communicate()


async def test_a_real_ssh_leads_to_the_host_that_runs_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (data_dir := tmp_path / "far data").mkdir()
    options = f"-F none -i {tmp_path}/key -o IdentitiesOnly=yes"
    options += f" -o UserKnownHostsFile={tmp_path}/known"
    monkeypatch.setenv("AGENTHOST_FAR_COMMAND", HERE)
    async with asyncio.timeout(FOREVER), sshd(tmp_path) as port, announced_host(data_dir):
        url = f"ssh://127.0.0.1:{port}{data_dir}"
        monkeypatch.setenv("AGENTHOST_SSH", f"ssh {options} -o StrictHostKeyChecking=yes")
        error = await failure(url)
        assert isinstance(error, NotAdmitted)
        assert "Host key verification failed" in str(error)
        monkeypatch.setenv("AGENTHOST_SSH", f"ssh {options} -o StrictHostKeyChecking=accept-new")
        async with connect(url) as client:
            chat = await (await client.sessions.create()).chat()
            assert "hello" in await chat.ask("hello")
