"""A viewer changes nothing: every method there is and every action a client may dispatch, tried.

What is tried comes from the tables of the protocol and the kinds of this host, so that a new method
or kind is tried as soon as there is one.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import pytest_asyncio

from agenthost.host import Host, Role
from agenthost.host.channels.registry import KINDS
from agenthost.protocol.methods import METHODS, Access, Direction, methods
from agenthost.protocol.reducer_registry import kind_of
from agenthost.protocol.schema.unions import tags_of
from agenthost.protocol.wire_types import WIRE_TYPES
from tests.protocol.refusals import CLIENT_ACTIONS
from tests.protocol.wire_samples import full, minimal
from tests.wire.client import WireClient
from tests.wire.people import People, peopled

pytestmark = pytest.mark.asyncio(loop_scope="module")

DENIED, INVALID = -32009, -32602
SESSION = "ahp-session:/viewed"
# What everybody may say of themselves: that they have read something.
HARMLESS = {"session/isReadChanged", "chat/isReadChanged"}
REQUESTS = methods(Direction.TO_HOST, is_notification=False)
LOOKING = {name for name in REQUESTS if METHODS[name].access is Access.EVERYONE}
ACTIONS = {str(tags_of(action, "type")[0]): action for action in CLIENT_ACTIONS.values()}
SERVED = sorted({kind.name for kind in KINDS})


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def people(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[People]:
    folder = tmp_path_factory.mktemp("viewed")
    (folder / "root").mkdir()
    (folder / "root" / "file").write_text("as it was")
    options: dict[str, Any] = {"roots": [folder / "root"], "default_directory": folder / "root"}
    async with peopled(folder, **options) as people, people.client("owner", Role.OWNER) as owner:
        await owner.used_session(SESSION)
        await owner.subscribe("ahp-root://")
        for kind in KINDS:
            if not any(channel.kind is kind for channel in people.host.core.directory.loaded()):
                _make(people.host, kind)
        yield people
    assert (folder / "root" / "file").read_text() == "as it was"
    assert sorted(path.name for path in (folder / "root").iterdir()) == ["file"]


def _make(host: Host, kind: Any) -> None:
    """Make a channel of a kind; what stands behind it is not needed where nothing may happen."""
    name = f"{kind.name[0].upper()}{kind.name[1:]}State"
    state = minimal(WIRE_TYPES[name]) if kind.has_state else {}
    host.core.directory.create(f"ahp-{kind.name.lower()}:/viewed", kind, state)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def viewer(people: People) -> AsyncIterator[WireClient]:
    async with people.client("vic", Role.VIEWER) as viewer:
        yield viewer


def states(host: Host) -> dict[str, object]:
    """Return the state of every channel; one that is changed is another object."""
    return {channel.uri: channel.state for channel in host.core.directory.loaded()}


def assert_unchanged(host: Host, before: dict[str, object]) -> None:
    after = states(host)
    assert after.keys() == before.keys()
    assert [uri for uri, state in after.items() if state is not before[uri]] == []


@pytest.mark.parametrize("method", sorted(REQUESTS - LOOKING))
async def test_a_viewer_may_call_nothing_that_could_change_anything(
    people: People, viewer: WireClient, method: str
) -> None:
    before = states(people.host)
    root: Path = Path(people.host.core.roots[0])
    uri = (root / "file").as_uri()
    files = {"uri": uri, "source": uri, "destination": uri + ".copy"}
    codes = set()
    for channel, make in itertools.product(before, (full, minimal)):
        sample = make(METHODS[method].params)
        named = {key: value for key, value in files.items() if isinstance(sample.get(key), str)}
        failure = await viewer.refusal(method, **{**sample, **named, "channel": channel})
        codes.add(failure.code)
        # It is not told how it could get there, either.
        assert "request" not in (failure.data or {})
    # Where the channel is not of the method's kind, that is said first.
    assert codes - {INVALID} == {DENIED}
    assert_unchanged(people.host, before)


@pytest.mark.parametrize("kind", SERVED)
async def test_a_viewer_may_dispatch_nothing_but_that_it_has_read(
    people: People, viewer: WireClient, kind: str
) -> None:
    host = people.host
    actions = {name: full(type) for name, type in ACTIONS.items() if kind_of(name) == kind}
    channels = [c.uri for c in host.core.directory.loaded() if c.kind.name == kind]
    assert channels
    for channel in channels:
        for name, action in actions.items():
            if name in HARMLESS:
                continue
            before = states(host)
            reason = await viewer.rejected(channel, action)
            assert reason == f"the role viewer may not dispatch {name}" or "no such" in reason
            assert_unchanged(host, before)


async def test_looking_changes_nothing_either(people: People, viewer: WireClient) -> None:
    before = states(people.host)
    for method in sorted(LOOKING - {"initialize", "reconnect"}):
        for channel in before:
            sample = {**full(METHODS[method].params), "channel": channel}
            await viewer.exchange(*_asked(method, sample))
    assert_unchanged(people.host, before)


def _asked(method: str, params: dict[str, Any]) -> tuple[bytes, str]:
    id = f"look {method} {params['channel']}"
    return orjson.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}), id
