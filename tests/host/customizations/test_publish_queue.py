"""Many sessions that are due are published one by one, and nobody waits for all of them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from agenthost.host.customizations.publish_queue import PublishQueue
from agenthost.tasks import Tasks


@dataclass
class Named:
    uri: str
    in_use: bool = False


async def test_others_come_between_and_who_is_looked_at_comes_first() -> None:
    tasks, told, done = Tasks(), list[str](), asyncio.Event()

    def publish(session: Any) -> None:
        told.append(session.uri)
        asyncio.get_running_loop().call_soon(told.append, f"after {session.uri}")
        if session.uri == "a":
            asyncio.get_running_loop().call_soon(done.set)

    queue = PublishQueue(tasks, publish)
    sessions: Any = [Named("a"), Named("b"), Named("seen", in_use=True)]
    queue.add(sessions)
    # Twice the same is once, and whoever cannot wait does not.
    queue.add(sessions[:1])
    queue.hurry(sessions[1])
    queue.hurry(sessions[1])
    assert told == ["b"]
    await done.wait()
    assert [each for each in told if "b" not in each] == ["seen", "after seen", "a", "after a"]
    # It begins again when it had come to its end.
    done.clear()
    queue.add(sessions[:1])
    await done.wait()
    assert told[-2:] == ["a", "after a"]
    await tasks.close()
