"""The command line: ``agenthost``. Each command is a module of ``commands``."""

__all__: list[str] = []
