"""Automations: what is to be done when, by whom it is told, and how each run goes."""
