"""Places in a stream as operators type them: an offset, a name, a time, or a time before now."""

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pybroker.control.arguments.lookup import missing
from pybroker.control.arguments.nearest import nearest
from pybroker.control.spec import EX_DATAERR, EX_TEMPFAIL, BadArguments, Node, Progress, Refused
from pybroker.offset_spec import OffsetSpec
from pybroker.text.duration import milliseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from pybroker.core.stream.stream import Stream
    from pybroker.core.stream.tracking import Tracking
    from pybroker.core.topology.vhost import VHost

FIRST: Final = "first"
LAST: Final = "last"
NEXT: Final = "next"
NAMES: Final = (FIRST, LAST, NEXT)
# An offset is a number of 64 bits.
OFFSET_MAX: Final = (1 << 63) - 1
AGE_MS_MAX: Final = 3_153_600_000_000
# Told while the disk works.
WAITING: Final = Progress(0, 1)
# Between two looks whether the disk has answered.
PAUSE_S: Final = 0.001
_NUMBER: Final = re.compile(r"-?[0-9]{1,19}")
EXPECTED: Final = "OFFSET, a time such as 2026-05-01T12:00, or a time ago such as 1h"


T = TypeVar("T")


def parse_place(text: str, option: str, names: tuple[str, ...] = ()) -> OffsetSpec:
    """Return the place that a text means. Raises BadArguments; a number below 0 needs names, too."""
    if text in names:
        return OffsetSpec(text)
    if _NUMBER.fullmatch(text) and abs(int(text)) <= OFFSET_MAX and (names or text[0] != "-"):
        return OffsetSpec(offset=int(text))
    age_ms = milliseconds(text)
    if age_ms is not None and age_ms <= AGE_MS_MAX:
        return OffsetSpec(age_ms=age_ms)
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        expected = ", ".join([*names, *["-N"] * bool(names), EXPECTED])
        raise BadArguments(f"Bad argument: {option}: expected {expected}, not '{text}'", EX_DATAERR) from None
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when
    return OffsetSpec(timestamp_ms=int(when.timestamp() * 1_000))


def find_stream(vhost: "VHost", name: str) -> "Stream":
    """Return the stream. Raises Refused: there is no such stream, or it is a queue of another type."""
    queue: Any = vhost.queues.get(name)
    if queue is None:
        hint = nearest(name, (each.name for each in vhost.queues.values() if each.type == "stream"))
        raise Refused(f"stream '{name}' was not found in virtual host '{vhost.name}'{hint}", facts=missing("queue"))
    if queue.type != "stream":
        raise Refused(f"queue '{name}' in virtual host '{vhost.name}' is of type {queue.type}, not a stream")
    stream: Stream = queue
    return stream


def offset_of(node: Node, stream: "Stream", place: OffsetSpec, waiting: "T") -> "Generator[T, None, int]":
    """Return the offset of a place; times are looked up on disk, as `answered` does. Raises Refused: the disk fails."""
    return (yield from answered(node, stream, lambda done: stream.locate(place, done), waiting))


def check_offset(stream: "Stream", offset: int, most: int) -> None:
    """Refuse an offset above the last one that is meant. Raises Refused."""
    if offset > most:
        last = f"its next message has offset {stream.next_offset}"
        raise Refused(f"stream '{stream.name}' has no offset {offset}: {last}")


def tracked(node: Node, stream: "Stream", waiting: "T") -> "Generator[T, None, Tracking]":
    """Return a stream's tracking, once it is read back after a start. Raises Refused: the stream is deleted."""
    yield from answered(node, stream, lambda done: stream.tracking.when_ready(lambda: done(0)), waiting)
    return stream.tracking


def answered(
    node: Node, stream: "Stream", ask: "Callable[[Callable[[Any], None]], None]", waiting: "T"
) -> "Generator[T, None, int]":
    """Ask a stream's files for an offset and return it; yield `waiting` until then. Raises Refused: the disk fails."""
    found: list[int | BaseException] = []
    ask(found.append)
    while not found and not stream.deleted:
        node.pause(PAUSE_S)
        yield waiting
    if stream.deleted:
        raise Refused(f"stream '{stream.name}' was deleted")
    answer = found[0]
    if isinstance(answer, BaseException):
        raise Refused(f"the disk fails for stream '{stream.name}': {answer}", EX_TEMPFAIL)
    return answer
