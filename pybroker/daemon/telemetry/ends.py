"""Ends: final rows of queues that were deleted and of connections that closed, with their last totals.

A thing that came and went between two looks has no other row. Of very many of these a few each time have rows of their
own, and the others are summed up: one row for each virtual host, or user, whose totals grow like those of one thing.
"""

from collections.abc import Callable, Container
from typing import Any, Final

Row = dict[str, Any]

# Rows of things that no look has seen, from one taking to the next.
UNSEEN_MAX: Final = 100
# Sums that are kept apart; the rest goes into one.
SUMS_MAX: Final = 1_000
# Rows that wait to be taken; the disk is short for long then.
ROWS_MAX: Final = 10_000
TOTALS: Final = ("_total", "_oct")


class Ends:
    """Final rows until they are taken. `seen` has the ids of what a look has told of."""

    __slots__ = ("_name", "_rows", "_seen", "_sums", "_told", "_unseen")

    def __init__(self, seen: Container[int], name: Callable[[Row | None], Row]) -> None:
        self._seen = seen
        self._name = name  # the identity of the sum that a row goes into; that of the last sum for None
        self._rows: list[Row] = []
        self._sums: dict[tuple[Any, ...], Row] = {}
        self._told: set[tuple[Any, ...]] = set()
        self._unseen = 0

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, number: int, row: Row) -> bool:
        """Take the final row of the thing that has this id; False if there are too many already."""
        if number not in self._seen:
            row["first"] = True
            if self._unseen >= UNSEEN_MAX or _is_idle(row):
                self._sum(row)
                return True
            self._unseen += 1
        if len(self._rows) >= ROWS_MAX:
            return False
        self._rows.append(row)
        return True

    def pop(self) -> list[Row]:
        """Return the rows of single things since the last time."""
        rows, self._rows = self._rows, []
        return rows

    def sums(self) -> list[Row]:
        """Return the sums that grew since the last time; as many things may have rows of their own again."""
        rows = []
        self._unseen = 0
        for key, changed in self._sums.items():
            if changed.pop("changed", False):
                row = dict(changed)
                if key not in self._told:
                    self._told.add(key)
                    row["first"] = True
                rows.append(row)
        return rows

    def _sum(self, row: Row) -> None:
        identity = self._name(row)
        key = tuple(identity.values())
        if key not in self._sums and len(self._sums) >= SUMS_MAX:
            identity = self._name(None)
            key = tuple(identity.values())
        total = self._sums.get(key)
        if total is None:
            total = self._sums[key] = {**identity, "others": 0}
        for name, value in row.items():
            if name.endswith(TOTALS):
                total[name] = total.get(name, 0) + value
        total["others"] += 1
        total["changed"] = True


def _is_idle(row: Row) -> bool:
    """Tell whether no message went through it."""
    return not (row["publish_total"] or row["deliver_total"])
