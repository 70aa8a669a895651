"""Eviction of contents of persistent messages that are safely in the log; they are read back before they are needed.

Messages behind the head window of a durable queue are evicted when many of them are in memory; they are read back a
window or two at a time, while somebody can use them. They are counted all the while: only their contents are gone.
Costs are per entry, or per seq range. Knows the log by its interface; the queue decides what follows when
its head is back.
"""

from array import array
from collections import deque
from functools import partial
from itertools import groupby, islice
from operator import eq
from typing import TYPE_CHECKING, Final

from pybroker.content_view import body_sizes
from pybroker.core.background_task import BackgroundTask
from pybroker.core.queue.paging.delivery_counts import delivered_alike
from pybroker.core.queue.paging.segments import EvictedSegment
from pybroker.run import Entry, Run
from pybroker.seq_ranges import SeqRanges, merge

if TYPE_CHECKING:
    from collections.abc import MutableSequence

    from pybroker.core.queue.paging.delivery_counts import Deliveries
    from pybroker.core.queue.paging.segments import Segments
    from pybroker.core.queue.queue import Queue
    from pybroker.core.queue.ready import Level
    from pybroker.session import Turn

# A queue with this much in memory evicts what lies behind its windows: far more than these, so that it is done
# rarely, and a small backlog costs nothing.
RESIDENT_MESSAGES: Final = 10_240
RESIDENT_OCTETS: Final = 5_242_880
# A run this far behind the head is packed into one block: half the memory, given back whole.
PACK_BEHIND_MESSAGES: Final = 4_096
# Evicted in one go: about a millisecond.
EVICT_ENTRIES: Final = 1_024
# Taking the front of seq ranges costs a copy of the rest, so none is arbitrarily long.
SEGMENT_ELEMENTS: Final = 65_536
# Read back at a time: two windows.
FETCH_MESSAGES: Final = 4_096
FETCH_OCTETS: Final = 2_097_152
# Parts searched for them: transient messages may lie between persistent ones.
FETCH_PARTS: Final = 1_024
# If messages that were read back are gone within this time, the next are read before they are needed. If they come too
# late nevertheless, more are read at a time, up to so many times as many.
FAST_MS: Final = 200
AHEAD_MAX: Final = 4
# Heads that are dropped unseen are cut off so many at a time.
DROP_MESSAGES: Final = 512
# Levels tried again in one turn, when the log has completed something.
TURN_LEVELS: Final = 16


class EvictionTask(BackgroundTask):
    """Levels of which more can go: in the next turns, or when the log has completed what is in their way."""

    __slots__ = ("_due", "_waiting")

    def __init__(self, turn: "Turn") -> None:
        super().__init__(turn)
        self._waiting: dict[Level, Queue] = {}
        self._due: dict[Level, Queue] = {}

    def wait(self, queue: "Queue", level: "Level") -> None:
        """Try it again when the log has completed more."""
        self._waiting[level] = queue

    def resume(self, queue: "Queue", level: "Level") -> None:
        """Try it again in the next turn."""
        self._due[level] = queue
        self.wake()

    def log_completed(self) -> None:
        """Try all that wait for the log."""
        if self._waiting:
            self._due |= self._waiting
            self._waiting.clear()
            self.wake()

    def deliver(self, _now_ms: int) -> None:
        """Try a turn's share."""
        for level in list(islice(self._due, TURN_LEVELS)):
            queue = self._due.pop(level)
            if not queue.deleted:
                evict(queue, level)
        if self._due:
            self.wake_again()


def is_crowded(queue: "Queue") -> bool:
    """Tell whether a queue has so much in memory that it is time to let some go."""
    backlog = queue.backlog
    return (
        backlog.messages_ready - backlog.messages_evicted > RESIDENT_MESSAGES
        or backlog.octets_ready - backlog.octets_evicted > RESIDENT_OCTETS
    )


def save_memory(queue: "Queue", level: "Level") -> None:
    """Pack the last but one run of a backlog: the last one may still grow. Runs that can be evicted need no packing."""
    backlog, tail = queue.backlog, level.tail
    on_disk = queue.durable and queue.log.safe_seq > 0
    if len(tail) > 1 and backlog.messages_ready > PACK_BEHIND_MESSAGES:
        run = tail[-2].run
        if run.contents is not None and run.count > 1 and not (on_disk and run.attributes.persistent):
            run.pack()
    if on_disk and is_crowded(queue):
        evict(queue, level)


def evict(queue: "Queue", level: "Level") -> None:
    """Let go of contents behind the head window of one level of a durable queue, a share at a time."""
    broker = queue.vhost.broker
    safe_seq = queue.log.safe_seq
    segments = level.segments
    if not safe_seq or (segments is None and (segments := level.part_window_anew(queue.published)) is None):
        return
    fresh, parts = segments.fresh, segments.youngest
    for _ in range(EVICT_ENTRIES):
        if not fresh:
            return
        entry = fresh[0]
        if not entry.run.attributes.persistent:
            if len(fresh) == 1:
                return  # it may still grow
            parts.append(fresh.popleft())
        elif entry.last_seq < safe_seq:
            append(queue, parts, fresh.popleft())
        else:
            if is_crowded(queue):
                broker.eviction.wait(queue, level)
            return
    broker.eviction.resume(queue, level)


