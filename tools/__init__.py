"""What make runs: setting up, building, releasing. Nothing of it is installed."""
