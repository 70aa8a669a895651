"""Returned: messages that came back to their queues, how often they were delivered, and until when they wait there.

Rows by queue in flat arrays, four numbers each: first seq, last seq, deliveries, and when it is due, in steady wall
milliseconds (0: it does not wait). 32 octets for a message that came back by itself, and no more for a backlog that
came back whole. Rows may overlap: the one with the highest count came last, and is right.

New rows are appended. Rows that are not right or not live any more leave with the next checkpoint, off the hub.
"""

from array import array
from typing import Final

from pybroker.store.segments.ack_ranges import ranges
from pybroker.store.segments.returned_rows import COLUMNS, Rows, Settled, append
from pybroker.store.segments.tidy import tidy

# With so many ranges that are new, and half as many as the others, it is time for a checkpoint: 2 MiB.
MANY: Final = 65_536


class Returned:
    """`_old` rows are tidy; `_frozen` are those that a thread makes tidy with them, `_new` came since.

    `_gone` are queues that were forgotten meanwhile. Neither old nor frozen arrays change while a thread reads them.
    """

    __slots__ = ("_added", "_frozen", "_gone", "_new", "_old")

    def __init__(self) -> None:
        self._old: Rows = {}
        self._frozen: Rows = {}
        self._new: Rows = {}
        self._gone: set[int] = set()
        self._added = 0  # ranges, since they were frozen

    def __bool__(self) -> bool:
        return bool(self._old or self._frozen or self._new)

    @property
    def many(self) -> bool:
        """Tell whether so many rows are new that they should be made tidy."""
        added = self._added
        return added > MANY and 2 * COLUMNS * added > sum(map(len, self._old.values()))

    def add(self, queue_id: int, deliveries: int, due_ms: int, pairs: "array[int]") -> None:
        """Take ranges (first, last, first, last ...) that came back to a queue."""
        rows = self._new.get(queue_id)
        if rows is None:
            rows = self._new[queue_id] = array("Q")
        self._added += len(pairs) // 2
        for first, last in ranges(pairs):
            append(rows, (first, last, deliveries, due_ms))

    def forget(self, queue_id: int) -> None:
        """Forget the rows of a queue."""
        for rows in (self._old, self._frozen, self._new):
            rows.pop(queue_id, None)
        self._gone.add(queue_id)

    def load(self, rows: Rows) -> None:
        """Take rows as they are."""
        for queue_id, mine in rows.items():
            self._new[queue_id] = self._new.get(queue_id, array("Q")) + mine

    def freeze(self) -> tuple[Rows, Rows]:
        """Return all rows, to be made `tidy`; `replace` has to follow before they are frozen again."""
        assert not self._frozen
        self._frozen, self._new, self._gone, self._added = self._new, {}, set(), 0
        return dict(self._old), dict(self._frozen)

    def replace(self, rows: "Rows | None") -> None:
        """Have these rows in the place of those that were frozen; None: they stay as they are."""
        if rows is not None:
            self._old = {queue_id: mine for queue_id, mine in rows.items() if queue_id not in self._gone}
        else:
            for queue_id, mine in self._new.items():
                self._frozen[queue_id] = self._frozen.get(queue_id, array("Q")) + mine
            self._new = self._frozen
        self._frozen = {}

    def tidy(self, settled: Settled, now_ms: int) -> Rows:
        """Make all rows tidy at once, and return them. Takes a while if there are many: not for the hub."""
        rows = tidy(*self.freeze(), settled, now_ms)
        self.replace(rows)
        return rows
