"""Node: one life of the store, put together as the daemon does it (daemon/storage.py, daemon/definitions.py)."""

from typing import TYPE_CHECKING, Any

from pybroker.session import Turn
from pybroker.store import page_log
from pybroker.store.definitions.definition_recovery import Opened
from pybroker.store.definitions.definition_store import DefinitionStore
from pybroker.store.definitions.definitions import Definitions
from pybroker.store.definitions.rows import decoded
from pybroker.store.definitions.snapshot import read_snapshots
from pybroker.store.disk import DiskError
from pybroker.store.page_log import PageLog
from tests.store.simulator.fault import Fault
from tests.store.simulator.inspection import Findings, definitions_of, findings, journal, recovery
from tests.store.simulator.model import limited
from tests.store.simulator.rows import Rows, SimulatedRowFile
from tests.store.simulator.streams import Streams
from tests.store.simulator.threads import SimulatedThread, pause
from tests.store.simulator.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.store.definitions.definitions import Key, Value
    from pybroker.store.journal.batch_builder import BatchBuilder
    from pybroker.store.journal.journal import Journal
    from pybroker.store.recovery.recovery import Recovered
    from tests.clock import FakeClock
    from tests.store.simulator.disk import SimulatedDisk
    from tests.store.simulator.model import Model

_CALLS = frozenset(("apply", "rows", "close"))


class ToldDefinitions(Definitions):
    """The definitions of a node as the core sees them; the model learns of each change."""

    def __init__(self, store: DefinitionStore, model: "Model") -> None:
        self._store = store
        self._model = model

    @property
    def commit_position(self) -> int:
        return self._store.commit_position

    @property
    def completed(self) -> int:
        return self._store.completed

    def change(self, kind: str, key: "Key", value: "Value | None") -> int:
        model, store = self._model, self._store
        model.doubtful.add((kind, key))
        commit_position = store.remove(kind, key) if value is None else store.put(kind, key, value)
        model.doubtful.discard((kind, key))
        model.changes.append((commit_position, (kind, key), value))
        return commit_position

    put = change

    def remove(self, kind: str, key: "Key") -> int:
        return self.change(kind, key, None)


