"""Age of messages: the time since they arrived in their queue, read off runs when somebody asks.

Messages of one run share their time of arrival, so an age is up to a second (`RUN_AGE_MS_MAX`) too high. The head of a
queue may be on disk: then its seq tells when it arrived, up to another second early.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

from pybroker.core.policy.pattern import NamePattern, PatternError
from pybroker.core.queue.paging import eviction
from pybroker.core.queue.paging.arrivals import Arrivals
from pybroker.message import Message
from pybroker.wire.properties import decode_properties

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container

    from pybroker.core.broker import Broker
    from pybroker.core.queue.queue import Queue
    from pybroker.core.topology.vhost import VHost

# Queues and batches looked at between two pauses: some hundred microseconds.
QUEUES_PER_SLICE: Final = 500
BATCHES_PER_SLICE: Final = 2_000
PAUSE_S: Final = 0.000_1
# Between two looks whether an evicted head is back, and so many of them.
WAIT_S: Final = 0.005
LOOKS_MAX: Final = 1_000
# The oldest unacknowledged messages are not searched for again within this time.
FRESH_MS: Final = 1_000


class Aged(NamedTuple):
    """A queue with a message of this age: the one at its head, or its oldest unacknowledged one."""

    queue: "Queue"
    is_head: bool
    age_ms: int


class MessageAges:
    """Answers how old the messages of many queues are, while others go on. `tick` is called about once a second."""

    __slots__ = ("_arrivals", "_broker", "_found_ms", "_oldest")

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._arrivals = Arrivals()
        self._oldest: dict[int, int] = {}  # when the oldest unacknowledged message arrived, by the queue's id
        self._found_ms: int | None = None  # when these were searched for
        self.start()

    def start(self) -> None:
        """Learn that the broker uses another log; none of the messages that this one has is known."""
        self._arrivals.start(self._broker.log.next_seq, self._broker.clock.now_ms)

    def tick(self) -> None:
        """Note what time it is."""
        self._arrivals.mark(self._broker.log.next_seq, self._broker.clock.now_ms)

    def head_ms(self, queue: "Queue") -> int | None:
        """Return how long ago the message that leaves next arrived, in milliseconds, and read nothing for it.

        None if none is ready, or the message is on disk and was there before the start.
        """
        level = queue.backlog.first_level()
        if level is None:
            return None
        head = level.head()
        arrived_ms: int | None = None
        if head is not None:
            arrived_ms = head.run.arrived_ms
        elif level.segments is not None:
            arrived_ms = self._arrivals.arrived_ms(level.segments.first_seq)
        return None if arrived_ms is None else max(0, self._broker.clock.now_ms - arrived_ms)

    def known_head_ms(self, queue: "Queue") -> int | None:
        """Return the same; a head that was there before the start is read, so that a later call will know."""
        age_ms = self.head_ms(queue)
        if age_ms is None:
            eviction.known_head(queue)
        return age_ms

    def head_timestamp(self, queue: "Queue") -> int | None:
        """Return the timestamp property of the message that leaves next, in seconds; None without (list_queues).

        None also while that message is evicted: a later call will know it.
        """
        head = eviction.known_head(queue)
        if head is None:
            return None
        return decode_properties(Message(head.run, head.indexes[0]).property_octets).timestamp

    def unacknowledged_ms(self, queue: "Queue") -> int | None:
        """Return how long ago the oldest unacknowledged message arrived, as `search` found; None if there is none."""
        arrived_ms = self._oldest.get(queue.id) if queue.messages_unacknowledged else None
        return None if arrived_ms is None else max(0, self._broker.clock.now_ms - arrived_ms)

    def search(self, pause: "Callable[[float], object]") -> None:
        """Find the oldest unacknowledged message of every queue, unless that was done just now."""
        now_ms = self._broker.clock.now_ms
        if self._found_ms is None or now_ms - self._found_ms >= FRESH_MS:
            arrived = _oldest_arrivals(list(self._broker.vhosts.values()), None, pause)
            self._oldest = {queue.id: arrived_ms for queue, arrived_ms in arrived.items()}
            self._found_ms = now_ms

    def select(self, vhosts: "Collection[VHost]", pattern: str) -> "list[Queue] | str":
        """Return the queues of virtual hosts whose names match, or why the pattern is none."""
        try:
            matches = NamePattern(pattern).matches
        except PatternError as error:
            return str(error)
        return [queue for vhost in vhosts for queue in vhost.queues.values() if matches(queue.name)]

    def older(self, queues: "Collection[Queue]", older_ms: int, pause: "Callable[[float], object]") -> list[Aged]:
        """Return what is older in these queues, the oldest first; heads on disk are read for it."""
        ages: list[Aged] = []
        for looked_at, queue in enumerate(queues, 1):
            age_ms = self._read_head_ms(queue, pause)
            if age_ms is not None:
                ages.append(Aged(queue, True, age_ms))
            if looked_at % QUEUES_PER_SLICE == 0:
                pause(PAUSE_S)
        ages += [Aged(queue, False, ms) for queue, ms in self.oldest_unacknowledged(queues, pause).items()]
        return sorted([each for each in ages if each.age_ms > older_ms], key=lambda each: -each.age_ms)

    def oldest_unacknowledged(
        self, queues: "Collection[Queue]", pause: "Callable[[float], object]"
    ) -> "dict[Queue, int]":
        """Return the age of the oldest unacknowledged message of each queue that has one, in milliseconds."""
        vhosts = list(dict.fromkeys([queue.vhost for queue in queues]))
        arrived = _oldest_arrivals(vhosts, set(queues), pause)
        # All of a queue's may have been acknowledged while others were looked at.
        return {
            queue: max(0, self._broker.clock.now_ms - ms)
            for queue, ms in arrived.items()
            if queue.messages_unacknowledged
        }

    def _read_head_ms(self, queue: "Queue", pause: "Callable[[float], object]") -> int | None:
        """Return the age of the head, and wait for one that must be read; None if none is ready, or readable."""
        for _ in range(LOOKS_MAX):
            age_ms = self.known_head_ms(queue)
            if age_ms is not None or queue.deleted or not queue.backlog.messages_ready:
                return age_ms
            pause(WAIT_S)
        return None


def _oldest_arrivals(
    vhosts: "list[VHost]", wanted: "Container[Queue] | None", pause: "Callable[[float], object]"
) -> "dict[Queue, int]":
    """Return when the oldest unacknowledged message of each queue that has one arrived; of `wanted` ones, or of all."""
    arrived: dict[Queue, int] = {}
    looked_at = 0
    for session in [session for vhost in vhosts for session in vhost.sessions]:
        for channel in list(getattr(session, "channels", {}).values()):
            for batch in list(channel.unacked):
                looked_at += 1
                if looked_at % BATCHES_PER_SLICE == 0:
                    pause(PAUSE_S)
                # A stream's messages may be old when they are read.
                if not batch.queue.retains and (wanted is None or batch.queue in wanted):
                    arrived_ms = batch.run.arrived_ms
                    arrived[batch.queue] = min(arrived_ms, arrived.get(batch.queue, arrived_ms))
    return arrived
