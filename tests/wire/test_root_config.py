"""The host's own settings have an effect, at once and after a restart; the command line wins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import Agent, Turn
from agenthost.agents.common_settings import COMMON_SETTINGS
from agenthost.host import Host, SqliteStore
from agenthost.tokens import Role
from tests.wire.client import WireClient, open_client
from tests.wire.hosting import embed, refusal
from tests.wire.people import peopled

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = "ahp-root://"

Json = dict[str, Any]


class Answering(Agent):
    """Answers with its own name, its model and what it is to do with approvals."""

    def __init__(self, name: str, *models: str) -> None:
        self.provider, self.display_name = name, name.title()
        self.models = [{"id": id, "provider": name, "name": id} for id in models]
        self.closed = False

    def config_schema(self, values: Any, working_directory: str | None) -> Any:
        return {"type": "object", "properties": dict(COMMON_SETTINGS)}

    async def close(self) -> None:
        self.closed = True

    async def run(self, turn: Turn) -> None:
        if turn.text == "ask":
            await turn.write(str(await turn.ask("Well?")))
        await turn.write(f"{self.provider} {turn.model} {turn.config.get('autoApprove')}")


def changed(**config: Any) -> Json:
    return {"type": "root/configChanged", "config": config}


def dotted(key: str, value: Any) -> Json:
    return {"type": "root/configChanged", "config": {key: value}}


def config(client: WireClient) -> Json:
    found: Json = client.states[ROOT]["config"]
    return found


def agents(client: WireClient) -> list[tuple[str, list[str]]]:
    return [
        (agent["provider"], [model["id"] for model in agent["models"]])
        for agent in client.states[ROOT]["agents"]
    ]


async def answered(client: WireClient, session: str) -> str:
    chat = await client.ready_session(session)
    await client.subscribe(chat)
    await client.run_turn(chat, "t1", "hello")
    (part,) = client.states[chat]["turns"][-1]["responseParts"]
    return str(part["content"])


async def test_the_default_agent_and_model_are_used_and_told_to_every_client() -> None:
    one, two = Answering("one", "a", "b"), Answering("two", "b", "c")
    async with embed(one, two) as url, open_client(url) as client, open_client(url, "2") as other:
        await client.initialize(ROOT)
        await other.initialize(ROOT)
        assert await answered(client, "s:/before") == "one a default"
        await client.accepted(ROOT, changed(defaultAgent="two", defaultModel="c"))
        chosen = [("two", ["c", "b"]), ("one", ["a", "b"])]
        await other.until(lambda: {} if agents(other) == chosen else None)
        assert await answered(client, "s:/after") == "two c default"
        # A model that both have comes first in both.
        await client.accepted(ROOT, changed(defaultAgent="", defaultModel="b"))
        await other.until(lambda: {} if agents(other)[0] == ("one", ["b", "a"]) else None)
        assert await answered(client, "s:/again") == "one b default"
        mirrored, fresh = await other.compared(ROOT)
        assert mirrored == fresh


async def test_new_sessions_begin_with_the_approvals_that_are_set() -> None:
    async with embed(Answering("one")) as url, open_client(url) as client:
        await client.initialize(ROOT)
        await client.accepted(ROOT, changed(approvals="edits"))
        assert await answered(client, "s:/1") == "one None edits"
        resolved = await client.request("resolveSessionConfig")
        assert resolved["values"]["autoApprove"] == "edits"
        await client.accepted(ROOT, changed(approvals="default"))
        assert await answered(client, "s:/2") == "one None default"
        assert client.states["s:/1"]["config"]["values"]["autoApprove"] == "edits"
        # What a client asks for goes before it.
        asked = {"autoApprove": "autoApprove"}
        chat = await client.ready_session("s:/3", config=asked)
        assert chat
        assert client.states["s:/3"]["config"]["values"]["autoApprove"] == "autoApprove"


async def test_disposed_sessions_go_where_it_is_set() -> None:
    async with embed() as url, open_client(url) as client:
        await client.initialize(ROOT)
        for number, way in enumerate(("delete", "trash")):
            await client.accepted(ROOT, changed(dispose=way))
            await client.used_session(f"s:/{number}")
            await client.request("disposeSession", channel=f"s:/{number}")
        items = (await client.request("agenthost/listTrash"))["items"]
        assert [item["session"] for item in items] == ["s:/1"]


async def test_a_question_is_given_up_and_a_draft_removed_after_the_seconds_that_are_set() -> None:
    async with embed(Answering("one")) as url, open_client(url) as client:
        await client.initialize(ROOT)
        await client.accepted(ROOT, changed(promptTimeout=0.05))
        chat = await client.used_session("s:/asks")
        await client.run_turn(chat, "t2", "ask")
        assert client.states[chat]["turns"][-1]["state"] == "complete"
        await client.accepted(ROOT, changed(draftSeconds=0.05))
        await client.request("createSession", channel="s:/draft")
        gone = "root/sessionRemoved"
        await client.notification(gone, lambda params: bool(params["session"] == "s:/draft"))


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("defaultAgent", "nobody", "there is no agent nobody; there are one"),
        ("defaultModel", "none", "there is no model none; there are a"),
        ("approvals", "always", "must be one of default, edits, autoApprove"),
        ("dispose", "burn", "must be one of trash, delete"),
        ("promptTimeout", -1, "must be a number of seconds"),
        ("draftSeconds", 1e300, "must be a number of seconds"),
        ("draftSeconds", True, "must be of type number"),
        ("plugins", ["relative"], "'relative' is no absolute path"),
        ("plugins", [7], "must be of type string"),
        ("telemetry.endpoint", "file:///etc/passwd", "must be an http or https address"),
        ("telemetry.endpoint", "http://me:secret@host/", "must be an http or https address"),
        ("telemetry.level", "loud", "must be one of debug, info, warn, error"),
        ("mcp.enabled", "yes", "must be of type boolean"),
    ],
)
async def test_what_a_setting_cannot_be_is_refused_with_the_reason(
    key: str, value: Any, why: str
) -> None:
    async with embed(Answering("one", "a")) as url, open_client(url) as client:
        await client.initialize(ROOT)
        before = config(client)["values"]
        assert why in await client.rejected(ROOT, dotted(key, value))
        assert config(client)["values"] == before


async def test_only_owners_change_the_host(tmp_path: Path) -> None:
    async with (
        peopled(tmp_path) as people,
        people.client("op", Role.OPERATOR, ROOT) as operator,
        people.client("looks", Role.VIEWER, ROOT) as viewer,
    ):
        for client in (operator, viewer):
            assert "may not" in await client.rejected(ROOT, changed(dispose="delete"))


async def test_what_is_chosen_survives_and_what_the_command_line_decides_does_not(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.sqlite"

    async def look(*changes: Json, **options: Any) -> Json:
        async with Host([Answering("one", "a")], store=SqliteStore(path), **options) as host:
            url = await host.listen(port=0)
            async with open_client(url) as client:
                await client.initialize(ROOT)
                for change in changes:
                    await client.accepted(ROOT, change)
                if options:
                    refused = changed(draftSeconds=7)
                    assert "cannot be changed" in await client.rejected(ROOT, refused)
                shown = {
                    key: (config(client)["values"][key], schema.get("readOnly", False))
                    for key, schema in config(client)["schema"]["properties"].items()
                    if key in ("draftSeconds", "dispose", "promptTimeout")
                }
                return shown

    chosen = await look(changed(dispose="delete", draftSeconds=5))
    assert chosen["dispose"] == ("delete", False)
    flagged = await look(flags={"draftSeconds": 9})
    assert flagged["draftSeconds"] == (9, True)
    assert flagged["dispose"] == ("delete", False)
    # The same option with another value is another value.
    assert (await look(flags={"draftSeconds": 11}))["draftSeconds"] == (11, True)
    free = await look()
    assert free["draftSeconds"] == (30, False)
    assert free["dispose"] == ("delete", False)


async def test_a_host_is_not_started_with_what_a_setting_cannot_be() -> None:
    code, out, said = await refusal("--no-token", "--port", "0", "--set", "dispose=burn")
    assert (code, out) == (1, "")
    assert said == "agenthost: dispose must be one of trash, delete\n"


async def test_agents_come_and_go_while_the_host_runs() -> None:
    async with Host([Answering("one")]) as host:
        url = await host.listen(port=0)
        async with open_client(url) as client:
            await client.initialize(ROOT)
            second = Answering("two", "x")
            await host.add_agent(second)
            await client.until(lambda: {} if ("two", ["x"]) in agents(client) else None)
            chat = await client.ready_session("s:/2", provider="two")
            await client.subscribe(chat)
            await client.run_turn(chat, "t1", "hello")
            # Its models change as those of any other.
            second.models = [*second.models, {"id": "y", "provider": "two", "name": "y"}]
            second.changed()
            await client.until(lambda: {} if ("two", ["x", "y"]) in agents(client) else None)
            # One that goes ends what it does, and is closed.
            await client.start_turn(chat, "t2", "ask")
            await client.action(chat, "chat/inputRequested")
            await host.remove_agent("two")
            assert second.closed
            ended = await client.turn_end(chat, "t2")
            assert "not available here any more" in str(ended)
            await client.until(lambda: {} if agents(client) == [("one", [])] else None)
            await client.dispatch(chat, client.turn_started("t3", "hello"))
            ended = await client.turn_end(chat, "t3")
            assert ended["type"] == "chat/error"
            refused = await client.refusal("createSession", channel="s:/3", provider="two")
            assert "there is no agent 'two'" in refused.message
            # A name that is taken stays whose it is.
            await host.add_agent(Answering("one", "other"))
            await client.ping()
            assert agents(client) == [("one", [])]
            # One that comes back works in the sessions that it had.
            await host.add_agent(Answering("two", "z"))
            await client.run_turn(chat, "t4", "hello")
            assert client.states[chat]["turns"][-1]["responseParts"][-1]["content"].startswith(
                "two z"
            )
