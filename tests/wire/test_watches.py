"""Watches over the wire: what they tell, to whom, when they end, and what they refuse."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import tracemalloc
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents.demo import Demo
from agenthost.host import Host, Limits
from agenthost.host.channels.resource_watch import watches as watches_module
from agenthost.host.files.reach import MOST_FOLDERS
from agenthost.host.store import MemoryBacking, MemoryStore
from agenthost.tokens import Role
from tests.flags import eventually
from tests.wire.client import WireClient, open_client
from tests.wire.people import peopled

if sys.platform != "linux":
    pytest.skip("watches need Linux", allow_module_level=True)

Json = dict[str, Any]
MISSING, DENIED, BAD = -32008, -32009, -32602


@asynccontextmanager
async def at(
    root: Path, version: str = "1.0.0", **options: Any
) -> AsyncIterator[tuple[Host, WireClient]]:
    """A host that works in a folder, and a client of its owner's."""
    options = {"roots": [root], "default_directory": root, **options}
    host = Host(**options)
    async with host, open_client(await host.listen(port=0), "c", version) as client:
        await client.initialize()
        yield host, client


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "root"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("hello")
    (tmp_path / "outside").mkdir()
    return root


async def watched(client: WireClient, path: Path, **params: Any) -> str:
    """Watch something and follow it; return the channel."""
    created = await client.request("createResourceWatch", uri=path.as_uri(), **params)
    channel: str = created["channel"]
    await client.subscribe(channel)
    return channel


def told(client: WireClient, channel: str) -> list[tuple[str, str]]:
    """Return the changes that were told so far."""
    return [
        (item["uri"], item["type"])
        for envelope in client.envelopes[channel]
        for item in envelope["action"]["changes"]["items"]
    ]


async def tells(client: WireClient, channel: str, *expected: tuple[Path, str]) -> None:
    """Wait until as many changes are told as expected; they must be just these."""
    await client.until(lambda: {} if len(told(client, channel)) >= len(expected) else None)
    assert sorted(told(client, channel)) == sorted((path.as_uri(), kind) for path, kind in expected)
    client.envelopes[channel].clear()


def count(host: Host) -> Callable[[], bool]:
    return lambda: len(host.core.watches) == 0


async def test_what_changes_in_a_folder_is_told_and_its_state_is_what_was_asked(root: Path) -> None:
    async with at(root) as (_, client):
        channel = await watched(client, root, excludes={"items": ["*.log"]})
        assert channel.startswith("ahp-resource-watch:/")
        assert client.states[channel] == {
            "root": root.as_uri(),
            "recursive": False,
            "excludes": {"items": ["*.log"]},
        }
        (root / "new name.txt").write_text("1")
        (root / "x.log").write_text("1")
        (root / "a.txt").unlink()
        (root / "sub" / "deep").write_text("too deep")
        await tells(client, channel, (root / "new name.txt", "added"), (root / "a.txt", "deleted"))


async def test_a_single_file_tells_also_when_it_is_replaced_and_made_again(root: Path) -> None:
    file = root / "a.txt"
    async with at(root) as (_, client):
        channel = await watched(client, file)
        (root / "beside").write_text("nobody's affair")
        file.write_text("2")
        await tells(client, channel, (file, "updated"))
        (root / "beside").rename(file)
        await tells(client, channel, (file, "updated"))
        file.unlink()
        await tells(client, channel, (file, "deleted"))
        file.write_text("3")
        await tells(client, channel, (file, "added"))


async def test_a_recursive_watch_looks_into_new_folders_and_not_into_excluded_ones(
    root: Path,
) -> None:
    (root / "node_modules").mkdir()
    async with at(root) as (_, client):
        excludes = {"items": ["**/node_modules"]}
        channel = await watched(client, root, recursive=True, excludes=excludes)
        assert client.states[channel]["recursive"] is True
        (root / "node_modules" / "x").write_text("1")
        (root / "sub" / "new").mkdir()
        (root / "sub" / "new" / "ä.txt").write_text("1")
        folder = root / "sub" / "new"
        await tells(client, channel, (folder, "added"), (folder / "ä.txt", "added"))


