"""Writing to exchanges: each row a message, published with confirms; a task is done when the broker has all its rows.

At least once: a task that fails is run again and publishes its first rows again, under the same message ids as long as
its rows come in the same order. The ids are <queryId>-<batchId>-<partition>-<n>, so consumers can tell.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from pybroker.spark.options import SinkOptions
from pybroker.spark.sink.publisher import Publisher
from pybroker.spark.sink.rows import check_columns, messages


@dataclass
class Published(WriterCommitMessage):
    """How many messages a task published."""

    count: int


class _Writer:
    """The part that batch and streaming queries share."""

    def __init__(self, schema: StructType, options: SinkOptions) -> None:
        check_columns(schema, options)
        self._options = options
        # Made on the driver and sent to all tasks, so a task that is run again has it too.
        self._query_id = uuid.uuid4().hex

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Publish a partition; return when the broker has confirmed it all.

        Raises MessageReturned (with exchange and routing key), PublishNacked, PublisherBlocked, ConfirmTimeout;
        AmqpError, e.g. NotFound (404) for the exchange; ClientError, OSError; RowError.
        """
        prefix = self._prefix()
        number = 0
        with Publisher(self._options) as publisher:
            for batch in iterator:
                publisher.publish(messages(batch, self._options, prefix, number))
                number += len(batch)
            publisher.settle()
        return Published(number)

    def _prefix(self) -> str:
        """Return what this task's message ids begin with."""
        task: Any = TaskContext.get()
        partition = task.partitionId() if task is not None else 0
        batch = query = None
        if task is not None:
            batch = task.getLocalProperty("streaming.sql.batchId")
            query = task.getLocalProperty("sql.streaming.queryId")
        return f"{self._options.message_id_prefix}{query or self._query_id}-{batch or 0}-{partition}-"


class BatchWriter(_Writer, DataSourceArrowWriter):
    """A batch query's."""

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Do nothing: the tasks have published already."""

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Do nothing: published messages cannot be taken back."""


class StreamWriter(_Writer, DataSourceStreamArrowWriter):
    """A streaming query's."""

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Do nothing: the tasks have published already."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Do nothing: published messages cannot be taken back."""
