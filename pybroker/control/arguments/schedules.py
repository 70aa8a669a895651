"""Schedules by the names that operators type, and what of a schedule's messages is cancelled."""

from typing import TYPE_CHECKING, Any

from pybroker.control.arguments.lookup import find_exchange
from pybroker.control.spec import EX_TEMPFAIL, EX_UNAVAILABLE, Node, Refused
from pybroker.humanize import counted

if TYPE_CHECKING:
    from pybroker.core.delayed.index import Waiting
    from pybroker.core.delayed.schedule import Schedule
    from pybroker.core.topology.vhost import VHost

# How long a command waits for the disk, and how often it looks.
WAIT_MS = 10_000
PAUSE_S = 0.005


def find_schedule(vhost: "VHost", name: str) -> "Schedule":
    """Return the schedule of an exchange. Raises Refused: there is no such exchange, or nothing ever waits there."""
    exchange: Any = find_exchange(vhost, name)
    if exchange.schedule_id is None:
        raise Refused(
            f"exchange '{name}' in virtual host '{vhost.name}' is of type {exchange.TYPE}: it holds no messages"
        )
    return ready(exchange.schedule)


def ready(schedule: "Schedule") -> "Schedule":
    """Return it if it is known what is due when. Raises Refused while a start reads it."""
    if schedule.reading:
        left = schedule.messages
        raise Refused(
            f"the {schedule!r} is loading, {counted(left, 'message')} left; try again in a few seconds", EX_TEMPFAIL
        )
    return schedule


def cancel(node: Node, schedule: "Schedule", waiting: "list[Waiting]") -> int:
    """Drop messages, and wait until that is on disk; return how many were still there. Raises Refused."""
    count = sum([schedule.cancel(each) for each in waiting])
    on_disk(node)
    return count


def on_disk(node: Node) -> None:
    """Wait until all that was done is on disk. Raises Refused if that takes too long."""
    log = node.broker.log
    commit_position = log.commit_position
    if not commit_position:
        return
    log.want(commit_position)
    waited_s = 0.0
    while log.completed < commit_position:
        if log.failed or waited_s * 1000 >= WAIT_MS:
            reason = log.failed or f"the disk did not sync within {WAIT_MS // 1000} seconds"
            raise Refused(f"the messages may reappear after a crash: {reason}", EX_UNAVAILABLE)
        node.pause(PAUSE_S)
        waited_s += PAUSE_S
