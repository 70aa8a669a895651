"""Streaming read of streams: offsets stand in the checkpoint, which alone counts; a replay reads the same messages."""

import contextlib
import logging
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from pybroker.client.errors import ClientError
from pybroker.spark.stream.places import Ends
from pybroker.spark.stream_source.batch import RangePartition, read_task
from pybroker.spark.stream_source.offset import ADVICE, At, DataLossError, decode, encode
from pybroker.spark.stream_source.options import StreamOptions
from pybroker.spark.stream_source.positions import LATEST, Position, check_names, resolve
from pybroker.spark.stream_source.ranges import Range, share, split
from pybroker.spark.stream_source.streams import Streams

if TYPE_CHECKING:
    import pyarrow as pa

# The least time between two looks at streams without news.
LOOK_S: Final = 0.1

_log = logging.getLogger("pybroker.spark")
_START = Position(LATEST, {}, is_time=False)


class StreamStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Called by Spark in one process of the driver for offsets, in others for reading. So nothing is opened early."""

    def __init__(self, schema: StructType, options: StreamOptions) -> None:
        self._schema = schema
        self._options = options
        self._streams = Streams(options)
        self._frozen: dict[str, Ends] | None = None
        self._found: dict[str, Ends] | None = None
        self._next_look = 0.0
        self._is_idle = False
        self._triggered = time.monotonic()
        self._turn = 0
        self._reached: dict[str, int] = {}  # the last batch ends in front of these offsets

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel without what is open."""
        return type(self), (self._schema, self._options)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - the name is Spark's
        """Return where a new query begins. Raises OptionError, StreamError, ClientError, OSError."""
        options = self._options
        # Spark prepares for availableNow before it asks for this.
        ends = self._frozen if self._frozen is not None else self._look()
        check_names(options.starting, ends)
        places = {}
        for stream, there in ends.items():
            start = resolve(
                options.starting or _START,
                stream,
                self._streams.link,
                there,
                late_is_error=not options.strategy_is_latest,
            )
            places[stream] = At(there.id, start)
        return encode(places)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Return up to where the next batch goes, in proportion to what each stream has.

        Raises DataLossError, OffsetError, StreamError, ClientError, OSError.
        """
        places = decode(start)
        # A checkpoint has the offset of a broker that was there.
        ends = self._frozen if self._frozen is not None else self._look(is_known=True)
        begins = self._begins(places, ends)
        # One that is new gets its beginning into the checkpoint first: so a replay begins there, too.
        behind = {
            stream: max(0, ends[stream].next - place.next) if place == places.get(stream) else 0
            for stream, place in begins.items()
        }
        if begins == places and self._waits(sum(behind.values())):
            self._is_idle = True
            self._reached = {name: place.next for name, place in begins.items()}
            return start
        self._triggered = time.monotonic()
        if isinstance(limit, ReadMaxRows):
            behind = share(behind, limit.max_rows, self._turn)
            self._turn += 1
        self._reached = {name: place.next + behind[name] for name, place in begins.items()}
        return encode({name: At(place.id, place.next + behind[name]) for name, place in begins.items()})

    def _look(self, *, is_known: bool = False) -> dict[str, Ends]:
        """Return how far the streams go. While there is no news Spark asks for it a hundred times a second."""
        if self._is_idle:
            self._is_idle = False
            time.sleep(max(0.0, self._next_look - time.monotonic()))
        began = time.monotonic()
        self._found = self._streams.ends(is_known=is_known)
        now = time.monotonic()
        # Of a thousand streams it takes long, and the broker has other work.
        self._next_look = now + max(LOOK_S, now - began)
        return self._found

    def _waits(self, behind: int) -> bool:
        """Tell whether a batch would be too small, and is not yet late."""
        options = self._options
        if self._frozen is not None or behind >= options.min_offsets_per_trigger:
            return False
        return time.monotonic() - self._triggered < options.trigger_delay_max_s

    def _begins(self, places: dict[str, At], ends: dict[str, Ends]) -> dict[str, At]:
        """Return where each stream goes on: one that is new at its start. Raises DataLossError."""
        for stream in places:
            if stream not in ends:
                self._lose(f"stream {stream!r} is read no more: it was deleted, or left the super stream")
        return {stream: self._begin(stream, places.get(stream), there) for stream, there in ends.items()}

    def _begin(self, stream: str, place: At | None, there: Ends) -> At:
        if place is None:
            return At(there.id, there.first)
        if place.id != there.id or (place.next > there.next and not there.id):
            self._lose(f"stream {stream!r} was deleted and made anew: the messages of the old one are gone")
            return At(there.id, there.first)
        if place.next > there.next:
            self._lose(f"stream {stream!r} ends at {there.next} now: it lost messages up to {place.next - 1}")
            return At(there.id, there.next)
        if place.next < there.first:
            text = f"stream {stream!r} lost messages {place.next} to {there.first - 1} before they were read"
            self._lose(f"{text}, by its retention")
            return At(there.id, there.first)
        return place

    def _lose(self, text: str) -> None:
        if self._options.fail_on_data_loss:
            raise DataLossError(f"{text}; {ADVICE}")
        _log.warning("%s; failOnDataLoss=false: the query goes on", text)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return what maxOffsetsPerTrigger says."""
        most = self._options.max_offsets_per_trigger
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Note how far the streams go: later messages belong to another run. Raises as `latestOffset`."""
        self._frozen = self._look()

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return how far the streams go, and how many messages there are (man/pybroker-spark.7, MONITORING).

        Spark asks behind each `latestOffset`: it is what was found there.
        """
        ends = self._look() if self._found is None else self._found
        report = encode({stream: At(there.id, there.next) for stream, there in ends.items()})
        lag = sum(max(0, there.next - self._reached.get(stream, there.first)) for stream, there in ends.items())
        return report | {"messages": sum(there.next - there.first for there in ends.values()), "lag": lag}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the tasks of a batch: the same ones for the same offsets. Raises OffsetError."""
        places, stops = decode(start), decode(end)
        self._reached = {stream: stop.next for stream, stop in stops.items()}
        found = []
        for stream, stop in stops.items():
            begin = places.get(stream, stop)
            first = min(begin.next, stop.next) if begin.id == stop.id else stop.next
            found.append(Range(stream, stop.id, self._streams.number(stream), first, stop.next))
        tasks = [RangePartition(each) for each in split(found, self._options.min_partitions)]
        return tasks or [RangePartition(None)]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """Yield the messages of a task. Raises as `read_task`."""
        return read_task(self._schema, self._options, partition)

    def commit(self, end: dict[str, Any]) -> None:
        """Keep the offsets under the consumer's name, for people to see: the checkpoint alone counts."""
        if not self._options.consumer_name:
            return
        with contextlib.suppress(ClientError, OSError):  # the next commit tells the same
            for stream, place in decode(end).items():
                if place.next:
                    self._streams.store_offset(stream, place.next - 1)

    def stop(self) -> None:
        """Let go of the broker."""
        self._streams.close()
