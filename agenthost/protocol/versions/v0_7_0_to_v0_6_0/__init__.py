"""The step between 0.7.0 and 0.6.0: folder lists, side chats, attached chats, referenced input."""

from agenthost.protocol.versions.v0_7_0_to_v0_6_0.step import Step070To060

__all__ = ["Step070To060"]
