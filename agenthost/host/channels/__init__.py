"""What differs between kinds of channels: one room for each kind."""
