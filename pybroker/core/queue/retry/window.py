"""Contents of delayed messages that are in memory: back a moment ago, not in the log, or due soon.

Contents that the log has leave memory when there are many of them. They are read back shortly before they are due, as
many as a window holds: messages that are due together may lie anywhere in the log.
"""

from collections import deque
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from pybroker.core.queue.paging import eviction
from pybroker.run import Entry
from pybroker.seq_ranges import SeqRanges

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.queue.queue import Queue
    from pybroker.core.queue.retry.index import RetryIndex, Row
    from pybroker.run import Run

# Limits of what stays in memory although the log has it; and of what does because it is due so soon.
KEPT_MESSAGES: Final = 2_048
KEPT_OCTETS: Final = 2_097_152
SOON_MS: Final = 4_000
SOON_TIMES: Final = 8
# A window, and what its messages are due within. It is read so long before the first of them is due.
FETCH_MESSAGES: Final = 4_096
FETCH_OCTETS: Final = 2_097_152
HORIZON_MS: Final = 60_000
AHEAD_MS: Final = 2_000

_SEQ: Final = attrgetter("seq")


class RetryWindow:
    """`resident` has the entries of a row by its seq; `messages` and their `octets` are counted.

    `_logged` are rows that the log has, or will have, in the order in which they came: when they are due, and seq.
    `fetching`: some are on their way back; an answer to another `_life` than this one comes too late.
    """

    __slots__ = ("_life", "_logged", "_queue", "fetching", "messages", "octets", "resident")

    def __init__(self, queue: "Queue") -> None:
        self._queue = queue
        self._logged: deque[tuple[int, int]] = deque()
        self._life = 0
        self.resident: dict[int, list[Entry]] = {}
        self.messages = self.octets = 0
        self.fetching = False

    def put(self, entry: Entry, due_ms: int) -> None:
        """Take the entry of a row."""
        seq = entry.first_seq
        self._keep(seq, [entry])
        if self._queue.durable and entry.run.attributes.persistent:
            self._logged.append((due_ms, seq))

    def pop(self, seq: int) -> list[Entry] | None:
        """Remove the entries of a row and return them; None if they are not here."""
        entries = self.resident.pop(seq, None)
        if entries is not None:
            for entry in entries:
                self.messages -= len(entry.indexes)
                self.octets -= entry.body_octets
        return entries

    def split(self, seq: int, middle: int, due_ms: int) -> None:
        """Make two rows of one, if it is here: from `seq` and from the seq `middle` on. None may be on its way back."""
        entries = self.pop(seq)
        if entries is None:
            return
        first: list[Entry] = []
        rest: list[Entry] = []
        for entry in entries:
            # Messages that could not be read are missing.
            n = min(len(entry.indexes), max(0, middle - entry.first_seq))
            if n:
                first.append(Entry(entry.run, entry.indexes[:n], entry.deliveries))
            if n < len(entry.indexes):
                rest.append(Entry(entry.run, entry.indexes[n:], entry.deliveries))
        self._keep(seq, first)
        self._keep(middle, rest)
        if self._queue.durable and rest and rest[0].run.attributes.persistent:
            self._logged.append((due_ms, middle))

    def clear(self) -> dict[int, list[Entry]]:
        """Remove everything and return it."""
        resident, self.resident = self.resident, {}
        self._logged.clear()
        self._life += 1
        self.messages = self.octets = 0
        self.fetching = False
        return resident

    # -- out of memory ------------------------------------------------------------------------------------------------

    @property
    def crowded(self) -> bool:
        """Tell whether some could go, if the log had them."""
        return bool(self._logged) and (self.messages > KEPT_MESSAGES or self.octets > KEPT_OCTETS)

    def evict(self, now_ms: int) -> None:
        """Let go of contents that the log has, if there are many; of those that are due soon only if very many."""
        logged, safe_seq = self._logged, self._queue.log.safe_seq
        # Rows that leave in time would be remembered for ever if there are never many at once.
        if len(logged) > 2 * (len(self.resident) + KEPT_MESSAGES):
            latest = {seq: due_ms for due_ms, seq in logged if seq in self.resident}
            self._logged = logged = deque([(due_ms, seq) for seq, due_ms in latest.items()])
        while self.crowded:
            due_ms, seq = logged[0]
            entries = self.resident.get(seq)
            if entries:
                many = self.messages > SOON_TIMES * KEPT_MESSAGES or self.octets > SOON_TIMES * KEPT_OCTETS
                if entries[-1].last_seq >= safe_seq or (due_ms - now_ms < SOON_MS and not many):
                    return
                self.pop(seq)
            logged.popleft()

    # -- and back -----------------------------------------------------------------------------------------------------

    def read_ahead(self, index: "RetryIndex", now_ms: int, *, urgent: bool) -> None:
        """Have what is due next read back, if that is soon; it is `urgent` if something is due that is not here."""
        if self.fetching or len(self.resident) >= len(index) or (self.messages >= FETCH_MESSAGES and not urgent):
            return
        wanted: list[Row] = []
        messages = octets = 0
        for row in index:
            if row.seq in self.resident:
                continue
            if row.due_ms > now_ms + (HORIZON_MS if wanted else AHEAD_MS):
                break
            wanted.append(row)
            messages += row.messages
            octets += row.octets
            if messages >= FETCH_MESSAGES or octets >= FETCH_OCTETS:
                break
        if wanted:
            self.fetching = True
            wanted.sort(key=_SEQ)
            self._queue.log.fetch(self._queue.id, _seq_ranges(wanted), partial(self._came, self._life, wanted))

    def _came(self, life: int, wanted: "list[Row]", found: "list[tuple[Run, range]]") -> None:
        queue = self._queue
        if life != self._life or queue.deleted:
            return
        self.fetching = False
        left = deque(found)
        queue.backlog.count_read(sum([len(indexes) for _, indexes in found]))
        for row in wanted:
            entries = eviction.take_entries(left, row.seq + row.messages - 1, row.deliveries)
            self._keep(row.seq, entries)
            missing = row.messages - sum([len(entry.indexes) for entry in entries])
            if missing:
                octets = row.octets - sum([entry.body_octets for entry in entries])
                queue.backlog.count_delayed_lost(missing, octets)
                eviction.miss(queue, missing)
                if queue.vhost.tracing:
                    queue.vhost.broker.traces.unreadable_delayed(queue, row.seq, row.messages, entries)
        queue.delayed_came()

    def _keep(self, seq: int, entries: list[Entry]) -> None:
        self.resident[seq] = entries
        for entry in entries:
            self.messages += len(entry.indexes)
            self.octets += entry.body_octets


def _seq_ranges(rows: "Iterable[Row]") -> SeqRanges:
    seq_ranges = SeqRanges()
    for row in rows:
        seq_ranges.add(row.seq, row.messages, row.size)
    return seq_ranges
