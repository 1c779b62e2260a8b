"""The session picker: a full-screen list of the host's sessions to choose one from."""
