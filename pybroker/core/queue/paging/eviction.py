"""Eviction of contents of persistent messages that are safely in the log; they are read back before they are needed.

Messages behind the head window of a durable queue are evicted when many of them are in memory; they are read back a
window or two at a time, while somebody can use them. They are counted all the while: only their contents are gone.
Costs are per entry, or per element of a stretch. Knows the log by its interface; the queue decides what follows when
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
from pybroker.core.queue.paging.segments import Away
from pybroker.run import Entry, Run
from pybroker.seq_ranges import SeqRanges, merge

if TYPE_CHECKING:
    from collections.abc import MutableSequence

    from pybroker.core.queue.paging.segments import Behind
    from pybroker.core.queue.queue import Queue
    from pybroker.core.queue.ready import Level
    from pybroker.session import Turn

# A queue with this much in memory sends away what lies behind its windows: far more than these, so that it is done
# rarely, and a small backlog costs nothing.
RESIDENT_MESSAGES: Final = 10_240
RESIDENT_OCTETS: Final = 5_242_880
# A run this far behind the head is packed into one block: half the memory, given back whole.
PACK_BEHIND_MESSAGES: Final = 4_096
# Sent away in one go: about a millisecond.
SEND_ENTRIES: Final = 1_024
# A part of a stretch costs a copy of the rest, so none is arbitrarily long.
AWAY_ELEMENTS: Final = 65_536
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


class Backlogs(BackgroundTask):
    """Levels of which more can go: in the next turns, or when the log has completed what is in their way."""

    __slots__ = ("_due", "_waiting")

    def __init__(self, turn: "Turn") -> None:
        super().__init__(turn)
        self._waiting: dict[Level, Queue] = {}
        self._due: dict[Level, Queue] = {}

    def wait(self, queue: "Queue", level: "Level") -> None:
        """Try it again when the log has completed more."""
        self._waiting[level] = queue

    def go_on(self, queue: "Queue", level: "Level") -> None:
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
                send_away(queue, level)
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
        send_away(queue, level)


def send_away(queue: "Queue", level: "Level") -> None:
    """Let go of contents behind the head window of one level of a durable queue, a share at a time."""
    broker = queue.vhost.broker
    safe_seq = queue.log.safe_seq
    behind = level.behind
    if not safe_seq or (behind is None and (behind := level.part_window_anew(queue.published)) is None):
        return
    fresh, parts = behind.fresh, behind.youngest
    for _ in range(SEND_ENTRIES):
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
                broker.backlogs.wait(queue, level)
            return
    broker.backlogs.go_on(queue, level)


def append(queue: "Queue", parts: "MutableSequence[Entry | Away]", entry: Entry) -> None:
    """Let an entry go that the log has: its seqs join those of the last part, if that is away as well."""
    last = parts[-1] if parts else None
    if (
        not isinstance(last, Away)
        or last.asked
        or last.page is not None
        or last.deliveries != entry.deliveries
        or len(last.stretch) >= AWAY_ELEMENTS
    ):
        last = Away(SeqRanges(), entry.deliveries)
        parts.append(last)
    before = last.stretch.octets
    widen(last.stretch, entry)
    queue.backlog.count_evicted(len(entry.indexes), last.stretch.octets - before)


def widen(stretch: SeqRanges, entry: Entry) -> None:
    """Append an entry's messages."""
    run, indexes = entry.run, entry.indexes
    first = run.first_seq + indexes.start
    if run.body_size >= 0:
        stretch.add(first, len(indexes), run.body_size)
    else:
        _add_sizes(stretch, first, body_sizes(run.take(indexes)))


def _add_sizes(stretch: SeqRanges, first: int, sizes: list[int]) -> None:
    """Append consecutive messages of different sizes."""
    n = len(sizes)
    if 2 * sum(map(eq, sizes, sizes[1:])) < n:
        stretch.extend(SeqRanges.of(array("Q", range(first, first + n)), array("I", [1]) * n, array("I", sizes)))
        return
    for size, equal in groupby(sizes):
        count = len(list(equal))
        stretch.add(first, count, size)
        first += count


def bring_back(queue: "Queue", now_ms: int) -> None:
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
    behind = level.behind
    if queue.timed and queue.vhost.broker.departures.has(queue):
        return
    if behind is not None and not behind.fetching:
        head = level.head()
        if head is None or head.first_seq >= behind.low_seq:
            now_ms = queue.vhost.broker.clock.now_ms
            fast = behind.asked_ms is not None and now_ms - behind.asked_ms < FAST_MS
            behind.ahead = max(1, behind.ahead) if fast else 0
            ask(queue, level, behind, FETCH_MESSAGES * max(1, behind.ahead))


def peek(queue: "Queue", level: "Level") -> None:
    """Read no more than the head, for callers that only look at it: very many queues may be looked at at once."""
    behind = level.behind
    if behind is not None and not behind.fetching and level.head() is None:
        ask(queue, level, behind, 1)


