"""The one writer: order, commits, states in memory, replay."""
