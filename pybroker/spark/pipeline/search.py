"""search: messages of a stream, or of all partitions of a super stream, by what is in them. It needs no Java.

A stream that taps an exchange keeps what was published there: the search shows which way a message went.
"""

import argparse
import base64
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.client.errors import ClientError
from pybroker.errors import AmqpError
from pybroker.humanize import counted
from pybroker.spark.parse.headers import header_maps
from pybroker.spark.pipeline.failure import UNAVAILABLE, USAGE, FailureError
from pybroker.spark.pipeline.stream_export import stream_options
from pybroker.spark.stream.contents import contents_of, key_of
from pybroker.spark.stream.places import Ends, at, since
from pybroker.spark.stream.sub_batch import CannotOpenError
from pybroker.spark.stream_source.patience import Patience
from pybroker.spark.stream_source.streams import Streams, link_to
from pybroker.wire.properties import Properties, decode_properties
from pybroker.wire.stream.entries import split

if TYPE_CHECKING:
    from pybroker.spark.stream.chunk import Chunk, Part
    from pybroker.spark.stream_source.options import StreamOptions
    from pybroker.wire.amqp10.front import Front

# Of a body, in the table.
SHOWN_CHARACTERS: Final = 60
# Headers that ids of AMQP 1.0 become.
_MADE: Final = frozenset({"x-message-id", "x-correlation-id", "x-message-id-type", "x-correlation-id-type"})
_ID_FIELDS: Final = ("message_id", "correlation_id")
_SHOWN: Final = ("content_type", "message_id", "correlation_id", "reply_to", "type", "user_id", "app_id")


class Wanted(NamedTuple):
    """Properties of messages that are searched for, all of them. Nothing is asked by one that is empty, or None."""

    key: tuple[str, ...]
    headers: Mapping[str, str]
    text: bytes
    correlation_id: str
    message_id: str
    since_ms: int
    until_ms: int | None

    @property
    def _names(self) -> list[str]:
        """Return the names of headers that stand in a message as they do here."""
        return [name for name in self.headers if name not in _MADE]

    def may_be_in(self, chunk: "Chunk") -> bool:
        """Tell whether a chunk may have such a message, by its time and its octets: most have none."""
        if chunk.timestamp_ms < self.since_ms:
            return False
        if self.text in chunk.data and all(name.encode() in chunk.data for name in self._names):
            return True
        # Sub-batches may be compressed.
        return chunk.records != chunk.entries or split(chunk.data, 0)[1] != len(chunk.data)

    def matches(self, body: bytes, key: str, properties: Properties, headers: Mapping[str, str]) -> bool:
        """Tell whether a message has it all."""
        return (
            self.text in body
            and (not self.key or fits(self.key, tuple(key.split("."))))
            and self.correlation_id in ("", properties.correlation_id, headers.get("x-correlation-id"))
            and self.message_id in ("", properties.message_id, headers.get("x-message-id"))
            and all(headers.get(name) == value for name, value in self.headers.items())
        )


