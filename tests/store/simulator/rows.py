"""SimulatedRowFile: definitions.sqlite at its seam: a transaction is absent or whole, and durable when `apply` returns.

SQLite's own files have tests of their own (test_row_file.py, test_rescue.py).
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pybroker.store.definitions.row_file import Batch, State
from pybroker.store.definitions.rows import QUEUE_IDS, Row, Sum, text_of


class Rows(NamedTuple):
    """The content of the file; never changed, but replaced."""

    state: State = State()
    rows: dict[tuple[str, Any], Row] = {}  # noqa: RUF012 - likewise


class SimulatedRowFile:
    """The methods of RowFile. `durable` is what a crash finds."""

    path = Path("definitions.sqlite")

    def __init__(self, durable: Rows, seam: "Callable[[str, str], None]") -> None:
        self.durable = durable
        self._seam = seam

    @property
    def state(self) -> State:
        return self.durable.state

    def apply(self, batch: Batch) -> State:
        self._seam("apply", "")
        before = self.durable
        rows = {} if batch.clear else dict(before.rows)
        next_queue_id = before.state.next_queue_id
        for (kind, key), value in batch.changes.items():
            if value is None:
                rows.pop((kind, key), None)
                continue
            rows[kind, key] = Row(kind, key, text_of(value), batch.upto)
            if QUEUE_IDS.get(kind) in value:
                next_queue_id = max(next_queue_id, value[QUEUE_IDS[kind]] + 1)
        total = Sum()
        for row in rows.values():
            total.add(row.checksum())
        self.durable = Rows(State(batch.upto, next_queue_id, total.count, total.total), rows)
        self._seam("applied", "")
        return self.durable.state

    def rows(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        self._seam("rows", "")
        for (kind, key), row in sorted(self.durable.rows.items()):
            yield kind, (*(part.encode() for part in key), row.text.encode(), row.change, row.checksum())

    def close(self) -> None:
        self._seam("close", "")
