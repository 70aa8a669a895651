"""Explanation of flow control in sentences: the cause, by how much, and what an operator may do (why_blocked).

A cause is one of core/channel/throttle.py: the journal, the peer itself, a channel's waiting replies, a queue. Does not
know the connection's name, nor how it is shown.
"""

from typing import TYPE_CHECKING, Any, Final

from pybroker.control.explain.alarm import set_limit
from pybroker.control.explain.reason import Reason
from pybroker.humanize import lasting, size

if TYPE_CHECKING:
    from pybroker.core.broker import Broker
    from pybroker.core.channel.throttle import PauseCause, QueueCause, RepliesCause, ThrottleCause
    from pybroker.core.queue.queue import Queue

    # A door's own: control and amqp are strangers to each other.
    Session = Any

DISK_ADVICE: Final = "nothing; it passes when the disk has caught up; if that takes long, see 'pybrokerctl log_status'"


def of_session(session: "Session", cause: "ThrottleCause") -> Reason:
    """Explain a cause that holds a session now, or did a moment ago."""
    explain: Any = _EXPLAINED.get(cause.kind)
    return explain(session, cause) if explain is not None else _of_other(cause, cause.kind)


def of_past(session: "Session", cause: "ThrottleCause") -> Reason:
    """Explain a cause that held a session a moment ago."""
    return _of_other(cause, "other") if cause.kind == "replies" else of_session(session, cause)


def _of_other(cause: "ThrottleCause", kind: str) -> Reason:
    return Reason(kind, str(cause), f"{cause} could not keep up", "nothing; this passes by itself")


def _of_journal(session: "Session", cause: "ThrottleCause") -> Reason:
    log, octets, octets_max = session.broker.log, session.credit.octets, session.credit.octets_max
    total, most = log.uncommitted_octets, log.uncommitted_octets_max
    why = f"{size(octets)} of its messages are not on disk yet; {_bounds(octets_max)}"
    if total > most // 2:
        why += f"; {size(total)} of all connections together are not on disk yet; {_bounds(most)}"
    advice = DISK_ADVICE
    if log.stalled:
        why += f"; the log is stalled: {log.stalled}"
        advice = "raise the node's limit of open files (LimitNOFILE= in its unit), or close connections"
    return Reason(cause.kind, str(cause), why, advice, octets, octets_max)


def _of_peer(session: "Session", cause: "ThrottleCause") -> Reason:
    octets, octets_max = session.reply_octets, session.reply_octets_max
    why = f"{size(octets)} of replies wait because the client does not read them; {_bounds(octets_max)}"
    advice = (
        "change the client to read confirms, returns and deliveries while it publishes, or: "
        f"pybrokerctl close_connection '{session.pid}' 'does not read'"
    )
    return Reason(cause.kind, str(cause), why, advice, octets, octets_max)


def _of_replies(session: "Session", cause: "RepliesCause") -> Reason:
    channel = session.channels.get(cause.channel)
    reply_queue = channel.reply_queue if channel is not None else None
    if reply_queue is None:
        return _of_other(cause, "other")
    replies = "1 reply waits" if len(reply_queue) == 1 else f"{len(reply_queue):,} replies wait"
    why = f"{replies} for the disk on channel {cause.channel}"
    if reply_queue.octets > reply_queue.octets_max // 2:
        why += f" followed by {size(reply_queue.octets)}; {_bounds(reply_queue.octets_max)}"
    else:
        most = reply_queue.replies_max
        why += f"; at {most} the node stops reading the connection until {most // 2} are left"
    return Reason(cause.kind, str(cause), why, DISK_ADVICE, reply_queue.octets, reply_queue.octets_max)


def _of_queue(session: "Session", cause: "QueueCause") -> Reason:
    broker: Broker = session.broker
    vhost = broker.vhosts.get(cause.vhost)
    queue = vhost.queues.get(cause.name) if vhost is not None else None
    if queue is None:
        return _of_other(cause, cause.kind)
    why, advice, octets = _of_paging(broker, queue)
    return Reason(cause.kind, str(cause), why, advice, octets)


def _of_paging(broker: "Broker", queue: "Queue") -> tuple[str, str, int]:
    """Return why a queue holds publishers back, what to do, and how much it holds in memory."""
    marks = broker.settings.watermarks
    used, limit, octets = marks.measured.used, marks.memory_limit_octets, broker.paging.octets_in_memory(queue)
    why = f"{queue} holds {size(octets)} in memory and accepts messages only as fast as it is paged out"
    if marks.paging_ratio > 1:
        return why, "consume from the queue", octets
    why += (
        f": {size(used)} of memory are used, and messages are paged out above {size(marks.paging_octets)} "
        f"({marks.paging_ratio} of the limit, {size(limit)})"
    )
    command = set_limit(broker, used / marks.paging_ratio) if marks.paging_ratio else ""
    return why, "consume from the queue" + (f", or: pybrokerctl {command}" if command else ""), octets


def _of_pause(session: "Session", cause: "PauseCause") -> Reason:
    broker: Broker = session.broker
    vhost = broker.vhosts.get(cause.vhost)
    queue = vhost.queues.get(cause.name) if vhost is not None else None
    order = queue.paused if queue is not None else None
    if order is None:
        return _of_other(cause, cause.kind)
    ago = lasting(broker.clock.timestamp_ms - order.since_ms)
    why = (
        f"{order.user} paused {queue} {ago} ago: {order.why}; this connection published to it, "
        "and whatever else the connection sends waits behind that publish"
    )
    return Reason(cause.kind, str(cause), why, f"pybrokerctl resume_queue '{cause.name}' --publish -p '{cause.vhost}'")


def _bounds(octets_max: int) -> str:
    return f"at {size(octets_max)} the node stops reading the connection until {size(octets_max // 2)} are left"


# By the kinds of core/channel/throttle.py's causes.
_EXPLAINED: Final = {
    "journal": _of_journal,
    "peer": _of_peer,
    "replies": _of_replies,
    "queue": _of_queue,
    "pause": _of_pause,
}
