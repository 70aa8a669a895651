"""DelayedPublisher: messages whose time has come are published on, through the bindings of that moment.

They are new messages then: with a new seq, and with their `x-delay` negative. Copies and originals go into the log in
one call, so in one batch: after a crash there is the one or the other. The original of a copy in another log is settled
when that one is on disk. Messages that follow one another to the same queues become one run again.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

from pybroker.content_view import body_sizes, property_octets, with_properties
from pybroker.core.channel.receipt import NO_RECEIPT, Receipt
from pybroker.core.delayed.due import due_in, negated, waited
from pybroker.core.routing.inbound_message import InboundMessage
from pybroker.core.routing.publish import by_log, enqueue, headers_of
from pybroker.core.routing.router import route
from pybroker.errors import AmqpError
from pybroker.run import RUN_OCTETS_MAX, Run
from pybroker.wire import properties
from pybroker.wire.validate import GROWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pybroker.core.delayed.cache import Kind
    from pybroker.core.delayed.schedule import Schedule
    from pybroker.core.queue.destination import Destination
    from pybroker.run import Names, RunAttributes

# A content header frame without its properties: frame header, class, weight, body size, frame-end (AMQP §4.2.6.1).
HEADER_FRAME_OCTETS: Final = 20
# Ways remembered while bindings stay as they are.
WAYS_MAX: Final = 1_024


class _Letter(NamedTuple):
    """The new properties of a message, and the routing keys of CC and BCC."""

    octets: bytes
    attributes: "RunAttributes"
    keys: "Sequence[str]"


class Group(NamedTuple):
    """The attributes of messages that become one run."""

    names: "Names"
    attributes: "RunAttributes"
    queues: "tuple[Destination, ...]"
    channel: int
    frame_octets_max: int
    origin: int


class DelayedPublisher:
    """`add` each message in the order in which they are due, then `end`: all in one turn."""

    __slots__ = (
        "_contents",
        "_elsewhere",
        "_generation",
        "_group",
        "_leaves",
        "_letter",
        "_octets",
        "_same",
        "_schedule",
        "_seqs",
        "_ways",
    )

    def __init__(self, schedule: "Schedule") -> None:
        self._schedule = schedule
        self._same: bytes | None = None
        self._letter: _Letter | None = None
        self._generation = -1
        self._ways: dict[tuple[str, ...], tuple[Destination, ...]] = {}
        self._group: Group | None = None
        self._leaves = False  # the group has a queue of another log
        self._elsewhere = Receipt()  # of the copies in other logs
        self._contents: list[bytes] = []
        self._seqs: list[int] = []  # that they had in the schedule
        self._octets = 0

    def add(self, seq: int, run: "Run | Kind", content: bytes) -> bool:
        """Publish a message on, which the cache has forgotten; return whether a copy goes to another log."""
        letter = self._letter_for(property_octets(content), run.attributes, run.arrived_ms)
        content = with_properties(content, letter.octets)
        queues = self._queues(run, content, letter)
        group = Group(run.names, letter.attributes, queues, run.channel, run.frame_octets_max, run.origin)
        if group != self._group or self._octets + len(content) > RUN_OCTETS_MAX:
            self.end()
            self._group = group
            own = self._schedule.log
            self._leaves = any(queue.log is not own for queue in queues)
        self._contents.append(content)
        self._seqs.append(seq)
        self._octets += len(content)
        return self._leaves

    def end(self) -> None:
        """Put what was gathered into its queues."""
        group, contents, seqs = self._group, self._contents, self._seqs
        self._group, self._contents, self._seqs, self._octets = None, [], [], 0
        if group is None:
            return
        vhost = self._schedule.vhost
        broker = vhost.broker
        watched: Sequence[Destination] = group.queues
        if vhost.tracing:
            watched = broker.traces.released(self._schedule, group, seqs, contents)
        if not group.queues:
            if broker.losses is not None:
                broker.losses.unroutable(vhost, group.names, contents, "NO_ROUTE", returned=False)
            self._schedule.exchange.count_dropped(len(contents))
            return
        self._schedule.exchange.publish_out += len(contents) * len(group.queues)
        sizes = body_sizes(contents)
        for log, queues in by_log(watched):
            run = Run(
                group.names,
                group.attributes,
                log.take(len(contents)),
                contents,
                sum(map(len, contents)),
                sum(sizes),
                sizes[0] if len(set(sizes)) == 1 else -1,
                broker.clock.now_ms,
                group.channel,
                group.frame_octets_max,
                group.origin,
            )
            receipt = NO_RECEIPT if log is self._schedule.log else self._elsewhere
            enqueue(log, run, range(run.count), queues, receipt)

    def pop_receipt(self) -> Receipt:
        """Return the receipt of all copies that went to other logs, since the last call."""
        receipt, self._elsewhere = self._elsewhere, Receipt()
        return receipt

    def _letter_for(self, octets: bytes, attributes: "RunAttributes", arrived_ms: int) -> _Letter:
        if octets == self._same and self._letter is not None:
            return self._letter
        same = negated(octets)
        if same is not None:
            self._same, self._letter = octets, _Letter(same, attributes, ())
            return self._letter
        broker = self._schedule.vhost.broker
        try:
            letter = _waited(octets, broker.clock.now_ms - arrived_ms)
            fits = len(letter.octets) <= broker.settings.frame_octets_max - HEADER_FRAME_OCTETS
        except AmqpError:
            fits = False
        if not fits:
            # Headers as large, or as many, as they may be.
            letter = _waited(octets, None)
        due = due_in(octets)
        self._same = octets if due is not None and not due.time else None
        self._letter = letter
        return letter

    def _queues(self, run: "Run | Kind", content: bytes, letter: _Letter) -> "tuple[Destination, ...]":
        exchange = self._schedule.exchange
        vhost = exchange.vhost
        if vhost.generation != self._generation:
            self._generation = vhost.generation
            self._ways.clear()
        keys = (run.names.routing_key, *letter.keys)
        queues = self._ways.get(keys)
        if queues is not None:
            return queues
        inbound = InboundMessage(run.names, letter.attributes, content, run.channel, run.frame_octets_max)
        routed = route(vhost, exchange, keys, headers_of(content), inbound=inbound)
        plain = not exchange.inner.dynamic and not exchange.exchanges_bound and exchange.alternate is None
        if plain and len(self._ways) < WAYS_MAX:
            self._ways[keys] = routed.queues
        return routed.queues


def _waited(octets: bytes, ms: int | None) -> _Letter:
    grown, keys = waited(octets, ms)
    return _Letter(grown, properties.attributes_of(grown, GROWN), keys)
