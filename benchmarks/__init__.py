"""Figures, printed side by side with a baseline from the same run: ``python -m benchmarks``."""
