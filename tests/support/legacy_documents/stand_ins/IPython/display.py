"""Code that is shown; here as text."""


class Code:
    """A program."""

    def __init__(self, data: str, language: str = "") -> None:
        self.data = data

    def __repr__(self) -> str:
        return self.data
