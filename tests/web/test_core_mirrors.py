"""The page's core, run by Node, mirrors a host that does a random mix of things and is killed.

What it holds in the end is what a fresh snapshot has, as far as clients are promised that.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.wire.client import WireClient, open_client, promised
from tests.wire.hosting import PATIENCE, ServedHost, serve
from tests.workspace.git.repositories import repository
from tools.web import SOURCE, find_node

Json = dict[str, Any]

ROOT = "ahp-root://"
VERSION = "1.0.0"
STEPS, KILLS = 14, 2

# What the demo agent does without asking, and what it asks for first.
TALK = ["hello", "/think", "/tool", "/stream 120", "/subagent hello", "/fail", "/help"]
ASKING = ["/run printf hi", "/edit a some text", "/review", "/ask", "/run exit 3"]


class Mirror:
    """The page's core in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._ids = 0

    async def ask(self, **line: Any) -> Json:
        """Send a line and wait for its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._ids += 1
        self._process.stdin.write(json.dumps({"id": self._ids, **line}).encode() + b"\n")
        async with asyncio.timeout(PATIENCE):
            while True:
                text = await self._process.stdout.readline()
                assert text, "the mirror has ended"
                answer: Json = json.loads(text)
                if answer.pop("id") == self._ids:
                    return answer


@asynccontextmanager
async def mirroring(node: Path, url: str) -> AsyncIterator[Mirror]:
    """Run the page's core against a host."""
    process = await asyncio.create_subprocess_exec(
        node,
        # Before 24 Node has to be told that it may.
        "--experimental-strip-types",
        "--no-warnings",
        SOURCE / "tests" / "mirror_main.ts",
        url,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=64 * 1024 * 1024,
    )
    try:
        yield Mirror(process)
    finally:
        process.kill()
        await process.wait()


class Run:
    """A random run: sessions, and a client that works in them."""

    def __init__(self, host: ServedHost, mirror: Mirror, seed: int) -> None:
        self.host, self.mirror, self.random = host, mirror, random.Random(seed)
        self.sessions: list[str] = []
        self.turns = 0

    async def step(self, client: WireClient) -> None:
        """Do something, to its end."""
        kinds = ["talk"] * 3 + ["ask"] * 3 + ["queue", "cancel", "rename", "chat", "draft", "note"]
        kinds += ["terminal"]
        kind = self.random.choice(kinds) if self.sessions else "session"
        if self.random.random() < 0.15 and len(self.sessions) < 3:
            kind = "session"
        session, chat = await self._place(client, kind)
        match kind:
            case "talk" | "session":
                await self._turn(client, chat, self.random.choice(TALK))
            case "ask":
                await self._turn(client, chat, self.random.choice(ASKING))
            case "queue":
                self.turns += 1
                await client.start_turn(chat, f"t{self.turns}", "/slow 0.2")
                queued = {"text": "/think", "origin": {"kind": "user"}}
                await client.dispatched(
                    chat,
                    {
                        "type": "chat/pendingMessageSet",
                        "kind": self.random.choice(["queued", "steering"]),
                        "id": f"m{self.turns}",
                        "message": queued,
                    },
                )
                await self._finish(client, chat)
            case "cancel":
                await client.start_turn(chat, f"t{self._next()}", "/slow 60")
                await client.dispatched(
                    chat,
                    {"type": "chat/turnCancelled", "turnId": f"t{self.turns}", "duration": 1},
                )
                await self._finish(client, chat)
            case "rename":
                title = f"Title {self.random.random()}"
                await client.accepted(session, {"type": "session/titleChanged", "title": title})
            case "chat":
                chat = f"ahp-chat:/{self._next()}-{os.getpid()}"
                await client.request("createChat", channel=session, chat=chat)
                if self.random.random() < 0.5:
                    await client.request("disposeChat", channel=chat)
            case "draft":
                text = f"draft {self.random.random()}"
                told = await self.mirror.ask(do="draft", chat=chat, text=text, wait=True)
                assert told == {"ok": True}
                assert client.states[chat] is not None
            case "note":
                await self._annotate(client, session)
            case "terminal":
                await self._type(client, session)

    def _next(self) -> int:
        self.turns += 1
        return self.turns

    async def _place(self, client: WireClient, kind: str) -> tuple[str, str]:
        if kind == "session":
            session = f"ahp-session:/mirrored-{len(self.sessions)}"
            self.sessions.append(session)
            chat = await client.ready_session(session)
        else:
            session = self.random.choice(self.sessions)
            state = await client.subscribe(session)
            chat = state["defaultChat"]
        await client.subscribe(chat)
        return session, chat

    async def _annotate(self, client: WireClient, session: str) -> None:
        number = self._next()
        entry = {"id": f"e{number}", "text": "look here"}
        note = {"id": f"n{number}", "turnId": "t1", "resource": "file:///x", "entries": [entry]}
        uri = f"{session}/annotations"
        await client.subscribe(uri)
        await client.dispatched(uri, {"type": "annotations/set", "annotation": note})

    async def _type(self, client: WireClient, session: str) -> None:
        """Open a terminal and let it print something; it goes with the host."""
        terminal = f"ahp-terminal:/{self._next()}"
        claim = {"kind": "client", "clientId": client.client_id}
        await client.request("createTerminal", channel=terminal, claim=claim)
        await client.subscribe(terminal)
        typed = {"type": "terminal/input", "data": "echo $((40 + 2)) is it; exit\r"}
        await client.dispatch(terminal, typed)
        await client.until(
            lambda: {} if "42 is it" in json.dumps(client.states[terminal]) else None
        )

    async def _turn(self, client: WireClient, chat: str, text: str) -> None:
        await client.start_turn(chat, f"t{self._next()}", text)
        await self._finish(client, chat)

    async def _finish(self, client: WireClient, chat: str) -> None:
        """Answer whatever is asked until nothing runs in a chat any more."""
        answered: set[str] = set()
        while True:
            waiting = await client.until(lambda: waiting_in(client.states[chat], answered))
            if not waiting["id"]:
                return
            answered.add(waiting["id"])
            await client.dispatched(chat, self._answer(waiting["turn"], waiting["part"]))

    def _answer(self, turn: str, part: Json) -> Json:
        yes = self.random.random() < 0.7
        if part["kind"] == "inputRequest":
            request = {"type": "chat/inputCompleted", "requestId": part["request"]["id"]}
            if not yes:
                return {**request, "response": "decline"}
            name = {"state": "submitted", "value": {"kind": "text", "value": "Ana"}}
            return {**request, "response": "accept", "answers": {"name": name}}
        call = part["toolCall"]
        target = {"turnId": turn, "toolCallId": call["toolCallId"], "approved": yes}
        if call["status"] == "pending-result-confirmation":
            return {"type": "chat/toolCallResultConfirmed", **target}
        how = {"confirmed": "user-action"} if yes else {"reason": "denied"}
        return {"type": "chat/toolCallConfirmed", **target, **how}

    async def killed_in_the_middle(self, client: WireClient) -> None:
        """Kill the host while a turn runs and drafts are on their way, and start it again."""
        _, chat = await self._place(client, "talk")
        text = self.random.choice(["/stream 3000", "/run printf hi", "/slow 60"])
        await client.start_turn(chat, f"t{self._next()}", text)
        for number in range(3):
            await self.mirror.ask(do="draft", chat=chat, text=f"half {number}")
        port = self.host.address.rpartition(":")[2]
        await self.host.kill()
        await self.host.start("--port", port)


