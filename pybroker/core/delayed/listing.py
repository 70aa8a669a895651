"""Listing: the messages of a schedule for operators, in the order in which they are due, while it goes on.

A slice at a time: messages that leave meanwhile may be shown, ones that come meanwhile may not. Contents that are on
disk are read for it, and forgotten again.
"""

from array import array
from collections.abc import Callable, Iterator
from heapq import merge
from typing import TYPE_CHECKING, Any, Final

from pybroker.content_view import property_octets
from pybroker.core.delayed.index import DelayedIndex, Item, Waiting
from pybroker.core.routing.publish import headers_of
from pybroker.humanize import utc
from pybroker.seq_ranges import SeqRanges
from pybroker.wire.properties import decode_properties

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pybroker.core.delayed.cache import Cached, Kind
    from pybroker.core.delayed.schedule import Schedule
    from pybroker.run import Run

# Looked at, and read, in one go.
SLICE_MESSAGES: Final = 256
SLICE_OCTETS: Final = 2_097_152
# Between two looks whether the disk has answered.
PAUSE_S: Final = 0.001

_BEFORE_ALL: Final = -(1 << 63)


class Listed:
    """One scheduled message. `run` is None if its contents were not asked for, or could not be read."""

    __slots__ = ("_content", "run", "schedule", "waiting")

    def __init__(self, schedule: "Schedule", waiting: "Waiting", cached: "Cached | None") -> None:
        self.schedule = schedule
        self.waiting = waiting
        self.run: Run | Kind | None = None
        self._content = b""
        if cached is not None:
            self.run, self._content = cached

    @property
    def deliver_at_ms(self) -> int:
        """Return when it is due, in milliseconds since the epoch, if nobody sets the clock until then."""
        clock = self.schedule.vhost.broker.clock
        return self.schedule.on_clock(self.waiting) + clock.timestamp_ms - clock.now_ms

    @property
    def deliver_at(self) -> str:
        """Return the same as people read it, in UTC; a number where no calendar goes."""
        return utc(self.deliver_at_ms)

    @property
    def left_ms(self) -> int:
        """Return how long it has to wait still."""
        return max(0, self.deliver_at_ms - self.schedule.vhost.broker.clock.timestamp_ms)

    @property
    def published_at(self) -> str:
        """Return when it came, as people read it."""
        if self.run is None:
            return ""
        clock = self.schedule.vhost.broker.clock
        return utc(self.run.arrived_ms + clock.timestamp_ms - clock.now_ms)

    @property
    def routing_key(self) -> str:
        """Return the key it was published with."""
        return "" if self.run is None else self.run.names.routing_key

    @property
    def persistent(self) -> bool:
        """Tell whether it survives a restart, if its exchange does."""
        return self.run is not None and self.run.attributes.persistent

    @property
    def message_id(self) -> str:
        """Return the property of this name."""
        if self.run is None:
            return ""
        return decode_properties(property_octets(self._content)).message_id or ""

    @property
    def headers(self) -> Any:
        """Return its headers."""
        return {} if self.run is None else headers_of(self._content) or {}


def walk(schedule: "Schedule", pause: Callable[[float], object], *, contents: bool) -> Iterator[Listed]:
    """Give all messages, with their contents or without; `pause` lets others go on."""
    part: list[Waiting] = []
    octets = 0
    for waiting in in_order(schedule):
        if part and (len(part) >= SLICE_MESSAGES or (contents and octets + waiting.size > SLICE_OCTETS)):
            yield from _listed(schedule, part, pause, contents=contents)
            part, octets = [], 0
        part.append(waiting)
        octets += waiting.size
    yield from _listed(schedule, part, pause, contents=contents)


def in_order(schedule: "Schedule") -> "Iterator[Waiting]":
    """Give all messages in the order in which they are due now."""
    clock = schedule.vhost.broker.clock
    shift = clock.timestamp_ms - clock.now_ms
    delays = ((item.due, item.seq, Waiting(*item, schedule.delays)) for item in _all(schedule.delays))
    times = ((item.due - shift, item.seq, Waiting(*item, schedule.times)) for item in _all(schedule.times))
    for _, _, waiting in merge(delays, times):
        yield waiting


def _all(delayed_index: DelayedIndex) -> Iterator[Item]:
    due, seq = _BEFORE_ALL, 0
    while items := delayed_index.after(due, seq, SLICE_MESSAGES):
        yield from items
        due, seq, _ = items[-1]


def _listed(
    schedule: "Schedule", part: "list[Waiting]", pause: Callable[[float], object], *, contents: bool
) -> Iterator[Listed]:
    cached = _read(schedule, part, pause) if contents else {}
    for waiting in part:
        yield Listed(schedule, waiting, cached.get(waiting.seq))


def _read(schedule: "Schedule", part: "list[Waiting]", pause: Callable[[float], object]) -> "dict[int, Cached]":
    """Return these messages, those that are on disk too."""
    found: dict[int, Cached] = {}
    wanted = []
    for each in part:
        cached = schedule.cache.get(each.seq)
        if cached is not None:
            found[each.seq] = cached
        # Messages that have left meanwhile may not be on disk any more, and would be reported as damage.
        elif each.delayed_index.has(each.due_ms, each.seq):
            wanted.append(each)
    if wanted and schedule.durable and not schedule.deleted:
        answers: list[list[tuple[Run, range]]] = []
        schedule.log.fetch(schedule.id, seq_ranges_of({each.seq: each.size for each in wanted}), answers.append)
        while not answers:
            pause(PAUSE_S)
        for run, indexes in answers[0]:
            found |= {run.first_seq + index: (run, run.content(index)) for index in indexes}
    return found


def seq_ranges_of(sizes: "Mapping[int, int]") -> SeqRanges:
    """Return messages, whose sizes are given by seq, as a log knows them."""
    seqs = sorted(sizes)
    return SeqRanges.of(array("Q", seqs), array("I", [1]) * len(seqs), array("I", map(sizes.__getitem__, seqs)))
