"""Whose word lets a server start, and what it is given of the host's environment."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from agenthost.clock import SystemClock
from agenthost.customizations.types import Origin
from agenthost.host.customizations.service import DeclaredServer
from agenthost.host.folder_trust import FolderTrust
from agenthost.host.mcp.trust_gate import TrustGate
from agenthost.host.trust.principals import LOCAL_OWNER, Principal
from agenthost.mcp.types import McpFailed, ServerDeclaration
from agenthost.tokens import Role

ADA = Principal("ada", Role.OPERATOR)
HERE: Any = SimpleNamespace(uri="ahp-session:/here")
THERE: Any = SimpleNamespace(uri="ahp-session:/there")
PLAIN = ServerDeclaration("it", command=("x",))
TAKING = ServerDeclaration("it", command=("x", "${env:KEY}"), host_variables=("KEY",))


def of(declaration: ServerDeclaration, origin: Origin = "workspace") -> DeclaredServer:
    return DeclaredServer("c-1", declaration, "/r", origin, True)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> TrustGate:
    async def settle() -> None:
        return None

    monkeypatch.setenv("KEY", "hush")
    ledger = cast("Any", SimpleNamespace(write=lambda *writes: None, settle=settle))
    trust = FolderTrust(cast("Any", None), ledger, SystemClock())
    return TrustGate(trust, cast("Any", None))


def state_of(gate: TrustGate, session: Any, server: DeclaredServer) -> str:
    told = gate.told(session, server)
    return str(told["agenthost/trust"]["state"]) if told else ""


@pytest.mark.parametrize("origin", ["workspace", "plugin", "client"])
def test_what_somebody_else_may_have_written_needs_a_word(gate: TrustGate, origin: Origin) -> None:
    assert gate.decision(HERE, of(PLAIN, origin)) is None
    assert state_of(gate, HERE, of(PLAIN, origin)) == "untrusted"
    with pytest.raises(McpFailed, match="nobody has trusted /r to start it"):
        gate.resolved(HERE, of(PLAIN, origin))


@pytest.mark.parametrize("origin", ["user", "builtin"])
def test_what_is_the_users_own_needs_none(gate: TrustGate, origin: Origin) -> None:
    assert gate.told(HERE, of(TAKING, origin)) == {}
    assert gate.resolved(HERE, of(TAKING, origin)).command == ("x", "hush")


async def test_an_operators_word_counts_here_and_gives_nothing_of_the_host(gate: TrustGate) -> None:
    await gate.trust(HERE, [of(PLAIN), of(TAKING)], ADA)
    assert state_of(gate, HERE, of(PLAIN)) == "session"
    assert gate.resolved(HERE, of(PLAIN)) == PLAIN
    with pytest.raises(McpFailed, match="takes KEY of this host's environment, which only an ow"):
        gate.resolved(HERE, of(TAKING))
    assert state_of(gate, THERE, of(PLAIN)) == "untrusted"


async def test_an_owners_word_counts_everywhere_and_for_what_it_was_about(
    gate: TrustGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    await gate.trust(HERE, [of(TAKING)], LOCAL_OWNER)
    assert state_of(gate, THERE, of(TAKING)) == "trusted"
    assert gate.resolved(THERE, of(TAKING)).command == ("x", "hush")
    changed = ServerDeclaration("it", command=("y", "${env:KEY}"), host_variables=("KEY",))
    assert gate.decision(THERE, of(changed)) is None
    monkeypatch.delenv("KEY")
    with pytest.raises(McpFailed, match="KEY is not set where this host runs"):
        gate.resolved(THERE, of(TAKING))


def test_what_was_refused_is_shown_so(gate: TrustGate) -> None:
    server = of(PLAIN)
    gate._trust.refuse("/r", {PLAIN.digest: "it"}, by=ADA, session=HERE.uri, kept=True)
    assert state_of(gate, HERE, server) == "refused"
    # Only an owner refuses for all.
    assert state_of(gate, THERE, server) == "untrusted"
    assert gate.undecided(HERE, [server]) == []
    assert gate.undecided(THERE, [server]) == [server]
