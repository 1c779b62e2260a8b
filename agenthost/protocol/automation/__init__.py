"""Automations: what starts sessions by itself, the catalogue of them, and each of their runs."""
