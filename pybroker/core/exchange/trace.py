"""The firehose ([rmq firehose]): a copy of every message that is published to or delivered in a tracing vhost.

It goes to `amq.rabbitmq.trace` as `publish.EXCHANGE` or `deliver.QUEUE`, with RabbitMQ's headers (rabbit_trace.erl).
The fate of a message follows as `settle.QUEUE`: its `outcome` is ack, requeue, reject, expired, maxlen or
delivery_limit, and `dead_letter_exchange` says where it goes if it does.

`core/message_trace/hub` calls it where something happens to a message. Copies of deliveries and of what became of them
wait for the end of the turn, because a queue cannot take messages while it is dispatching. Messages published to the
trace exchange itself are not traced.
"""

from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.content_view import body_size, property_octets, with_properties
from pybroker.core.background_task import BackgroundTask
from pybroker.core.channel.receipt import NO_RECEIPT
from pybroker.core.routing.publish import enqueue, names_of
from pybroker.core.routing.router import route
from pybroker.run import PLAIN_ATTRIBUTES, Entry, Names, Run
from pybroker.wire import properties
from pybroker.wire.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.channel.state import ChannelState
    from pybroker.core.channel.unacked import Batch
    from pybroker.core.queue.queue import Queue
    from pybroker.core.topology.vhost import VHost
    from pybroker.session import Turn

EXCHANGE: Final = "amq.rabbitmq.trace"
# Traces of deliveries made in one turn: one costs what some thirty plain messages do.
TURN_TRACES_MAX: Final = 1_024
# A shortstr (AMQP §4.2.5.3).
KEY_OCTETS_MAX: Final = 255
# A content header frame without its properties (AMQP §4.2.6.1).
HEADER_FRAME_OCTETS: Final = 20

_TYPES: Final = {
    "exchange_name": "S",
    "routing_keys": "A",
    "properties": "F",
    "node": "S",
    "redelivered": "I",
    "vhost": "S",
    "connection": "S",
    "channel": "I",
    "user": "S",
    "routed_queues": "A",
    "outcome": "S",
    "dead_letter_exchange": "S",
}


class Party(NamedTuple):
    """A publisher or consumer: the connection's name, the channel's number, the user's name."""

    connection: str
    channel: int
    user: str


# Of what nobody does: it expires, or the queue is full.
NOBODY: Final = Party("", 0, "")


class Firehose(BackgroundTask):
    """Deliveries to be told, and what became of them: with more headers."""

    __slots__ = ("_waiting",)

    def __init__(self, turn: "Turn") -> None:
        super().__init__(turn)
        self._waiting: deque[tuple[Queue, Run, range, int, Party, dict[str, str]]] = deque()

    def __len__(self) -> int:
        return sum(len(indexes) for _, _, indexes, _, _, _ in self._waiting)

    def publish(
        self,
        vhost: "VHost",
        names: Names,
        content: bytes,
        frames: "Frames",
        party: Party,
        queues: "Iterable[str]",
    ) -> None:
        """Tell that a message was published, and to which queues it goes."""
        facts = {**_of_party(vhost, party), "routed_queues": list(queues)}
        _publish(vhost, f"publish.{names.exchange}", names, content, frames, facts)

    def add(self, queue: "Queue", run: Run, indexes: range, deliveries: int, party: Party) -> None:
        """Take messages that `queue` hands to a consumer or to basic.get."""
        if run.names.exchange != EXCHANGE:
            self._waiting.append((queue, run, indexes, deliveries, party, {}))
            self.wake()

    def settled(self, batches: "Iterable[Batch]", outcome: str, channel: "ChannelState | None") -> None:
        """Take deliveries that were answered, or that come back; without a `channel` it is that of each consumer."""
        # Differs from RabbitMQ: its firehose does not tell what becomes of a message.
        for batch in batches:
            of = batch.consumer.channel if channel is None and batch.consumer is not None else channel
            party = NOBODY if of is None else of.party
            self._left(batch.queue, batch.run, batch.indexes, batch.deliveries, party, outcome)

    def left(self, queue: "Queue", entries: "Iterable[Entry]", outcome: str) -> None:
        """Take messages that leave `queue` by themselves."""
        for entry in entries:
            self._left(queue, entry.run, entry.indexes, entry.deliveries, NOBODY, outcome)

    def _left(self, queue: "Queue", run: Run, indexes: range, deliveries: int, party: Party, outcome: str) -> None:
        if run.names.exchange != EXCHANGE:
            more = {"outcome": outcome}
            letters = queue.limits.dead_letter_exchange
            if letters is not None and outcome not in {"ack", "requeue"}:
                more["dead_letter_exchange"] = letters
            self._waiting.append((queue, run, indexes, deliveries, party, more))
            self.wake()

    def deliver(self, _now_ms: int) -> None:
        """Publish the oldest, one turn's share of them."""
        waiting = self._waiting
        budget = TURN_TRACES_MAX
        while waiting:
            if budget <= 0:
                self.wake_again()
                return
            queue, run, indexes, deliveries, party, more = waiting.popleft()
            key = f"{'settle' if more else 'deliver'}.{queue.name}"
            for content in run.contents_at(indexes[:budget]):
                facts = {"redelivered": int(deliveries != 0), **_of_party(queue.vhost, party), **more}
                _publish(queue.vhost, key, run.names, content, run, facts)
            rest = indexes[budget:]
            budget -= len(indexes) - len(rest)
            if rest:
                waiting.appendleft((queue, run, rest, deliveries, party, more))


