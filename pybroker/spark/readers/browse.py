"""Batch read of a queue: looks at what is in it and takes nothing away.

Messages are consumed, not acknowledged, and go back when the connection closes: into their places, flagged redelivered.
While it lasts no other consumer gets them. Each action of Spark reads anew.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from pybroker.errors import PreconditionFailed
from pybroker.spark.garbage import spare_imports
from pybroker.spark.options import SourceOptions
from pybroker.spark.parse.columns import Assembler
from pybroker.spark.values import OptionError

# From the refusal of a consumer without prefetch, as a queue has and a stream has not (pybroker, RabbitMQ).
_OF_STREAMS: Final = "prefetch count is not set"


class QueueReader(DataSourceReader):
    """One task: a queue is in order, and there is one of it."""

    def __init__(self, schema: StructType, options: SourceOptions) -> None:
        self._schema = schema
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        """Return the one task."""
        return [InputPartition(0)]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - there is one only
        """Yield the messages that wait now.

        Raises OptionError for a stream; AmqpError, e.g. NotFound (404); ClientError, OSError.
        """
        # Only the process that reads needs it: others that Spark starts are spared a tenth of a second of imports.
        from pybroker.spark.session import Session  # noqa: PLC0415

        assemble = Assembler(self._schema, self._options, self._options.queue).assemble
        queue = self._options.queue
        with contextlib.closing(Session(self._options.client)) as session:
            count = session.messages_ready(queue)
            # no prefetch: nothing is acknowledged, so it would end the browsing
            try:
                for batch in session.consume(queue, count, self._options.max_wait_s, prefetch=0):
                    yield assemble(batch)
            except PreconditionFailed as error:
                if _OF_STREAMS in error.text:
                    raise OptionError("queue", f"is {queue!r}, a stream: read it with the option stream") from error
                raise
        spare_imports()
