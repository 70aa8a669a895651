"""DelayedMessages: what came back to one queue and waits until it is due.

Messages that are due return to their original place, as requeued ones do. Times are of the clock that no operator sets,
and go on through a restart. Very many that are due at once return in shares; and while nobody takes them they stay
here, on disk, but for a window of them.
"""

from itertools import groupby
from typing import TYPE_CHECKING, Final

from pybroker.content_view import body_sizes
from pybroker.core.queue.retry.index import ROW_OCTETS, LeavingBlock, RetryIndex, Row
from pybroker.core.queue.retry.window import AHEAD_MS, RetryWindow
from pybroker.run import Entry

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterator

    from pybroker.core.queue.paging.segments import EvictedSegment
    from pybroker.core.queue.queue import Queue
    from pybroker.core.queue.ready import Removed
    from pybroker.run import Run

# Returned in one go: some milliseconds.
SHARE_ROWS: Final = 512
SHARE_MESSAGES: Final = 2_048
# With so much returned and not taken, no more returns; it is looked at again so soon, and ever less often.
RETURNED_MESSAGES: Final = 4_096
RETURNED_OCTETS: Final = 2_097_152
WAIT_MS: Final = 10
WAIT_MS_MAX: Final = 500
# Looked at again while contents wait for the log, or a read that found no descriptor.
AGAIN_MS: Final = 1_000
# Above all seqs.
SEQ_END: Final = 1 << 64
# Cost of a look, in messages that expire; of these four are one that returns.
LOOK_COST: Final = 4


