"""The client's copy of the host's state, and its own pending actions."""
