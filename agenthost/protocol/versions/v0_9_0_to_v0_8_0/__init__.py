"""The step between 0.9.0 and 0.8.0: error parts, resumed turns, ends of terminals, origins."""
