"""Lists the modules and functions of the package that run between a question and its first word.

``python -m tools.path_of_an_action`` serves a host over a WebSocket, with an agent that writes one
word. A first turn loads and caches what turns need; the second one is traced, in all threads, from
the frame that starts it to the frame with the word. Modules come in the order in which they are
reached, each function with how often it was entered: a coroutine counts again whenever it goes on.
Validation and reducers are counted apart, for they follow the protocol's types.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import sys
import tempfile
import threading
import time
from asyncio import selector_events
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import orjson
from websockets.sync.client import ClientConnection, connect

import agenthost
from agenthost.agents import Agent, Turn
from agenthost.host import Host, SqliteStore
from agenthost.protocol import SUPPORTED_VERSIONS

Json = dict[str, Any]

PACKAGE = Path(agenthost.__file__).parent
SESSION = "ahp-session:/traced"
WORD = "the-first-word"
# Seconds that the agent waits behind its word, so that the end of its turn is not in the trace.
PAUSE = 0.3
# Seconds after which a host that says nothing is broken.
PATIENCE = 30.0


class OneWord(Agent):
    """Writes one word, and ends a moment later."""

    provider, display_name = "one-word", "One word"

    async def run(self, turn: Turn) -> None:
        """Answer with the word."""
        await turn.write(WORD)
        await asyncio.sleep(PAUSE)


class Trace:
    """Which functions of the package are entered, in whatever thread, while it is on."""

    def __init__(self) -> None:
        self.on = False
        # In order of the first call.
        self.calls: Counter[CodeType] = Counter()

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Watch this thread and all that are started from now on.

        Ends with the first write to a socket that carries the word.
        """
        transport: Any = selector_events._SelectorSocketTransport  # type: ignore[attr-defined]
        write = transport.write

        def watched(socket: object, data: bytes) -> None:
            write(socket, data)
            if WORD.encode() in bytes(data):
                self.on = False

        transport.write = watched
        threading.setprofile(self._entered)
        sys.setprofile(self._entered)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            transport.write = write

    def _entered(self, frame: FrameType, event: str, _: object) -> None:
        if self.on and event == "call":
            self.calls[frame.f_code] += 1

    def by_module(self) -> dict[str, Counter[str]]:
        """Return module -> its functions and how often each was entered, in order."""
        modules: dict[str, Counter[str]] = {}
        for code, times in self.calls.items():
            path = Path(code.co_filename)
            # Comprehensions are part of the function they stand in.
            if path.is_relative_to(PACKAGE) and not code.co_name.startswith("<"):
                name = path.relative_to(PACKAGE).with_suffix("").as_posix()
                modules.setdefault(name, Counter())[code.co_qualname] += times
        return modules


class RawClient:
    """A client that knows nothing but the wire."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._ids = itertools.count(1)

    def request(self, method: str, **params: Any) -> Json:
        """Send a request and return its result."""
        number = next(self._ids)
        self._send({"id": number, "method": method, "params": params})
        while (answer := self._receive()).get("id") != number:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        result: Json = answer["result"]
        return result

    def chat_of(self, session: str) -> str:
        """Make a session, wait until it is ready, and follow its chat."""
        self.request("createSession", channel=session)
        state: Json = {}
        while state.get("lifecycle") != "ready":
            state = self.request("subscribe", channel=session)["snapshot"]["state"]
        chat: str = state["defaultChat"]
        self.request("subscribe", channel=chat)
        return chat

    def start_turn(self, chat: str, turn_id: str) -> None:
        """Send the frame that starts a turn."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        message = {"text": "say it", "origin": {"kind": "user"}}
        action = {"type": "chat/turnStarted", "turnId": turn_id, "message": message}
        params = {"channel": chat, "clientSeq": next(self._ids)}
        params["action"] = {**action, "startedAt": now}
        self._send({"method": "dispatchAction", "params": params})

    def wait_for(self, action_type: str) -> None:
        """Take what comes, up to an action of a type."""
        while True:
            action = self._receive().get("params", {}).get("action", {})
            if action.get("type") == action_type:
                return

    def _send(self, message: Json) -> None:
        self._socket.send(orjson.dumps({"jsonrpc": "2.0", **message}).decode())

    def _receive(self) -> Json:
        message: Json = orjson.loads(self._socket.recv(PATIENCE))
        return message


def converse(url: str, trace: Trace) -> None:
    """Run two turns, of which the second is traced."""
    with connect(url) as socket:
        client = RawClient(socket)
        client.request(
            "initialize",
            channel="ahp-root://",
            protocolVersions=[SUPPORTED_VERSIONS[0]],
            clientId="path-tool",
        )
        chat = client.chat_of(SESSION)
        for turn_id in ("first", "traced"):
            # What follows a turn comes in its own time.
            time.sleep(PAUSE)
            trace.on = turn_id == "traced"
            client.start_turn(chat, turn_id)
            client.wait_for("chat/turnComplete")


async def run(trace: Trace) -> None:
    """Serve a host, and let a client in another thread talk to it."""
    with tempfile.TemporaryDirectory() as folder, trace.installed():
        # Apart from the sessions' folder, in which changes are noticed.
        store = SqliteStore(Path(folder) / "store.sqlite")
        work = Path(folder) / "work"
        work.mkdir()
        async with Host([OneWord()], store=store, default_directory=work) as host:
            url = await host.listen(port=0)
            await asyncio.to_thread(converse, url, trace)


def is_of_the_types(module: str) -> bool:
    """Say whether a module validates or reduces."""
    return module.startswith("protocol/schema/") or module.endswith(("reducers", "reduction"))


def report(modules: dict[str, Counter[str]], *, brief: bool) -> Iterator[str]:
    """Yield the lines that say what was reached."""
    width = max(map(len, modules), default=0)
    for module, functions in modules.items():
        yield f"{module:{width}}  {len(functions)}"
        if not brief:
            yield from (f"    {times:4} {name}" for name, times in functions.items())
    kinds: dict[str, list[str]] = {"the rest": [], "validation and reducers": []}
    for module in modules:
        kinds["validation and reducers" if is_of_the_types(module) else "the rest"].append(module)
    yield ""
    for kind, names in {"all": list(modules), **kinds}.items():
        count = sum(len(modules[name]) for name in names)
        yield f"{kind}: {len(names)} modules, {count} functions"


def main() -> None:
    """Trace a turn and print its path."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--brief", action="store_true", help="modules without their functions")
    options = parser.parse_args()
    trace = Trace()
    asyncio.run(run(trace))
    print("\n".join(report(trace.by_module(), brief=options.brief)))


if __name__ == "__main__":
    main()
