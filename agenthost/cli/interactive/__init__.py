"""A chat in a terminal: pure models of what is shown and asked, and a thin shell around them."""

__all__: list[str] = []
