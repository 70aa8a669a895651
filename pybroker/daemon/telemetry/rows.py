"""Telemetry of queues, connections, the node and lost messages: rows by column name.

Counters are totals since the start, never rates: a reader tells starts apart by the `epoch`. The first row of a thing
has `first` set: its totals count from its creation. pybroker-pipeline(7) has the columns.
"""

import time
from typing import TYPE_CHECKING, Any, Final, cast

from pybroker.core.policy.keys import HEAD_AGE_TARGET, TIME_TO_CONSUME_TARGET
from pybroker.core.queue.queue import Queue
from pybroker.core.stats import drops, metrics
from pybroker.daemon.resources import rss

if TYPE_CHECKING:
    from pybroker.amqp.session import AmqpSession
    from pybroker.core.broker import Broker
    from pybroker.core.resources.alarm import Alarm
    from pybroker.core.stats.drops import Loss
    from pybroker.core.stream.stream import Stream

Row = dict[str, Any]
# The name of what stands for many things at once.
OTHERS: Final = "(others)"

# Columns of queues whose policies have these keys.
_TARGETS: Final = {
    HEAD_AGE_TARGET: "head_age_target_ms",
    TIME_TO_CONSUME_TARGET: "time_to_consume_target_ms",
}
_QUEUE: Final = [(name, metric.read) for name, metric in metrics.sampled(metrics.QUEUE).items()]
_consumers_full: Final = metrics.QUEUE["consumers_full"].read
_QUEUE_GAUGES: Final = [name for name, metric in metrics.sampled(metrics.QUEUE).items() if metric.type == "gauge"]
_CONNECTION: Final = [(name, metric.read) for name, metric in metrics.sampled(metrics.CONNECTION).items()]
_NODE: Final = [(name, metric.read) for name, metric in metrics.sampled(metrics.NODE).items()]


def of_queue(queue: "Queue") -> Row:
    """Return a queue's gauges and totals; acknowledged is also what was delivered without asking for it."""
    limits, policies = queue.limits, queue.applied.definition
    return {
        "vhost": queue.vhost.name,
        "queue": queue.name,
        "queue_id": queue.id,
        "type": queue.type,
        "durable": queue.durable,
        **{name: read(queue) for name, read in _QUEUE},
        "length_max": limits.length_max,
        "octets_max": limits.octets_max,
        "state": queue.state,
        **(_of_stream(cast("Stream", queue)) if queue.retains else {}),
        **({column: policies[key] for key, column in _TARGETS.items() if key in policies} if policies else {}),
    }


def _of_stream(stream: "Stream") -> Row:
    """Return what differs: what waits is what the slowest consumer has not received, and no limit is ever reached."""
    behind = max([reader.lag for reader in stream.readers.values()], default=0)
    octets = behind * stream.octets // max(1, stream.messages)
    return {"ready": behind, "ready_bytes": octets, "octets_max": None}


def of_deleted_queue(queue: "Queue", messages: int) -> Row:
    """Return the final row of a queue that had so many messages when it was deleted: its totals, and nothing in it."""
    empty = {name: None if name.endswith("_ms") else 0 for name in _QUEUE_GAUGES}
    deleted = {"state": "deleted", "deleted_ms": queue.vhost.broker.clock.timestamp_ms, "discarded": messages}
    return {**of_queue(queue), **empty, **deleted}


def other_queues(row: Row | None) -> Row:
    """Return the identity of the row that sums up short-lived queues like this one, or of the last such row."""
    return {"vhost": "" if row is None else row["vhost"], "queue": OTHERS, "queue_id": 0}


def queue_activity(queue: "Queue") -> tuple[int, ...]:
    """Return what is different if anything happened to a queue since, at a tenth of the cost of its row."""
    fates = queue.fates
    counted = (queue.published, queue.delivered, queue.delivered_no_ack, queue.got, queue.acked, queue.redelivered)
    lost = (queue.expired, queue.dropped, fates.rejected, fates.requeued, fates.refused, fates.purged)
    present = (queue.messages_ready, queue.messages_unacknowledged, queue.backlog.messages_evicted)
    return (*counted, *lost, *present, len(queue.consumers), _consumers_full(queue))


