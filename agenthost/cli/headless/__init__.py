"""Turns that nobody watches: answers from options, output for scripts."""
