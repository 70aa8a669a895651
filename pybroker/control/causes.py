"""What flow control holds a connection back for, in sentences: by how much, and what an operator may do (why_blocked).

A cause is what core/throttle.py keeps: the journal, the peer itself, a channel's replies that wait, a queue. Knows no
connection's name and no output.
"""

import re
from typing import TYPE_CHECKING, Any, Final

from pybroker.control.reason import Reason
from pybroker.control.shortage import held_octets, set_limit
from pybroker.control.words import size

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
DISK_ADVICE: Final = "nothing, it passes as the disk catches up; if that takes long, see 'pybrokerctl log_status'"
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
    return Reason(
        "queue" if match else "other", str(cause), f"{cause} could not keep up", "nothing: this passes by itself"
    )


def _of_journal(session: "Session") -> Reason:
    log = session.broker.log
    octets, total, most = session.credit.octets, log.uncommitted_octets, log.uncommitted_octets_max
    why = f"{size(octets)} of its messages are not on disk yet; {_bounds(PEER_OCTETS_MAX)}"
    if total > most // 2:
        why += f"; {size(total)} of all connections together are not on disk yet; {_bounds(most)}"
    advice = DISK_ADVICE
    if log.stalled:
        why += f"; the log cannot go on: {log.stalled}"
        advice = "raise the node's limit of open files (LimitNOFILE= in its unit), or close connections"
    return Reason(JOURNAL, JOURNAL, why, advice, octets, PEER_OCTETS_MAX)


def _of_peer(session: "Session") -> Reason:
    octets = session.reply_octets
    why = f"{size(octets)} of replies wait because the client does not read them; {_bounds(REPLY_OCTETS_MAX)}"
    advice = (
        "change the client to read confirms, returns and deliveries while it publishes, or: "
        f"pybrokerctl close_connection '{session.pid}' 'does not read'"
    )
    return Reason(PEER, PEER, why, advice, octets, REPLY_OCTETS_MAX)


def _of_line(line: Any, channel: int) -> Reason:
    replies = "1 reply waits" if len(line) == 1 else f"{len(line):,} replies wait"
    why = f"{replies} for the disk on channel {channel}"
    if line.octets > REPLIES_OCTETS_MAX // 2:
        why += f" with {size(line.octets)} behind them; {_bounds(REPLIES_OCTETS_MAX)}"
    else:
        why += f"; at {REPLIES_MAX} the node stops reading the connection until {REPLIES_MAX // 2} are left"
    return Reason("replies", str(line), why, DISK_ADVICE, line.octets, REPLIES_OCTETS_MAX)


def _of_queue(broker: "Broker", queue: "Queue") -> Reason:
    marks = broker.settings.watermarks
    used, limit, octets = marks.measured.used, marks.memory_limit_octets, held_octets(queue)
    why = f"{queue} holds {size(octets)} in memory and accepts only as much as moves to the disk"
    if marks.paging_ratio > 1:
        return Reason("queue", str(queue), why, "consume from the queue", octets)
    why += (
        f": {size(used)} of memory are used, and above {size(marks.paging_octets)} "
        f"({marks.paging_ratio} of the limit, {size(limit)}) messages move to the disk"
    )
    command = set_limit(broker, used / marks.paging_ratio) if marks.paging_ratio else ""
    return Reason(
        "queue", str(queue), why, "consume from the queue" + (f", or: pybrokerctl {command}" if command else ""), octets
    )


def _bounds(octets_max: int) -> str:
    return f"at {size(octets_max)} the node stops reading the connection until {size(octets_max // 2)} are left"
