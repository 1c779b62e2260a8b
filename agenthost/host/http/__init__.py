"""HTTP beside the WebSocket: pages, health, metrics, admission."""
