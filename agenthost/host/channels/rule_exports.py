"""What a client's action may do: pure checks that give a reason a person can read, or None.

One module per channel kind; ``check`` picks the right one. Reducers never refuse anything, so
every policy of the protocol (who owns a call, which answer fits, what is editable) lives here.
"""

from agenthost.host.channels.chat.answers import read_answers
from agenthost.host.channels.rules import Facts, check

__all__ = ["Facts", "check", "read_answers"]
