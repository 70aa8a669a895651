"""Writing to exchanges and streams: each row a message; a task is done when the broker has confirmed all its rows.

At least once: a task that fails is run again and publishes its first rows again, under the same message ids as long as
its rows come in the same order. The ids are <queryId>-<batchId>-<partition>-<n>, so consumers can tell. Into streams
exactly once, by `row_publisher` or `task_publisher`.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from pybroker.spark.garbage import spare_imports
from pybroker.spark.options import OFF, ROWS, SinkOptions
from pybroker.spark.sink.identity import PUBLISHERS_MAX, Identity, check_partition, of_batch, of_task
from pybroker.spark.sink.publisher import Publisher
from pybroker.spark.sink.row_publisher import RowPublisher
from pybroker.spark.sink.rows import check_columns, messages
from pybroker.spark.sink.task_publisher import TaskPublisher
from pybroker.spark.values import OptionError


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
        TooManyPartitionsError; AmqpError, e.g. NotFound (404) for the exchange; ClientError, OSError; RowError.
        """
        task = of_task(self._query_id)
        identity = self._identity(task)
        # A name that the user gave is the same when the batch is written again, and so are the ids.
        named = identity if self._options.publisher_name else task
        prefix = f"{self._options.message_id_prefix}{named.query}-{named.batch}-{named.partition}-"
        number = 0
        with self._publisher(identity) as publisher:
            for batch in iterator:
                publisher.publish(messages(batch, self._options, prefix, number))
                number += len(batch)
            publisher.settle()
        spare_imports()
        return Published(number)

    def _publisher(self, identity: Identity) -> Publisher | RowPublisher | TaskPublisher:
        options = self._options
        if options.exactly_once == OFF:
            return Publisher(options)
        check_partition(identity.partition, PUBLISHERS_MAX)
        name = identity.publisher(options)
        if options.exactly_once == ROWS:
            return RowPublisher(options, name, identity.batch, identity.partition)
        return TaskPublisher(options, name, identity.batch)

    def _identity(self, task: Identity) -> Identity:
        """Return by what the broker knows the rows of a task again."""
        raise NotImplementedError


class BatchWriter(_Writer, DataSourceArrowWriter):
    """A batch query's."""

    def _identity(self, task: Identity) -> Identity:
        return of_batch(task, self._query_id, self._options)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Do nothing: the tasks have published already."""

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Do nothing: published messages cannot be taken back."""


class StreamWriter(_Writer, DataSourceStreamArrowWriter):
    """A streaming query's."""

    def __init__(self, schema: StructType, options: SinkOptions) -> None:
        if options.publisher_name:
            raise OptionError("publisherName", "is for batch writes: a streaming query has a name of its own")
        super().__init__(schema, options)

    def _identity(self, task: Identity) -> Identity:
        return task

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Do nothing: the tasks have published already."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Do nothing: published messages cannot be taken back."""
