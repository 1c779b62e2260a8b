"""The session channel: state, actions, customizations, and reducers."""

__all__: list[str] = []
