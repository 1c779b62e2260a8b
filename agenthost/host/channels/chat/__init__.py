"""Chats: lifecycle, rules, windows of turns, forks, attachments."""
