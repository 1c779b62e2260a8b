"""Testing agents: talk to one in memory, answer what it asks, and look at what clients would see::

from agenthost.testing import run_turn


def test_it_greets():
    assert run_turn(Greeter(), "hi", answers=["Ada"]).text == "Hello, Ada!"
"""

from agenthost.testing.replies import DECLINE, Allow, Deny, Unanswered
from agenthost.testing.running_turn import TestedTurn
from agenthost.testing.seen_turn import SeenCall, SeenCalls, SeenTurn
from agenthost.testing.tested_chat import TestedChat, run_turn, talk

__all__ = [
    "DECLINE",
    "Allow",
    "Deny",
    "SeenCall",
    "SeenCalls",
    "SeenTurn",
    "TestedChat",
    "TestedTurn",
    "Unanswered",
    "run_turn",
    "talk",
]