def of_session(session: "AmqpSession") -> Row:
    """Return a connection's gauges and totals, and for how long what held it back."""
    throttle = session.throttle
    return {
        "conn_id": session.pid,
        "user": session.user.name if session.user else "",
        "vhost": session.vhost.name if session.vhost else "",
        "peer": f"{session.peer_host}:{session.peer_port}",
        "client_name": client_name(session),
        "connected_ms": session.connected_at_ms,
        **{name: read(session) for name, read in _CONNECTION},
        "state": session.shown_state,
        "last_blocked_by": throttle.last_by,
        "last_blocked_cause": throttle.last_cause,
    }


def of_closed_session(session: "AmqpSession") -> Row:
    """Return the final row of a connection that is gone."""
    return {**of_session(session), "state": "closed", "closed_ms": session.broker.clock.timestamp_ms}


def other_sessions(row: Row | None) -> Row:
    """Return the identity of the row that sums up short-lived connections like this one, or of the last such row."""
    if row is None:
        return {"conn_id": OTHERS, "user": "", "vhost": ""}
    user, vhost = row["user"], row["vhost"]
    return {"conn_id": f"(others:{user}@{vhost})", "user": user, "vhost": vhost}


def client_name(session: "AmqpSession") -> str:
    """Return what a client calls its connection, else its library."""
    product = session.client_properties.get("product")
    return session.client_name or (product if isinstance(product, str) else "")


def of_node(broker: "Broker", loop_lag_ms: int) -> Row:
    """Return the node's memory, disk, descriptors and totals; `loop_lag_ms` is how late the loop was at worst."""
    marks = broker.settings.watermarks
    return {
        **{name: read(broker) for name, read in _NODE},
        "watermark": marks.memory_relative,
        "paging_ratio": marks.paging_ratio,
        "fds": rss.open_files(),
        "loop_lag_ms": loop_lag_ms,
        "up_ms": broker.clock.now_ms - broker.started_ms,
        "cpu_ms_total": time.process_time_ns() // 1_000_000,
    }


def of_alarm(broker: "Broker", alarm: "Alarm", action: str) -> Row:
    """Return that an alarm was set, or cleared, and the figures at that moment."""
    marks = broker.settings.watermarks
    used, limit = marks.measured.used, marks.memory_limit_octets
    if alarm.resource == "disk":
        used, limit = marks.measured.disk_free or 0, marks.disk_limit_octets
    clock = broker.clock
    return {
        "resource": alarm.resource,
        "alarm_node": alarm.node,
        "action": action,
        "used": used,
        "limit": limit,
        "why": alarm.why,
        "set_ms": clock.timestamp_ms - (clock.now_ms - alarm.since_ms),
    }


def of_block(session: "AmqpSession", reason: str, began_ms: int, duration_ms: int | None) -> Row:
    """Return that a connection is blocked, or with a duration that it was; `began_ms` is wall time."""
    return {
        "conn_id": session.pid,
        "user": session.user.name if session.user else "",
        "vhost": session.vhost.name if session.vhost else "",
        "client_name": client_name(session),
        "reason": reason,
        "action": "begin" if duration_ms is None else "end",
        "began_ms": began_ms,
        "duration_ms": duration_ms,
    }


def of_loss(loss: "Loss", messages: int, octets: int) -> Row:
    """Return how many messages were lost in this way; `size` is theirs together."""
    place: Any = loss.place
    is_of_queue = isinstance(place, Queue)
    vhost = place.vhost if is_of_queue else place
    exchange = vhost.exchanges.get(loss.names.exchange)
    return {
        "kind": loss.kind,
        "reason": loss.reason,
        "vhost": vhost.name,
        "exchange": loss.names.exchange,
        "routing_key": loss.names.routing_key,
        "queue": place.name if is_of_queue else "",
        "returned": loss.returned,
        "has_ae": bool(exchange is not None and exchange.alternate),
        "count": messages,
        "size": octets,
        "others": loss.names is drops.OTHERS,
    }
