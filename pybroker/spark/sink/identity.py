"""Identity of a task's rows: by what a broker knows them when the task is run again."""

from typing import Any, Final, NamedTuple

from pyspark import TaskContext

from pybroker.client.errors import ClientError
from pybroker.spark.options import ROWS, SinkOptions

# Publishers that a stream remembers.
PUBLISHERS_MAX: Final = 4_096
PUBLISHERS_MAX_RABBITMQ: Final = 255


class TooManyPartitionsError(ClientError):
    """A query has more partitions than a stream remembers publishers: a batch that is run again would be doubled."""


class Identity(NamedTuple):
    """A query, the number of a batch, and a partition of it: all of them the same in each run of a task."""

    query: str
    batch: int
    partition: int

    def publisher(self, options: SinkOptions) -> str:
        """Return the name of the task's publisher: one for each way to count, since a broker has one number of each."""
        kind = "spark" if options.exactly_once == ROWS else "spark-task"
        return f"{kind}:{self.query}:{self.partition}"


def check_partition(partition: int, publishers_max: int) -> None:
    """Raise TooManyPartitionsError if a stream would forget a publisher while others of its query publish."""
    if partition >= publishers_max:
        text = f"a stream of this broker remembers {publishers_max} publishers, and exactlyOnce has one a partition"
        raise TooManyPartitionsError(f"{text}: have no more partitions than that, by coalesce({publishers_max})")


def of_task(query_id: str) -> Identity:
    """Return a streaming query's identity, else one of the query that is given."""
    task: Any = TaskContext.get()
    if task is None:
        return Identity(query_id, 0, 0)
    batch = task.getLocalProperty("streaming.sql.batchId")
    query = task.getLocalProperty("sql.streaming.queryId")
    return Identity(query or query_id, int(batch or 0), task.partitionId())


def of_batch(task: Identity, query_id: str, options: SinkOptions) -> Identity:
    """Return the identity of a batch query's task: what the user named, or one that no other write has."""
    return Identity(options.publisher_name or query_id, options.publisher_sequence, task.partition)
