"""An agent's own sessions, and what can be chosen in them."""
