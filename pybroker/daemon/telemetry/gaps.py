"""Gaps: spans of time of which a table has no rows although there was something to tell, as rows of a table."""

from collections.abc import Callable
from typing import Any, Final

Row = dict[str, Any]

# Why: free disk space was near its limit, a file could not be written, more rows waited for the disk than may, or
# somebody set the clock.
DISK: Final = "disk"
FAILED: Final = "failed"
OVERFLOW: Final = "overflow"
FORWARD: Final = "clock_forward"
BACK: Final = "clock_back"


class Gaps:
    """At most one open gap for each table. It is written when it begins, in case of a kill, and when it ends."""

    __slots__ = ("_open", "_write")

    def __init__(self, write: Callable[[list[Row]], object]) -> None:
        self._write = write
        self._open: dict[str, Row] = {}

    def begin(self, table: str, from_ms: int, why: str, rows: int | None = None) -> None:
        """Note that a table has nothing since then; of a gap that is open, count the rows that were lost."""
        gap = self._open.get(table)
        if gap is None:
            gap = self._open[table] = {"table": table, "from_ms": from_ms, "to_ms": None, "why": why, "rows": rows}
            self._write([dict(gap)])
        elif rows is not None:
            gap["rows"] = rows + (gap["rows"] or 0)

    def end(self, table: str, to_ms: int) -> None:
        """Note that the table is told of again, if it was not."""
        gap = self._open.pop(table, None)
        if gap is not None:
            self._write([{**gap, "to_ms": to_ms}])

    def end_all(self, to_ms: int) -> None:
        """Note of each table that has a gap that this ends now: nothing follows."""
        for table in list(self._open):
            self.end(table, to_ms)

    def clock_set(self, before_ms: int, now_ms: int) -> None:
        """Note that the clock jumped: the span in between never was, or was twice."""
        first, last = sorted((before_ms, now_ms))
        why = FORWARD if now_ms > before_ms else BACK
        self._write([{"table": "", "from_ms": first, "to_ms": last, "why": why, "rows": None}])
