"""The realm: one NATS stream, its feed and its appends, and plain messages between nodes.

The only package that imports ``nats``. Knows nothing of hosts, sessions or who owns them.
"""
