"""``agenthost serve --tls-cert``: other commands find the host, and trust that very certificate."""

from __future__ import annotations

import signal
from pathlib import Path

import trustme

from agenthost.client import connect
from agenthost.local_host import find_local_host
from tests.cli.running import Cli


async def check_advice(cli: Cli) -> None:
    """Who speaks to it in the wrong way, or does not trust it, is told what to do."""
    secure = find_local_host(cli.data_dir).url
    for address, advice in ((secure, "--tls-ca"), (secure.replace("wss:", "ws:"), "wss://")):
        done = await cli.main("doctor", "--json", "--url", address)
        (problem,) = [check for check in done.json["checks"] if check["verdict"] == "problem"]
        assert advice in problem["fix"]


async def test_commands_and_clients_find_a_host_that_speaks_tls(tmp_path: Path) -> None:
    made = trustme.CA().issue_cert("agents.example")
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    certificate.write_bytes(made.cert_chain_pems[0].bytes())
    key.write_bytes(made.private_key_pem.bytes())
    cli = Cli(tmp_path / "data", tmp_path)
    words = ("serve", "--port", "0", "--tls-cert", str(certificate), "--tls-key", str(key))
    async with cli.running(*words) as host:
        await host.until("listening")
        assert await host.line() == ""
        assert "https://127.0.0.1:" in await host.until("page")
        done = await cli("send", "hello")
        assert done.code == 0, done.err
        assert "hello" in done.out
        async with connect(data_dir=cli.data_dir) as client:
            assert client.root.state["agents"]
        await check_advice(cli)
        certificate.touch()
        host.send(signal.SIGHUP)
        done = await host.end(signal.SIGINT)
        assert (done.code, done.err) == (
            0,
            f"agenthost: took up the renewed certificate {certificate}\n",
        )
    half = await cli("serve", "--port", "0", "--tls-cert", str(certificate))
    assert half.code == 1
    assert "--tls-cert and --tls-key go together" in half.err
