"""What the ``git`` program says of the repositories that sessions work in, and checkpoints."""
