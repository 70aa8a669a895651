"""Growth: queues that will be full soon, or whose work takes long at the pace of the last minute."""

from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple

from pybroker.core.stats.history import MINUTE_MS, WINDOW_MS_MAX

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from pybroker.core.queue.queue import Queue
    from pybroker.core.stats.rates import Rates

# Queues looked at between two pauses: some hundred microseconds.
QUEUES_PER_SLICE: Final = 100


class Growth(NamedTuple):
    """The outlook of a queue that is out of bounds.

    `full_s` is None if its limit is far. `work_s` is None if its messages do not take long, and if it `grows` and
    nothing leaves it.
    """

    queue: "Queue"
    full_s: int | None
    work_s: int | None
    grows: bool


class Bounds(NamedTuple):
    """A queue is not to reach a limit within one time, nor to have work for longer than the other; None: it may."""

    full_within_s: float | None
    drain_over_s: float | None


def too_much(
    rates: "Rates", queues: "Collection[Queue]", bounds: Bounds, pause: "Callable[[float], object]"
) -> list[Growth]:
    """Return the queues that are out of bounds."""
    found = []
    for looked_at, queue in enumerate([queue for queue in queues if not queue.retains], 1):
        full_s = None if bounds.full_within_s is None else _full_s(rates, queue, bounds.full_within_s)
        work_s, grows = (None, False) if bounds.drain_over_s is None else _work_s(rates, queue, bounds.drain_over_s)
        if full_s is not None or work_s is not None or grows:
            found.append(Growth(queue, full_s, work_s, grows))
        if looked_at % QUEUES_PER_SLICE == 0:
            pause(0)
    return found


def _full_s(rates: "Rates", queue: "Queue", within_s: float) -> int | None:
    full_s = rates.time_to_full_s(queue)
    return full_s if full_s is not None and full_s <= within_s else None


def _work_s(rates: "Rates", queue: "Queue", over_s: float) -> tuple[int | None, bool]:
    """Return how long a queue's work takes, None if that is not too long; and whether there is ever more of it."""
    drain_s = rates.time_to_drain_s(queue)
    if drain_s is not None:
        return drain_s if drain_s > over_s else None, False
    lately, before = rates.change(queue, MINUTE_MS), rates.change(queue, WINDOW_MS_MAX)
    if lately is None or before is None or lately.messages <= 0 or before.messages <= 0:
        return None, False
    if lately.left <= 0:
        return None, True
    work_s = ceil(queue.messages * lately.ms / lately.left / 1000)
    return (work_s, True) if work_s > over_s else (None, False)
