"""The one writer: order, commits, channels and their kinds in memory, replay."""
