"""Approvals and questions of the interactive chat."""
