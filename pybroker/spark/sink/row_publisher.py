"""Rows into streams by the stream protocol: each has an id, and the broker drops those that it has.

A row's id is its batch's number and its place among the task's rows for the same stream. So a task that is run again
sends what is missing, if its rows come in the same order, and the stream remembers the publishers of all partitions.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import groupby, islice
from operator import itemgetter
from types import TracebackType
from typing import Final, Self

from pybroker.entries_run import LENGTH_OCTETS
from pybroker.spark.options import SinkOptions
from pybroker.spark.sink.identity import PUBLISHERS_MAX_RABBITMQ, check_partition
from pybroker.spark.sink.rows import Row, RowError
from pybroker.spark.stream.link import Link, open_link
from pybroker.spark.stream.publisher import Publisher
from pybroker.wire.amqp10.to_message import entries_of_contents

# Messages that are handed to a link together.
_TOGETHER: Final = 1_000
# Ids of one batch begin at its number times this: a task has no more rows.
_BATCH_SHIFT: Final = 32
# Routing keys whose partition is remembered.
_KEYS_MAX: Final = 65_536


class RowPublisher:
    """Publishes rows; as a context manager it closes its links. All methods are one thread's."""

    def __init__(self, options: SinkOptions, publisher: str, batch: int, partition: int = 0) -> None:
        self._options = options
        self._partition = partition
        self._name = publisher
        self._first = (batch << _BATCH_SHIFT) + 1
        self._links: list[Link] = []
        self._closing = ExitStack()
        self._publishers: dict[str, Publisher] = {}
        self._next: dict[str, int] = {}
        self._partitions: dict[str, str] = {}

    def publish(self, rows: Iterable[Row]) -> None:
        """Publish messages that are not there.

        Raises TooManyPartitionsError, StreamError, RowError, CallTimeout, ConnectionLost, OSError.
        """
        rows = iter(rows)
        while some := list(islice(rows, _TOGETHER)):
            if self._options.stream:
                self._publish(self._options.stream, some)
                continue
            self._find_partitions({row.routing_key: None for row in some})
            streams: dict[str, list[Row]] = {}
            for row in some:
                streams.setdefault(self._partitions[row.routing_key], []).append(row)
            for stream, mine in streams.items():
                self._publish(stream, mine)

    def settle(self) -> None:
        """Wait until all are confirmed. Raises as `publish`."""
        for publisher in self._publishers.values():
            publisher.settle(self._options.settle_timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.close()

    def _publish(self, stream: str, rows: list[Row]) -> None:
        publisher = self._publishers.get(stream) or self._open(stream)
        first = self._next.get(stream, self._first)
        self._next[stream] = first + len(rows)
        there = max(0, publisher.last_id - first + 1)
        if there < len(rows):
            messages = [entry[LENGTH_OCTETS:] for entry in _entries(rows[there:])]
            publisher.publish(first + there, messages, self._options.settle_timeout_s)

    def _find_partitions(self, routing_keys: dict[str, None]) -> None:
        """Ask the broker for the partitions of routing keys that are new: its exchange may hash them, or compare."""
        if len(self._partitions) > _KEYS_MAX:
            self._partitions.clear()
        new = [key for key in routing_keys if key not in self._partitions]
        if not new:
            return
        for key, streams in zip(new, self._link().routes(new, self._options.super_stream), strict=True):
            if len(streams) != 1:
                text = f"leads to {len(streams)} partitions of super stream {self._options.super_stream!r}, not to one"
                hint = "" if streams else " (pybrokerctl add_super_stream --hash-exchange makes one that takes any key)"
                raise RowError(f"routing key {key!r:.300} {text}{hint}")
            self._partitions[key] = streams[0]

    def _link(self) -> Link:
        return self._links[0] if self._links else self._add(Link(self._options.links))

    def _add(self, link: Link) -> Link:
        self._links.append(self._closing.enter_context(link))
        return link

    def _open(self, stream: str) -> Publisher:
        """Return a publisher on a node that takes messages of the stream."""
        follow = self._options.follow_advertised
        if not self._links:
            link = self._add(open_link(self._options.links, stream, to_leader=True, follow=follow))
        else:
            leader = self._links[0].place(stream).leader
            near = (each for each in self._links if not follow or leader is None or each.advertised == leader)
            link = next((each for each in near if not each.is_full), None) or self._add(
                open_link(self._options.links, stream, to_leader=True, follow=follow)
            )
        if self._partition >= PUBLISHERS_MAX_RABBITMQ and not link.ends(stream).id:
            check_partition(self._partition, PUBLISHERS_MAX_RABBITMQ)
        publisher = self._publishers[stream] = link.publisher(stream, self._name)
        return publisher


def _entries(rows: list[Row]) -> Iterator[bytes]:
    for (exchange, key), mine in groupby(rows, itemgetter(0, 1)):
        yield from entries_of_contents([(row.properties, row.body) for row in mine], exchange, key)
