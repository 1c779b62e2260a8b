"""Runs of foreign clients, as their makers ship them, against our host."""
