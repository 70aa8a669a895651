"""Application of new limits to a queue that has messages already: any that are too many or too old leave it.

There may be a million messages, or a hundred thousand queues, so a share goes in each turn. This module drops messages
over a limit of length; `expiry` drops those that are too old.
"""

from itertools import islice
from typing import TYPE_CHECKING, Final

from pybroker.core.background_task import BackgroundTask
from pybroker.core.queue import expiry, overflow

if TYPE_CHECKING:
    from pybroker.core.policy.limits import QueueLimits
    from pybroker.core.queue.queue import Queue
    from pybroker.session import Turn

# Messages that leave in one turn before no other queue is looked at; looking at one costs as much as some of them. A
# queue's own share is limited in `overflow`.
TURN_COST: Final = 2_048
LOOK_COST: Final = 8


class LimitReapply(BackgroundTask):
    """Queues in which there may be more, or older messages than their limits allow."""

    __slots__ = ("_waiting",)

    def __init__(self, turn: "Turn") -> None:
        super().__init__(turn)
        self._waiting: dict[Queue, None] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, queue: "Queue") -> None:
        """Look at a queue in the next turn."""
        self._waiting[queue] = None
        self.wake()

    def begin(self) -> None:
        """Do a share at once."""
        self.deliver(0)

    def deliver(self, _now_ms: int) -> None:
        """Look at a turn's share, at each queue once."""
        budget = TURN_COST
        for queue in list(islice(self._waiting, TURN_COST // LOOK_COST)):
            if budget <= 0:
                break
            del self._waiting[queue]
            if not queue.deleted:
                before = queue.backlog.messages_ready
                reapply(queue)
                budget -= LOOK_COST + before - queue.backlog.messages_ready
        if self._waiting:
            self.wake_again()


def relimit(queue: "Queue", limits: "QueueLimits") -> None:
    """Give a queue other limits, which count at once, also for what waits in it."""
    broker = queue.vhost.broker
    bounded = queue.bounded
    if not queue.messages:
        queue.timed = False  # what had a time of its own has gone
    queue.set_limits(limits)
    if limits.expires_ms is None:
        queue.expires_at_ms = 0
    else:
        queue.touch()
    if queue.bounded != bounded:
        queue.vhost.bump()  # messages of one run may be of different age, where nobody minds
    if queue.backlog.messages_ready and queue.bounded:
        broker.limit_reapply.add(queue)


def reapply(queue: "Queue") -> None:
    """Drop what is too much, and let expire what is too old, as far as a share goes."""
    if queue.bounded:
        overflow.drop_heads(queue)
    if queue.timed:
        expiry.expire(queue, queue.vhost.broker.clock.now_ms)
