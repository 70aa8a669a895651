"""Declarations of the application on a connection, so that recovery can repeat them (S4: topology recovery).

Remembers successful declarations, in the order in which they must be repeated: exchanges, queues, bindings. Passive
declarations and predeclared nouns (`amq.`) are not remembered. Consumers belong to the channels.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pybroker.wire.table import encode_table


class ExchangeRecord(NamedTuple):
    """An exchange.declare that succeeded."""

    name: str
    type: str
    durable: bool
    auto_delete: bool
    internal: bool
    arguments: Mapping[str, Any]


class QueueRecord(NamedTuple):
    """A queue.declare that succeeded; the broker chose the name of a `server_named` one."""

    name: str
    durable: bool
    exclusive: bool
    auto_delete: bool
    arguments: Mapping[str, Any]
    server_named: bool


class BindingRecord(NamedTuple):
    """A queue.bind or (`to_exchange`) exchange.bind that succeeded."""

    to_exchange: bool
    destination: str
    source: str
    routing_key: str
    arguments: Mapping[str, Any]

    @property
    def key(self) -> tuple[bool, str, str, str, bytes]:
        """The identity of the binding."""
        return self.to_exchange, self.destination, self.source, self.routing_key, encode_table(self.arguments)


class Topology:
    """The records of one connection; any thread may use it."""

    __slots__ = ("_bindings", "_exchanges", "_lock", "_queues")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._exchanges: dict[str, ExchangeRecord] = {}
        self._queues: dict[str, QueueRecord] = {}
        self._bindings: dict[tuple[bool, str, str, str, bytes], BindingRecord] = {}

    @property
    def exchanges(self) -> tuple[ExchangeRecord, ...]:
        """All exchanges, in the order in which they were declared."""
        with self._lock:
            return tuple(self._exchanges.values())

    @property
    def queues(self) -> tuple[QueueRecord, ...]:
        """All queues, likewise."""
        with self._lock:
            return tuple(self._queues.values())

    @property
    def bindings(self) -> tuple[BindingRecord, ...]:
        """All bindings, likewise."""
        with self._lock:
            return tuple(self._bindings.values())

    def add_exchange(self, record: ExchangeRecord) -> None:
        """Remember an exchange, unless it is a predeclared one."""
        if record.name and not record.name.startswith("amq."):
            with self._lock:
                self._exchanges[record.name] = record

    def add_queue(self, record: QueueRecord) -> None:
        """Remember a queue."""
        with self._lock:
            self._queues[record.name] = record

    def add_binding(self, record: BindingRecord) -> None:
        """Remember a binding."""
        with self._lock:
            self._bindings[record.key] = record

    def remove_exchange(self, name: str) -> None:
        """Forget an exchange and its bindings, in both directions."""
        with self._lock:
            self._exchanges.pop(name, None)
            self._keep(lambda b: b.source != name and not (b.to_exchange and b.destination == name))

    def remove_queue(self, name: str) -> None:
        """Forget a queue and its bindings."""
        with self._lock:
            self._queues.pop(name, None)
            self._keep(lambda b: b.to_exchange or b.destination != name)

    def remove_binding(self, record: BindingRecord) -> None:
        """Forget a binding."""
        with self._lock:
            if self._bindings.pop(record.key, None) is not None:
                self._drop_unused_exchange(record.source)

    def remove_unconsumed(self, queue: str) -> None:
        """Forget a queue whose last consumer went, if that deletes it."""
        with self._lock:
            record = self._queues.get(queue)
        if record is not None and record.auto_delete:
            self.remove_queue(queue)

    def rename_queue(self, old: str, new: str) -> None:
        """Let a server-named queue and its bindings bear the name it has now."""
        with self._lock:
            self._queues = {
                (new if name == old else name): (record._replace(name=new) if name == old else record)
                for name, record in self._queues.items()
            }
            moved = [
                record._replace(destination=new) if not record.to_exchange and record.destination == old else record
                for record in self._bindings.values()
            ]
            self._bindings = {record.key: record for record in moved}

    def _keep(self, wanted: Callable[[BindingRecord], bool]) -> None:
        gone = [record for record in self._bindings.values() if not wanted(record)]
        for record in gone:
            self._bindings.pop(record.key, None)
        for record in gone:
            self._drop_unused_exchange(record.source)

    def _drop_unused_exchange(self, name: str) -> None:
        """Forget an exchange that the broker deletes with its last binding."""
        record = self._exchanges.get(name)
        if record is None or not record.auto_delete:
            return
        if all(binding.source != name for binding in self._bindings.values()):
            del self._exchanges[name]
            self._keep(lambda b: not (b.to_exchange and b.destination == name))
