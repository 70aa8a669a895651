"""Documents: a browsed message as plain values that any JSON can hold, with as much of its body as is asked for.

A body is what its publisher likes: it is never parsed, decompressed or copied beyond what is shown. Only short ones
are decoded here, in some ten microseconds; of long ones the octets go in parts, and whoever shows them decodes them.
"""

from base64 import b64encode
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from pybroker.content_view import body_parts
from pybroker.core.queue.browse.browsed import UNACKNOWLEDGED
from pybroker.core.queue.browse.filter import as_text
from pybroker.run import known_deliveries
from pybroker.text.body_text import Body, decoded
from pybroker.wire.properties import PROPERTIES
from pybroker.wire.table import Array, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pybroker.core.queue.browse.browsed import Browsed
    from pybroker.core.queue.queue import Queue
    from pybroker.wire.properties import Properties

NAMES: Final = tuple(name for name in PROPERTIES if name != "headers")
# If no more is to be shown of a body, it is decoded here.
DECODED_OCTETS_MAX: Final = 4_096
# Of what is compressed, for its framing.
ENDS_OCTETS: Final = 1_024
# Of one part of a longer one; in base64 the parts join.
PART_OCTETS: Final = 24_576
# The last millisecond of datetime.
TEXT_MS_MAX: Final = 253_402_300_799_999


def documents(queue: "Queue", message: "Browsed", octets_max: int, *, raw: bool) -> "Iterator[dict[str, Any]]":
    """Yield the document of a message with up to `octets_max` of its body; `raw` as it is, in base64.

    If that is long, it comes in base64: the document has the first part of it, and `body_parts` says how many follow.
    """
    properties, size = message.properties, message.body_octets
    shown = min(size, octets_max)
    if not raw and (octets_max if properties.content_encoding else shown) <= DECODED_OCTETS_MAX:
        # The ends of what is compressed need some octets more.
        start = message.body_start(octets_max + ENDS_OCTETS if properties.content_encoding else octets_max)
        body = decoded(start, size, properties.content_type, properties.content_encoding, octets_max)
        yield _document(queue, message, properties, body)
        return
    parts = body_parts(message.content, octets_max, PART_OCTETS)
    first = b64encode(next(parts, b"")).decode()
    found = _document(queue, message, properties, Body(first, "base64", shown < size))
    if not raw or shown > PART_OCTETS:
        found["body_parts"] = max(0, -(-shown // PART_OCTETS) - 1)
    yield found
    for part in parts:
        yield {"seq": message.seq, "body_part": b64encode(part).decode()}


def _document(queue: "Queue", message: "Browsed", properties: "Properties", body: Body) -> dict[str, Any]:
    clock = queue.vhost.broker.clock
    wall_ms = clock.timestamp_ms - clock.now_ms
    run = message.run
    ttl_ms = _ttl_ms(queue, message)
    found: dict[str, Any] = {
        "seq": message.seq,
        "position": f"{message.priority}:{message.seq}" if queue.backlog.priority_max else str(message.seq),
        "priority": message.priority,
        "state": message.state,
        "redelivered": message.redelivered,
        "deliveries": known_deliveries(message.deliveries),
        "exchange": message.names.exchange,
        "routing_key": message.names.routing_key,
        "arrived_at": time_text(run.arrived_ms + wall_ms),
        "age_ms": max(0, clock.now_ms - run.arrived_ms),
        "expires_at": None if ttl_ms is None else time_text(run.arrived_ms + ttl_ms + wall_ms),
        "properties": {name: value for name in NAMES if (value := getattr(properties, name)) is not None},
        "headers": {} if properties.headers is None else plain(properties.headers),
        "size": message.body_octets,
        "body": body.value,
        "body_format": body.format,
        "body_cut": body.is_cut,
    }
    if message.state == UNACKNOWLEDGED:
        found |= _holder(message, clock.now_ms, wall_ms)
    if message.due_ms:
        found["due_at"] = time_text(message.due_ms + wall_ms)
    return found


def _holder(message: "Browsed", now_ms: int, wall_ms: int) -> dict[str, Any]:
    """Return who has an unacknowledged message, and since when."""
    channel, consumer = message.channel, message.consumer
    session = channel.session
    return {
        # A message that was fetched (basic.get) has no consumer.
        "consumer_tag": None if consumer is None else consumer.tag,
        "connection": session.name,
        "connection_pid": session.pid,
        "user_provided_name": session.log_fields().get("client_name", ""),
        "channel": channel.number,
        "user": session.user.name if session.user is not None else "",
        "delivered_at": time_text(message.delivered_ms + wall_ms),
        "unacknowledged_ms": max(0, now_ms - message.delivered_ms),
    }


def _ttl_ms(queue: "Queue", message: "Browsed") -> int | None:
    if queue.retains:
        return None
    both = [ttl for ttl in (queue.limits.message_ttl_ms, message.run.attributes.ttl_ms) if ttl is not None]
    # Unacknowledged messages do not expire.
    return min(both) if both and message.state != UNACKNOWLEDGED else None


def plain(value: Any) -> Any:
    """Return a header's value as JSON has it; types that JSON lacks become the text that people write."""
    match value:
        case Table() | dict():
            return _fields(value)
        case Array() | list():
            return [plain(one) for one in value]
        case bool() | int() | None:
            return value
        case str():
            return value
        case float() if value - value == 0:
            return value
        case bytes():
            return value.decode(errors="backslashreplace")
    return as_text(value)


def _fields(table: "Mapping[str, Any]") -> dict[str, Any]:
    return {name: plain(one) for name, one in table.items()}


@lru_cache(64)  # messages arrive together
def time_text(ms: int) -> str:
    """Return a wall time in UTC, as people and programs read it; a number where no calendar goes."""
    if not 0 <= ms <= TEXT_MS_MAX:
        return str(ms)
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
