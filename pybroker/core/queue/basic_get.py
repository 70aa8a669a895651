"""basic.get ([basic.get]), and gets that wait until an evicted head is back, in the order in which they came."""

from collections import deque
from typing import TYPE_CHECKING

from pybroker.core.queue import expiry
from pybroker.core.queue.paging import eviction

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.core.queue.queue import Queue
    from pybroker.run import Entry


def get(queue: "Queue", *, no_ack: bool) -> "Entry | None":
    """Take one message from the head; None if nothing is ready. `wait_for_head` has returned True, or called back."""
    if queue.timed:
        expiry.expire_all(queue)
    queue.touch()
    backlog = queue.backlog
    level = backlog.first_level()
    if level is None or level.head() is None:
        queue.count_get(None, no_ack=no_ack)
        return None
    entry = backlog.dispatch_head(level, 1)
    queue.count_get(entry, no_ack=no_ack)
    if no_ack:
        queue.settled(entry.run, entry.indexes)
    if queue.timed:
        expiry.expire_all(queue)
    if backlog.messages_evicted:
        eviction.refill(queue, level)
    return entry


def wait_for_head(queue: "Queue", call_back: "Callable[[], None]") -> bool:
    """Tell whether the head can be taken, or nothing is ready; else call back once, when one of these is so."""
    if not queue.waiting and _is_at_hand(queue):
        return True
    if queue.waiting is None:
        queue.waiting = deque()
    queue.waiting.append(call_back)
    return False


def answer(queue: "Queue") -> None:
    """Call waiting gets back, as far as there are heads for them; gets that come meanwhile wait behind them."""
    waiting = queue.waiting
    while waiting and _is_at_hand(queue):
        waiting.popleft()()


def _is_at_hand(queue: "Queue") -> bool:
    """Tell whether the queue's head is in memory, or there is none; else it is on its way, or what comes before it."""
    if queue.returns and not queue.deleted:
        return False
    if queue.timed:
        expiry.expire_all(queue)
    level = queue.backlog.first_level()
    if level is None or level.head() is not None:
        return True
    eviction.refill(queue, level)
    return False
