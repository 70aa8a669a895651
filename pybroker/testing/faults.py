"""A fault that goes on until it is ended: by `end`, by leaving the `with`, or at the end of the test."""

from collections.abc import Callable
from types import TracebackType
from typing import Self


class Fault:
    """Something that was done to the broker and is undone by `end`, once."""

    def __init__(self, what: str, undo: Callable[[], object]) -> None:
        self.what = what
        self._undo: Callable[[], object] | None = undo

    @property
    def active(self) -> bool:
        """Tell whether it has not ended."""
        return self._undo is not None

    def end(self) -> None:
        """Undo it."""
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def __repr__(self) -> str:
        return f"<Fault: {self.what}{'' if self.active else ', ended'}>"
