"""Reading of a range, in a worker of Spark's: subscribe, take chunks until the range ends.

A worker serves task after task: its connections are kept for a while, since a login costs a slow hash.
"""

import logging
import pickle
import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from pybroker.client.errors import ClientError
from pybroker.spark.stream.errors import StreamError
from pybroker.spark.stream.link import CREDIT, Link
from pybroker.spark.stream.places import at
from pybroker.spark.stream.sub_batch import CannotOpenError
from pybroker.spark.stream_source.offset import DataLossError
from pybroker.spark.stream_source.patience import Patience
from pybroker.spark.stream_source.ranges import Range
from pybroker.spark.stream_source.rows import Rows
from pybroker.spark.stream_source.streams import link_to
from pybroker.wire.stream.codes import UNTIL, Code

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from pybroker.spark.stream_source.options import StreamOptions

# Below the time after which a broker closes a connection that sends nothing.
KEPT_S: Final = 30.0
KEPT_MAX: Final = 8

_log = logging.getLogger("pybroker.spark")
_kept: dict[tuple[bytes, str], tuple[Link, float]] = {}


def read_range(schema: "StructType", options: "StreamOptions", given: Range) -> Iterator[pa.RecordBatch]:
    """Yield the messages of a range.

    Raises, unless the options allow it, DataLossError if some are gone, and CannotOpenError; CallTimeout if the next
    ones do not come within pollTimeoutMs; UnknownFilterValueError; ClientError, OSError if the broker is away for
    reconnectTimeoutMs.
    """
    rows = Rows(schema, options, given)
    patience = Patience(options.reconnect_timeout_s)
    while rows.next < given.stop:
        try:
            yield from _read(options, given, rows, patience)
        except (ClientError, OSError) as error:
            patience.bear(error)
    yield from rows.batches()


def _read(options: "StreamOptions", given: Range, rows: Rows, patience: Patience) -> Iterator[pa.RecordBatch]:
    """Yield messages by one connection, up to the end of the range: else it raises, and may be called again."""
    link, key = _link(options, given.stream)
    if link is None:
        rows.next = given.stop
        return
    is_whole = False
    try:
        # A chunk may begin before the range, or before the stream does.
        rows.next = _begin(link, options, given._replace(start=rows.next))
        if rows.next < given.stop:
            yield from _read_chunks(link, options, given, rows, patience)
        is_whole = True
    finally:
        if is_whole:
            _keep(link, key)
        else:
            link.close()


def _read_chunks(
    link: Link, options: "StreamOptions", given: Range, rows: Rows, patience: Patience
) -> Iterator[pa.RecordBatch]:
    properties = {}
    if link.tells_passed:
        properties = {UNTIL: str(given.stop)} | ({} if options.filter is None else options.filter.properties)
    with link.subscribe(given.stream, at(rows.next), CREDIT, **properties) as subscription:
        for chunk in subscription.until(rows.next, given.stop, options.poll_timeout_s):
            patience.restore()
            if chunk.first > rows.next:
                _pass_over(link, options, given, rows.next, chunk.first)
            for part in chunk.parts(partial(_refuse, options)):
                rows.add(part, chunk.timestamp_ms)
                if rows.is_full:
                    yield from rows.batches()
            rows.next = chunk.next


def _refuse(options: "StreamOptions", error: CannotOpenError) -> None:
    """Judge that a sub-batch cannot be opened: no later attempt will either. Raises CannotOpenError."""
    if options.fail_on_data_loss:
        raise error
    _log.warning("%s; failOnDataLoss=false: the query goes on", error)


def _begin(link: Link, options: "StreamOptions", given: Range) -> int:
    """Return the offset to begin with, `given.stop` if there is nothing any more. Raises DataLossError."""
    ends = link.ends(given.stream)
    if ends.id != given.id:
        _lose(options, f"stream {given.stream!r} was deleted and made anew before it was read")
        return given.stop
    if ends.first > given.start:
        _lose(options, lost(given.stream, given.start, min(ends.first, given.stop)))
    return max(given.start, min(ends.first, given.stop))


def _lose(options: "StreamOptions", text: str) -> None:
    """Tell of messages that are gone. Raises DataLossError."""
    if options.fail_on_data_loss:
        raise DataLossError(text)
    _log.warning("%s; failOnDataLoss=false: the query goes on", text)


def _pass_over(link: Link, options: "StreamOptions", given: Range, expected: int, first: int) -> None:
    """Judge that messages `expected .. first - 1` are not there. RabbitMQ takes offsets for itself: theirs never were.

    Raises DataLossError.
    """
    if expected < given.stop and (given.id or link.ends(given.stream).first > expected):
        _lose(options, lost(given.stream, expected, min(first, given.stop)))


def lost(stream: str, first: int, stop: int) -> str:
    """Return a sentence about messages that are gone."""
    return f"stream {stream!r} lost messages {first} to {stop - 1} before they were read, by retention or damage"


def _link(options: "StreamOptions", stream: str) -> tuple[Link | None, tuple[bytes, str]]:
    """Return a connection, None if the stream is not there any more, which is allowed."""
    key = pickle.dumps(options.client), stream
    found = _kept.pop(key, None)
    if found is not None:
        link, since = found
        if time.monotonic() - since < KEPT_S:
            try:
                link.place(stream)
            except (ClientError, OSError):
                link.close()
            else:
                return link, key
        else:
            link.close()
    try:
        return link_to(options, stream), key
    except StreamError as error:
        if error.code == Code.STREAM_DOES_NOT_EXIST:
            _lose(options, f"stream {stream!r} was deleted before it was read")
            return None, key
        raise


def _keep(link: Link, key: tuple[bytes, str]) -> None:
    before = _kept.pop(key, None)
    if before is not None:
        before[0].close()
    while len(_kept) >= KEPT_MAX:
        _kept.pop(next(iter(_kept)))[0].close()
    _kept[key] = link, time.monotonic()
