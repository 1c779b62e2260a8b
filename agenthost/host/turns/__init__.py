"""Agents at work: running turns, on loops beside the host's."""
