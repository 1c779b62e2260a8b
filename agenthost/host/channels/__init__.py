"""The kinds of channels: what differs between them, one module or package for each."""
