"""What can go wrong between a node and its realm, each as a sentence for people."""

from __future__ import annotations

from agenthost.errors import AgentHostError


class RealmError(AgentHostError):
    """The realm cannot be used."""


class RealmUnreachable(RealmError):
    """No server of the realm answers, or nobody behind it."""


class NoJetStream(RealmError):
    """The servers keep no streams."""


NO_ROOM = "the NATS servers have no room"
"""How the sentence begins that says so."""


class RealmFull(RealmError):
    """The servers have no room left, or none for this account."""


class RealmTooNew(RealmError):
    """A newer agenthost made the realm."""


class RealmReplaced(RealmError):
    """The stream is another one than before, or lost what was seen of it."""


class FellBehind(RealmError):
    """What follows on the position is not in the stream any more."""


class Fenced(RealmError):
    """Somebody else wrote to the unit: what was to be appended is refused for good."""
