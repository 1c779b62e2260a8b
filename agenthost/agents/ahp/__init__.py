"""Agents of other AHP hosts, offered here as this host's own."""
