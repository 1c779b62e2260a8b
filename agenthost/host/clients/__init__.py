"""Connected clients: their messages, methods, subscriptions, resuming."""
