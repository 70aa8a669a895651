"""`format("pybroker")`: Spark's entry point. Which of the readers and writers does the work is decided here.

Spark starts several Python processes for a query, and each imports this. So only the one that is chosen is imported.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from pybroker.spark.options import (
    asks_for_sink,
    asks_for_streaming,
    asks_for_streams,
    sink_options,
    source_options,
    stream_source_options,
)
from pybroker.spark.parse.columns import check_projection, full_schema, stream_schema
from pybroker.spark.sql_table import options_in, table_options, with_options
from pybroker.spark.travel import travelling
from pybroker.spark.values import OptionError

if TYPE_CHECKING:
    from pybroker.spark.readers.browse import QueueReader
    from pybroker.spark.readers.queue_stream import QueueStreamReader
    from pybroker.spark.sink.sink import BatchWriter, StreamWriter
    from pybroker.spark.stream_source.batch import StreamBatchReader
    from pybroker.spark.stream_source.follow import StreamStreamReader


class PybrokerSource(DataSource):
    """Queues of an AMQP 0-9-1 broker as tables, and exchanges as sinks: pybroker's, RabbitMQ's and others'.

    Look into a queue (its messages stay there, flagged redelivered afterwards):

        spark.read.format("pybroker").option("uriFile", "/etc/broker.uri").option("queue", "orders").load()

    Move a queue into Parquet, each message once, whatever is killed in between (man/pybroker-spark.7, GUARANTEES):

        (spark.readStream.format("pybroker")
            .option("uri", "amqp://localhost").option("queue", "orders")
            .option("spoolLocation", "/data/spool/orders")
            .load()
            .writeStream.format("parquet").option("checkpointLocation", "/data/checkpoint/orders")
            .trigger(availableNow=True).start("/data/orders"))

    Publish rows with confirms, failing if one of them is routed nowhere:

        (df.selectExpr("to_json(struct(*)) AS value", "concat('order.', region) AS routing_key")
            .write.format("pybroker").option("exchange", "orders").mode("append").save())

    Options and columns are those of man/pybroker-spark.7; a wrong one is refused by a sentence that names it.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "pybroker"

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel with the place where pybroker is."""
        return travelling(self.options)

    def schema(self) -> StructType:
        """Return all columns that the options give. Raises OptionError."""
        for_table = table_options(self.options)
        given = dict(self.options) if for_table is None else for_table
        if for_table is not None and asks_for_sink(given):
            from pybroker.spark.sink.rows import sink_schema  # noqa: PLC0415 - see above

            schema = sink_schema(sink_options(given))
        else:
            streaming = asks_for_streaming(given)
            if asks_for_streams(given):
                schema = stream_schema(stream_source_options(given, streaming=streaming))
            else:
                schema = full_schema(source_options(given, streaming=streaming))
        return schema if for_table is None else with_options(schema, given)

    def reader(self, schema: StructType) -> "QueueReader | StreamBatchReader":
        """Return what browses the queue, or reads streams. Raises OptionError."""
        given = self._given(schema, sink=False)
        if asks_for_streams(given):
            of_streams = stream_source_options(given, streaming=False)
            from pybroker.spark.stream_source.batch import StreamBatchReader  # noqa: PLC0415 - see above

            return StreamBatchReader(check_projection(schema, stream_schema(of_streams)), of_streams)
        from pybroker.spark.readers.browse import QueueReader  # noqa: PLC0415 - see above

        options = source_options(given, streaming=False)
        return QueueReader(check_projection(schema, full_schema(options)), options)

    def streamReader(self, schema: StructType) -> "QueueStreamReader | StreamStreamReader":  # noqa: N802 - Spark's name
        """Return what drains the queue, or follows streams. Raises OptionError."""
        given = self._given(schema, sink=False)
        if asks_for_streams(given):
            of_streams = stream_source_options(given, streaming=True)
            from pybroker.spark.stream_source.follow import StreamStreamReader  # noqa: PLC0415 - see above

            return StreamStreamReader(check_projection(schema, stream_schema(of_streams)), of_streams)
        from pybroker.spark.readers.queue_stream import QueueStreamReader  # noqa: PLC0415 - see above

        options = source_options(given, streaming=True)
        return QueueStreamReader(check_projection(schema, full_schema(options)), options)

    def writer(self, schema: StructType, overwrite: bool) -> "BatchWriter":
        """Return what publishes a batch query's rows. Raises OptionError."""
        if overwrite:
            raise OptionError("mode", 'must be "append": published messages cannot be overwritten')
        from pybroker.spark.sink.sink import BatchWriter  # noqa: PLC0415 - see above

        return BatchWriter(schema, sink_options(self._given(schema, sink=True)))

    def streamWriter(self, schema: StructType, overwrite: bool) -> "StreamWriter":  # noqa: N802
        """Return what publishes a streaming query's rows. Raises OptionError."""
        if overwrite:
            text = 'must be "append": published messages cannot be overwritten'
            raise OptionError("outputMode", f"{text}. An aggregation needs a watermark, or foreachBatch")
        from pybroker.spark.sink.sink import StreamWriter  # noqa: PLC0415 - see above

        return StreamWriter(schema, sink_options(self._given(schema, sink=True)))

    def _given(self, schema: StructType, *, sink: bool) -> Mapping[str, str]:
        """Return the options: the statement's, and those of the table that it reads or writes. Raises OptionError."""
        given = {name.lower(): value for name, value in self.options.items()}
        of_table = {name.lower(): value for name, value in options_in(schema).items()}
        # A column may come from a table that this query has nothing else to do with.
        if asks_for_sink(of_table) == sink and "queue" not in given and not asks_for_streams(given):
            given = of_table | given
        if not given:
            text = "is required. A table keeps its options only if CREATE TABLE names neither columns nor AS"
            raise OptionError("queue or exchange", f"{text}: else name them in each statement by WITH (...)")
        return given
