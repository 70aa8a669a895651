"""A virtual host: a name space of exchanges, queues and bindings. Not a unit of storage."""

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from pybroker.core.events import topology as topology_events
from pybroker.core.events.cause import BROKER
from pybroker.core.metadata import store
from pybroker.core.operator.get import get
from pybroker.core.operator.publish import Outgoing
from pybroker.core.queue import pause
from pybroker.core.stats.traffic import Traffic
from pybroker.core.topology.queue_delete import check_queue_delete, purge_queue
from pybroker.core.topology.removal_steps import remove_queue
from pybroker.core.topology.super_stream import create_super_stream, delete_super_stream
from pybroker.core.topology.tap import close_tap, open_tap
from pybroker.log_event import event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pybroker.core.auth.users import User
    from pybroker.core.broker import Broker
    from pybroker.core.channel.state import SessionState
    from pybroker.core.delayed.schedule import Schedule
    from pybroker.core.events.cause import Cause
    from pybroker.core.queue.queue import Queue
    from pybroker.core.routing.binding import Binding, BindingKey, Target
    from pybroker.core.routing.exchange import Exchange
    from pybroker.core.topology.removal import Removal
    from pybroker.wire.table import Table

log = logging.getLogger("pybroker")


class VHost:
    """`generation` counts every change that can alter routing or a verdict; cached routes of another one are void.

    With the `firehose` on its messages are copied to amq.rabbitmq.trace (exchange/trace). It is `tracing` while that is
    so, or while somebody follows messages of it (message_trace).
    """

    __slots__ = (
        "__weakref__",
        "_watchers",
        "bound",
        "broker",
        "default_queue_type",
        "description",
        "exchanges",
        "firehose",
        "generation",
        "leaving",
        "name",
        "paused",
        "protected",
        "queues",
        "schedules",
        "sessions",
        "tags",
        "tracing",
        "traffic",
        "unroutable_ae_missing",
    )

    def __init__(
        self,
        broker: "Broker",
        name: str,
        description: str = "",
        tags: tuple[str, ...] = (),
        default_queue_type: str = "",
    ) -> None:
        self.broker = broker
        self.name = name
        self.description = description
        self.tags = tags
        self.default_queue_type = default_queue_type  # its own, of a queue declared without x-queue-type; empty: none
        self.exchanges: dict[str, Exchange] = {}
        self.traffic = Traffic(self.exchanges)
        self.queues: dict[str, Queue] = {}
        self.schedules: dict[Schedule, None] = {}  # of its delayed message exchanges
        self.sessions: dict[SessionState, None] = {}  # that have entered it
        self.bound: dict[Target, dict[BindingKey, Binding]] = {}  # what leads to a queue or exchange
        self.leaving: dict[tuple[str, str], Removal] = {}  # by kind and name: what is not gone yet with all it had
        self.paused: dict[Queue, None] = {}  # queues whose publishers wait or are refused
        self.protected = False  # from delete_vhost
        self.generation = 0
        self.unroutable_ae_missing = 0
        self.firehose = self.tracing = False
        self._watchers = 0

    @property
    def queue_type(self) -> str:
        """Return the type of a queue declared without x-queue-type: its own default, or the node's."""
        # Differs from RabbitMQ: 3.13 falls back to classic, whatever its node's default is.
        return self.default_queue_type or self.broker.settings.default_queue_type

    def bump(self) -> None:
        """Void every cached route of this virtual host."""
        self.generation += 1

    def describe(
        self,
        *,
        description: str | None = None,
        tags: tuple[str, ...] | None = None,
        default_queue_type: str | None = None,
        protected: bool | None = None,
        cause: "Cause" = BROKER,
    ) -> int:
        """Change what is given of what describes it, and keep it; return the commit position to wait for.

        Queues that exist stay of their types.
        """
        self.description = self.description if description is None else description
        self.tags = self.tags if tags is None else tags
        self.default_queue_type = self.default_queue_type if default_queue_type is None else default_queue_type
        self.protected = self.protected if protected is None else protected
        commit_position = store.save_vhost(self)
        topology_events.vhost_described(self, cause, tags_alone={description, default_queue_type, protected} == {None})
        return commit_position

    def trace(self, *, on: bool) -> None:
        """Switch the firehose on or off."""
        if on == self.firehose:
            extra = event("vhost.tracing.unchanged", vhost=self.name)
            log.info("Tracing is already %s for vhost '%s'", "enabled" if on else "disabled", self.name, extra=extra)
            return
        extra = event("vhost.tracing.enabled" if on else "vhost.tracing.disabled", vhost=self.name)
        log.info("%s tracing for vhost '%s'", "Enabling" if on else "Disabling", self.name, extra=extra)
        self.firehose = on
        self._set_tracing()

    def watch(self, more: int) -> None:
        """Count the message traces of it: there is one more, or (below zero) one less."""
        self._watchers += more
        self._set_tracing()

    def _set_tracing(self) -> None:
        """Have hook points look. Routes are found anew, because those of a tracing vhost go message by message."""
        tracing = self.firehose or self._watchers > 0
        if tracing != self.tracing:
            self.tracing = tracing
            self.bump()

    def compose(self, user: "User | None", cause: "Cause", **message: Any) -> Outgoing:
        """Return a message that is checked and can be published, as an `Outgoing` of these fields says."""
        return Outgoing(self, user, cause, **message)

    def get_messages(
        self, queue: "Queue", user: "User | None", **options: Any
    ) -> "Iterator[list[dict[str, Any]] | None]":
        """Yield messages that are taken from a queue and acknowledged or put back, as `get` does with these options."""
        return get(queue, user, **options)

    def queue_to_delete(self, user: "User | None", name: str, *, if_empty: bool, if_unused: bool) -> "Queue | None":
        """Return a queue that a user without a connection may delete now, as `check_queue_delete` says."""
        return check_queue_delete(self, user, None, name, if_empty=if_empty, if_unused=if_unused)

    def create_super_stream(
        self,
        user: "User | None",
        name: str,
        partitions: "Sequence[tuple[str, str]]",
        arguments: "Table",
        cause: "Cause",
        *,
        hashed: bool,
    ) -> int:
        """Make a super stream for a user without a connection, of these streams and keys; return what to wait for."""
        return create_super_stream(self, user, name, partitions, arguments, cause, hashed=hashed)

    def delete_super_stream(self, user: "User | None", name: str, cause: "Cause", done: "Callable[[int], None]") -> int:
        """Delete a super stream, as the function of this name says; return how many messages it had."""
        return delete_super_stream(self, user, name, cause, done)

    def open_tap(
        self,
        user: "User | None",
        exchange: str,
        stream: str,
        routing_keys: "Sequence[str]",
        arguments: "Table | None",
        cause: "Cause",
    ) -> tuple[int, bool]:
        """Have a stream keep what goes through an exchange, as the function of this name says."""
        return open_tap(self, user, exchange, stream, routing_keys, arguments, cause)

    def close_tap(
        self, user: "User | None", exchange: str, stream: str, routing_keys: "Sequence[str]", cause: "Cause"
    ) -> "list[Removal]":
        """End that, as the function of this name says."""
        return close_tap(self, user, exchange, stream, routing_keys, cause)

    def purge_queue(self, user: "User | None", name: str, cause: "Cause") -> int:
        """Purge a queue for a user without a connection; return how many messages it had."""
        return purge_queue(self, user, None, name, cause)

    def delete_queue(
        self, queue: "Queue", cause: "Cause" = BROKER, call_back: "Callable[[int], None] | None" = None
    ) -> int:
        """Remove a queue and its messages; return how many were ready.

        Call back with the commit position to wait for when its bindings are gone too. Its consumers are notified.
        """
        if queue.deleted:
            return 0
        broker = self.broker
        queue.deleted = True
        del self.queues[queue.name]
        self.bump()
        pause.stop_publishers(queue, stop=False)
        broker.timers.forget(queue)
        if queue.owner is not None:
            queue.owner.exclusive_queues.pop(queue, None)
        messages = queue.messages
        try:
            queue.backlog.settle_all()
            count = queue.purge()
            broker.totals.churn.count("queues_deleted")
            broker.ends.notify_queue(queue, messages)
        finally:
            # Nobody finds it any more, even if this failed: it must not come back with the next start.
            broker.removals.start(partial(remove_queue, queue, messages), cause, call_back)
        return count
