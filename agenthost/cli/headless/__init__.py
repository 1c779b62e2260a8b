"""Turns without a person: automatic answers, output for scripts."""
