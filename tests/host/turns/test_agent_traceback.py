"""What whoever writes an agent is shown of its failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agenthost.agents import Agent, AgentError, Turn
from agenthost.host.trust.credentials import Credentials
from agenthost.host.turns.agent_traceback import LONGEST, agent_traceback
from agenthost.host.turns.failures import describe_failure
from agenthost.testing import talk


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even that")


def caught(work: Callable[[], Any]) -> BaseException:
    with pytest.raises(BaseException) as told:  # noqa: PT011
        work()
    return told.value


def fail(error: BaseException, cause: BaseException | None = None) -> BaseException:
    def work() -> None:
        raise error from cause

    return caught(work)


def endless() -> None:
    endless()


class Broken(Agent):
    """Fails as it is told to."""

    provider, display_name = "broken", "Broken"

    async def run(self, turn: Turn) -> None:
        try:
            turn.config["nothing"]
        except KeyError as error:
            if turn.text == "says why":
                raise AgentError("nothing is there") from error
            raise
        finally:
            if turn.text == "gives up":
                raise AgentError("no luck") from None


async def test_it_begins_with_the_agent_s_own_code() -> None:
    async with talk(Broken()) as chat:
        failed = (await chat.say("go")).turn["responseParts"][-1]["error"]
        lines = failed["stack"].splitlines()
        assert lines[0] == "Traceback (most recent call last):"
        assert lines[1].startswith(f'  File "{__file__}", line ')
        assert lines[1].endswith(", in run")
        assert lines[-1] == "KeyError: 'nothing'"
        assert failed["message"] == "the agent failed (KeyError)"
        said = (await chat.say("says why")).turn["responseParts"][-1]["error"]
        assert said["message"] == "nothing is there"
        assert "KeyError: 'nothing'" in said["stack"]
        # Who has only to say something is no failure of the code.
        assert "stack" not in (await chat.say("gives up")).turn["responseParts"][-1]["error"]


def test_it_holds_no_secrets() -> None:
    credentials = Credentials()
    credentials.put("ann", "https://api.example.org", "tok-5d2f")
    error = fail(ValueError("no tok-5d2f"), KeyError("api_key=abcdef"))
    told = describe_failure(error, "chat:/1", credentials.mask, dev=True)
    assert "ValueError: no [redacted]" in (told.stack or "")
    assert "abcdef" not in (told.stack or "")


@pytest.mark.parametrize(
    ("error", "end"),
    [
        (fail(ValueError("x" * 1_000_000)), "x"),
        (fail(ValueError("\ud800 half")), "half"),
        (fail(Unprintable()), "<exception str() failed>"),
        (fail(ExceptionGroup("many", [ValueError(str(n)) for n in range(10_000)])), "-----"),
        (caught(endless), "RecursionError: maximum recursion depth exceeded"),
        (ValueError("never raised"), "ValueError: never raised"),
    ],
    ids=["long", "half a character", "unprintable", "a group", "endless", "no frames"],
)
def test_it_is_of_some_length_whatever_failed(error: BaseException, end: str) -> None:
    told = agent_traceback(error)
    assert 0 < len(told.encode()) <= LONGEST
    assert told.endswith(end)
