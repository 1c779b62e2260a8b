"""Killing a host again and again, at random moments, and counting what that loses: nothing."""
