"""The definitions on disk, as the hub sees them. Changes gather while a batch is written.

Orders and counts, and does no I/O: `row_file.py` has the file, and all that touches it is a job of the worker. A row
that changes twice before it is written is written once. A snapshot is made a second after the last change, and at the
end.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pybroker.store.definitions.commit_marker import CommitMarker
from pybroker.store.definitions.definitions import KINDS, Definitions
from pybroker.store.definitions.row_file import Batch, RowFileError, checked
from pybroker.store.definitions.rows import Sum
from pybroker.store.definitions.snapshot import write_snapshot
from pybroker.store.disk import DiskError
from pybroker.store.worker import reason

if TYPE_CHECKING:
    from pybroker.clock import Clock
    from pybroker.store.definitions.definition_recovery import Opened
    from pybroker.store.definitions.definitions import Key, Value
    from pybroker.store.definitions.row_file import RowFile, State
    from pybroker.store.definitions.rows import Row
    from pybroker.store.disk import Disk
    from pybroker.store.worker import Worker

# A snapshot waits for more changes this long, and for this many times what the last one took: while it is written no
# declaration gets its answer.
SNAPSHOT_PAUSE_MS: Final = 1_000
SNAPSHOT_PARTS: Final = 20


class DamagedError(Exception):
    """The file does not hold any more what was written to it; the text is a sentence."""


class DefinitionStore(Definitions):
    """Invariants: one job is at the worker at most; a batch that failed and may be tried again is gathered again.

    Hooks, all called on the hub: `on_completed` with a commit position, `on_trouble` with a sentence, or an empty one
    when it is over, `on_failed` with the reason of the end.
    """

    __slots__ = (
        "_busy",
        "_clear",
        "_clock",
        "_closed",
        "_disk",
        "_file",
        "_gathered",
        "_marker",
        "_refused",
        "_retry",
        "_snapshot_changes",
        "_snapshot_due_ms",
        "_snapshot_wanted",
        "_stopped",
        "_trouble",
        "_worker",
        "on_completed",
        "on_failed",
        "on_trouble",
    )

    def __init__(self, opened: "Opened", disk: "Disk", worker: "Worker", clock: "Clock") -> None:
        super().__init__()
        self._file = opened.file
        self._disk = disk
        self._worker = worker
        self._clock = clock
        self._marker = CommitMarker(disk)
        self._gathered: dict[tuple[str, Key], Value | None] = {}
        self._clear = False
        self._busy = False
        self._retry = False  # the next commit waits for the tick
        self._refused = False  # the last one was refused, and it will be tried again
        self._trouble = ""
        self._closed = False
        self._stopped: Callable[[], None] | None = None
        self.commit_position = self.completed = opened.file.state.changes
        self.is_new = opened.is_new
        self._snapshot_changes = opened.snapshot_changes
        self._snapshot_due_ms = clock.now_ms + SNAPSHOT_PAUSE_MS
        self._snapshot_wanted = False
        self.on_completed: Callable[[int], None] = _ignore
        self.on_trouble: Callable[[str], None] = _ignore
        self.on_failed: Callable[[str], None] = _ignore

    # -- changes ------------------------------------------------------------------------------------------------------

    def put(self, kind: str, key: "Key", value: "Value") -> int:
        """Keep a row; return the commit position to wait for."""
        return self._gather(kind, key, value)

    def remove(self, kind: str, key: "Key") -> int:
        """Forget a row, if there is one; return the commit position to wait for."""
        return self._gather(kind, key, None)

    def remove_all(self, rows: "Iterable[tuple[str, Key]]") -> int:
        """Forget rows that were put; return the commit position to wait for. A hundred thousand take milliseconds."""
        try:
            self._gathered.update(dict.fromkeys(rows))
            return self._count()
        except Exception as error:
            self.fail(error)
            raise

    def clear(self) -> int:
        """Forget all rows; return the commit position to wait for."""
        self._gathered.clear()
        self._clear = True
        return self._count()

    def _gather(self, kind: str, key: "Key", value: "Value | None") -> int:
        assert len(key) == len(KINDS[kind].columns)
        for part in key:
            part.encode()  # raises ValueError here, where it ends a command, and not later, where it would end the node
        try:
            self._gathered[kind, key] = value
            return self._count()
        except Exception as error:
            # Made, and not to be kept: it would be gone with the next start, and what relies on it.
            self.fail(error)
            raise

    def _count(self) -> int:
        self.commit_position += 1
        if not self._busy:
            self.wake()
        return self.commit_position

    # -- writing ------------------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """Hand over what was gathered, unless a batch is being written: then it follows that one."""
        if self._busy or self._retry or self._closed or self.failed or not (self._gathered or self._clear):
            return
        try:
            batch = Batch(self._gathered, self.commit_position, self._clear)
            self._submit(partial(self._apply, batch), partial(self._applied, batch))
            self._gathered, self._clear = {}, False
        except Exception as error:  # noqa: BLE001 - what is not handed over must not be completed by what follows
            self.fail(error)

    def tick(self) -> None:
        """Try again what a full disk refused; make a snapshot when one is due."""
        self._retry = False
        self.commit()
        if self.failed or self._closed or self._refused or self._snapshot_changes == self.completed:
            return
        if self._clock.now_ms >= self._snapshot_due_ms:
            self._snapshot_wanted = True
            self._go_on()

    def stop(self, stopped: Callable[[], None]) -> None:
        """Write remaining changes and a snapshot, close the file, and call `stopped`. Failed writes are given up."""
        self._stopped = stopped
        self._retry = False
        self._go_on()

    def _go_on(self) -> None:
        """Do what is next, if anything. A snapshot that is due goes first: there may always be another batch."""
        if not self._busy and self._snapshot_wanted and not self.failed:
            self._snapshot()
        self.commit()
        if self._busy or self._stopped is None:
            return
        if self._snapshot_changes != self.completed and not self.failed and not self._trouble:
            self._snapshot()
        else:
            stopped, self._stopped = self._stopped, None
            self._closed = True  # what changes from now on has come too late
            self._submit(self._close, lambda _: stopped())

    def _submit(self, job: Callable[[], Any], done: Callable[[Any], None]) -> None:
        self._worker.submit(job, partial(self._done, done))
        self._busy = True

    def _done(self, done: Callable[[Any], None], result: Any) -> None:
        self._busy = False
        try:
            done(result)
            self._go_on()
        except Exception as error:  # noqa: BLE001 - nobody knows which of the changes that follow were made
            self.fail(error)

    def _applied(self, batch: Batch, result: Any) -> None:
        if isinstance(result, Exception):
            self._gathered = {**(batch.changes if not self._clear else {}), **self._gathered}
            self._clear = self._clear or batch.clear
            if isinstance(result, RowFileError) and result.passing:
                self._retry = self._refused = True
                self._tell(str(result))
            else:
                self.fail(result)
            return
        if self._refused:
            self._refused = False
            self._tell("")
        if self._snapshot_changes == self.completed:
            self._snapshot_due_ms = max(self._snapshot_due_ms, self._clock.now_ms + SNAPSHOT_PAUSE_MS)
        self.completed = batch.upto
        self.on_completed(batch.upto)

    def _snapshot(self) -> None:
        self._snapshot_wanted = False
        self._submit(self._write_snapshot, partial(self._snapshot_written, self._clock.now_ms))

    def _snapshot_written(self, started_ms: int, result: Any) -> None:
        now_ms = self._clock.now_ms
        self._snapshot_due_ms = now_ms + max(SNAPSHOT_PAUSE_MS, SNAPSHOT_PARTS * (now_ms - started_ms))
        if isinstance(result, DiskError):
            self._tell(f"{result}; the definitions themselves are not affected")
        elif isinstance(result, Exception):
            self.fail(result)
        else:
            self._tell("")
            self._snapshot_changes = result

    def fail(self, error: Exception) -> None:
        """Stop for good: changes that are not on disk would be missed by all that relies on them."""
        if not self.failed:
            self.failed = reason(error)
            self.on_failed(self.failed)

    def _tell(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            self.on_trouble(trouble)

    # -- in the worker ------------------------------------------------------------------------------------------------

    def _apply(self, batch: Batch) -> None:
        self._marker.write(self._file.apply(batch).changes)

    def _write_snapshot(self) -> int:
        """Return the number of the change that the snapshot is as of. Never makes one of rows that are damaged."""
        state = self._file.state
        write_snapshot(self._disk, _whole(self._file, state), state)
        return state.changes

    def _close(self) -> None:
        self._marker.close()
        self._file.close()


def _whole(file: "RowFile", state: "State") -> "Iterator[Row]":
    """Yield all rows. Raises DamagedError."""
    total = Sum()
    for kind, found in file.rows():
        row = checked(kind, found)
        if row is None:
            raise DamagedError(f"{file.path} is damaged: checksum mismatch in a row of the table {kind}")
        total.add(row.checksum())
        yield row
    if (total.count, total.total) != (state.row_count, state.total):
        raise DamagedError(f"{file.path} is damaged: {total.count} rows do not match the recorded {state.row_count}")


def _ignore(_: object) -> None:
    """Do nothing; a placeholder for a callback."""
