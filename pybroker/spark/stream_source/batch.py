"""Batch read of streams: all messages between two positions, as they are when the query begins."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from pybroker.client.errors import CallTimeout
from pybroker.spark.garbage import spare_imports
from pybroker.spark.stream_source.offset import ADVICE, DataLossError
from pybroker.spark.stream_source.options import StreamOptions
from pybroker.spark.stream_source.positions import EARLIEST, LATEST, Position, check_names, resolve
from pybroker.spark.stream_source.ranges import Range, split
from pybroker.spark.stream_source.streams import Streams

if TYPE_CHECKING:
    import pyarrow as pa

_START = Position(EARLIEST, {}, is_time=False)
_STOP = Position(LATEST, {}, is_time=False)


@dataclass
class RangePartition(InputPartition):
    """A range for one task; None: there is nothing to read."""

    range: Range | None


class StreamBatchReader(DataSourceReader):
    """Called by Spark on the driver for `partitions`, and in its workers for `read`."""

    def __init__(self, schema: StructType, options: StreamOptions) -> None:
        self._schema = schema
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        """Return the tasks. Raises OptionError, DataLossError, StreamError, ClientError, OSError."""
        options = self._options
        streams = Streams(options)
        try:
            ends = streams.ends()
            for position in (options.starting, options.ending):
                check_names(position, ends)
            found = []
            for stream, there in ends.items():
                strict = not options.strategy_is_latest
                start = resolve(options.starting or _START, stream, streams.link, there, late_is_error=strict)
                stop = resolve(options.ending or _STOP, stream, streams.link, there)
                found.append(Range(stream, there.id, streams.number(stream), start, stop))
        finally:
            streams.close()
        return [RangePartition(each) for each in split(found, options.min_partitions)] or [RangePartition(None)]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """Yield the messages of a task. Raises as `read_task`."""
        return read_task(self._schema, self._options, partition)


def read_task(schema: StructType, options: StreamOptions, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
    """Yield the messages of a task. Raises as `read_range`, with advice where messages are lost."""
    assert isinstance(partition, RangePartition)
    if partition.range is None:
        return
    # Other processes that Spark starts are spared these imports.
    from pybroker.spark.stream.sub_batch import CannotOpenError  # noqa: PLC0415
    from pybroker.spark.stream_source.reading import read_range  # noqa: PLC0415

    try:
        yield from read_range(schema, options, partition.range)
    except (DataLossError, CannotOpenError) as error:
        raise type(error)(f"{error}; {ADVICE}") from error
    except CallTimeout as error:
        raise CallTimeout(f"{error} (pollTimeoutMs)") from error
    spare_imports()
