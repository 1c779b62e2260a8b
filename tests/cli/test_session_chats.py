"""``agenthost sessions`` for single chats: read, archived, moved."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.cli.connection.chat_lookup import find_chat
from agenthost.cli.exit_codes import CommandFailed
from tests.cli.running import Cli

on_the_host = pytest.mark.asyncio(loop_scope="module")


class Listing:
    """A session that has chats and nothing else."""

    uri = "ahp-session:/3f2a"

    def __init__(self, *chats: tuple[str, str]) -> None:
        self.chats: Any = [{"resource": uri, "title": title, "status": 1} for uri, title in chats]


SESSION: Any = Listing(
    ("ahp-chat:/77aa", "Main"), ("ahp-chat:/78bb", "Side track"), ("ahp-chat:/3", "Main road")
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1", "ahp-chat:/77aa"),
        # A number of the list comes before an id.
        ("3", "ahp-chat:/3"),
        ("ahp-chat:/78bb", "ahp-chat:/78bb"),
        ("77", "ahp-chat:/77aa"),
        ("side", "ahp-chat:/78bb"),
        ("main", "ahp-chat:/77aa"),
    ],
)
def test_a_text_means_a_chat_of_the_session(text: str, found: str) -> None:
    assert find_chat(SESSION, text) == found


@pytest.mark.parametrize(
    ("text", "problem"),
    [("nothing", "no chat matches"), ("4", "no chat matches"), ("7", "could mean several chats")],
)
def test_a_text_that_means_no_chat_or_several_is_refused(text: str, problem: str) -> None:
    with pytest.raises(CommandFailed, match=problem):
        find_chat(SESSION, text)


TOLD_APART: Any = Listing(
    ("ahp-chat://default/YWhwLXNlc3Npb246LzNmMmE", "Main"),
    ("ahp-chat://c1fac8ff-7ac4-4a46-b4bf-0211ab53ee61/YWhwLXNlc3Npb246LzNmMmE", "Side track"),
    ("ahp-chat://59992359-deb8-4c67-ab67-0203fabcd676/YWhwLXNlc3Npb246LzNmMmE", "Side dish"),
    ("ahp-chat://subagent/YWhwLXNlc3Npb246LzNmMmE/call-7", "Worker"),
)


@pytest.mark.parametrize(
    ("text", "title"),
    [("default", "Main"), ("c1fa", "Side track"), ("59992359", "Side dish"), ("call", "Worker")],
)
def test_chats_of_one_session_are_told_apart_by_their_ids(text: str, title: str) -> None:
    found = find_chat(TOLD_APART, text)
    assert [chat["title"] for chat in TOLD_APART.chats if chat["resource"] == found] == [title]


def test_ids_that_are_offered_can_be_used() -> None:
    with pytest.raises(CommandFailed) as refused:
        find_chat(TOLD_APART, "side")
    ids = [line.split()[0] for line in str(refused.value).splitlines()[1:]]
    assert len({find_chat(TOLD_APART, id) for id in ids}) == 2


async def with_chats(cli: Cli, title: str) -> tuple[str, str]:
    """Make a session with a second chat; return the URIs of both."""
    uri = await cli.new(title)
    async with cli.client() as client:
        session = await client.sessions.get(uri)
        chat = await session.create_chat(f"hello from {title}")
        await chat.channel.until(lambda state: state["turns"])
        return uri, chat.uri


async def shown(cli: Cli, session: str) -> dict[str, Any]:
    """Return the chats of a session by their URIs, as ``show`` tells them."""
    done = await cli.main("sessions", "show", session, "--json")
    return {chat["chat"]: chat for chat in done.json["chats"]}


@on_the_host
async def test_one_chat_is_marked_read_and_archived_alone(cli: Cli) -> None:
    session, chat = await with_chats(cli, "upkeep")
    before = await shown(cli, session)
    assert (before[chat]["unread"], before[chat]["archived"]) == (True, False)
    for verb in ("read", "archive"):
        done = await cli.main("sessions", verb, session, "--chat", "2")
        assert (done.code, done.err) == (0, "")
        # Not the session, which is as it was.
        assert done.out.split()[-1] == chat
    after = await shown(cli, session)
    assert (after[chat]["unread"], after[chat]["archived"]) == (False, True)
    (other,) = (uri for uri in after if uri != chat)
    assert after[other] == before[other]
    text = (await cli.main("sessions", "show", session)).out
    assert "idle, archived" in text
    assert f"2  {chat.removeprefix('ahp-chat://')[:8]}  " in text
    archived = await cli.main("sessions", "archive", session, "--chat", "2", "--json")
    assert archived.json == [{"session": session, "done": True, "chat": chat}]
    assert (await cli.main("sessions", "unarchive", session, "--chat", chat)).code == 0
    assert not (await shown(cli, session))[chat]["archived"]


@on_the_host
async def test_a_chat_that_is_not_there_is_not_marked(cli: Cli) -> None:
    session, _ = await with_chats(cli, "nothing like that")
    done = await cli.main("sessions", "read", session, "--chat", "no such chat")
    assert done.code == 1
    assert "no chat matches" in done.err
    several = await cli.main("sessions", "read", session, session, "--chat", "1")
    assert several.code == 2
    assert "one SESSION" in several.err


@on_the_host
async def test_what_cannot_be_moved_is_refused_with_a_reason(cli: Cli) -> None:
    new_and_after = await cli.main("sessions", "move", "x", "--new", "--after", "y")
    assert new_and_after.code == 2
    both = await cli.main("sessions", "move", "x", "--new", "--to", "y")
    assert both.code == 2
    nowhere = await cli.main("sessions", "move", "there is no such chat", "--new")
    assert (nowhere.code, "no chat matches" in nowhere.err) == (1, True)


@on_the_host
async def test_a_chat_moves_to_another_session_and_becomes_one_of_its_own(cli: Cli) -> None:
    source, chat = await with_chats(cli, "mover from")
    target, anchor = await with_chats(cli, "mover to")
    assert (await shown(cli, source))[chat]["movable"]
    done = await cli.main("sessions", "move", chat, "--to", "mover to", "--json")
    assert (done.code, done.json) == (0, {"chat": chat, "session": target})
    assert chat not in await shown(cli, source)
    assert next(iter(await shown(cli, target))) == chat
    behind = await cli.main("sessions", "move", chat, "--after", anchor)
    assert (behind.code, behind.out) == (0, f"moved  {chat}  to {target}\n")
    assert list(await shown(cli, target))[1:] == [anchor, chat]
    # Every session has a chat of this name; the one there is meant.
    named = await cli.main("sessions", "move", chat, "--to", target, "--after", "default")
    assert (named.code, named.err) == (0, "")
    assert list(await shown(cli, target))[1:] == [chat, anchor]
    first = await cli.main("sessions", "move", chat)
    assert first.code == 0
    assert next(iter(await shown(cli, target))) == chat
    alone = (await cli.main("sessions", "move", chat, "--new", "--json")).json["session"]
    assert alone not in (source, target)
    assert list(await shown(cli, alone)) == [chat]
    stuck = await cli.main("sessions", "move", chat, "--to", source)
    assert (stuck.code, stuck.out) == (1, "")
    assert "move" in stuck.err


@on_the_host
async def test_a_chat_that_moves_is_followed_on_by_whoever_follows_it(cli: Cli) -> None:
    source, uri = await with_chats(cli, "followed from")
    target, _ = await with_chats(cli, "followed to")
    async with cli.client() as client:
        chat = await (await client.sessions.get(source)).chat(uri)
        other = await client.sessions.get(target)
        assert await chat.move(session=target) == target
        await other.channel.until(
            lambda state: uri in [entry["resource"] for entry in state["chats"]]
        )
        assert "You said" in await chat.ask("are you still there?")
        await client.sessions.dispose(source)
        assert "You said" in await chat.ask("and now?")
