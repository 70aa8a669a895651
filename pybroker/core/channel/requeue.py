"""Requeueing of a channel's messages to their queues, in shares if there are many; also rejects and acknowledgements.

In RabbitMQ all that a channel had is back in a queue at once. Here a queue hands out nothing until all of it is, so
that nobody gets what is younger first. Each message is counted as unacknowledged until its own share is done.
"""

import logging
from functools import partial
from typing import TYPE_CHECKING, Final

from pybroker.core.events.cause import because
from pybroker.log_event import BUG, event

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.core.channel.state import ChannelState
    from pybroker.core.channel.unacked import Batch
    from pybroker.core.queue.queue import Queue
    from pybroker.core.topology.removal import Removal, Steps

# A step costs so much, some hundred microseconds; so many batches are dealt with at once, as steps of a removal are.
STEP_COST: Final = 64
AT_ONCE_BATCHES: Final = 256
FEW_BATCHES: Final = 8
# Messages that may be looked at one by one, because they lie apart or differ in size, cost a batch together.
LOOK_MESSAGES: Final = 8

log = logging.getLogger("pybroker")


def give_back(
    batches: "list[Batch]",
    *,
    requeue: bool,
    channel: "ChannelState | None" = None,
    at_once: bool = False,
    failed: bool = False,
) -> "Removal | None":
    """Reject or requeue what one channel had, or all channels of a session; return what is to be waited for, if any.

    `failed`: a consumer did, or its channel ended, so that a delayed retry of that type counts.
    With a `channel` its consumers get credit for it. Unless all is done `at_once`, a long list is emptied on the way.
    """
    if at_once or is_little(batches):
        _give_back(requeue, channel, failed, batches)
        if channel is not None:
            channel.credited()
        return None
    held = list(dict.fromkeys([batch.queue for batch in batches])) if requeue else []
    return _start(batches, partial(_give_back, requeue, channel, failed), held, channel)


def settle(batches: "list[Batch]", channel: "ChannelState") -> "Removal | None":
    """Acknowledge; return what is to be waited for, if any. A long list is emptied on the way."""
    if is_little(batches):
        channel.settle(batches)
        return None
    return _start(batches, channel.settle, [], channel)


def is_little(batches: "list[Batch]") -> bool:
    """Tell whether so much is dealt with at once; mostly that is answered by a glance."""
    count = len(batches)
    return count <= FEW_BATCHES or (count <= AT_ONCE_BATCHES and sum(map(_cost, batches)) <= AT_ONCE_BATCHES)


def _start(
    batches: "list[Batch]",
    give: "Callable[[list[Batch]], None]",
    held: "list[Queue]",
    channel: "ChannelState | None",
) -> "Removal | None":
    steps = partial(_steps, batches, give, held, channel)
    removal = batches[0].queue.vhost.broker.removals.start(steps, because("messages leave a channel"))
    return None if removal.is_over else removal


def _cost(batch: "Batch") -> int:
    indexes = batch.indexes
    return 1 if indexes.step == 1 and batch.run.body_size >= 0 else 1 + len(indexes) // LOOK_MESSAGES


def _steps(
    batches: "list[Batch]",
    give: "Callable[[list[Batch]], None]",
    held: "list[Queue]",
    channel: "ChannelState | None",
    _removal: "Removal",
) -> "Steps":
    """Give the batches in order, some in each step; the queues that are `held` hand out nothing before the end."""
    for queue in held:
        queue.hold()
    try:
        batches.reverse()
        while batches:
            share, left = [], STEP_COST
            while batches and left > 0:
                share.append(batches.pop())
                left -= _cost(share[-1])
            try:
                give(share)
            except Exception:
                # A bug in what becomes of some: the others go nevertheless.
                log.exception("internal error in settling or returning messages", extra=event(BUG))
            yield
    finally:
        if channel is not None:
            channel.credited()
        for queue in held:
            queue.release()


def _give_back(requeue: bool, channel: "ChannelState | None", failed: bool, batches: "list[Batch]") -> None:
    """Do it now: each queue sorts in what is its own once."""
    if channel is not None:
        channel.credit_back(batches)
    by_queue: dict[Queue, list[Batch]] = {}
    for batch in batches:
        by_queue.setdefault(batch.queue, []).append(batch)
    for queue, mine in by_queue.items():
        if queue.vhost.tracing and not queue.deleted:
            queue.vhost.broker.traces.settled(mine, "requeue" if requeue else "reject", channel)
    for queue, mine in by_queue.items():
        if requeue:
            queue.give_back(mine, failed=failed)
        else:
            queue.reject(mine)
