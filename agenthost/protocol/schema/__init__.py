"""Validation of wire messages against the wire types."""
