"""Killing and pausing the nodes and servers of a cluster, and checking what every client saw."""
