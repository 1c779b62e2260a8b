"""Who takes part in a session, and that its files are theirs and the owner's alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from agenthost.host import Role
from agenthost.host.store import SqliteStore
from agenthost.host.trust import Principal
from tests.wire.client import WireClient, user_message
from tests.wire.people import People, peopled

DENIED = -32009
SECRET = "what only Bea may know"
ANN, BEA = (Principal(name, Role.OPERATOR) for name in ("ann", "bea"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("ann", "bea"):
        (tmp_path / "root" / name).mkdir(parents=True)
    (tmp_path / "root" / "ann" / "file").write_text("Ann's")
    (tmp_path / "root" / "ann" / "to-bea").symlink_to(tmp_path / "root" / "bea")
    (tmp_path / "root" / "bea" / "diary").write_text(SECRET)
    return tmp_path / "root"


def hosting(root: Path, **options: Any) -> Any:
    options = {"roots": [root], "default_directory": root, **options}
    return peopled(root.parent / "tokens", **options)


async def session_of(client: WireClient, folder: Path) -> str:
    """Make the session of somebody who works in a folder of the same name."""
    return await client.ready_session(
        f"ahp-session:/{folder.name}", workingDirectories=[folder.as_uri()]
    )


def everything_in(root: Path) -> list[str]:
    return sorted(map(str, root.rglob("*")))


def requests_about(uri: str, own: str) -> list[tuple[str, dict[str, Any]]]:
    """Return every request that reads, lists, changes or asks for a URI."""
    text = {"data": "x", "encoding": "utf-8"}
    names = ("Read", "List", "Resolve", "Delete", "Mkdir", "Request")
    return [
        *((f"resource{name}", {"uri": uri}) for name in names),
        ("resourceWrite", {"uri": uri, **text}),
        ("resourceCopy", {"source": uri, "destination": own + "/copy"}),
        ("resourceCopy", {"source": own + "/file", "destination": uri}),
        ("resourceMove", {"source": uri, "destination": own + "/moved"}),
        ("resourceMove", {"source": own + "/file", "destination": uri}),
    ]


async def test_an_operator_reaches_its_own_session_and_not_that_of_another(root: Path) -> None:
    before = everything_in(root)
    async with hosting(root) as people, people.client("ann") as ann, people.client("bea") as bea:
        await session_of(ann, root / "ann")
        await session_of(bea, root / "bea")
        own, others = (root / "ann").as_uri(), (root / "bea").as_uri()
        assert (await ann.request("resourceRead", uri=own + "/file"))["data"] == "Ann's"
        assert (await bea.request("resourceRead", uri=others + "/diary"))["data"] == SECRET
        for uri in (
            others + "/diary",
            others,
            others + "/missing",
            own + "/to-bea/diary",
            own + "/to-bea",
            own + "/../bea/diary",
            own + "/%2e%2e/bea/diary",
            root.as_uri(),
        ):
            for method, params in requests_about(uri, own):
                if uri == own + "/to-bea" and method in ("resourceDelete", "resourceMove"):
                    # The link itself is Ann's.
                    continue
                refusal = await ann.refusal(method, **params)
                assert refusal.code == DENIED, (method, params, refusal)
        assert SECRET not in str(ann.received)
        assert "diary" not in str([m for m in ann.received if "result" in m])
    assert everything_in(root) == before
    assert (root / "bea" / "diary").read_text() == SECRET


async def test_whoever_writes_in_a_session_takes_part_from_then_on(root: Path) -> None:
    async with hosting(root) as people, people.client("ann") as ann, people.client("bea") as bea:
        chat = await session_of(bea, root / "bea")
        diary = (root / "bea" / "diary").as_uri()
        # To look at it is not to take part.
        await ann.subscribe(chat)
        await ann.subscribe("ahp-session:/bea")
        assert (await ann.refusal("resourceRead", uri=diary)).code == DENIED
        await ann.run_turn(chat, "t1", "hello")
        assert (await ann.request("resourceRead", uri=diary))["data"] == SECRET


async def queue(client: WireClient, chat: str) -> None:
    await client.subscribe(chat)
    message = {"kind": "queued", "id": "q", "message": user_message("later")}
    await client.accepted(chat, {"type": "chat/pendingMessageSet", **message})


async def activate(client: WireClient, _chat: str) -> None:
    await client.subscribe("ahp-session:/bea")
    active = {"clientId": client.client_id, "tools": []}
    await client.accepted(
        "ahp-session:/bea", {"type": "session/activeClientSet", "activeClient": active}
    )


async def open_chat(client: WireClient, _chat: str) -> None:
    chat = "ahp-chat:/second"
    await client.request(
        "createChat", channel="ahp-session:/bea", chat=chat, initialMessage=user_message("hi")
    )


@pytest.mark.parametrize("join", [queue, activate, open_chat])
async def test_there_are_several_ways_to_take_part(
    root: Path, join: Callable[[WireClient, str], Any]
) -> None:
    async with hosting(root) as people, people.client("ann") as ann, people.client("bea") as bea:
        chat = await session_of(bea, root / "bea")
        takes_part = people.host.core.participants.takes_part
        assert not takes_part("ahp-session:/bea", ANN)
        await join(ann, chat)
        assert takes_part("ahp-session:/bea", ANN)


async def test_a_refused_message_lets_nobody_take_part(root: Path) -> None:
    async with hosting(root) as people, people.client("ann") as ann, people.client("bea") as bea:
        chat = await session_of(bea, root / "bea")
        await ann.subscribe(chat)
        unknown = {"type": "chat", "resource": "ahp-chat:/nowhere", "label": "x"}
        message = {**user_message("look"), "attachments": [unknown]}
        turn = {**ann.turn_started("t1", ""), "message": message}
        await ann.rejected(chat, turn)
        assert not people.host.core.participants.takes_part("ahp-session:/bea", ANN)


async def test_viewers_take_part_in_nothing_and_owners_in_everything(root: Path) -> None:
    async with (
        hosting(root) as people,
        people.client("bea") as bea,
        people.client("vic", Role.VIEWER) as vic,
        people.client("owner", Role.OWNER) as owner,
    ):
        await session_of(bea, root / "bea")
        diary = (root / "bea" / "diary").as_uri()
        for method, params in requests_about(diary, (root / "ann").as_uri()):
            refusal = await vic.refusal(method, **params)
            assert (refusal.code, (refusal.data or {}).get("request")) == (DENIED, None)
        assert (await owner.request("resourceRead", uri=diary))["data"] == SECRET
        # A name that is also in the session does not make a viewer an operator.
        demoted = Principal("bea", Role.VIEWER)
        assert not people.host.core.participants.takes_part("ahp-session:/bea", demoted)
    assert (root / "bea" / "diary").read_text() == SECRET


async def test_an_operator_reaches_no_folder_outside_of_the_hosts(
    root: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_text(SECRET)
    async with (
        hosting(root) as people,
        people.client("ann") as ann,
        people.client("owner", Role.OWNER) as owner,
    ):
        chat = await session_of(owner, tmp_path / "elsewhere")
        uri = (tmp_path / "elsewhere" / "file").as_uri()
        assert (await owner.request("resourceRead", uri=uri))["data"] == SECRET
        await ann.subscribe(chat)
        await ann.run_turn(chat, "t1", "hello")
        assert (await ann.refusal("resourceRead", uri=uri)).code == DENIED
        # Nor does a folder lead there that becomes a link while its session goes on.
        await session_of(ann, root / "ann")
        (root / "ann").rename(root / "was-ann")
        (root / "ann").symlink_to(tmp_path / "elsewhere")
        moved = (root / "ann" / "file").as_uri()
        assert (await ann.refusal("resourceRead", uri=moved)).code == DENIED
        assert SECRET not in str(ann.received)


async def test_who_takes_part_outlives_the_host_and_the_trash(root: Path) -> None:
    store = root.parent / "store.db"
    async with AsyncExitStack() as stack:
        people: People = await stack.enter_async_context(hosting(root, store=SqliteStore(store)))
        bea = await stack.enter_async_context(people.client("bea"))
        chat = await session_of(bea, root / "bea")
        await bea.subscribe(chat)
        await bea.run_turn(chat, "t1", "hello")
    async with AsyncExitStack() as stack:
        people = await stack.enter_async_context(hosting(root, store=SqliteStore(store)))
        takes_part, uri = people.host.core.participants.takes_part, "ahp-session:/bea"
        owner = await stack.enter_async_context(people.client("owner", Role.OWNER))
        # On a cluster it is taken up for who looks at it.
        await owner.subscribe(uri)
        await owner.ping()
        assert takes_part(uri, BEA)
        assert not takes_part(uri, ANN)
        await owner.request("disposeSession", channel=uri)
        assert not takes_part(uri, BEA)
        await owner.request("agenthost/restoreSession", channel=uri)
        await owner.subscribe(uri)
        await owner.ping()
        assert takes_part(uri, BEA)
        # Gone for good, it says nothing of a later one of the same name.
        await owner.request("disposeSession", channel=uri)
        await owner.request("agenthost/purgeSession", channel=uri)
        async with people.client("ann") as ann:
            await ann.ready_session(uri)
        assert not takes_part(uri, BEA)


async def test_a_chat_that_leaves_takes_its_people_along(root: Path) -> None:
    async with hosting(root) as people, people.client("bea") as bea, people.client("ann") as ann:
        await session_of(bea, root / "bea")
        await bea.request("createChat", channel="ahp-session:/bea", chat="ahp-chat:/second")
        await bea.subscribe("ahp-chat:/second")
        await bea.run_turn("ahp-chat:/second", "t1", "hello")
        moved = await ann.request(
            "moveChat", channel="ahp-chat:/second", destination={"kind": "newSession"}
        )
        takes_part = people.host.core.participants.takes_part
        assert takes_part(moved["session"], BEA)
        # Who only moves it has said nothing in it.
        assert not takes_part(moved["session"], ANN)


@pytest.mark.skipif(os.name != "posix", reason="needs descriptors of folders")
async def test_many_people_keep_no_more_folders_open_than_are_needed(root: Path) -> None:
    async with hosting(root) as people:
        descriptors = len(os.listdir("/proc/self/fd"))
        for number in range(100):
            folder = root / f"p{number}"
            folder.mkdir()
            async with people.client(f"p{number}") as client:
                await session_of(client, folder)
                assert await client.request("resourceList", uri=folder.as_uri()) == {"entries": []}
        assert len(os.listdir("/proc/self/fd")) < descriptors + 100


async def test_watches_terminals_and_completions_of_others_are_not_there(root: Path) -> None:
    """Bea has one of each; Ann sees her terminal, and can use none of them until she takes part."""
    async with hosting(root) as people, people.client("ann") as ann, people.client("bea") as bea:
        chat = await session_of(bea, root / "bea")
        folder = (root / "bea").as_uri()
        watch = (await bea.request("createResourceWatch", uri=folder))["channel"]
        claim = {"kind": "session", "session": "ahp-session:/bea", "chat": chat}
        terminal = "ahp-terminal:/bea"
        await bea.request("createTerminal", channel=terminal, claim=claim)
        await bea.subscribe(terminal)

        assert (await ann.refusal("createResourceWatch", uri=folder)).code == DENIED
        assert (await ann.refusal("createResourceWatch", uri=root.as_uri())).code == DENIED
        assert (await ann.refusal("subscribe", channel=watch)).code == -32008
        mine = {"channel": "ahp-terminal:/ann", "claim": claim}
        assert (await ann.refusal("createTerminal", **mine)).code == DENIED
        own = {"kind": "client", "clientId": ann.client_id}
        elsewhere = {"channel": "ahp-terminal:/ann", "claim": own, "cwd": folder}
        assert (await ann.refusal("createTerminal", **elsewhere)).code == DENIED
        assert (await ann.refusal("disposeTerminal", channel=terminal)).code == DENIED
        await ann.subscribe(terminal)
        for action in (
            {"type": "terminal/input", "data": "exit\r"},
            {"type": "terminal/resized", "cols": 10, "rows": 10},
            {"type": "terminal/claimed", "claim": own},
            {"type": "terminal/titleChanged", "title": "mine"},
            {"type": "terminal/cleared"},
        ):
            assert await ann.rejected(terminal, action)
        completions = await ann.request(
            "completions", channel=chat, kind="userMessage", text="@dia", offset=4
        )
        assert completions["items"] == []
        assert "diary" not in str(ann.received)

        await ann.subscribe(chat)
        await ann.run_turn(chat, "t1", "hello")
        await ann.accepted(terminal, {"type": "terminal/resized", "cols": 100, "rows": 40})
        assert (await ann.request("createResourceWatch", uri=folder))["channel"] != watch
        # What others watch stays theirs.
        assert (await ann.refusal("subscribe", channel=watch)).code == -32008
