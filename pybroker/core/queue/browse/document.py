"""Documents: a browsed message as plain values that any JSON can hold, with as much of its body as is asked for.

A body is what its publisher likes: it is never parsed, decompressed or copied beyond what is shown.
"""

import codecs
import json
from base64 import b64encode
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.core.queue.browse.browsed import UNACKNOWLEDGED
from pybroker.core.queue.browse.encoding import inflated
from pybroker.core.queue.browse.filter import as_text
from pybroker.run import known_deliveries
from pybroker.wire.properties import PROPERTIES
from pybroker.wire.table import Array, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pybroker.core.queue.browse.browsed import Browsed
    from pybroker.core.queue.queue import Queue
    from pybroker.wire.properties import Properties

NAMES: Final = tuple(name for name in PROPERTIES if name != "headers")
# Of a JSON value: deeper ones are shown as text, since each program that reads them has a limit of its own.
DEPTH_MAX: Final = 64
# Names of character sets that are decoded; others, and none that turns octets into octets, are not tried.
CHARSETS: Final = {
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "us-ascii": "utf-8",
    "ascii": "utf-8",
    "iso-8859-1": "latin-1",
    "latin-1": "latin-1",
    "windows-1252": "cp1252",
    "utf-16": "utf-16",
    "utf-16le": "utf-16-le",
    "utf-16be": "utf-16-be",
}
# Text without control characters but those that text has.
_LINES: Final = dict.fromkeys([9, 10, 13])
# The last millisecond of datetime.
TEXT_MS_MAX: Final = 253_402_300_799_999


class Body(NamedTuple):
    """A body for people and programs: `value` is of any JSON type where `format` is json, else a text.

    `format` is json, text, hex or base64; `is_cut` tells that there is more of it.
    """

    value: Any
    format: str
    is_cut: bool


def document(queue: "Queue", message: "Browsed", octets_max: int, *, raw: bool = False) -> dict[str, Any]:
    """Return what there is to say of a message, with up to `octets_max` of its body; `raw` as it is, in base64."""
    clock = queue.vhost.broker.clock
    wall_ms = clock.timestamp_ms - clock.now_ms
    run, properties = message.run, message.properties
    size, octets = message.body_octets, message.body_start(octets_max)
    body = raw_body(octets, size) if raw else decoded(message, octets, size, properties, octets_max)
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
        "size": size,
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
    both = [ttl for ttl in (queue.limits.message_ttl_ms, message.run.attributes.ttl_ms) if ttl is not None]
    # Unacknowledged messages do not expire.
    return min(both) if both and message.state != UNACKNOWLEDGED else None


def decoded(message: "Browsed", octets: bytes, size: int, properties: "Properties", octets_max: int) -> Body:
    """Return the start of a body, `octets`, as its type and encoding say, or, if that fails, in hexadecimal."""
    is_cut = size > len(octets)
    if properties.content_encoding and size:
        opened, whole = inflated(message.body, properties.content_encoding, octets_max)
        if opened is not None:
            octets, is_cut = opened, not whole
    kind, charset = _kind(properties.content_type)
    text = None if charset is None else _text(octets, charset, is_cut=is_cut)
    if text is None or not (kind or _is_readable(text)):
        return Body(octets.hex(), "hex", is_cut)
    if not is_cut and (kind == "json" or (not kind and text[:1] in "{[")) and (value := _json(text)) is not None:
        return Body(value[0], "json", is_cut=False)
    return Body(text, "text", is_cut)


def raw_body(octets: bytes, size: int) -> Body:
    """Return the octets of a body of this size, as published."""
    return Body(b64encode(octets).decode(), "base64", len(octets) < size)


@lru_cache(256)
def _kind(content_type: str | None) -> tuple[str, str | None]:
    """Return json, text or nothing, and how its text is encoded; None if it is known to be something else."""
    media, *parameters = (content_type or "").lower().split(";")
    media = media.strip()
    charset = "utf-8"
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "charset":
            charset = CHARSETS.get(value.strip().strip('"'), "")
    if media.endswith(("/json", "+json")):
        return "json", charset or None
    if media.startswith("text/") or media.endswith(("/xml", "+xml", "/yaml", "/javascript")):
        return "text", charset or None
    return "", charset or None


def _text(octets: bytes, charset: str, *, is_cut: bool) -> str | None:
    """Return octets as text, without half a character at the end if they were cut; None if they are none."""
    try:
        return codecs.getincrementaldecoder(charset)().decode(octets, final=not is_cut)
    except UnicodeError:
        return None


def _is_readable(text: str) -> bool:
    """Tell whether a text of unknown type has no control characters but those of lines."""
    return text.isprintable() or text.translate(_LINES).isprintable()


def _json(text: str) -> tuple[Any] | None:
    """Return the value of a JSON text, if it is one that every program can read again, else None."""
    # Brackets in strings are counted as well: at worst a value is shown as text.
    depth = 0
    for character in text:
        if character in "[{":
            depth += 1
            if depth > DEPTH_MAX:
                return None
        elif character in "]}":
            depth -= 1
    try:
        value = json.loads(text, parse_constant=_refuse)
        # Half characters, as "\ud800", are no text.
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return (value,)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


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


def time_text(ms: int) -> str:
    """Return a wall time in UTC, as people and programs read it; a number where no calendar goes."""
    if not 0 <= ms <= TEXT_MS_MAX:
        return str(ms)
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