async def test_only_what_is_included_is_told(root: Path) -> None:
    async with at(root) as (_, client):
        only = {"items": ["**/*.py"]}
        channel = await watched(client, root, recursive=True, includes=only)
        (root / "sub" / "no.txt").write_text("1")
        (root / "sub" / "yes.py").write_text("1")
        await tells(client, channel, (root / "sub" / "yes.py", "added"))


async def test_changes_are_told_below_the_name_that_was_asked_for(root: Path) -> None:
    (root / "link").symlink_to(root / "sub")
    async with at(root) as (_, client):
        channel = await watched(client, root / "link")
        (root / "sub" / "f").write_text("1")
        await tells(client, channel, (root / "link" / "f", "added"))


async def test_a_name_that_is_no_text_is_told_in_a_uri_that_finds_it(root: Path) -> None:
    async with at(root) as (_, client):
        channel = await watched(client, root)
        (root / os.fsdecode(b"\xff\n")).write_text("found")
        await client.until(lambda: {} if told(client, channel) else None)
        ((uri, _),) = told(client, channel)
        assert uri == f"{root.as_uri()}/%FF%0A"
        assert (await client.request("resourceRead", uri=uri))["data"] == "found"


@pytest.mark.parametrize("version", ["0.5.0", "0.6.0", "0.9.0"])
async def test_two_subscribers_of_different_versions_are_told_the_same(
    root: Path, version: str
) -> None:
    backing = MemoryBacking()
    host = Host(roots=[root], default_directory=root, store=MemoryStore(backing))
    async with host:
        url = await host.listen(port=0)
        async with open_client(url, "one") as one, open_client(url, "two", version) as two:
            for client in (one, two):
                await client.initialize()
            channel = await watched(two, root, excludes={"items": ["x"]})
            assert await one.subscribe(channel) == two.states[channel]
            (root / "n").write_text("1")
            for client in (one, two):
                await tells(client, channel, (root / "n", "added"))
            # It lasts as long as one of them follows it.
            await one.send({"method": "unsubscribe", "params": {"channel": channel}})
            await one.ping()
            (root / "m").write_text("1")
            await tells(two, channel, (root / "m", "added"))
            assert one.envelopes[channel] == []
            assert len(host.core.watches) == 1
            await two.send({"method": "unsubscribe", "params": {"channel": channel}})
            await two.ping()
            assert len(host.core.watches) == 0
            await eventually(lambda: host.core.watches.watcher.folders == 0)
            assert (await one.refusal("subscribe", channel=channel)).code == MISSING
        await host.core.writer.ledger.settle()
        assert await host.core.store.load_channel(channel) is None


async def test_a_watch_ends_when_its_last_subscriber_is_cut_off(root: Path) -> None:
    async with at(root) as (host, client):
        channel = await watched(client, root)
        client.abort()
        await eventually(count(host))
        await eventually(lambda: host.core.watches.watcher.folders == 0)
    async with at(root) as (host, client):
        # Nor does it come back with a client that comes back.
        channel = await watched(client, root)
        url = await host.listen(port=0)
        async with open_client(url, "c") as again:
            result = await again.reconnect(client.last_seen, channel, "ahp-root://")
            assert channel in result["missing"]


async def test_a_watch_that_nobody_follows_ends_by_itself(root: Path) -> None:
    async with at(root) as (host, client):
        host.core.watches._unfollowed_seconds = 0.01
        followed = (await client.request("createResourceWatch", uri=root.as_uri()))["channel"]
        await eventually(count(host))
        assert (await client.refusal("subscribe", channel=followed)).code == MISSING
    assert watches_module.UNFOLLOWED_SECONDS == 30.0


async def test_a_watch_ends_with_what_it_watches(root: Path) -> None:
    async with at(root) as (_, client):
        channel = await watched(client, root / "sub", recursive=True)
        (root / "sub").rmdir()
        await tells(client, channel, (root / "sub", "deleted"))
        assert (await client.refusal("createResourceWatch", uri=(root / "sub").as_uri())).code == (
            MISSING
        )


