"""What holds a connection back, in sentences: by how much, and what an operator may do about it (why_blocked).

A cause is what core/throttle.py keeps: an alarm, the journal, the peer itself, a channel's replies that wait, a queue.
Knows no connection's name and no output.
"""

import re
from heapq import nlargest
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.control.alarms import DISK, MEMORY
from pybroker.control.words import MIB, counted, size

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.core.alarm import Alarm
    from pybroker.core.broker import Broker
    from pybroker.core.queue.queue import Queue

    # A door's own: control and amqp are strangers to each other.
    Session = Any

# Limits of core/credit.py, amqp/session.py and amqp/line.py, which pybrokerctl is not to load; a test compares.
PEER_OCTETS_MAX: Final = 8_388_608
NODE_OCTETS_MAX: Final = 67_108_864
REPLY_OCTETS_MAX: Final = 1_048_576
REPLIES_MAX: Final = 64
REPLIES_OCTETS_MAX: Final = 1_048_576
# What is around a small message in memory (core/paging.py).
MESSAGE_OCTETS: Final = 64

# Names of causes in core/throttle.py.
JOURNAL: Final = "journal"
PEER: Final = "peer"

QUEUES_NAMED: Final = 3
# Between two pauses in a walk over all queues: about a millisecond.
QUEUES_PER_SLICE: Final = 1_000
# A limit that is only just enough would be reached again at once.
ROOM: Final = 1.25
BY_HAND: Final = "set by an operator"
_QUEUE: Final = re.compile(r"queue '(.*)' in vhost '(.*)'", re.DOTALL)


class Reason(NamedTuple):
    """A cause: its kind in a word, what it is, why it holds somebody, what to do; octets of how many, if it counts."""

    kind: str
    what: str
    why: str
    advice: str
    octets: int | None = None
    octets_max: int | None = None


def of_alarm(broker: "Broker", alarm: "Alarm", pause: "Callable[[float], object]") -> Reason:
    """Explain an alarm."""
    if alarm.node != broker.settings.node_name:
        return Reason(alarm.resource, alarm.resource, f"{alarm.why}, on node {alarm.node}", "look at that node")
    if alarm.why == BY_HAND:
        clear = f"rabbit_alarm:clear_alarm({{resource_limit, {alarm.resource}, node()}})."
        return Reason(alarm.resource, alarm.resource, "an operator set the alarm", f"pybrokerctl eval '{clear}'")
    if alarm.resource == MEMORY:
        return _of_memory(broker, alarm, pause)
    if alarm.resource == DISK:
        return _of_disk(broker, alarm)
    return Reason(alarm.resource, alarm.resource, alarm.why, "see the log")


def of_past_alarm(what: str) -> Reason:
    """Explain an alarm that is over."""
    return Reason(what, what, "the alarm is over", "nothing, it goes on")


def of_session(session: "Session", cause: object) -> Reason:
    """Explain what holds one session, or did a moment ago: a cause of its throttle, or what was kept of one."""
    if cause == JOURNAL:
        return _of_journal(session)
    if cause == PEER:
        return _of_peer(session)
    for channel in session.channels.values():
        if channel.line is not None and channel.line is cause:
            return _of_line(channel.line, channel.number)
    broker = session.broker
    match = _QUEUE.fullmatch(str(cause))
    if match and (vhost := broker.vhosts.get(match[2])) and (queue := vhost.queues.get(match[1])):
        return _of_queue(broker, queue)
    return Reason("queue" if match else "other", str(cause), f"{cause} could not follow", "it goes on by itself")


def _of_memory(broker: "Broker", alarm: "Alarm", pause: "Callable[[float], object]") -> Reason:
    marks = broker.settings.watermarks
    used, limit, total = marks.measured.used, marks.memory_limit_octets, marks.total
    if not limit:
        why = "the memory limit is 0, which stops all publishing"
        return Reason(MEMORY, MEMORY, why, f"pybrokerctl {set_limit(broker, used)}", used, limit)
    share = "of" if marks.memory_relative is None else f"{marks.memory_relative} of"
    why = f"{alarm.why} ({share} {size(total.octets)}, {total.source})"
    fullest = _fullest(broker, pause)
    if fullest:
        names = ", ".join(f"{queue} {size(octets)} ({counted(queue.messages, 'message')})" for octets, queue in fullest)
        why += f"; most is held by {names}"
        advice = "consume or purge what is queued"
    else:
        why += "; queues hold little of it"
        advice = "see 'pybrokerctl memory_breakdown'"
    command = set_limit(broker, used)
    return Reason(MEMORY, MEMORY, why, f"{advice}, or: pybrokerctl {command}" if command else advice, used, limit)


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
        held = ((held_octets(queue), start + index, queue) for index, queue in enumerate(some))
        found = nlargest(QUEUES_NAMED, [*found, *held])
        if start:
            pause(0)
    return [(octets, queue) for octets, _, queue in found if octets >= MIB / 10]


