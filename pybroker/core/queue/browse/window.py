"""Window: some messages of one level of a queue that follow a place in it, found without a walk over those before it.

All of one call is of one moment. Contents that are on disk are not read here. Costs are those of what is found, but
for entries in memory, over which a deque is walked, and for batches that consumers have.
"""

from bisect import bisect_left, bisect_right
from heapq import merge
from itertools import chain, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.core.queue.browse.browsed import READY, UNACKNOWLEDGED
from pybroker.core.queue.paging.delivery_counts import deliveries_at
from pybroker.core.queue.paging.segments import EvictedSegment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pybroker.core.channel.unacked import Batch
    from pybroker.core.queue.queue import Queue
    from pybroker.core.queue.ready import Level
    from pybroker.run import Entry, Run
    from pybroker.seq_ranges import SeqRanges
    from pybroker.store.page_log import Page

    Part = Entry | EvictedSegment
    # Messages of one state, and whether there are more of them, which is so only behind the last.
    Window = tuple[list["Found"], bool]

# Of one window. It is found in one step, of some hundred microseconds, and read by a thread in as many, while the loop
# may have to wait for the interpreter.
WINDOW_MESSAGES: Final = 128
WINDOW_OCTETS: Final = 1_048_576


class Place(NamedTuple):
    """The begin of a window: messages of a level from `seq` on, or, `backwards`, from `seq` down to the first.

    None has the seq `before`, or a higher one. The window is so many times `larger` than others.
    """

    seq: int
    before: int
    backwards: bool
    larger: int = 1

    @property
    def messages_max(self) -> int:
        """Return how many messages the window may have."""
        return self.larger * WINDOW_MESSAGES


class Found(NamedTuple):
    """One message. Evicted it has no `run`, but the `size` of its body, and the `page` if it is not in the log.

    If it is unacknowledged, `batch` and `channel` tell whose it is.
    """

    seq: int
    deliveries: int
    run: "Run | None"
    size: int = 0
    page: "Page | None" = None
    batch: "Batch | None" = None
    channel: Any = None


def find(queue: "Queue", level: "Level", place: Place, states: "Iterable[str]") -> list[Found]:
    """Return the first messages from `place` on, in its direction; none if there are no more."""
    windows = [SOURCES[state](queue, level, place) for state in states]
    if len(windows) == 1:
        return windows[0][0]
    found = list(islice(merge(*[each for each, _ in windows], key=_seq, reverse=place.backwards), place.messages_max))
    ends = [each[-1].seq for each, is_cut in windows if is_cut]
    if ends:
        # Behind the end of one source the others would hide what follows in it.
        if place.backwards:
            del found[bisect_right(found, -max(ends), key=_descending) :]
        else:
            del found[bisect_right(found, min(ends), key=_seq) :]
    return found


_seq: Final = attrgetter("seq")


def _descending(message: Found) -> int:
    return -message.seq


def _ready(_queue: "Queue", level: "Level", place: Place) -> "Window":
    """Return ready messages, and whether more follow."""
    window: list[Found] = []
    octets, messages_max = 0, place.messages_max
    for part in _parts(level, place):
        messages: Iterator[Found]
        if isinstance(part, EvictedSegment):
            if part.found is not None:
                messages = chain.from_iterable(_of_run(e.run, e.indexes, e.deliveries, place) for e in _in(part, place))
            else:
                messages = _of_segment(part, place)
        else:
            messages = _of_run(part.run, part.indexes, part.deliveries, place)
        for message in messages:
            if message.seq >= place.before:
                if place.backwards:
                    continue
                return window, False
            octets += message.size
            if window and (octets > WINDOW_OCTETS or len(window) >= messages_max):
                return window, True
            window.append(message)
    return window, False


def _in(segment: EvictedSegment, place: Place) -> "Sequence[Entry]":
    assert segment.found is not None
    return segment.found[::-1] if place.backwards else segment.found


def _parts(level: "Level", place: Place) -> "Iterator[Part]":
    """Yield what a level consists of, beginning with the part that has the place, or the next one."""
    segments = level.segments
    ascending: list[Sequence[Any]] = [level.ready]
    if segments is not None:
        ascending += [segments.parts, segments.paged, segments.fresh]
    if place.backwards:
        ascending.reverse()
        return chain(chain.from_iterable(_down(parts, place.seq) for parts in ascending), _returned(level, place))
    return chain(_returned(level, place), chain.from_iterable(_up(parts, place.seq) for parts in ascending))