async def test_a_checkout_of_5000_files_is_told_whole_in_few_actions(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GIT_DIR")
    repository = root / "repository"
    _make_two_branches(repository, 5_000)
    async with at(root) as (host, client):
        excludes = {"items": [".git"]}
        channel = await watched(client, repository, recursive=True, excludes=excludes)
        tracemalloc.start()
        peaks = []
        for branch in ("other", "main", "other"):
            await asyncio.to_thread(_git, repository, "checkout", "-q", branch)
            # git removes each file and writes it anew; which of that is one change is a matter of
            # time, and what it comes to is not.
            await client.until(lambda: _whole(client, channel, 5_000))
            assert len(dict(told(client, channel))) == 5_000
            # Coalesced: nothing like one action a file, and none too long.
            sizes = [len(e["action"]["changes"]["items"]) for e in client.envelopes[channel]]
            assert max(sizes) <= 1_000
            assert len(sizes) < 100
            await client.ping()
            client.envelopes[channel].clear()
            client.received.clear()
            gc.collect()
            peaks.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        # What the first one took is not taken again.
        assert peaks[-1] - peaks[0] < 1_000_000
        assert host.core.watches.watcher.folders > 50


def _whole(client: WireClient, channel: str, files: int) -> Json | None:
    """Say whether so many files are told to be there."""
    last = dict(told(client, channel))
    return {} if len(last) >= files and "deleted" not in last.values() else None


def _make_two_branches(repository: Path, files: int) -> None:
    repository.mkdir()
    _git(repository, "init", "-q", "-b", "main")
    for text, branch in (("one\n", "main"), ("two and more\n", "other")):
        if branch != "main":
            _git(repository, "checkout", "-q", "-b", branch)
        for number in range(files):
            folder = repository / f"d{number % 50}"
            folder.mkdir(exist_ok=True)
            (folder / f"f{number}").write_text(text)
        _git(repository, "add", "-A")
        _git(repository, "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", branch)
    _git(repository, "checkout", "-q", "main")


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True)


# What is refused


async def test_nothing_outside_can_be_watched_by_any_name(root: Path) -> None:
    outside = root.parent / "outside"
    (root / "out").symlink_to(outside)
    (root / "loop").symlink_to(root / "loop")
    async with at(root) as (host, client):
        for uri in (
            root.parent.as_uri(),
            "file:///",
            outside.as_uri(),
            f"{outside.as_uri()}/missing",
            f"{root.as_uri()}/../outside",
            f"{root.as_uri()}/%2e%2e/outside",
            f"{root.as_uri()}/out",
            f"{root.as_uri()}/out/x",
            "file:///proc/self/environ",
        ):
            for recursive in (False, True):
                refusal = await client.refusal("createResourceWatch", uri=uri, recursive=recursive)
                assert refusal.code == DENIED, uri
        for uri, code in (
            (f"{root.as_uri()}/missing", MISSING),
            (f"{root.as_uri()}/missing/deeper", MISSING),
            (f"{root.as_uri()}/loop", BAD),
            ("file:relative", BAD),
            ("file://elsewhere/x", BAD),
            (f"{root.as_uri()}/%00", BAD),
            ("virtual://nobody/x", MISSING),
        ):
            assert (await client.refusal("createResourceWatch", uri=uri)).code == code, uri
        # A link out of the tree is not looked behind.
        channel = await watched(client, root, recursive=True)
        (outside / "secret").write_text("1")
        (root / "end").write_text("1")
        await tells(client, channel, (root / "end", "added"))
        assert len(host.core.watches) == 1


async def test_bad_patterns_are_refused_by_name(root: Path) -> None:
    async with at(root) as (host, client):
        for member in ("excludes", "includes"):
            for patterns in (["x" * 5_000], ["{a,b}" * 10], ["x"] * 1_000):
                params: Json = {member: {"items": patterns}}
                refusal = await client.refusal("createResourceWatch", uri=root.as_uri(), **params)
                assert (refusal.code, refusal.data) == (BAD, {"path": member})
        assert len(host.core.watches) == 0


async def test_what_is_the_host_s_own_is_not_told(root: Path) -> None:
    data = root / "data"
    (data / "workspace").mkdir(parents=True)
    async with at(root, workspace_dir=data / "workspace", kept_away=[data]) as (_, client):
        for path in (data, data / "workspace"):
            refusal = await client.refusal("createResourceWatch", uri=path.as_uri())
            assert refusal.code == DENIED
        channel = await watched(client, root, recursive=True)
        (data / "token").write_text("secret")
        (data / "workspace" / "index").write_text("1")
        data.rename(root / "renamed")
        (root / "renamed" / "token").write_text("secret")
        (root / "renamed" / "new").write_text("secret")
        (root / "end").write_text("1")
        await client.until(
            lambda: {} if (f"{root.as_uri()}/end", "added") in told(client, channel) else None
        )
        assert not any("token" in uri or "index" in uri for uri, _ in told(client, channel))


