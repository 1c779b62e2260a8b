"""Who carries out which method of a client's: the front of its node, or an owner, and which.

A table and nothing else; `forwarding` finds the node that a place means.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType


class MethodPlace(Enum):
    """Where a request is carried out."""

    HERE = "the front, from the local copy and its own connections"
    UNIT = "whoever owns the channel that it names"
    PLACED = "a node that has the agent and the directories"
    TERMINAL = "the owner of the session that is to hold it, or this node's own"
    RELAYED = "whoever has the terminal or changeset, which is in no log"
    LEADER = "whoever owns what belongs to no session"
    FILES = "the machine that the files are on"
    EVERYWHERE = "every node: nobody knows who will need it"
    SETTLED = "whoever has something of this client's to decide"


PLACES: Mapping[str, MethodPlace] = MappingProxyType(
    {
        # Opening, following and looking: all of it is in the copy.
        "initialize": MethodPlace.HERE,
        "reconnect": MethodPlace.HERE,
        # Answered here, once owners have dealt with what the client sent before.
        "ping": MethodPlace.SETTLED,
        "subscribe": MethodPlace.HERE,
        "unsubscribe": MethodPlace.HERE,
        "listSessions": MethodPlace.HERE,
        "fetchTurns": MethodPlace.HERE,
        "agenthost/about": MethodPlace.HERE,
        # Its form is judged here; `Forwarding.dispatch` passes the action on.
        "dispatchAction": MethodPlace.HERE,
        # There are none, anywhere.
        "listAutomationTriggerDefinitions": MethodPlace.HERE,
        # This node's own file and its own browsers.
        "agenthost/createToken": MethodPlace.HERE,
        "agenthost/listTokens": MethodPlace.HERE,
        "agenthost/revokeToken": MethodPlace.HERE,
        "agenthost/subscribePush": MethodPlace.HERE,
        "agenthost/unsubscribePush": MethodPlace.HERE,
        "agenthost/visible": MethodPlace.HERE,
        # Who lives is heard here, and whoever owns a session is told by the front to give it up.
        "agenthost/listNodes": MethodPlace.HERE,
        "agenthost/moveSession": MethodPlace.HERE,
        # What a session's owner decides.
        "disposeSession": MethodPlace.UNIT,
        "createChat": MethodPlace.UNIT,
        "disposeChat": MethodPlace.UNIT,
        "moveChat": MethodPlace.UNIT,
        "completions": MethodPlace.UNIT,
        "agenthost/restoreSession": MethodPlace.UNIT,
        "agenthost/purgeSession": MethodPlace.UNIT,
        "agenthost/mcpLog": MethodPlace.UNIT,
        "agenthost/callMcpTool": MethodPlace.UNIT,
        "agenthost/trustFolder": MethodPlace.UNIT,
        "createTerminal": MethodPlace.TERMINAL,
        "disposeTerminal": MethodPlace.RELAYED,
        "invokeChangesetOperation": MethodPlace.RELAYED,
        # Before there is a session.
        "createSession": MethodPlace.PLACED,
        "resolveSessionConfig": MethodPlace.PLACED,
        "sessionConfigCompletions": MethodPlace.PLACED,
        # Which session will need the token is not known, nor where it will be.
        "authenticate": MethodPlace.EVERYWHERE,
        # The realm's.
        "runAutomation": MethodPlace.LEADER,
        "fetchAutomationRuns": MethodPlace.LEADER,
        "agenthost/listTrash": MethodPlace.LEADER,
        "agenthost/forgetTrust": MethodPlace.LEADER,
        "agenthost/listTrust": MethodPlace.LEADER,
        "resourceRead": MethodPlace.FILES,
        "resourceWrite": MethodPlace.FILES,
        "resourceList": MethodPlace.FILES,
        "resourceCopy": MethodPlace.FILES,
        "resourceMove": MethodPlace.FILES,
        "resourceDelete": MethodPlace.FILES,
        "resourceResolve": MethodPlace.FILES,
        "resourceMkdir": MethodPlace.FILES,
        "resourceRequest": MethodPlace.FILES,
        "createResourceWatch": MethodPlace.FILES,
    }
)
"""Where each method is carried out; what is not named here the front does itself."""

# What a client names itself when it has something made: asked for once more where a link broke,
# for whoever made it would say that it is there.
MADE: Mapping[str, str] = MappingProxyType({"createSession": "channel", "createChat": "chat"})

# Refused while the realm has no room; nobody would hear what became of them.
STORED = frozenset({"createSession", "disposeSession", "createChat", "disposeChat", "moveChat"})

# Their answer may wait for the client that asks, so that its next messages must be read meanwhile.
MAY_ASK = frozenset({"agenthost/callMcpTool"})

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
