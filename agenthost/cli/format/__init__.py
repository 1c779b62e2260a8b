"""Text for terminals and files: states, events, transcripts, wire logs."""