def ask(queue: "Queue", level: "Level", behind: "Behind", messages: int) -> None:
    """Have the first evicted messages read, up to `messages` of them and at least one."""
    group: list[Away] = []
    octets = FETCH_OCTETS * max(1, behind.ahead)
    for at, part in enumerate(behind.parts):
        if messages <= 0 or octets <= 0 or at >= FETCH_PARTS:
            break
        if isinstance(part, Away) and not part.asked:
            mine = _front(part, messages, octets)
            mine.asked = True
            group.append(mine)
            messages -= mine.stretch.count
            octets -= mine.stretch.octets
            if mine is not part:
                behind.parts.insert(at, mine)
                break
        elif not isinstance(part, Away):
            messages -= len(part.indexes)
            octets -= part.body_octets
    if not group:
        return
    broker = queue.vhost.broker
    behind.asked_ms = broker.clock.now_ms
    logged = [away for away in group if away.page is None]
    paged = [(away.page, away.stretch) for away in group if away.page is not None]
    behind.fetching = bool(logged) + bool(paged)
    if paged:
        assert broker.pages is not None
        broker.pages.fetch(paged, partial(_came, queue, level, behind, [away for away in group if away.page]))
    if logged:
        wanted = merge([away.stretch for away in logged])
        queue.log.fetch(queue.id, wanted, partial(_came, queue, level, behind, logged))


def _front(away: Away, messages: int, octets: int) -> Away:
    """Return the first messages of `away` within both limits, at least one, as a part of their own if not all."""
    count = 0
    for _, n, size in away.stretch.ranges():
        fit = min(n, messages - count, octets // size if size else n)
        count += fit
        octets -= fit * size
        if fit < n:
            break
    count = max(count, 1)
    return away if count == away.stretch.count else Away(away.stretch.take_front(count), away.deliveries, away.page)


def _came(queue: "Queue", level: "Level", behind: "Behind", group: list[Away], found: list[tuple[Run, range]]) -> None:
    """Put messages that were read in their place; unreadable ones are not in the queue any more."""
    for away in group:
        if away.page is not None:
            away.page.release(away.stretch.count)
            away.page = None
            away.found = []  # the log never had them: a purge must not settle them there
    if level.behind is behind:  # else the queue was purged meanwhile
        behind.fetching -= 1
        if level.head() is None:
            behind.ahead = min(2 * behind.ahead, AHEAD_MAX)
        count = sum([away.stretch.count for away in group])
        octets = sum([away.stretch.octets for away in group])
        _share_out(group, found)
        queue.backlog.count_loaded(count, octets)
        read = sum([len(indexes) for _, indexes in found])
        queue.backlog.count_read(read)
        missing = count - read
        if missing:
            octets -= sum([run.body_octets_of(indexes) for run, indexes in found])
            _miss(queue, level, missing, octets)
        level.advance()
    queue.head_came()


def _share_out(group: list[Away], found: list[tuple[Run, range]]) -> None:
    """Give each its entries; one run may have messages of several."""
    left = deque(found)
    for away in group:
        away.found = []
        last_seq = away.stretch.last_seq
        while left and left[0][0].first_seq + left[0][1].start <= last_seq:
            run, indexes = left.popleft()
            after = indexes[last_seq - run.first_seq - indexes.start + 1 :]
            if after:
                left.appendleft((run, after))
                indexes = indexes[: len(indexes) - len(after)]
            if run.pins(indexes):
                run, indexes = run.part(indexes), range(len(indexes))
            away.found.append(Entry(run, indexes, away.deliveries))


def _miss(queue: "Queue", level: "Level", count: int, octets: int) -> None:
    """Go on without messages that could not be read. They are not settled: the log keeps what there is of them."""
    queue.backlog.count_lost(level, count, octets)
    queue.unreadable += count
    queue.vhost.broker.warn(f"unreadable {queue.id}", f"{queue!r} continues without {count} unreadable messages")


def drop_front(queue: "Queue", level: "Level", count: int) -> int:
    """Drop up to `count` heads that are away, unseen; return how many, 0 if they are on their way back."""
    behind = level.behind
    assert behind is not None
    away = behind.parts[0]
    assert isinstance(away, Away)
    if away.asked:
        return 0
    if len(away.stretch) > DROP_MESSAGES > count:
        away = Away(away.stretch.take_front(DROP_MESSAGES), away.deliveries, away.page)
        behind.parts.appendleft(away)
    gone = Away(away.stretch.take_front(count))
    if not away.stretch.count:
        behind.parts.popleft()
    if away.page is not None:
        away.page.release(gone.stretch.count)
    else:
        for first, last in gone.spans():
            queue.log.settle_seqs(queue.id, first, last)
    queue.backlog.count_dropped(level, gone.stretch.count, gone.stretch.octets)
    level.advance()
    return gone.stretch.count
