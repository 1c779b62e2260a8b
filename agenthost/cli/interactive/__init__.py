"""The interactive chat: pure models of what is shown and asked, and a thin terminal screen."""

__all__: list[str] = []
