"""The step between 0.9.0 and 0.8.0: errors among the parts, resumed turns, origins."""