def append(queue: "Queue", parts: "MutableSequence[Entry | EvictedSegment]", entry: Entry) -> None:
    """Let an entry go that the log has: its seqs join those of the last part, if that is evicted as well."""
    last = parts[-1] if parts else None
    if (
        not isinstance(last, EvictedSegment)
        or last.asked
        or last.page is not None
        or last.deliveries != entry.deliveries
        or len(last.seq_ranges) >= SEGMENT_ELEMENTS
    ):
        last = EvictedSegment(SeqRanges(), entry.deliveries)
        parts.append(last)
    before = last.seq_ranges.octets
    widen(last.seq_ranges, entry)
    queue.backlog.count_evicted(len(entry.indexes), last.seq_ranges.octets - before)


def widen(seq_ranges: SeqRanges, entry: Entry) -> None:
    """Append an entry's messages."""
    run, indexes = entry.run, entry.indexes
    first = run.first_seq + indexes.start
    if run.body_size >= 0:
        seq_ranges.add(first, len(indexes), run.body_size)
    else:
        _add_sizes(seq_ranges, first, body_sizes(run.contents_at(indexes)))


def _add_sizes(seq_ranges: SeqRanges, first: int, sizes: list[int]) -> None:
    """Append consecutive messages of different sizes."""
    n = len(sizes)
    if 2 * sum(map(eq, sizes, sizes[1:])) < n:
        seq_ranges.extend(SeqRanges.of(array("Q", range(first, first + n)), array("I", [1]) * n, array("I", sizes)))
        return
    for size, equal in groupby(sizes):
        count = len(list(equal))
        seq_ranges.add(first, count, size)
        first += count


def load_ahead(queue: "Queue", now_ms: int) -> None:
    """Read on for consumers that took something, or could."""
    if queue.delivered_ms == now_ms or queue.consumers.next() is not None:
        level = queue.backlog.first_level()
        if level is not None:
            refill(queue, level)


def refill(queue: "Queue", level: "Level") -> None:
    """Read messages back if this level's head is evicted, or the ones behind it will soon be needed.

    Messages that may be read only to expire wait until the ones that expired before have left: else a backlog that
    expires would be in memory as a whole.
    """
    segments = level.segments
    if queue.timed and queue.vhost.broker.dead_letters.has(queue):
        return
    if segments is not None and not segments.fetching:
        head = level.head()
        if head is None or head.first_seq >= segments.low_seq:
            now_ms = queue.vhost.broker.clock.now_ms
            fast = segments.asked_ms is not None and now_ms - segments.asked_ms < FAST_MS
            segments.ahead = max(1, segments.ahead) if fast else 0
            ask(queue, level, segments, FETCH_MESSAGES * max(1, segments.ahead))


def known_head(queue: "Queue") -> Entry | None:
    """Return the entry that leaves next; None without, and while it is evicted: a later call will know it."""
    level = queue.backlog.first_level()
    if level is None:
        return None
    head = level.head()
    if head is None:
        peek(queue, level)
    return head


def peek(queue: "Queue", level: "Level") -> None:
    """Read no more than the head, for callers that only look at it: very many queues may be looked at at once."""
    segments = level.segments
    if segments is not None and not segments.fetching and level.head() is None:
        ask(queue, level, segments, 1)


def ask(queue: "Queue", level: "Level", segments: "Segments", messages: int) -> None:
    """Have the first evicted messages read, up to `messages` of them and at least one."""
    group: list[EvictedSegment] = []
    octets = FETCH_OCTETS * max(1, segments.ahead)
    for at, part in enumerate(segments.parts):
        if messages <= 0 or octets <= 0 or at >= FETCH_PARTS:
            break
        if isinstance(part, EvictedSegment) and not part.asked:
            mine = _front(part, messages, octets)
            mine.asked = True
            group.append(mine)
            messages -= mine.seq_ranges.count
            octets -= mine.seq_ranges.octets
            if mine is not part:
                segments.parts.insert(at, mine)
                break
        elif not isinstance(part, EvictedSegment):
            messages -= len(part.indexes)
            octets -= part.body_octets
    if not group:
        return
    broker = queue.vhost.broker
    segments.asked_ms = broker.clock.now_ms
    logged = [segment for segment in group if segment.page is None]
    paged = [(segment.page, segment.seq_ranges) for segment in group if segment.page is not None]
    segments.fetching = bool(logged) + bool(paged)
    if paged:
        assert broker.pages is not None
        broker.pages.fetch(
            paged, partial(_came, queue, level, segments, [segment for segment in group if segment.page])
        )
    if logged:
        wanted = merge([segment.seq_ranges for segment in logged])
        queue.log.fetch(queue.id, wanted, partial(_came, queue, level, segments, logged))


