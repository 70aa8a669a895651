"""Streams of the broker's own: in the virtual host of the event exchange, for clients to read alone.

They must not cause what they tell of: while free disk space is near its limit, or too much waits for the disk, messages
are dropped and counted. It does not know what the messages tell.
"""

import logging
from typing import TYPE_CHECKING, Final

from pybroker.core.channel.receipt import NO_RECEIPT
from pybroker.core.events.cause import BROKER
from pybroker.core.operator.publish import CHANNEL, FRAME_OCTETS, content_of
from pybroker.core.policy.argument_values import QUEUE_TYPE
from pybroker.core.routing.publish import enqueue, names_of
from pybroker.core.stream.make import STREAM
from pybroker.core.stream.stream import Stream
from pybroker.core.topology.queue_declare import QueueProperties, create_queue
from pybroker.daemon.telemetry.reserve import DISK_LIMIT_TIMES
from pybroker.log_event import event
from pybroker.run import Run, RunAttributes
from pybroker.wire.properties import FILTER_VALUE, Properties, encode_properties
from pybroker.wire.table import Table

if TYPE_CHECKING:
    from pybroker.core.broker import Broker

# Of each, unless a policy says otherwise: some hours of telemetry of a node with very much to do.
LENGTH_OCTETS_MAX: Final = 256 << 20
# Octets of a stream that may wait to be moved into its files.
PENDING_OCTETS_MAX: Final = 16 << 20
# Headers of messages, by what they are of; there are some tens.
KINDS_MAX: Final = 1_000
SLOW_DISK: Final = "the disk does not keep up"
_ATTRIBUTES: Final = RunAttributes(persistent=True)

log = logging.getLogger("pybroker")


class OwnStream:
    """One of them, by its name. It `published` so many messages, and `dropped` so many."""

    __slots__ = ("_broker", "_heads", "_was_dropping", "dropped", "name", "published")

    def __init__(self, broker: "Broker", name: str) -> None:
        self._broker = broker
        self._heads: dict[str, bytes] = {}
        self._was_dropping = False
        self.name = name
        self.dropped = self.published = 0

    def open(self) -> None:
        """Make it if there is none."""
        vhost = self._broker.vhosts.get(self._broker.settings.event_vhost)
        if vhost is not None and self.name not in vhost.queues:
            arguments = Table({QUEUE_TYPE: STREAM, "x-max-length-bytes": LENGTH_OCTETS_MAX})
            create_queue(vhost, None, None, self.name, QueueProperties(True, False, False, arguments), BROKER)

    @property
    def has_room(self) -> bool:
        """Tell whether the disk follows, or nothing is published anyway."""
        return self._find()[1] != SLOW_DISK

    def publish(self, routing_key: str, messages: list[tuple[str, bytes]], *, waits: bool = True) -> bool:
        """Publish messages, each of a kind that clients may filter by; False: they were dropped.

        Few that matter are not dropped because others wait for the disk (`waits=False`).
        """
        stream, why = self._find(waits=waits)
        if self._was_dropping != bool(why):
            self._was_dropping = bool(why)
            self._tell(why)
        if stream is None:
            self.dropped += len(messages)
            return False
        broker = self._broker
        contents = [content_of(self._head(kind), body) for kind, body in messages]
        sizes = {len(body) for _, body in messages}
        run = Run(
            names_of("", routing_key),
            _ATTRIBUTES,
            broker.log.take(len(contents)),
            contents,
            sum(map(len, contents)),
            sum([len(body) for _, body in messages]),
            sizes.pop() if len(sizes) == 1 else -1,
            broker.clock.now_ms,
            CHANNEL,
            FRAME_OCTETS,
        )
        stream.vhost.traffic.count_made(len(contents))
        enqueue(broker.log, run, range(len(contents)), (stream,), NO_RECEIPT)
        self.published += len(contents)
        return True

    def _find(self, *, waits: bool = True) -> tuple[Stream | None, str]:
        """Return the stream, or why nothing can be published there."""
        broker = self._broker
        vhost = broker.vhosts.get(broker.settings.event_vhost)
        stream = None if vhost is None else vhost.queues.get(self.name)
        if not isinstance(stream, Stream):
            return None, "it was deleted"
        marks = broker.settings.watermarks
        free = marks.measured.disk_free
        if free is not None and free < marks.disk_limit_octets * DISK_LIMIT_TIMES:
            return None, "free disk space is near its limit"
        if waits and stream.pending > PENDING_OCTETS_MAX:
            return None, SLOW_DISK
        return stream, ""

    def _tell(self, why: str) -> None:
        if why:
            log.warning("stream %s gets nothing: %s", self.name, why, extra=event("telemetry.stream_suspended"))
        else:
            text = "stream %s is published to again; %d messages were dropped since the start"
            log.warning(text, self.name, self.dropped, extra=event("telemetry.stream_resumed"))

    def _head(self, kind: str) -> bytes:
        head = self._heads.get(kind)
        if head is None:
            if len(self._heads) >= KINDS_MAX:
                self._heads.clear()
            headers = Table({FILTER_VALUE.decode(): kind})
            head = encode_properties(Properties(content_type="application/json", headers=headers, delivery_mode=2))
            self._heads[kind] = head
        return head
