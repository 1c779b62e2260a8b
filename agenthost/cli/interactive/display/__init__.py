"""What the interactive chat shows: transcript, status lines, diffs."""
