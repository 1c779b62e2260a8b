"""The chat's own slash commands, a module for each thing that they are about."""
