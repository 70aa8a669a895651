"""Age of messages: the time since they arrived in their queue, read off runs when somebody asks.

Messages of one run share their time of arrival, so an age is up to a second (`RUN_AGE_MS_MAX`) too high.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

from pybroker.core.policy.pattern import NamePattern, PatternError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from pybroker.core.queue.queue import Queue
    from pybroker.core.topology.vhost import VHost

# Queues and batches looked at between two pauses: some hundred microseconds.
QUEUES_PER_SLICE: Final = 500
BATCHES_PER_SLICE: Final = 2_000
PAUSE_S: Final = 0.000_1
# Between two looks whether an evicted head is back, and so many of them.
WAIT_S: Final = 0.005
LOOKS_MAX: Final = 1_000


class Aged(NamedTuple):
    """A queue with a message of this age: the one at its head, or its oldest unacknowledged one."""

    queue: "Queue"
    is_head: bool
    age_ms: int


class MessageAges:
    """Answers how old the messages of many queues are, while others go on."""

    __slots__ = ()

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
            age_ms = _read_head_age_ms(queue, pause)
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
        arrived: dict[Queue, int] = {}
        wanted, looked_at = set(queues), 0
        vhosts = dict.fromkeys([queue.vhost for queue in queues])
        for session in [session for vhost in vhosts for session in vhost.sessions]:
            for channel in list(getattr(session, "channels", {}).values()):
                for batch in list(channel.unacked):
                    looked_at += 1
                    if looked_at % BATCHES_PER_SLICE == 0:
                        pause(PAUSE_S)
                    if batch.queue in wanted:
                        arrived_ms = batch.run.arrived_ms
                        arrived[batch.queue] = min(arrived_ms, arrived.get(batch.queue, arrived_ms))
        # All of a queue's may have been acknowledged while others were looked at.
        return {
            queue: max(0, queue.vhost.broker.clock.now_ms - ms)
            for queue, ms in arrived.items()
            if queue.messages_unacknowledged
        }


def _read_head_age_ms(queue: "Queue", pause: "Callable[[float], object]") -> int | None:
    """Return the age of the head, and wait for one that is evicted; None if none is ready, or none can be read."""
    for _ in range(LOOKS_MAX):
        age_ms = queue.head_age_ms
        if age_ms is not None or queue.deleted or not queue.backlog.messages_ready:
            return age_ms
        pause(WAIT_S)
    return None