@lru_cache(maxsize=4_096)
def fits(pattern: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """Tell whether a routing key matches a pattern as a topic exchange's binding does: * is a word, # any words."""
    if not pattern:
        return not words
    if pattern[0] == "#":
        return any(fits(pattern[1:], words[at:]) for at in range(len(words) + 1))
    return bool(words) and pattern[0] in ("*", words[0]) and fits(pattern[1:], words[1:])


def search(given: argparse.Namespace, begin: datetime | None, end: datetime | None) -> dict[str, Any]:
    """Return the messages between two times that match. Raises FailureError."""
    wanted = _wanted(given, _milliseconds(begin) or 0, _milliseconds(end))
    options = stream_options(given)
    found: list[dict[str, Any]] = []
    searched: Counter[str] = Counter()
    refused: list[CannotOpenError] = []
    streams = Streams(options)
    try:
        for stream, ends in streams.ends().items():
            for message in _matching(options, stream, ends, wanted, searched, refused.append):
                found.append(message)
                if len(found) > given.limit:
                    break
            if len(found) > given.limit:
                break
    except (ClientError, OSError) as error:
        raise FailureError(f"the search failed: {error}", UNAVAILABLE) from error
    finally:
        streams.close()
    more, found = len(found) > given.limit, found[: given.limit]
    if more:
        text = f"{counted(len(found), 'message')} of the first {searched.total():,} match, and more do: raise --limit"
    else:
        text = f"{len(found):,} of {counted(searched.total(), 'message')} match"
    if refused:
        were = "was" if len(refused) == 1 else "were"
        text += f"; {counted(len(refused), 'sub-batch', 'sub-batches')} {were} passed over: {refused[0]}"
    lines = [_line(message) for message in found]
    return {
        "result": "ok",
        "messages": found,
        "searched": searched.total(),
        "passed_over": len(refused),
        "more": more,
        "message": "\n".join([*lines, text]),
    }


def _milliseconds(when: datetime | None) -> int | None:
    return None if when is None else round(when.timestamp() * 1_000)


def _wanted(given: argparse.Namespace, since_ms: int, until_ms: int | None) -> Wanted:
    headers = {}
    for word in given.header:
        name, equals, value = word.partition("=")
        if not (name and equals):
            raise FailureError(f"'{word}' is not a header: use NAME=VALUE", USAGE)
        headers[name] = value
    text = (given.text or "").encode()
    key = tuple(given.key.split(".")) if given.key else ()
    return Wanted(key, headers, text, given.correlation_id or "", given.message_id or "", since_ms, until_ms)


def _matching(
    options: "StreamOptions",
    stream: str,
    ends: Ends,
    wanted: Wanted,
    searched: Counter[str],
    refused: Callable[[CannotOpenError], None],
) -> Iterator[dict[str, Any]]:
    if ends.first >= ends.next:
        return
    for chunk in _chunks(options, stream, ends, wanted):
        searched[stream] += chunk.records
        if wanted.may_be_in(chunk):
            for part in chunk.parts(refused):
                yield from _in_part(stream, part, chunk.timestamp_ms, wanted)


def _chunks(options: "StreamOptions", stream: str, ends: Ends, wanted: Wanted) -> "Iterator[Chunk]":
    """Yield the chunks of the time that is searched; a broker that has gone is waited for."""
    patience = Patience(options.reconnect_timeout_s)
    start: int | None = None
    while start is None or start < ends.next:
        try:
            with link_to(options, stream) as link:
                if start is None:
                    start = link.resolve(stream, since(wanted.since_ms)) if wanted.since_ms else ends.first
                with link.subscribe(stream, at(start)) as subscription:
                    for chunk in subscription.until(start, ends.next, options.poll_timeout_s):
                        patience.restore()
                        if wanted.until_ms is not None and chunk.timestamp_ms >= wanted.until_ms:
                            return
                        start = chunk.next
                        yield chunk
        except (ClientError, OSError) as error:
            patience.bear(error)


def _in_part(stream: str, part: "Part", timestamp_ms: int, wanted: Wanted) -> Iterator[dict[str, Any]]:
    bodies, groups = contents_of(part.messages)
    offset = part.first
    for front, alike in groups:
        read, key = _read(front), key_of(front.origin, stream)
        for body in bodies[offset - part.first : offset - part.first + alike]:
            if wanted.matches(body, key, *read):
                place = {"stream": stream, "offset": offset, "time": _time(timestamp_ms)}
                yield place | _message(front, key, body, *read)
            offset += 1


def _time(timestamp_ms: int) -> str:
    return datetime.fromtimestamp(timestamp_ms / 1_000, UTC).isoformat(timespec="milliseconds")


def _read(front: "Front") -> tuple[Properties, dict[str, str]]:
    """Return properties and headers, none of those that make no sense."""
    try:
        properties = decode_properties(front.properties)
    except AmqpError:
        properties = Properties()
    (pairs,) = header_maps([front.properties])
    return properties, {name: value or "" for name, value in pairs or []}


def _message(front: "Front", key: str, body: bytes, properties: Properties, headers: dict[str, str]) -> dict[str, Any]:
    try:
        payload, encoding = body.decode(), "string"
    except UnicodeDecodeError:
        payload, encoding = base64.b64encode(body).decode(), "base64"
    return {
        "exchange": front.origin.exchange or "",
        "routing_key": key,
        "properties": {name: value for name in _SHOWN if (value := getattr(properties, name)) is not None},
        "headers": headers,
        "payload": payload,
        "payload_encoding": encoding,
    }


def _line(message: dict[str, Any]) -> str:
    """Return a message as people see it: control characters would change their terminals."""
    payload = "".join(each if each.isprintable() else " " for each in message["payload"][:SHOWN_CHARACTERS])
    ids = " ".join(f"{name}={message['properties'][name]}" for name in _ID_FIELDS if name in message["properties"])
    headers = " ".join(f"{name}={value}" for name, value in message["headers"].items())
    place = f"{message['stream']} {message['offset']} {message['time']}"
    route = f"exchange={message['exchange'] or '(default)'} key={message['routing_key']}"
    shown = " ".join(each for each in (place, route, ids, headers) if each)
    return "".join(each if each.isprintable() else " " for each in shown) + f": {payload}"