class DelayedMessages:
    """`index` has when they are due, `window` those in memory. At `look_ms` it is to be looked at; 0: at no time."""

    __slots__ = ("_queue", "_wait_ms", "index", "look_ms", "window")

    def __init__(self, queue: "Queue") -> None:
        self._queue = queue
        self._wait_ms = 0
        self.index = RetryIndex()
        self.window = RetryWindow(queue)
        self.look_ms = 0

    # -- in -----------------------------------------------------------------------------------------------------------

    def add(self, entries: list[Entry], due_ms: int) -> None:
        """Take messages that wait until then."""
        for entry in entries:
            for each in _consecutive(entry):
                n = len(each.indexes)
                self.index.add(Row(due_ms, each.first_seq, n, each.deliveries, each.body_octets // n))
                self.window.put(each, due_ms)
        now_ms = self._queue.vhost.broker.clock.now_ms
        self.window.evict(now_ms)
        self._set_timer(now_ms)

    def restore(self, columns: "list[array[int]]") -> None:
        """Take messages that the log had when the broker started, as columns of the index; it is empty yet."""
        self.index.load(columns)
        self._set_timer(self._queue.vhost.broker.clock.now_ms)

    # -- out ----------------------------------------------------------------------------------------------------------

    def return_due(self, now_ms: int) -> int:
        """Return a share of what is due to the queue, and read what will be due; return what that cost."""
        if not self.look_ms or self.look_ms > now_ms:
            return 0
        index, window = self.index, self.window
        self.look_ms = 0
        window.evict(now_ms)
        due = index.first(SHARE_ROWS, now_ms)
        if due and (self._queue.returns or self._is_full()):
            self._wait_ms = min(2 * self._wait_ms, WAIT_MS_MAX) or WAIT_MS
            self._look_at(now_ms + self._wait_ms)
            return LOOK_COST
        self._wait_ms = 0
        entries: list[Entry] = []
        done = count = 0
        for row in due:
            found = window.pop(row.seq)
            if found is None:
                break
            entries += found
            done += 1
            count += row.messages
            if count >= SHARE_MESSAGES:
                break
        index.drop(done)
        if entries:
            self._queue.retry(entries)
        window.read_ahead(index, now_ms, urgent=done < len(due) and count < SHARE_MESSAGES)
        self._set_timer(now_ms)
        return LOOK_COST + count // 4

    def retry(self, messages_max: int) -> int:
        """Make messages due now, those that are due next first; return how many of so many at most.

        It may be a share: 0 tells that none is left, or that the next ones are being read. The log keeps the due times
        that it has: after a crash, messages that have not been delivered wait for these again.
        """
        now_ms = self._queue.vhost.broker.clock.now_ms
        count = 0
        for row in self.index.after(now_ms, SEQ_END, SHARE_ROWS):
            left = messages_max - count
            if row.messages > left:
                if not left or not self._split(row, left):
                    break
                row = row._replace(messages=left)
            self.index.remove(row.due_ms, row.seq)
            self.index.add(row._replace(due_ms=now_ms))
            count += row.messages
        if count:
            self._look_at(now_ms)
        return count

    def _split(self, row: Row, messages: int) -> bool:
        """Make two rows of one, with so many messages in the first; tell whether that was possible."""
        if self.window.fetching:
            return False  # it may be on its way back as a whole
        self.index.remove(row.due_ms, row.seq)
        self.index.add(row._replace(messages=messages))
        self.index.add(row._replace(seq=row.seq + messages, messages=row.messages - messages))
        self.window.split(row.seq, row.seq + messages, row.due_ms)
        return True

    def came(self) -> None:
        """Go on: messages were read back."""
        self._look_at(0)

    def clear(self) -> "list[Removed]":
        """Remove everything and return it."""
        resident = self.window.clear()
        evicted: list[Entry | EvictedSegment] = [LeavingBlock(block, resident) for block in self.index.clear()]
        self.look_ms = 0
        return [[entry for entries in resident.values() for entry in entries], evicted]

    # -- what others ask ----------------------------------------------------------------------------------------------

    def rows(self) -> "Iterator[tuple[Row, list[Entry] | None]]":
        """Yield all rows in the order in which they are due, with their entries if they are in memory."""
        resident = self.window.resident
        for row in self.index:
            yield row, resident.get(row.seq)

    @property
    def has_later(self) -> bool:
        """Tell whether some are not due yet."""
        return bool(self.index.after(self._queue.vhost.broker.clock.now_ms, SEQ_END, 1))

    @property
    def memory_octets(self) -> int:
        """Return about what is kept in memory beside contents."""
        return ROW_OCTETS * len(self.index)

    # -- when it is looked at -----------------------------------------------------------------------------------------

    def _is_full(self) -> bool:
        """Tell whether so much has returned and was not taken that more would only fill the memory."""
        messages = octets = 0
        for level in self._queue.backlog.levels:
            for entry in level.returned:
                messages += len(entry.indexes)
                octets += entry.body_octets
                if messages >= RETURNED_MESSAGES or octets >= RETURNED_OCTETS:
                    return True
        return False

    def _set_timer(self, now_ms: int) -> None:
        first = self.index.first(1)
        if first:
            (row,) = first
            if row.seq in self.window.resident:
                self._look_at(row.due_ms)
            elif not self.window.fetching:
                self._look_at(row.due_ms - AHEAD_MS)
            else:
                self._look_at(now_ms + AGAIN_MS)
        if self.window.crowded:
            self._look_at(now_ms + AGAIN_MS)

    def _look_at(self, look_ms: int) -> None:
        """Be looked at then, or before."""
        broker = self._queue.vhost.broker
        now_ms = broker.clock.now_ms
        look_ms = max(now_ms + 1, look_ms)
        if self.look_ms <= now_ms or look_ms < self.look_ms:
            self.look_ms = look_ms
            broker.timers.add(look_ms, self._queue)


def _consecutive(entry: Entry) -> "Iterator[Entry]":
    """Yield the entry as parts whose seqs follow one another and whose bodies are of equal size.

    None of them keeps much else in memory.
    """
    run, indexes, deliveries = entry.run, entry.indexes, entry.deliveries
    for part in _parts(run, indexes):
        if run.pins(part):
            yield Entry(run.part(part), range(len(part)), deliveries)
        else:
            yield Entry(run, part, deliveries)


def _parts(run: "Run", indexes: range) -> "Iterator[range]":
    if indexes.step != 1:
        yield from (range(index, index + 1) for index in indexes)
    elif run.body_size >= 0:
        yield indexes
    else:
        start = indexes.start
        for _, equal in groupby(body_sizes(run.contents_at(indexes))):
            count = len(list(equal))
            yield range(start, start + count)
            start += count
