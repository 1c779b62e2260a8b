"""The connection to a host: transports, handshake, reconnecting."""