def held_octets(queue: "Queue") -> int:
    """Return about what a queue's messages take in memory."""
    messages = queue.messages - queue.messages_away
    return queue.octets_ready - queue.octets_away + queue.octets_unacknowledged + MESSAGE_OCTETS * messages


def _of_disk(broker: "Broker", alarm: "Alarm") -> Reason:
    marks = broker.settings.watermarks
    free, limit = marks.measured.disk_free, marks.disk_limit_octets
    folder = broker.settings.data_dir
    why = f"{alarm.why}, on the partition of {folder} (mounted on {_mount_point(folder)})" if folder else alarm.why
    advice = "make room there" if folder else "make room"
    # What stays free is for the log to go on at all.
    lower = (free or 0) // 2_000_000
    if free is not None and free < limit and lower:
        advice += f", or: pybrokerctl set_disk_free_limit {lower}MB"
    return Reason(DISK, DISK, why, advice, free, limit)


def _mount_point(folder: str) -> str:
    path = Path(folder).resolve()
    while not path.is_mount() and path != path.parent:
        path = path.parent
    return str(path)


def _of_journal(session: "Session") -> Reason:
    octets, total = session.credit.octets, session.broker.log.uncommitted_octets
    why = f"{size(octets)} of what it published are not on disk yet, {_bounds(PEER_OCTETS_MAX)}"
    if total > NODE_OCTETS_MAX // 2:
        why += f"; of all connections together {size(total)}, {_bounds(NODE_OCTETS_MAX)}"
    advice = "it goes on as fast as the disk takes it; if that is too slow, see 'pybrokerctl log_status'"
    return Reason(JOURNAL, JOURNAL, why, advice, octets, PEER_OCTETS_MAX)


def _of_peer(session: "Session") -> Reason:
    octets = session.send_pend
    why = f"{size(octets)} of replies to it wait, because it does not read them, {_bounds(REPLY_OCTETS_MAX)}"
    advice = (
        "have the client read what it is sent (confirms, returns, deliveries) while it publishes, or: "
        f"pybrokerctl close_connection '{session.pid}' 'does not read'"
    )
    return Reason(PEER, PEER, why, advice, octets, REPLY_OCTETS_MAX)


def _of_line(line: Any, channel: int) -> Reason:
    why = f"{counted(len(line), 'reply').replace('replys', 'replies')} on channel {channel} wait for the disk"
    if line.octets > REPLIES_OCTETS_MAX // 2:
        why += f" with {size(line.octets)} behind them, {_bounds(REPLIES_OCTETS_MAX)}"
    else:
        why += f", and it is not read from {REPLIES_MAX} on until there are {REPLIES_MAX // 2}"
    advice = "it goes on as fast as the disk takes it; if that is too slow, see 'pybrokerctl log_status'"
    return Reason("replies", str(line), why, advice, line.octets, REPLIES_OCTETS_MAX)


def _of_queue(broker: "Broker", queue: "Queue") -> Reason:
    marks = broker.settings.watermarks
    used, limit, octets = marks.measured.used, marks.memory_limit_octets, held_octets(queue)
    why = f"{queue} has {size(octets)} in memory, and takes only as much more as is paged out"
    if marks.paging_ratio > 1:
        return Reason("queue", str(queue), why, "consume it", octets)
    why += (
        f": {size(used)} of memory are used, and from {size(marks.paging_octets)} on "
        f"({marks.paging_ratio} of the limit, {size(limit)}) messages go to the disk"
    )
    command = set_limit(broker, used / marks.paging_ratio) if marks.paging_ratio else ""
    return Reason("queue", str(queue), why, "consume it" + (f", or: pybrokerctl {command}" if command else ""), octets)


def _bounds(octets_max: int) -> str:
    return f"and it is not read from {size(octets_max)} on until there are {size(octets_max // 2)}"
