"""How a command finds its host, its session and its chat."""