async def test_there_are_only_so_many_watches(root: Path) -> None:
    limits = Limits(max_watches=3, max_host_watches=10)
    async with at(root, limits=limits) as (host, client):
        uri = root.as_uri()
        for _ in range(3):
            await watched(client, root)
        refusal = await client.refusal("createResourceWatch", uri=uri)
        assert (refusal.code, refusal.message) == (
            DENIED,
            "a connection may have 3 watches at once",
        )
        url = await host.listen(port=0)
        async with open_client(url, "other") as other:
            await other.initialize()
            for _ in range(2):
                await other.request("createResourceWatch", uri=uri)
            refusal = await other.refusal("createResourceWatch", uri=uri)
            assert (refusal.code, refusal.message) == (DENIED, "you may have 5 watches at once")


async def test_a_tree_with_too_many_folders_is_refused_and_leaves_nothing(root: Path) -> None:
    for number in range(30):
        (root / f"d{number}").mkdir()
    async with at(root, limits=Limits(max_watched_folders=40)) as (host, client):
        refusal = await client.refusal("createResourceWatch", uri=root.as_uri(), recursive=True)
        assert refusal.code == DENIED
        assert refusal.message == f"{root.as_uri()}: you may watch 20 folders at once"
        assert len(host.core.watches) == 0
        await eventually(lambda: host.core.watches.watcher.folders == 0)
        await watched(client, root)


async def test_whoever_watches_many_folders_leaves_half_for_others(
    root: Path, tmp_path: Path
) -> None:
    for number in range(19):
        (root / "sub" / f"d{number}").mkdir()
    options: Json = {"roots": [root], "default_directory": root}
    limits = Limits(max_watched_folders=40)
    async with (
        peopled(tmp_path / "data", limits=limits, **options) as people,
        people.client("owner") as owner,
        people.client("olga") as olga,
    ):
        await olga.ready_session("ahp-session:/olga", workingDirectories=[(root / "sub").as_uri()])
        sub = {"uri": (root / "sub").as_uri(), "recursive": True}
        hers = await watched(olga, root / "sub", recursive=True)
        refusal = await olga.refusal("createResourceWatch", **sub)
        assert (refusal.code, "you may watch 20 folders" in refusal.message) == (DENIED, True)
        await watched(owner, root / "sub", recursive=True)
        # What she lets go of she has again.
        await olga.send({"method": "unsubscribe", "params": {"channel": hers}})
        await watched(olga, root / "sub", recursive=True)


async def test_a_client_that_does_not_read_costs_nobody_anything(root: Path) -> None:
    limits = Limits(max_outbox_bytes=1024 * 1024)
    async with at(root, limits=limits) as (host, client):
        url = await host.listen(port=0)
        channel = await watched(client, root)
        async with open_client(url, "slow") as slow:
            await slow.initialize()
            await slow.subscribe(channel)
            slow.socket.transport.pause_reading()
            number = 0
            while len(host.connections) > 1:
                number += 1
                for copy in range(200):
                    (root / f"{'n' * 200}{number}-{copy}").write_text("1")
                await client.ping()
            slow.socket.transport.resume_reading()
        added = {f"{root.as_uri()}/{'n' * 200}{n}-0" for n in range(1, number + 1)}
        await client.until(
            lambda: {} if added <= {uri for uri, _ in told(client, channel)} else None
        )


# Who may


