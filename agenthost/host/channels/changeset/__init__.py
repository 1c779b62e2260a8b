"""Changesets: what sessions, chats, turns and branches changed, and what can be done about it."""
