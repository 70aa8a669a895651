"""Policy drops: how many messages that wait a change of policies would drop at once. Nothing is changed here.

Limits of a queue's length act on what waits, and its TTL; with a dead letter exchange it goes there. In a stream those
of its size and age do.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from pybroker.core.policy.limits import DROP_HEAD
from pybroker.core.policy.policy import OPERATOR, USER, Applied, Policy
from pybroker.core.queue.paging.segments import EvictedSegment

if TYPE_CHECKING:
    from pybroker.core.broker import Broker
    from pybroker.core.policy.limits import QueueLimits
    from pybroker.core.queue.queue import Queue
    from pybroker.core.queue.ready import Level
    from pybroker.core.stream.stream import Stream
    from pybroker.run import Entry


# Looked at in a level for its age: a million of them would be a quarter of a second in one turn.
OLD_ENTRIES_MAX: Final = 16_384


class Drop(NamedTuple):
    """A queue that other policies would be in force for; so many of its messages would go, and `others` may as well."""

    queue: "Queue"
    applied: Applied
    messages: int
    others: int


def planned(broker: "Broker", vhost_name: str, changes: Iterable[tuple[str, str, Any]]) -> Iterator[Drop | None]:
    """Yield for each queue of a virtual host what changes would do to it, None for nothing.

    A change is component, name, and the policy's value as a parameter has it, None: it is cleared.
    """
    lists = {component: list(broker.policies.of(vhost_name, component)) for component in (USER, OPERATOR)}
    for component, name, value in changes:
        kept = [policy for policy in lists[component] if policy.name != name]
        lists[component] = kept if value is None else [*kept, Policy.of(vhost_name, name, value)]
    users, operators = (sorted(lists[component], key=lambda policy: policy.rank) for component in (USER, OPERATOR))
    for queue in list(broker.vhosts[vhost_name].queues.values()):
        user = next((policy for policy in users if policy.matches(queue.type, queue.name)), None)
        operator = next((policy for policy in operators if policy.matches(queue.type, queue.name)), None)
        if (user, operator) == (queue.applied.user, queue.applied.operator):
            yield None
        else:
            applied = Applied.of(user, operator)
            yield Drop(queue, applied, *surplus(queue, applied.limits(queue.arguments, queue.type)))


def surplus(queue: "Queue", limits: "QueueLimits") -> tuple[int, int]:
    """Return how many ready messages a queue would drop under other limits, and how many others it may.

    A stream drops whole segments, at the next look at them. How old messages are that are on disk alone is not known,
    nor how old those behind very many others are.
    """
    if queue.retains:
        return cast("Stream", queue).surplus(limits), 0
    drops = _too_much(queue, limits)
    if limits.message_ttl_ms is None:
        return drops, 0
    now_ms = queue.vhost.broker.clock.now_ms
    total = others = 0
    for level in queue.backlog.levels:
        # Both take the heads.
        dropped = min(drops, level.count)
        old, unknown = _too_old(level, limits.message_ttl_ms, now_ms)
        total += max(dropped, old)
        others += max(0, old + unknown - max(dropped, old))
        drops -= dropped
    return total, others


def _too_old(level: "Level", ttl_ms: int, now_ms: int) -> tuple[int, int]:
    """Return how many heads have expired under a TTL, and how many behind them may have."""
    old = unknown = entries = 0
    for part in _parts(level):
        if isinstance(part, EvictedSegment) and part.found is None:
            unknown += part.seq_ranges.count
            continue
        for entry in part.found or () if isinstance(part, EvictedSegment) else (part,):
            own_ms = entry.run.attributes.ttl_ms
            if entry.run.arrived_ms + (ttl_ms if own_ms is None else min(ttl_ms, own_ms)) > now_ms:
                return old, unknown
            # The messages before it are older.
            old += unknown + len(entry.indexes)
            unknown = 0
            entries += 1
            if entries == OLD_ENTRIES_MAX:
                return old, level.count - old
    return old, unknown


def _too_much(queue: "Queue", limits: "QueueLimits") -> int:
    """Return how many ready messages exceed limits of length; delayed ones count, but stay."""
    backlog = queue.backlog
    if limits.overflow != DROP_HEAD:
        return 0
    count = 0
    if limits.length_max is not None:
        count = max(0, backlog.messages_ready + backlog.messages_delayed - limits.length_max)
    octets = backlog.octets_ready + backlog.octets_delayed
    if limits.octets_max is not None and octets > limits.octets_max:
        count = max(count, _fitting(queue, octets - limits.octets_max))
    return min(count, backlog.messages_ready)


def _fitting(queue: "Queue", octets: int) -> int:
    """Return how many heads have at least so many octets together."""
    messages = 0
    for count, size in _sizes(queue):
        if octets <= 0:
            break
        needed = min(count, -(-octets // size)) if size else count
        messages += needed
        octets -= needed * size
    return messages


def _sizes(queue: "Queue") -> Iterator[tuple[int, int]]:
    """Yield (messages, octets of each) from the head on."""
    for level in queue.backlog.levels:
        for part in _parts(level):
            if isinstance(part, EvictedSegment) and part.found is None:
                yield from ((count, size) for _, count, size in part.seq_ranges.ranges())
                continue
            for entry in part.found or () if isinstance(part, EvictedSegment) else (part,):
                if entry.run.body_size >= 0:
                    yield len(entry.indexes), entry.run.body_size
                else:
                    yield from ((1, entry.run.body_octets_of(range(i, i + 1))) for i in entry.indexes)


def _parts(level: "Level") -> "Iterator[Entry | EvictedSegment]":
    """Yield all of a level from the head on, whether it is in memory or not."""
    yield from reversed(level.returned)
    yield from level.ready
    if level.segments is not None:
        yield from level.segments.all_parts()
        yield from level.segments.fresh


# Of so many queues the names are said.
NAMES_MAX: Final = 10


class Tally:
    """Drops of several queues, to be reported."""

    __slots__ = ("messages", "named", "others", "queues")

    def __init__(self) -> None:
        self.messages = self.queues = 0
        self.others = 0  # messages that may be dropped as well
        self.named: list[tuple[str, int]] = []

    def add(self, name: str, messages: int, others: int = 0) -> None:
        """Count a queue's."""
        self.others += others
        if messages:
            self.messages += messages
            self.queues += 1
            if len(self.named) < NAMES_MAX:
                self.named.append((name, messages))

    def __str__(self) -> str:
        what = "1 message" if self.messages == 1 else f"{self.messages:,} messages"
        what = f"at least {what}" if self.others else what
        of = "1 queue" if self.queues == 1 else f"{self.queues:,} queues"
        names = ", ".join(f"'{name}' {count:,}" for name, count in self.named)
        more = self.queues - len(self.named)
        return f"{what} of {of}: {names}" + (f" and {more:,} more" if more else "")
