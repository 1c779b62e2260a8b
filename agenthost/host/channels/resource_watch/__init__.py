"""Watches on files and folders: channels that tell clients what changes there."""
