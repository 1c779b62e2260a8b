"""Canvases: pages that agents show beside their chats."""
