"""The step between 0.6.0 and 0.5.2: where input requests live, timing, authentication of calls."""

from agenthost.protocol.versions.v0_6_0_to_v0_5_2.step import Step060To052

__all__ = ["Step060To052"]
