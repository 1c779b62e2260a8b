"""The owner: runs agents and decides, for the sessions of the realm that this node owns."""