def _front(segment: EvictedSegment, messages: int, octets: int) -> EvictedSegment:
    """Return the first messages of `segment` within both limits, at least one, as a part of their own if not all."""
    count = 0
    for _, n, size in segment.seq_ranges.ranges():
        fit = min(n, messages - count, octets // size if size else n)
        count += fit
        octets -= fit * size
        if fit < n:
            break
    count = max(count, 1)
    return (
        segment
        if count == segment.seq_ranges.count
        else EvictedSegment(segment.seq_ranges.pop_front(count), segment.deliveries, segment.page)
    )


def _came(
    queue: "Queue", level: "Level", segments: "Segments", group: list[EvictedSegment], found: list[tuple[Run, range]]
) -> None:
    """Put messages that were read in their place; unreadable ones are not in the queue any more."""
    paged = group[0].page is not None  # then all are
    for segment in group:
        if segment.page is not None:
            segment.page.release(segment.seq_ranges.count)
            segment.page = None
            segment.found = []  # the log never had them: a purge must not settle them there
    if level.segments is segments:  # else the queue was purged meanwhile
        segments.fetching -= 1
        if level.head() is None:
            segments.ahead = min(2 * segments.ahead, AHEAD_MAX)
        count = sum([segment.seq_ranges.count for segment in group])
        octets = sum([segment.seq_ranges.octets for segment in group])
        _share_out(group, found)
        queue.backlog.count_loaded(count, octets)
        read = sum([len(indexes) for _, indexes in found])
        queue.backlog.count_read(read)
        missing = count - read
        if missing:
            octets -= sum([run.body_octets_of(indexes) for run, indexes in found])
            queue.backlog.count_lost(level, missing, octets, transient=paged)
            miss(queue, missing)
            if queue.vhost.tracing:
                queue.vhost.broker.traces.unreadable(queue, group)
        level.advance()
    queue.head_came()


def _share_out(group: list[EvictedSegment], found: list[tuple[Run, range]]) -> None:
    """Give each its entries; one run may have messages of several."""
    left = deque(found)
    for segment in group:
        segment.found = take_entries(left, segment.seq_ranges.last_seq, segment.deliveries)


def take_entries(left: "deque[tuple[Run, range]]", last_seq: int, deliveries: "Deliveries") -> list[Entry]:
    """Take what was read, up to a seq, off the front of what is left of it; none of the entries keeps much else."""
    entries: list[Entry] = []
    while left and left[0][0].first_seq + left[0][1].start <= last_seq:
        run, indexes = left.popleft()
        after = indexes[last_seq - run.first_seq - indexes.start + 1 :]
        if after:
            left.appendleft((run, after))
            indexes = indexes[: len(indexes) - len(after)]
        if run.pins(indexes):
            run, indexes = run.part(indexes), range(len(indexes))
        seq = run.first_seq
        entries += [
            Entry(run, range(first - seq, last - seq + 1), times)
            for first, last, times in delivered_alike(deliveries, seq + indexes.start, seq + indexes[-1])
        ]
    return entries


def miss(queue: "Queue", count: int) -> None:
    """Go on without messages that could not be read. They are not settled: the log keeps what there is of them."""
    queue.unreadable += count
    text, vhost = f"{queue!r} continues without {count} unreadable messages", queue.vhost
    vhost.broker.warn("queue.unreadable", f"unreadable {queue.id}", text, vhost=vhost.name, queue=queue.name)


def drop_front(queue: "Queue", level: "Level", count: int) -> int:
    """Drop up to `count` evicted heads, unseen; return how many, 0 if they are on their way back."""
    segments = level.segments
    assert segments is not None
    segment = segments.parts[0]
    assert isinstance(segment, EvictedSegment)
    if segment.asked:
        return 0
    if len(segment.seq_ranges) > DROP_MESSAGES > count:
        segment = EvictedSegment(segment.seq_ranges.pop_front(DROP_MESSAGES), segment.deliveries, segment.page)
        segments.parts.appendleft(segment)
    gone = EvictedSegment(segment.seq_ranges.pop_front(count))
    if not segment.seq_ranges.count:
        segments.parts.popleft()
    if queue.vhost.tracing:
        queue.vhost.broker.traces.dropped_unseen(queue, gone)
    if segment.page is not None:
        segment.page.release(gone.seq_ranges.count)
    else:
        for first, last in gone.spans():
            queue.log.settle_seqs(queue.id, first, last)
    count = gone.seq_ranges.count
    queue.backlog.count_dropped(level, count, gone.seq_ranges.octets, transient=segment.page is not None)
    level.advance()
    return count
