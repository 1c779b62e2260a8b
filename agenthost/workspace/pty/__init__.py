"""Real terminals: a pty and its keeper, the marks that shells print, and what they mean."""
