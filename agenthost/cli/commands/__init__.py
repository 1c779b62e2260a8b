"""One module per command: ``register`` adds its arguments, ``run`` carries it out."""

__all__: list[str] = []
