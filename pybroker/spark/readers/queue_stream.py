"""Streaming read of a queue: drain, spool, acknowledge; then Spark reads the spool, as often as it likes.

An offset is {"segment": N, "queue": ..., "virtual_host": ..., "spool": ID}: all segments up to N, of this queue and
this spool. It stands in checkpoints, so its form is kept. Older ones have a segment alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from pybroker.client.errors import AmqpError, ClientError
from pybroker.spark.garbage import spare_imports
from pybroker.spark.options import SourceOptions
from pybroker.spark.parse.columns import Assembler
from pybroker.spark.readers.spool import Spool, SpoolError, describe, read_segment

if TYPE_CHECKING:
    from pybroker.spark.readers.drain import Drain

# The most that a task reads, unless one segment is more: a task of its own costs as much as thousands of messages.
TASK_OCTETS = 64 << 20
TASK_SEGMENTS = 4
# A query that was killed may leave its drainer behind until it notices.
_LOCK_WAIT_S = 15.0


@dataclass
class SegmentPartition(InputPartition):
    """Segments for one task."""

    paths: tuple[str, ...]


class QueueStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Called by Spark in one process of the driver for offsets, in others for reading. So nothing is opened early."""

    def __init__(self, schema: StructType, options: SourceOptions) -> None:
        self._schema = schema
        self._options = options
        self._source = {"queue": options.queue, "virtual_host": options.client.virtual_host}
        self._spool = Spool(options.spool_location, self._source)
        self._draining: Drain | None = None
        # With a bound, how many messages may still be taken; None until the broker could tell.
        self._is_bounded = False
        self._left: int | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel without what is open."""
        return type(self), (self._schema, self._options)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - the name is Spark's
        """Return the offset before the first segment: one may be left of a query that was killed before a batch."""
        numbers = self._open().numbers()
        return self._offset(numbers[0] - 1 if numbers else 0)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Return the offset up to which there is something, after draining the queue if there was nothing.

        Raises SpoolError if the checkpoint is another queue's or another spool's; AmqpError, ClientError, OSError.
        """
        spool = self._open()
        done = self._segment(start)
        limit_rows = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        left_over = [number for number in spool.numbers() if number > done]
        if left_over:
            return self._offset(self._up_to(left_over, limit_rows))
        wait_s = self._options.max_wait_s
        if self._is_bounded:
            if self._left is None:
                self._left = self._drain.count()
            wait_s = 0.0
            limit_rows = self._left if limit_rows is None else min(limit_rows, self._left)
            if not limit_rows:
                return start
        taken = self._drain.run(done + 1, limit_rows, wait_s)
        if self._left is not None:
            self._left = self._left - taken if taken else 0
        return self._offset(spool.numbers()[-1]) if taken else start

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return what maxMessagesPerTrigger says."""
        most = self._options.max_messages_per_trigger
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Note how many messages wait: later ones belong to another run, however fast they come.

        If the broker is away, a query that is run again first reads what its spool has. Raises as `latestOffset`.
        """
        self._open()
        self._is_bounded = True
        try:
            self._left = self._drain.poll()
        except (AmqpError, ClientError, OSError) as error:
            if not self._drain.may_pass(error):
                raise
            self._drain.close()

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return how far the spool is, and the figures of a progress report (man/pybroker-spark.7, MONITORING)."""
        spool = self._spool
        numbers = spool.numbers()
        return {
            "segment": numbers[-1] if numbers else 0,
            "messages_ready": self._drain.messages_ready,
            "spool_segments": len(numbers),
            "spool_octets": sum(map(spool.octets, numbers)),
            "redelivered": spool.redelivered,
        }

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the tasks: the same ones for the same segments, so that a sink's message ids stay."""
        self._open()
        tasks: list[list[str]] = []
        octets = 0
        for number in range(self._segment(start) + 1, self._segment(end) + 1):
            size = self._spool.octets(number)
            if not tasks or octets + size > TASK_OCTETS or len(tasks[-1]) == TASK_SEGMENTS:
                tasks.append([])
                octets = 0
            tasks[-1].append(str(self._spool.path(number)))
            octets += size
        return [SegmentPartition(tuple(paths)) for paths in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the messages of a task's segments. Raises SpoolError."""
        assert isinstance(partition, SegmentPartition)
        assemble = Assembler(self._schema, self._options, self._options.queue).assemble
        for path in partition.paths:
            yield from map(assemble, read_segment(path))
        spare_imports()

    def commit(self, end: dict[str, Any]) -> None:
        """Remove what the sink has."""
        spool = self._open()
        spool.remove(self._segment(end))

    def stop(self) -> None:
        """Let go of the broker and of the spool."""
        if self._draining is not None:
            self._draining.close()
        self._spool.close()

    def _open(self) -> Spool:
        self._spool.open(_LOCK_WAIT_S)
        return self._spool

    @property
    def _drain(self) -> "Drain":
        if self._draining is None:
            # Of all processes that Spark starts one drains: the others are spared a tenth of a second of imports.
            from pybroker.spark.readers.drain import Drain  # noqa: PLC0415

            self._draining = Drain(self._options, self._spool)
        return self._draining

    def _offset(self, segment: int) -> dict[str, Any]:
        """Return an offset, as it stands in checkpoints from now on."""
        return {"segment": segment, **self._source} | ({"spool": self._spool.id} if self._spool.id else {})

    def _segment(self, offset: dict[str, Any]) -> int:
        """Return an offset's segment. Raises SpoolError if it is of another queue, or another spool."""
        of = {name: offset.get(name, value) for name, value in self._source.items()}
        if of != self._source:
            text = f"the checkpoint is of {describe(of)}, the query reads {describe(self._source)}"
            raise SpoolError(f"{text}: each query needs its own checkpointLocation")
        self._spool.belong_to(offset.get("spool", ""))
        return int(offset["segment"])

    def _up_to(self, numbers: list[int], limit: int | None) -> int:
        """Return the last of these segments that the limit lets in; the first one always."""
        last = numbers[0]
        if limit is None:
            return numbers[-1]
        rows = self._spool.rows(last)
        for number in numbers[1:]:
            rows += self._spool.rows(number)
            if rows > limit:
                break
            last = number
        return last
