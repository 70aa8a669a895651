"""LineLimit: so many lines of the log a second about things of one kind, and one that says how many more there were."""

from typing import Final

# Of one kind, a second. A flood of them would fill the disk, and hide all else.
LINES_MAX: Final = 50


class LineLimit:
    """Counts one second; its owner ends it, and logs what `end_second` returns if that is not 0."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen = 0

    def allows(self) -> bool:
        """Count one; tell whether it has a line of its own."""
        self._seen += 1
        return self._seen <= LINES_MAX

    def end_second(self) -> int:
        """Return how many had no line, and begin to count anew."""
        more, self._seen = max(0, self._seen - LINES_MAX), 0
        return more