def waiting_in(state: Json, answered: set[str]) -> Json | None:
    """Return what waits for somebody in a chat, something empty if nothing runs, or None."""
    turn = state.get("activeTurn")
    if turn is None:
        return {"id": ""} if not state.get("queuedMessages") else None
    for part in turn["responseParts"]:
        if part["kind"] == "inputRequest" and part.get("response") is None:
            id = part["request"]["id"]
        elif part["kind"] == "toolCall" and part["toolCall"]["status"].startswith("pending-"):
            id = part["toolCall"]["toolCallId"] + part["toolCall"]["status"]
        else:
            continue
        if id not in answered:
            return {"id": id, "turn": turn["id"], "part": part}
    return None


async def assert_same(mirror: Mirror, client: WireClient, run: Run) -> Json:
    """Wait until the mirror holds what the host does; return what it reported.

    What the host does by itself, such as looking at changes, may come while it is asked, and may be
    on its way to the mirror still; only what stays different was lost.
    """
    clock = asyncio.get_running_loop().time
    ends = clock() + PATIENCE
    while True:
        told = await mirror.ask(do="report")
        states: dict[str, Json] = told["states"]
        fresh = {uri: promised(await client.fresh(uri), VERSION) for uri in states}
        held = {uri: promised(state, VERSION) for uri, state in states.items()}
        differing = {uri: (held[uri], fresh[uri]) for uri in fresh if held[uri] != fresh[uri]}
        missing = {ROOT, *run.sessions} - states.keys()
        if not differing and not missing:
            return told
        assert clock() < ends, (differing, missing)


def the_node() -> Path:
    """Return Node; without one the test does not run, and CI fails."""
    node = find_node()
    if node is None:
        told = "THE PAGE'S CORE WAS NOT MIRRORED: no Node; `python tools/web.py node` fetches one"
        if os.environ.get("CI"):
            pytest.fail(told)
        pytest.skip(told)
    return node


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_random_run_with_kills_is_mirrored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.delenv("GIT_DIR")
    node, work = the_node(), repository(tmp_path / "work")
    async with (
        serve(tmp_path / "data", "--root", str(work)) as host,
        mirroring(node, host.url) as mirror,
    ):
        run = Run(host, mirror, seed)
        for kill in range(KILLS + 1):
            async with open_client(host.url, f"worker-{kill}") as client:
                await client.initialize(ROOT)
                for _ in range(STEPS // (KILLS + 1)):
                    await run.step(client)
                await assert_same(mirror, client, run)
                if kill < KILLS:
                    await run.killed_in_the_middle(client)
        async with open_client(host.url, "judge") as client:
            await client.initialize()
            told = await assert_same(mirror, client, run)
        assert told["resumed"][0] == "fresh"
        assert len(told["resumed"]) == KILLS + 1
        assert max(len(state.get("turns", ())) for state in told["states"].values()) > 2
