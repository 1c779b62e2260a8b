"""The chat channel: state, actions, and reducers by topic."""

__all__: list[str] = []
