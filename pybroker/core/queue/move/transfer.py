"""Transfer: one step of a move. Messages are enqueued in their targets and settled here in one batch of the log.

Consecutive messages with the same targets become a new run, with new seqs and a new time of arrival; their contents do
not change. A target never gets more than it has room for, whatever its overflow behaviour is.
"""

from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from pybroker.content_view import body_sizes
from pybroker.core.channel.receipt import NO_RECEIPT, Receipt
from pybroker.core.queue.move.source import Planned
from pybroker.core.routing.publish import by_log, enqueue
from pybroker.run import RUN_MESSAGES_MAX, RUN_OCTETS_MAX, Run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pybroker.core.queue.destination import Destination
    from pybroker.core.queue.move.source import Way
    from pybroker.core.queue.queue import Queue
    from pybroker.run import RunAttributes

# A step: some milliseconds.
STEP_MESSAGES: Final = 1_024
STEP_OCTETS: Final = 1_048_576


class _Kind(NamedTuple):
    """The attributes that messages of one run have in common."""

    way: "Way"
    attributes: "RunAttributes"
    channel: int
    frame_octets_max: int


class _Group:
    """Messages that will be one run."""

    __slots__ = ("body_octets", "body_size", "contents", "kind", "octets", "parts")

    def __init__(self, kind: _Kind, body_size: int) -> None:
        self.kind = kind
        self.contents: list[bytes] = []
        self.parts: list[tuple[Run, range]] = []  # of the source
        self.octets = self.body_octets = 0
        self.body_size = body_size

    def has_room(self, count: int, octets: int) -> bool:
        """Tell whether a run may have `count` messages and `octets` more."""
        return len(self.contents) + count <= RUN_MESSAGES_MAX and self.octets + octets <= RUN_OCTETS_MAX

    def add(self, run: Run, indexes: range, octets: int) -> None:
        """Append messages; `octets` is the size of their contents."""
        self.contents += run.contents_at(indexes)
        self.parts.append((run, indexes))
        self.octets += octets
        self.body_octets += run.body_octets_of(indexes)
        if self.body_size != run.body_size:
            self.body_size = -1


class Transfer:
    """One step: `plan` messages, remove them from the source, and `end` with those that were still there.

    `messages` and `octets` are those planned, at most `messages_max`. `room` has what is left in targets after earlier
    transfers that were planned only.
    """

    __slots__ = ("_room", "_source", "messages", "messages_max", "octets", "planned")

    def __init__(
        self,
        source: "Queue",
        messages_max: int = STEP_MESSAGES,
        room: "dict[Destination, tuple[int, int]] | None" = None,
    ) -> None:
        self._source = source
        self._room = {} if room is None else room
        self.planned: list[Planned] = []
        self.messages = self.octets = 0
        self.messages_max = messages_max

    @property
    def full(self) -> bool:
        """Tell whether the step is large enough."""
        return self.messages >= self.messages_max or self.octets >= STEP_OCTETS

    def plan(self, run: Run, indexes: range, way: "Way") -> int:
        """Plan as many of these messages as fit, in order; return how many. 0: a target has no room for the first."""
        count = self._fit(run, indexes, way.targets)
        if count:
            indexes = indexes[:count]
            body_octets = run.body_octets_of(indexes)
            for target in way.targets:
                messages, octets = self._room_of(target)
                self._room[target] = messages - count, octets - body_octets
            self.planned.append(Planned(run, indexes, way))
            self.messages += count
            self.octets += run.octets * count // run.count
        return count

    def full_target(self, run: Run, index: int, way: "Way") -> "Destination":
        """Return the target that has no room for a message that could not be planned."""
        return next(target for target in way.targets if not self._fit(run, range(index, index + 1), (target,)))

    def end(self, removed: "list[Planned]") -> None:
        """Enqueue messages that were removed from the source in their targets, and settle them in the source."""
        source = self._source
        elsewhere: Receipt | None = None
        for group in _grouped(removed):
            way = group.kind.way
            all_targets: Sequence[Destination] = way.targets
            if source.vhost.tracing:
                all_targets = source.vhost.broker.traces.moved(source, way, group.parts)
            for log, targets in by_log(all_targets):
                receipt: Receipt = NO_RECEIPT
                if log is not source.log:
                    receipt = elsewhere = elsewhere or Receipt()
                run = self._run(group, log.take(len(group.contents)))
                enqueue(log, run, range(run.count), targets, receipt)
        for run, indexes, _ in removed:
            if elsewhere is None:
                source.forget(run, indexes)
            else:
                source.vhost.broker.handovers.add(elsewhere, partial(source.forget, run, indexes))

    def _fit(self, run: Run, indexes: range, targets: "tuple[Destination, ...]") -> int:
        each = run.octets // run.count
        share = max(1, (STEP_OCTETS - self.octets) // each) if each else len(indexes)
        count = min(len(indexes), self.messages_max - self.messages, share)
        for target in targets:
            messages, octets = self._room_of(target)
            count = min(count, messages)
            if octets < run.octets and count > 0:
                count = _leading(run, indexes[:count], octets)
        return max(0, count)

    def _run(self, group: _Group, first_seq: int) -> Run:
        kind = group.kind
        # No publisher is named: a queue that refuses messages of its own consumer accepts these.
        return Run(
            kind.way.names,
            kind.attributes,
            first_seq,
            group.contents,
            group.octets,
            group.body_octets,
            group.body_size,
            self._source.vhost.broker.clock.now_ms,
            kind.channel,
            kind.frame_octets_max,
        )

    def _room_of(self, target: "Destination") -> tuple[int, int]:
        room = self._room.get(target)
        if room is None:
            room = self._room[target] = target.room()
        return room


def _grouped(planned: "list[Planned]") -> "Iterator[_Group]":
    """Yield consecutive messages grouped into future runs."""
    group: _Group | None = None
    for run, indexes, way in planned:
        octets = sum(map(len, run.contents_at(indexes)))
        kind = _Kind(way, run.attributes, run.channel, run.frame_octets_max)
        if group is None or group.kind != kind or not group.has_room(len(indexes), octets):
            if group is not None:
                yield group
            group = _Group(kind, run.body_size)
        group.add(run, indexes, octets)
    if group is not None:
        yield group


def _leading(run: Run, indexes: range, octets: int) -> int:
    """Return how many of the leading messages have bodies of `octets` at most, together."""
    if run.body_size >= 0:
        return min(len(indexes), octets // run.body_size) if run.body_size else len(indexes)
    return sum(1 for total in accumulate(body_sizes(run.contents_at(indexes))) if total <= octets)