def _returned(level: "Level", place: Place) -> "Iterator[Entry]":
    """Yield what came back, which is kept descending."""
    returned = level.returned
    if place.backwards:
        start = bisect_left(returned, -place.seq, key=lambda entry: -entry.first_seq)
        return (returned[at] for at in range(start, len(returned)))
    stop = bisect_right(returned, -place.seq, key=lambda entry: -entry.last_seq)
    return (returned[at] for at in range(stop - 1, -1, -1))


def _up(parts: "Sequence[Part]", seq: int) -> "Iterator[Part]":
    return islice(parts, bisect_left(parts, seq, key=_last_seq), None)


def _down(parts: "Sequence[Part]", seq: int) -> "Iterator[Part]":
    stop = bisect_right(parts, seq, key=_first_seq)
    return islice(reversed(parts), len(parts) - stop, None)


def _first_seq(part: "Part") -> int:
    return part.seq_ranges.first_seq if isinstance(part, EvictedSegment) else part.first_seq


def _last_seq(part: "Part") -> int:
    return part.seq_ranges.last_seq if isinstance(part, EvictedSegment) else part.last_seq


def _from(run: "Run", indexes: range, place: Place) -> range:
    """Return the indexes from the place on, in its direction."""
    index = place.seq - run.first_seq
    if place.backwards:
        return indexes[: bisect_right(indexes, index)][::-1]
    return indexes[bisect_left(indexes, index) :]


def _of_run(run: "Run", indexes: range, deliveries: int, place: Place) -> "Iterator[Found]":
    first_seq = run.first_seq
    return (Found(first_seq + index, deliveries, run) for index in _from(run, indexes, place))


def _of_segment(segment: EvictedSegment, place: Place) -> "Iterator[Found]":
    deliveries, page = segment.deliveries, segment.page
    steps = _seqs_down if place.backwards else _seqs_up
    found = steps(segment.seq_ranges, place.seq)
    return (Found(seq, deliveries_at(deliveries, seq), None, size, page) for seq, size in found)


def _seqs_up(seq_ranges: "SeqRanges", seq: int) -> "Iterator[tuple[int, int]]":
    """Yield the seqs from `seq` on with the sizes of their bodies."""
    firsts, counts, sizes = seq_ranges.firsts, seq_ranges.counts, seq_ranges.sizes
    for at in range(max(0, bisect_right(firsts, seq) - 1), len(firsts)):
        size = sizes[at]
        for each in range(max(firsts[at], seq), firsts[at] + counts[at]):
            yield each, size


def _seqs_down(seq_ranges: "SeqRanges", seq: int) -> "Iterator[tuple[int, int]]":
    """Yield the seqs from `seq` down with the sizes of their bodies."""
    firsts, counts, sizes = seq_ranges.firsts, seq_ranges.counts, seq_ranges.sizes
    for at in range(bisect_right(firsts, seq) - 1, -1, -1):
        size = sizes[at]
        for each in range(min(firsts[at] + counts[at] - 1, seq), firsts[at] - 1, -1):
            yield each, size


def _unacknowledged(queue: "Queue", level: "Level", place: Place) -> "Window":
    """Return messages that consumers have, and those that were fetched (basic.get), and whether more follow."""
    if not queue.messages_unacknowledged:
        return [], False
    batches: list[tuple[int, int, Batch, Any, range]] = []
    priority, priority_max = level.priority, queue.backlog.priority_max
    for session in queue.vhost.sessions:
        for channel in getattr(session, "channels", {}).values():
            for batch in channel.unacked:
                run = batch.run
                if batch.queue is queue and min(run.attributes.priority, priority_max) == priority:
                    indexes = _from(run, batch.indexes, place)
                    if indexes:
                        first = run.first_seq + indexes[0]
                        batches.append((first, len(batches), batch, channel, indexes))
    batches.sort(reverse=place.backwards)
    window: list[Found] = []
    for first, _, batch, channel, indexes in batches:
        if len(window) > 2 * place.messages_max:
            window.sort(key=_seq, reverse=place.backwards)
            del window[place.messages_max :]
            if (window[-1].seq < first) != place.backwards:
                break
        run = batch.run
        seqs = [run.first_seq + index for index in indexes[: place.messages_max]]
        window += [Found(seq, batch.deliveries, run, 0, None, batch, channel) for seq in seqs if seq < place.before]
    window.sort(key=_seq, reverse=place.backwards)
    return window[: place.messages_max], len(window) >= place.messages_max


# The messages of each state; another state is another row.
SOURCES: "Final[dict[str, Callable[[Queue, Level, Place], Window]]]" = {
    READY: _ready,
    UNACKNOWLEDGED: _unacknowledged,
}
