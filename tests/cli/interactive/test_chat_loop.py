"""``agenthost chat`` around its chats: what it refuses, in which language, and what comes next."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any, ClassVar
from unittest import mock

import pytest

from agenthost.cli.interactive import chat_loop
from agenthost.cli.interactive.chat_loop import language
from agenthost.cli.interactive.display.styled_text import text_of
from agenthost.cli.interactive.outcome import ConversationOutcome, Leave, StartSession, SwitchTo
from agenthost.cli.main import build_parser, main
from agenthost.client import Chat, Client, Session, connect
from tests.wire.hosting import embed


def run(*options: str) -> int:
    return main(["chat", *options, "--url", "127.0.0.1:1", "--token", "x"])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("some", "--last"), "give SESSION or --last, not both"),
        (("some", "--agent", "demo"), "are for new sessions"),
        (("--last", "--dir", "."), "are for new sessions"),
        (("some", "--new"), "are for new sessions"),
        ((), "this needs a terminal"),
    ],
)
def test_what_makes_no_sense_is_refused_as_misuse(
    options: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*options) == 2
    assert why in capsys.readouterr().err


def test_a_host_that_is_not_there_is_told_by_the_exit_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("--json") == 3
    assert capsys.readouterr().err.startswith("agenthost: ")


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"LANG": "de_DE.UTF-8"}, "de-DE"),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": "ja_JP@x"}, "ja-JP"),
        ({"LANG": "C.UTF-8"}, None),
        ({}, None),
    ],
)
def test_the_language_is_the_environments(
    environment: dict[str, str], told: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert language() == told


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--agent", "nobody"), "nobody"),
        (("nothing-like-it",), "no session matches 'nothing-like-it'"),
        (("--last",), "there are no sessions; `agenthost chat --url "),
    ],
)
async def test_what_the_host_does_not_have_is_told_in_a_line(
    options: tuple[str, ...], why: str
) -> None:
    async with embed() as url:
        command = [sys.executable, "-m", "agenthost.cli.main", "chat", "--json", "--url", url]
        done = await _run([*command, *options])
    assert done.returncode == 1
    assert why in done.stderr
    assert len(done.stderr.splitlines()) == 1


async def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(
        subprocess.run, command, input="", capture_output=True, text=True, timeout=60
    )


class ScriptedConversation:
    """Stands for conversations that end in a given order, and keeps how each began."""

    outcomes: ClassVar[list[ConversationOutcome]] = []
    begun: ClassVar[list[tuple[str, str]]] = []

    def __init__(
        self, client: Client, session: Session, chat: Chat, *, banner: Any, **_: Any
    ) -> None:
        self.begun.append((session.uri, " ".join(map(text_of, banner)).strip()))
        self.screen = mock.Mock()
        self.on_end = self.on_interrupt = mock.Mock()

    async def run(self) -> ConversationOutcome:
        return self.outcomes.pop(0)


async def test_where_a_chat_cannot_be_opened_the_last_one_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outcomes = [SwitchTo("ahp-session:/gone"), StartSession("nobody"), StartSession(), Leave()]
    monkeypatch.setattr(ScriptedConversation, "outcomes", outcomes)
    monkeypatch.setattr(ScriptedConversation, "begun", [])
    monkeypatch.setattr(chat_loop, "Conversation", ScriptedConversation)
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    async with embed() as url:
        args = build_parser("chat").parse_args(["chat", "--new", "--url", url])
        assert await chat_loop.chat(args) == 0
        async with connect(url) as client:
            # Nothing was said in any of them.
            assert await client.sessions.list() == []
    (first, begun), (second, gone), (third, nobody), (fourth, another) = ScriptedConversation.begun
    assert first == second == third != fourth
    assert "new session" in begun
    assert "new session" in another
    assert gone.startswith("✗ ")
    assert nobody.startswith("✗ ")
    assert "nobody" in nobody
