"""What clients serve to the host, and through it to others: asked, refused, never hung on."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import Agent, AgentError, Turn
from agenthost.errors import NotFound, PermissionDenied
from agenthost.host import Host, Limits
from agenthost.host.files.client_resources import MOST_BROUGHT
from agenthost.tokens import Role
from tests.flags import eventually
from tests.wire.client import WireClient, open_client, user_message
from tests.wire.people import peopled

Json = dict[str, Any]
SESSION = "ahp-session:/published"
PLUGIN = "virtual://plugin"
FILE = f"{PLUGIN}/skill.md"
MISSING, DENIED = -32008, -32009
# The host itself would ask for what plugins hold, too.
UNREAD = {"customizations.enabled": False}
TEXT = {"data": "hello", "encoding": "utf-8", "contentType": "text/markdown"}


async def publish(client: WireClient, uri: str = PLUGIN) -> None:
    """Bring a plugin into the session, whose files this client serves."""
    customization = {"id": uri, "uri": uri, "type": "plugin", "name": "p"}
    entry = {"clientId": client.client_id, "tools": [], "customizations": [customization]}
    await client.accepted(SESSION, {"type": "session/activeClientSet", "activeClient": entry})


async def asked(client: WireClient, number: int = 0) -> Json:
    """Wait until the host has asked a client for something, and return the request."""

    def find() -> Json | None:
        requests = [each for each in client.received if "method" in each and "id" in each]
        return requests[number] if len(requests) > number else None

    return await client.until(find)


async def answer(client: WireClient, request: Json, result: Any) -> None:
    await client.send({"id": request["id"], "result": result})


@asynccontextmanager
async def publishing(
    root: Path, **options: Any
) -> AsyncIterator[tuple[Host, WireClient, WireClient]]:
    """A client that has published something in a session, and another one."""
    options = {"roots": [root], "default_directory": root, "flags": UNREAD, **options}
    async with Host(**options) as host:
        url = await host.listen(port=0)
        async with open_client(url, "one") as one, open_client(url, "two") as two:
            for client in (one, two):
                await client.initialize()
            await one.ready_session(SESSION, workingDirectories=[root.as_uri()])
            await publish(one)
            yield host, one, two


async def test_what_a_client_has_published_others_read_through_the_host(tmp_path: Path) -> None:
    async with publishing(tmp_path) as (_, one, two):
        for number, (method, result) in enumerate(
            [
                ("resourceRead", TEXT),
                ("resourceList", {"entries": [{"name": "a", "type": "file"}]}),
                ("resourceResolve", {"uri": FILE, "type": "file", "size": 5}),
            ]
        ):
            reading = asyncio.create_task(two.request(method, uri=FILE))
            request = await asked(one, number)
            assert (request["method"], request["params"]["uri"]) == (method, FILE)
            await answer(one, request, result)
            assert await reading == result
        # What it did not publish it is not asked for, and nobody changes what it did.
        for uri in ("virtual://other/x", f"{PLUGIN}x", f"{PLUGIN}/../x", "virtual:", "http://x",
                    f"{PLUGIN}/%2e%2E/x", f"{PLUGIN}/a%2f..%2fx"):  # fmt: skip
            assert (await two.refusal("resourceRead", uri=uri)).code == MISSING
        refusal = await two.refusal("resourceWrite", uri=FILE, data="x", encoding="utf-8")
        assert refusal.code == DENIED
        assert (await two.refusal("resourceDelete", uri=FILE)).code == DENIED
        await one.ping()
        assert len([each for each in one.received if "id" in each and "method" in each]) == 3


async def test_of_very_many_customizations_only_the_first_count(tmp_path: Path) -> None:
    async with publishing(tmp_path) as (_, one, two):
        brought = [
            {"id": uri, "uri": uri, "type": "plugin", "name": "p"}
            for uri in (f"virtual://p{number}" for number in range(MOST_BROUGHT + 1))
        ]
        entry = {"clientId": "one", "tools": [], "customizations": brought}
        await one.accepted(SESSION, {"type": "session/activeClientSet", "activeClient": entry})
        reading = asyncio.create_task(two.request("resourceRead", uri=brought[-2]["uri"]))
        await answer(one, await asked(one), TEXT)
        assert await reading == TEXT
        assert (await two.refusal("resourceRead", uri=brought[-1]["uri"])).code == MISSING


async def test_a_file_of_a_client_s_machine_is_never_asked_for(tmp_path: Path) -> None:
    async with publishing(tmp_path) as (host, one, two):
        await publish(one, "file:///etc")
        assert (await two.refusal("resourceRead", uri="file:///etc/passwd")).code == DENIED
        with pytest.raises(NotFound):
            await host.core.client_resources.read(SESSION, "file:///etc/passwd", sender="one")
        assert not any("id" in each and "method" in each for each in one.received)


async def test_a_client_may_ask_for_what_it_serves_itself(tmp_path: Path) -> None:
    async with publishing(tmp_path, limits=Limits(max_beside=1)) as (_, one, _):
        reading = [asyncio.create_task(one.request("resourceRead", uri=FILE)) for _ in range(5)]
        for number in range(5):
            await answer(one, await asked(one, number), TEXT)
        assert await asyncio.gather(*reading) == [TEXT] * 5


async def test_a_client_that_never_answers_is_not_waited_for(tmp_path: Path) -> None:
    async with publishing(tmp_path, limits=Limits(reverse_call_seconds=0.05)) as (_, one, two):
        refusal = await two.refusal("resourceRead", uri=FILE)
        assert (refusal.code, "in time" in refusal.message) == (MISSING, True)
        await answer(one, await asked(one), TEXT)
        await one.ping()


@pytest.mark.parametrize(
    "result",
    [None, [], {}, {"data": 7, "encoding": "utf-8"}, {"data": "x", "encoding": "rot13"}, "text"],
)
async def test_an_answer_of_the_wrong_shape_counts_as_none(tmp_path: Path, result: Any) -> None:
    async with publishing(tmp_path) as (_, one, two):
        reading = asyncio.create_task(two.refusal("resourceRead", uri=FILE))
        await answer(one, await asked(one), result)
        assert (await reading).code == MISSING
        await one.ping()


async def test_a_second_answer_is_nobody_s(tmp_path: Path) -> None:
    async with publishing(tmp_path) as (_, one, two):
        reading = asyncio.create_task(two.request("resourceRead", uri=FILE))
        request = await asked(one)
        await answer(one, request, TEXT)
        await answer(one, request, {"data": "other", "encoding": "utf-8"})
        assert await reading == TEXT
        await one.ping()


async def test_whoever_waits_for_a_client_that_leaves_is_told_and_then_it_is_not_there(
    tmp_path: Path,
) -> None:
    async with publishing(tmp_path) as (host, one, two):
        reading = asyncio.create_task(two.refusal("resourceRead", uri=FILE))
        await asked(one)
        one.abort()
        refusal = await reading
        assert (refusal.code, "has left" in refusal.message) == (MISSING, True)
        await eventually(lambda: len(host.connections) == 1)
        refusal = await two.refusal("resourceRead", uri=FILE)
        assert (refusal.code, "not here" in refusal.message) == (MISSING, True)


async def test_more_than_a_file_may_have_is_not_taken(tmp_path: Path) -> None:
    async with publishing(tmp_path, limits=Limits(max_resource_bytes=1000)) as (_, one, two):
        reading = asyncio.create_task(two.refusal("resourceRead", uri=FILE))
        await answer(one, await asked(one), {"data": "x" * 5000, "encoding": "utf-8"})
        assert (await reading).code == MISSING


async def test_a_frame_that_is_far_too_large_ends_its_own_connection_alone(tmp_path: Path) -> None:
    async with publishing(tmp_path) as (_, one, two):
        reading = asyncio.create_task(two.refusal("resourceRead", uri=FILE))
        request = await asked(one)
        begin = f'{{"jsonrpc":"2.0","id":{request["id"]},"result":{{"data":"'
        pieces = [begin, *(["x" * (1 << 20)] * 100), '"}}']
        sending = asyncio.create_task(one.socket.send(pieces))
        assert (await reading).code == MISSING
        assert (await one.closed)[0] == 1009
        await asyncio.gather(sending, return_exceptions=True)
        await two.ping()


async def test_a_refusal_is_quoted_in_one_short_line(tmp_path: Path) -> None:
    async with publishing(tmp_path) as (_, one, two):
        for number, (code, expected) in enumerate([(DENIED, DENIED), (-32000, MISSING)]):
            reading = asyncio.create_task(two.refusal("resourceRead", uri=FILE))
            request = await asked(one, number)
            said = {"code": code, "message": "mine\n\x1b[31m" + "x" * 5000, "data": {"request": {}}}
            await one.send({"id": request["id"], "error": said})
            refusal = await reading
            assert refusal.code == expected
            assert not refusal.data
            assert refusal.message.startswith(f"the client does not give {FILE}: mine ")
            assert len(refusal.message) < 500
            assert refusal.message.isprintable()


async def test_of_two_clients_the_one_that_brought_it_is_asked(tmp_path: Path) -> None:
    async with publishing(tmp_path) as (host, one, two):
        await two.subscribe(SESSION)
        await publish(two, "virtual://elsewhere")
        reading = asyncio.create_task(host.core.client_resources.read(SESSION, FILE))
        await answer(one, await asked(one), TEXT)
        content = await reading
        assert (content.data, content.content_type) == (b"hello", "text/markdown")
        assert not any("id" in each and "method" in each for each in two.received)


async def test_an_attachment_is_asked_of_who_sent_it_for_those_who_run_turns(
    tmp_path: Path,
) -> None:
    uri = "virtual://notes/today"
    async with publishing(tmp_path) as (host, one, two):
        await two.subscribe(SESSION)
        # On a cluster whoever has the session knows both of them by now.
        await two.ping()
        resources = host.core.client_resources
        with pytest.raises(NotFound):
            await resources.read(SESSION, uri)
        reading = asyncio.create_task(resources.read(SESSION, uri, sender="two"))
        data = base64.b64encode(b"\xff\0").decode()
        await answer(two, await asked(two), {"data": data, "encoding": "base64"})
        assert (await reading).data == b"\xff\0"
        reading = asyncio.create_task(resources.read(SESSION, uri, sender="two"))
        request = await asked(two, 1)
        await two.send({"id": request["id"], "error": {"code": DENIED, "message": "no"}})
        with pytest.raises(PermissionDenied):
            await reading
        writing = asyncio.create_task(resources.write(SESSION, uri, b"new", sender="two"))
        request = await asked(two, 2)
        assert base64.b64decode(request["params"]["data"]) == b"new"
        await answer(two, request, {})
        await writing
        # Others may read what is attached to a message that they see.
        chat = one.states[SESSION]["defaultChat"]
        await one.subscribe(chat)
        assert (await two.refusal("resourceRead", uri=uri)).code == MISSING
        attachment = {"type": "resource", "uri": uri, "label": "today"}
        message = {**user_message("see"), "attachments": [attachment]}
        await one.accepted(chat, {**one.turn_started("t1", ""), "message": message})
        await one.turn_end(chat, "t1")
        shown = asyncio.create_task(two.request("resourceRead", uri=uri))
        await answer(one, await asked(one), TEXT)
        assert await shown == TEXT


async def test_who_takes_no_part_learns_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    root = tmp_path / "root"
    async with (
        peopled(tmp_path / "data", roots=[root], default_directory=root, flags=UNREAD) as people,
        people.client("olga") as olga,
        people.client("otto") as otto,
        people.client("vera", Role.VIEWER) as vera,
    ):
        await olga.ready_session(SESSION, workingDirectories=[root.as_uri()])
        await publish(olga)
        for other, code in ((otto, MISSING), (vera, DENIED)):
            for uri in (FILE, "virtual://nobody/x"):
                assert (await other.refusal("resourceRead", uri=uri)).code == code
        await olga.ping()
        assert not any("id" in each and "method" in each for each in olga.received)


async def test_nobody_is_asked_for_what_somebody_else_attached(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    uri = "vscode-userdata:/User/settings.json"
    async with (
        peopled(tmp_path / "data", roots=[root], default_directory=root, flags=UNREAD) as people,
        people.client("owner", Role.OWNER) as owner,
        people.client("otto") as otto,
    ):
        await otto.ready_session(SESSION, workingDirectories=[root.as_uri()])
        await owner.subscribe(SESSION)
        await publish(owner)
        chat = otto.states[SESSION]["defaultChat"]
        await otto.subscribe(chat)
        message = {**user_message("see"), "attachments": [attached(uri)]}
        await otto.accepted(chat, {**otto.turn_started("t1", ""), "message": message})
        await otto.turn_end(chat, "t1")
        reading = asyncio.create_task(otto.refusal("resourceRead", uri=uri))
        # It is its own sender, whatever it says.
        request = await asked(otto)
        await otto.send({"id": request["id"], "error": {"code": -32601, "message": "what?"}})
        assert (await reading).code == MISSING
        await owner.ping()
        assert requests(owner) == []


def requests(client: WireClient) -> list[Json]:
    """Return what the host has asked a client."""
    return [each for each in client.received if "id" in each and "method" in each]


def attached(uri: str) -> Json:
    return {"type": "resource", "uri": uri, "label": uri.rpartition("/")[2]}


class Reader(Agent):
    """Writes what is attached to a message, or why that cannot be read."""

    provider = "reader"
    display_name = "Reader"

    async def run(self, turn: Turn) -> None:
        for message in (*(each["message"] for each in turn.history), turn.message):
            for attachment in message.get("attachments", ()):
                try:
                    data = await turn.read_attachment(attachment, most=1000)
                except AgentError as error:
                    await turn.write(f"[{error.error_type}: {error}]")
                else:
                    await turn.write(f"[{data.decode()}]")


async def test_agents_read_what_is_attached_wherever_it_is(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("a file")
    (root / "long.txt").write_text("x" * 1001)
    (tmp_path / "secret").write_text("SECRET")
    (root / "link").symlink_to(tmp_path / "secret")
    limits = Limits(reverse_call_seconds=0.5)
    options = {"roots": [root], "default_directory": root, "limits": limits}
    async with publishing(root, agents=[Reader()], **options) as (_, one, two):
        chat = one.states[SESSION]["defaultChat"]
        for client in (one, two):
            await client.subscribe(chat)

        async def said(turn: str, *attachments: Json, answers: list[Any]) -> str:
            before = len(requests(one))
            message = {**user_message("see"), "attachments": list(attachments)}
            await one.accepted(chat, {**one.turn_started(turn, ""), "message": message})
            for number, result in enumerate(answers, before):
                request = await asked(one, number)
                assert request["method"] == "resourceRead"
                if result is not None:
                    await answer(one, request, result)
            await one.turn_end(chat, turn)
            parts = one.states[chat]["turns"][-1]["responseParts"]
            return "".join(part["content"] for part in parts)

        embedded = {
            "type": "embeddedResource",
            "data": base64.b64encode(b"inside").decode(),
            "contentType": "text/plain",
            "label": "e",
        }
        simple = {"type": "simple", "label": "s", "modelRepresentation": "said"}
        files = [attached((root / name).as_uri()) for name in ("a.txt", "long.txt", "link", "no")]
        shown = await said("t1", embedded, simple, *files, answers=[])
        assert shown.startswith("[inside][said][a file][attachmentUnreadable: ")
        assert shown.count("attachmentUnreadable") == 3
        assert "SECRET" not in shown
        # Whatever it answers, or does not: and what was attached before is read again.
        uri = "virtual://notes/today"
        assert (await said("t2", attached(uri), answers=[TEXT])).endswith("[hello]")
        shown = await said("t3", attached(f"{uri}2"), answers=[TEXT, None])
        assert "[hello]" in shown
        assert "in time" in shown
        large = {"data": "x" * 1001, "encoding": "utf-8"}
        shown = await said("t4", answers=[large, TEXT])
        assert "today cannot be read: it is too large" in shown
        await two.ping()
        assert requests(two) == []
