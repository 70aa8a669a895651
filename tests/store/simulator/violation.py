"""The store broke a promise."""


class Violation(Exception):
    """`kind` is a word for it (`lost`, `returned`, `phantom`, ...), `text` a sentence."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind
        self.text = text
