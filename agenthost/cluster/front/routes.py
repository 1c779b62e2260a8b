"""Who carries out which method of a client's: the front of its node, or an owner, and which.

A table and nothing else; `forwarding` finds the node that a place means.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType


class Place(Enum):
    """Where a request is carried out."""

    HERE = "the front, from the local copy and its own connections"
    UNIT = "whoever owns the channel that it names"
    PLACED = "a node that has the agent and the directories"
    TERMINAL = "the owner of the session that is to hold it, or this node's own"
    RELAYED = "whoever has the terminal or changeset, which is in no log"
    LEADER = "whoever owns what belongs to no session"
    FILES = "the machine that the files are on"
    EVERYWHERE = "every node: nobody knows who will need it"


PLACES: Mapping[str, Place] = MappingProxyType(
    {
        # Opening, following and looking: all of it is in the copy.
        "initialize": Place.HERE,
        "reconnect": Place.HERE,
        "ping": Place.HERE,
        "subscribe": Place.HERE,
        "unsubscribe": Place.HERE,
        "listSessions": Place.HERE,
        "fetchTurns": Place.HERE,
        "agenthost/about": Place.HERE,
        # Its form is judged here; `Forwarding.dispatch` passes the action on.
        "dispatchAction": Place.HERE,
        # There are none, anywhere.
        "listAutomationTriggerDefinitions": Place.HERE,
        # This node's own file and its own browsers.
        "agenthost/createToken": Place.HERE,
        "agenthost/listTokens": Place.HERE,
        "agenthost/revokeToken": Place.HERE,
        "agenthost/subscribePush": Place.HERE,
        "agenthost/unsubscribePush": Place.HERE,
        "agenthost/visible": Place.HERE,
        # What a session's owner decides.
        "disposeSession": Place.UNIT,
        "createChat": Place.UNIT,
        "disposeChat": Place.UNIT,
        "moveChat": Place.UNIT,
        "completions": Place.UNIT,
        "agenthost/restoreSession": Place.UNIT,
        "agenthost/purgeSession": Place.UNIT,
        "agenthost/mcpLog": Place.UNIT,
        "agenthost/callMcpTool": Place.UNIT,
        "agenthost/trustFolder": Place.UNIT,
        "createTerminal": Place.TERMINAL,
        "disposeTerminal": Place.RELAYED,
        "invokeChangesetOperation": Place.RELAYED,
        # Before there is a session.
        "createSession": Place.PLACED,
        "resolveSessionConfig": Place.PLACED,
        "sessionConfigCompletions": Place.PLACED,
        # Which session will need the token is not known, nor where it will be.
        "authenticate": Place.EVERYWHERE,
        # The realm's.
        "runAutomation": Place.LEADER,
        "fetchAutomationRuns": Place.LEADER,
        "agenthost/listTrash": Place.LEADER,
        "agenthost/forgetTrust": Place.LEADER,
        "agenthost/listTrust": Place.LEADER,
        "resourceRead": Place.FILES,
        "resourceWrite": Place.FILES,
        "resourceList": Place.FILES,
        "resourceCopy": Place.FILES,
        "resourceMove": Place.FILES,
        "resourceDelete": Place.FILES,
        "resourceResolve": Place.FILES,
        "resourceMkdir": Place.FILES,
        "resourceRequest": Place.FILES,
        "createResourceWatch": Place.FILES,
    }
)
"""Where each method is carried out; what is not named here the front does itself."""

# Asked once more of whoever owns now, where a link broke before the answer: they change nothing.
ONLY_READ = frozenset(
    {
        "completions",
        "resolveSessionConfig",
        "sessionConfigCompletions",
        "fetchAutomationRuns",
        "agenthost/listTrash",
        "agenthost/listTrust",
        "agenthost/mcpLog",
        "resourceRead",
        "resourceList",
        "resourceResolve",
        "resourceRequest",
    }
)
