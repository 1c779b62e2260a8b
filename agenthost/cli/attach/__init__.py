"""Attaching the user's terminal to one of a host's: raw mode, keys, screen modes."""
