"""Many machines, one host: nodes that share their sessions through a log on NATS JetStream.

A node is two hosts in one process and a copy of the log between them. The *front* serves clients:
it shows every session of the realm, as the log tells, and decides nothing. The *owner* runs agents
and decides for the sessions that this node owns; what it decides is appended to the log, and only
what comes back from there is shown. Nothing of this is imported without ``serve --cluster``.
"""
