"""Explanation of an alarm in sentences: what is short and by how much, and what an operator may type (why_blocked)."""

from heapq import nlargest
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pybroker.control.explain.reason import Reason
from pybroker.humanize import MIB, counted, size

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.core.broker import Broker
    from pybroker.core.queue.queue import Queue
    from pybroker.core.resources.alarm import Alarm

QUEUES_NAMED: Final = 3
# Between two pauses in a walk over all queues: about a millisecond. One of no length would let sockets wait.
QUEUES_PER_SLICE: Final = 1_000
PAUSE_S: Final = 0.000_1
# A limit that is only just enough would be reached again at once.
ROOM: Final = 1.25


def of_alarm(broker: "Broker", alarm: "Alarm", pause: "Callable[[float], object]") -> Reason:
    """Explain an alarm."""
    if alarm.node != broker.settings.node_name:
        return Reason(alarm.resource, alarm.resource, f"{alarm.why}, on node {alarm.node}", "see the log of that node")
    if alarm.by_hand:
        clear = f"rabbit_alarm:clear_alarm({{resource_limit, {alarm.resource}, node()}})."
        return Reason(alarm.resource, alarm.resource, "an operator set the alarm", f"pybrokerctl eval '{clear}'")
    if alarm.resource == broker.alarms.memory:
        return _of_memory(broker, alarm, pause)
    if alarm.resource == broker.alarms.disk:
        return _of_disk(broker, alarm)
    return Reason(alarm.resource, alarm.resource, alarm.why, "see the log")


def of_past_alarm(what: str) -> Reason:
    """Explain an alarm that is over."""
    return Reason(what, what, "the alarm has cleared", "nothing; the connection is being read again")


def _of_memory(broker: "Broker", alarm: "Alarm", pause: "Callable[[float], object]") -> Reason:
    marks = broker.settings.watermarks
    used, limit, total = marks.measured.used, marks.memory_limit_octets, marks.total
    if not limit:
        why = "the memory limit is 0, which blocks every publisher"
        return Reason(alarm.resource, alarm.resource, why, f"pybrokerctl {set_limit(broker, used)}", used, limit)
    share = "of" if marks.memory_relative is None else f"{marks.memory_relative} of"
    why = f"{alarm.why} ({share} {size(total.octets)}, {total.source})"
    own = used - marks.measured.accounted
    fullest = _fullest(broker, pause)
    if own > limit:
        why += f"; the node's process uses {size(own)} without any messages, which is more than the limit"
        advice = "raise the limit: neither consuming nor purging can clear this alarm"
    elif fullest:
        names = ", ".join(f"{queue} {size(octets)} ({counted(queue.messages, 'message')})" for octets, queue in fullest)
        why += f"; the largest queues are {names}"
        advice = "consume from or purge these queues"
    else:
        why += "; the queues hold little of it"
        advice = "see 'pybrokerctl memory_breakdown'"
    command = set_limit(broker, used)
    return Reason(
        alarm.resource, alarm.resource, why, f"{advice}, or: pybrokerctl {command}" if command else advice, used, limit
    )


def set_limit(broker: "Broker", octets: float) -> str:
    """Return the command that allows so much memory and some more; nothing if there is not so much."""
    marks = broker.settings.watermarks
    wanted, total = octets * ROOM, marks.total.octets
    if marks.memory_relative is None:
        return f"set_vm_memory_high_watermark absolute {ceil(wanted / MIB)}MiB" if wanted <= total else ""
    fraction = max(0.4, ceil(10 * wanted / total) / 10)
    return f"set_vm_memory_high_watermark {fraction:g}" if fraction <= 1 else ""


def _fullest(broker: "Broker", pause: "Callable[[float], object]") -> "list[tuple[int, Queue]]":
    """Return the queues that hold the most, with how much; none that hold next to nothing."""
    found: list[tuple[int, int, Queue]] = []
    queues = [queue for vhost in list(broker.vhosts.values()) for queue in list(vhost.queues.values())]
    for start in range(0, len(queues), QUEUES_PER_SLICE):
        some = queues[start : start + QUEUES_PER_SLICE]
        held = ((broker.paging.octets_in_memory(queue), start + index, queue) for index, queue in enumerate(some))
        found = nlargest(QUEUES_NAMED, [*found, *held])
        if start:
            pause(PAUSE_S)
    return [(octets, queue) for octets, _, queue in found if octets >= MIB / 10]


def _of_disk(broker: "Broker", alarm: "Alarm") -> Reason:
    marks = broker.settings.watermarks
    free, limit = marks.measured.disk_free, marks.disk_limit_octets
    folder = broker.settings.data_dir
    why = f"{alarm.why}, on the partition of {folder} (mounted on {_mount_point(folder)})" if folder else alarm.why
    advice = "free space there" if folder else "free disk space"
    # The log needs the space that stays free to go on at all.
    lower = (free or 0) // 2_000_000
    if free is not None and free < limit and lower:
        advice += f", or: pybrokerctl set_disk_free_limit {lower}MB"
    return Reason(alarm.resource, alarm.resource, why, advice, free, limit)


def _mount_point(folder: str) -> str:
    path = Path(folder).resolve()
    while not path.is_mount() and path != path.parent:
        path = path.parent
    return str(path)