async def test_a_watch_is_for_its_maker_and_owners_and_viewers_make_none(
    root: Path, tmp_path: Path
) -> None:
    async with (
        peopled(tmp_path / "data", roots=[root], default_directory=root) as people,
        people.client("owner") as owner,
        people.client("olga") as olga,
        people.client("otto") as otto,
        people.client("vera", Role.VIEWER) as vera,
    ):
        channel = await watched(owner, root)
        for other in (olga, vera):
            refusal = await other.refusal("subscribe", channel=channel)
            assert (refusal.code, refusal.message) == (MISSING, f"there is no channel {channel}")
            refusal = await other.refusal("createResourceWatch", uri=root.as_uri())
            assert refusal.code == DENIED
        await olga.ready_session("ahp-session:/olga", workingDirectories=[(root / "sub").as_uri()])
        hers = await watched(olga, root / "sub", recursive=True)
        for other in (otto, vera):
            assert (await other.refusal("subscribe", channel=hers)).code == MISSING
            for path in (root / "sub", root / "sub" / "missing"):
                refusal = await other.refusal("createResourceWatch", uri=path.as_uri())
                assert refusal.code == DENIED
        for path in (root, root / "a.txt", root / "sub" / ".."):
            refusal = await olga.refusal("createResourceWatch", uri=path.as_uri())
            assert refusal.code == DENIED
        await owner.subscribe(hers)
        (root / "sub" / "new").write_text("1")
        for client in (olga, owner):
            await tells(client, hers, (root / "sub" / "new", "added"))
        # Whoever begins to take part may watch from then on.
        await otto.subscribe("ahp-session:/olga")
        chat = otto.states["ahp-session:/olga"]["defaultChat"]
        await otto.subscribe(chat)
        await otto.run_turn(chat, "t1", "hello")
        await watched(otto, root / "sub")
        assert len(people.host.core.watches) == 3
        # Without her session she has no business there, whoever else follows it.
        await olga.request("disposeSession", channel="ahp-session:/olga")
        for client in (olga, owner):
            await tells(client, hers, (root / "sub", "deleted"))
        await olga.ping()
        assert len(people.host.core.watches) == 1


async def test_a_watch_in_a_session_s_folder_ends_with_the_session(root: Path) -> None:
    outside = root.parent / "outside"
    async with at(root) as (host, client):
        session = "ahp-session:/s"
        assert (await client.refusal("createResourceWatch", uri=outside.as_uri())).code == DENIED
        await client.ready_session(session, workingDirectories=[outside.as_uri()])
        inside, beside = await watched(client, outside), await watched(client, root)
        (outside / "f").write_text("1")
        await tells(client, inside, (outside / "f", "added"))
        await client.request("disposeSession", channel=session)
        await tells(client, inside, (outside, "deleted"))
        assert (await client.refusal("subscribe", channel=inside)).code == MISSING
        (outside / "g").write_text("1")
        (root / "g").write_text("1")
        await tells(client, beside, (root / "g", "added"))
        assert (client.envelopes[inside], len(host.core.watches)) == ([], 1)


class Wide(Demo):
    """Works in several folders."""

    capabilities: Mapping[str, Any] = {**Demo.capabilities, "multipleWorkingDirectories": {}}


async def test_a_watch_in_a_folder_that_its_session_leaves_ends(root: Path) -> None:
    outside = root.parent / "outside"
    async with at(root, agents=[Wide()]) as (host, client):
        session = "ahp-session:/s"
        directories = [root.as_uri(), outside.as_uri()]
        await client.ready_session(session, workingDirectories=directories)
        channel = await watched(client, outside)
        await client.accepted(
            session,
            {"type": "session/workingDirectoryRemoved", "directory": outside.as_uri()},
        )
        # At once, whether or not something changes there.
        await tells(client, channel, (outside, "deleted"))
        await client.ping()
        assert len(host.core.watches) == 0
        assert (await client.refusal("createResourceWatch", uri=outside.as_uri())).code == DENIED


async def test_a_host_that_stops_ends_its_watches(root: Path) -> None:
    async with at(root) as (host, client):
        await watched(client, root, recursive=True)
        core = host.core
        watcher = core.watches.watcher
    assert len(core.watches) == 0
    assert watcher.folders == 0


async def test_watches_hold_no_folders_of_their_maker_s_other_sessions(root: Path) -> None:
    folders = [root / f"s{number}" for number in range(60)]
    async with at(root) as (_, client):
        before = len(os.listdir("/proc/self/fd"))
        for number, folder in enumerate(folders):
            folder.mkdir()
            session = f"ahp-session:/s{number}"
            await client.ready_session(session, workingDirectories=[folder.as_uri()])
            await watched(client, folder)
        # Some sets of folders are kept open for whoever asks next; each watch would keep its own.
        most = 2 * MOST_FOLDERS + 100
        assert sum(range(len(folders))) > 2 * most
        assert len(os.listdir("/proc/self/fd")) - before < most