class Node:
    """`log` is None until the start is over.

    `swallowed` has what the hub logged and went on after, `failures` what ends the process.
    """

    def __init__(self, disk: "SimulatedDisk", rows: Rows, clock: "FakeClock", fault: Fault, model: "Model") -> None:
        self.disk = disk
        self.clock = clock
        self.fault = fault
        self.turn = Turn()
        self.rows = SimulatedRowFile(rows, self._row_seam)
        self.journal_thread = SimulatedThread("journal", fault)
        self.files_thread = SimulatedThread("files", fault)
        self.definitions_thread = SimulatedThread("definitions", fault)
        self.stream_threads = {name: SimulatedThread(name, fault) for name in ("streams", "stream reads")}
        self.threads = (
            self.journal_thread,
            self.files_thread,
            self.definitions_thread,
            *self.stream_threads.values(),
        )
        self.streams: Streams | None = None  # None while it starts
        self.watch: Callable[[], None] = lambda: None  # called before streams may be cut off
        self.log: Journal | None = None
        self.pages: PageLog | None = None
        self.found: Findings | None = None
        self.failures: list[str] = []
        self.swallowed: list[str] = []
        self.unreadable: list[str] = []
        self.changes = 0  # of what is on disk
        self.waited_for = 0
        self._commit_wanted = False
        disk.power.seam = self._disk_seam
        snapshots, _ = read_snapshots(disk)
        kept = snapshots[0].changes if snapshots else 0
        opened = Opened(self.rows, decoded(rows.rows.values()), not rows.state.changes, kept, [], [])
        self.store = DefinitionStore(opened, disk, self.definitions_thread, clock)
        self.definitions_thread.on_error = self.store.fail
        self.store.wake = self._want_commit
        self.store.on_completed = self._defined
        self.store.on_failed = self.failures.append
        self.definitions = ToldDefinitions(self.store, model)
        self._open()

    # -- seams ---------------------------------------------------------------------------------------------------------

    def _disk_seam(self, name: str, on: str) -> None:
        pause(self.fault)
        self.changes += 1
        self.fault.call("disk", name, on)

    def _row_seam(self, name: str, on: str) -> None:
        pause(self.fault)
        self.changes += 1
        if name in _CALLS:
            self.fault.call("rows", name, on)

    # -- start ---------------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        pages = self.disk.below(page_log.FOLDER)
        rows = self.rows.durable
        streams = Streams(
            self.disk,
            self.clock,
            self.turn,
            self.definitions,
            lambda name, _: self.stream_threads[name],
            self.unreadable.append,
        )
        streams.load(definitions_of(rows))

        def recover() -> Any:
            page_log.empty(pages)
            return streams.find(recovery(self.disk, definitions_of(rows)).run())

        def recovered(result: Any) -> None:
            if isinstance(result, BaseException):
                self.failures.append(f"cannot open the log: {result!r}")
                return
            try:
                self._begin(pages, rows, streams, *result)
            except (DiskError, MemoryError, OSError) as error:
                self.failures.append(f"cannot open the log: {error!r}")

        self.files_thread.submit(recover, recovered)

    def _begin(
        self, pages: "SimulatedDisk", rows: Rows, streams: Streams, recovered: "Recovered", chunks: dict[int, Any]
    ) -> None:
        self.found = findings(rows, recovered)
        threads = self.journal_thread, self.files_thread
        log = journal(self.disk, threads, self.clock, self.turn, self.store, recovered)
        log.on_closing = self._closing
        log.on_completed = self._completed
        log.on_failed = self.failures.append
        log.on_unreadable = self.unreadable.append
        self.pages = PageLog(pages, self.files_thread, self.unreadable.append)
        if recovered.clean:
            counted = {queue_id: mine for queue_id, mine in recovered.returned.items() if limited(queue_id)}
            recovered.live_index.returned.load(counted)
        self.journal_thread.on_error = log.fail
        self.files_thread.on_error = self._files_failed
        streams.begin(log, recovered, chunks)
        self.log, self.streams = log, streams

    def _files_failed(self, error: Exception) -> None:
        if isinstance(error, MemoryError) and self.log is not None:
            self.log.fail(error)

    def first_batch(self) -> None:
        """Say that what was a clean stop is none any more."""
        assert self.log is not None
        self.log.commit_nothing()

    # -- what the daemon and the broker do -----------------------------------------------------------------------------

    def _want_commit(self) -> None:
        self._commit_wanted = True

    def _closing(self, commit_position: int, builder: "BatchBuilder", done: "Callable[[], None]") -> bool:
        """Hold some batches up, as streams do whose files are written first; what they did comes with the batch."""
        assert self.streams is not None
        if self.streams.broker.streams.straight.log_closing(commit_position, builder, done):
            return True
        if commit_position % 3 or not builder:
            return False
        assert self.log is not None
        self.log.take(1)
        self.files_thread.submit(lambda: None, lambda _: done())
        return True

    def _completed(self, commit_position: int) -> None:
        assert self.log is not None
        assert self.streams is not None
        self.log.completed = commit_position
        self.streams.broker.log_completed(commit_position)
        if self.waited_for > commit_position:
            self.log.want(self.waited_for)

    def _defined(self, commit_position: int) -> None:
        self.store.completed = commit_position
        if self.log is not None:
            self.log.gate_moved()
        if self.streams is not None:
            self.streams.broker.streams.definitions_completed()

    def want(self, commit_position: int) -> None:
        """Wait for a commit position of the log, as a publisher does."""
        assert self.log is not None
        self.waited_for = max(self.waited_for, commit_position)
        self.log.want(commit_position)

    def end_turn(self) -> None:
        """Do what comes at the end of a turn of the loop."""
        self.turn.woken = False
        if self.streams is not None:
            self.guard(self.streams.broker.pump)
        if self.log is not None:
            self.guard(self.log.turn_ended)
        if self._commit_wanted:
            self._commit_wanted = False
            self.guard(self.store.commit)

    def collect(self, thread: SimulatedThread) -> None:
        """Let the hub have what a thread's jobs returned."""
        self.watch()
        thread.collect(self.swallow, self.watch)
        self.end_turn()

    def tick(self) -> None:
        """Let the clock's calls come."""
        if self.log is not None:
            self.guard(self.log.tick)
            assert self.pages is not None
            pages, now_ms = self.pages, self.clock.now_ms
            self.guard(lambda: pages.reader.tick(now_ms))
        if self.streams is not None:
            self.watch()
            self.guard(self.streams.broker.streams.tick)
        self.guard(self.store.tick)
        self.end_turn()

    def guard(self, call: Any) -> None:
        """Call as the loop does: an exception is logged, and ends this call alone."""
        try:
            call()
        except Exception as error:  # noqa: BLE001 - the loop goes on, whatever it was
            self.swallow(error)

    def swallow(self, error: Exception) -> None:
        """Note an exception that only the log of the daemon learns of."""
        if isinstance(error, Violation):
            raise error
        self.swallowed.append(repr(error))

    @property
    def ended(self) -> bool:
        """Tell whether the daemon ends the process."""
        return bool(self.failures)
