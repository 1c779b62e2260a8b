"""The front of a node: the host that its clients see, which shows all of the realm."""