class Frames(NamedTuple):
    """The framing of a content that is in no run yet, as Run has it."""

    channel: int
    frame_octets_max: int


def _of_party(vhost: "VHost", party: Party) -> dict[str, Any]:
    return {"vhost": vhost.name, "connection": party.connection, "channel": party.channel, "user": party.user}


def _publish(
    vhost: "VHost", key: str, names: Names, content: bytes, frames: Frames | Run, facts: dict[str, Any]
) -> None:
    """Publish a copy of `content` whose headers say what became of it."""
    exchange = vhost.exchanges.get(EXCHANGE)
    # Nobody listens: the usual case where somebody forgot to switch it off.
    if exchange is None or not (exchange.in_use or exchange.alternate):
        return
    broker = vhost.broker
    headers = Table({**_of_message(names, content), "node": broker.settings.node_name, **facts}, _TYPES)
    octets = properties.encode_properties(properties.Properties(headers=headers))
    if len(octets) > broker.settings.frame_octets_max - HEADER_FRAME_OCTETS:
        text = f"A message in vhost '{vhost.name}' is not traced: its headers exceed a frame"
        broker.warn("vhost.tracing.skipped", f"trace {vhost.name}", text, vhost=vhost.name)
        return
    # Differs from RabbitMQ: its key can grow beyond a shortstr, which no consumer can be told.
    key = key.encode()[:KEY_OCTETS_MAX].decode(errors="ignore")
    exchange.publish_in += 1
    queues = route(vhost, exchange, [key], headers).queues
    exchange.publish_out += len(queues)
    vhost.traffic.count_made(len(queues))
    if not queues:
        return
    copy = with_properties(content, octets)
    body = body_size(copy)
    # The node's log for all queues, as a publisher does.
    run = Run(
        names_of(EXCHANGE, key),
        PLAIN_ATTRIBUTES,
        broker.log.take(1),
        [copy],
        len(copy),
        body,
        body,
        broker.clock.now_ms,
        frames.channel,
        frames.frame_octets_max,
    )
    enqueue(broker.log, run, range(1), queues, NO_RECEIPT)


def _of_message(names: Names, content: bytes) -> dict[str, Any]:
    """Return exchange, routing keys and properties; RabbitMQ lists the properties from the last to the first."""
    known = properties.decode_properties(property_octets(content))
    # Differs from RabbitMQ: a delivery's keys lack those of BCC, which no copy in a queue knows any more.
    keys = [names.routing_key]
    shown = {}
    for name in reversed(properties.PROPERTIES):
        value = getattr(known, name)
        if value is not None:
            shown[name] = value
    if known.headers is not None:
        for header in ("CC", "BCC"):
            more = known.headers.get(header)
            keys += [one for one in more if isinstance(one, str)] if isinstance(more, list) else []
        shown["headers"] = Table({key: one for key, one in known.headers.items() if key != "BCC"}, known.headers.types)
    return {"exchange_name": names.exchange, "routing_keys": keys, "properties": Table(shown)}
