"""Channels as they live: simulators that produce legal sequences of actions for property tests."""
