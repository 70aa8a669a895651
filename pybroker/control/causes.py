"""What flow control holds a connection back for, in sentences: by how much, and what an operator may do (why_blocked).

A cause is what core/throttle.py keeps: the journal, the peer itself, a channel's replies that wait, a queue. Knows no
connection's name and no output.
"""

import re
from typing import TYPE_CHECKING, Any, Final

from pybroker.control.reason import Reason
from pybroker.control.shortage import held_octets, set_limit
from pybroker.control.words import counted, size

if TYPE_CHECKING:
    from pybroker.core.broker import Broker
    from pybroker.core.queue.queue import Queue

    # A door's own: control and amqp are strangers to each other.
    Session = Any

# Limits of core/credit.py, amqp/session.py and amqp/line.py, which pybrokerctl is not to load; a test compares.
PEER_OCTETS_MAX: Final = 8_388_608
REPLY_OCTETS_MAX: Final = 1_048_576
REPLIES_MAX: Final = 64
REPLIES_OCTETS_MAX: Final = 1_048_576

# Names of causes in core/throttle.py.
JOURNAL: Final = "journal"
PEER: Final = "peer"
_QUEUE: Final = re.compile(r"queue '(.*)' in vhost '(.*)'", re.DOTALL)


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


def _of_journal(session: "Session") -> Reason:
    log = session.broker.log
    octets, total, most = session.credit.octets, log.uncommitted_octets, log.uncommitted_octets_max
    why = f"{size(octets)} of what it published are not on disk yet, {_bounds(PEER_OCTETS_MAX)}"
    if total > most // 2:
        why += f"; of all connections together {size(total)}, {_bounds(most)}"
    advice = "it goes on as fast as the disk takes it; if that is too slow, see 'pybrokerctl log_status'"
    return Reason(JOURNAL, JOURNAL, why, advice, octets, PEER_OCTETS_MAX)


def _of_peer(session: "Session") -> Reason:
    octets = session.reply_octets
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
