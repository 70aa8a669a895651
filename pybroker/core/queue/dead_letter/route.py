"""Dead letters ([rmq dlx]): messages that leave a queue for its dead letter exchange, with their history in x-death.

They wait in `DeadLetterQueue` and are routed a few in each turn, because a letter costs what a hundred plain messages
do: a queue of a million that expires at once, or a chain of queues that overflow into one another, must not hold up the
others, nor their dead letters. As in RabbitMQ a cycle in which no consumer rejected drops the message; that is logged
once a minute.
"""

from collections import deque
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.content_view import with_properties
from pybroker.core.background_task import BackgroundTask
from pybroker.core.channel.receipt import NO_RECEIPT, Receipt
from pybroker.core.queue.dead_letter.retry import Retry, obstacle
from pybroker.core.routing.inbound_message import InboundMessage
from pybroker.core.routing.publish import by_log, enqueue, names_of, single_run
from pybroker.core.routing.router import route
from pybroker.errors import AmqpError
from pybroker.message import Message
from pybroker.run import Names, RunAttributes
from pybroker.wire import properties
from pybroker.wire.table import Table
from pybroker.wire.validate import GROWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pybroker.core.queue.dead_letter.retry import Departing
    from pybroker.core.queue.destination import Destination
    from pybroker.core.queue.queue import Queue
    from pybroker.run import Entry
    from pybroker.session import Turn

# A content header frame without its properties: frame header, class, weight, body size, frame-end (AMQP §4.2.6.1).
HEADER_FRAME_OCTETS: Final = 20
# Budget of one turn: a letter like the one before it costs 1 (about 20 us), another 8 and 1 for each 128 octets of
# headers.
TURN_COST: Final = 256
# Share of it that is spent on one queue before the next one's turn.
QUEUE_COST: Final = 64
# The largest `l` of a field table.
COUNT_MAX: Final = (1 << 63) - 1

DEATH_TYPES: Final = {
    "count": "l",
    "reason": "S",
    "queue": "S",
    "time": "T",
    "exchange": "S",
    "routing-keys": "A",
    "original-expiration": "S",
}


class DeadLetterQueue(BackgroundTask):
    """Messages that are in no queue any more and not routed yet; those that stay with a queue are its own still.

    `_letter` is the last one's new properties and targets: those of the next message too, if `_same` is equal.
    """

    __slots__ = ("_letter", "_retries", "_same", "_waiting")

    def __init__(self, turn: "Turn") -> None:
        super().__init__(turn)
        self._waiting: dict[Queue, deque[Departing]] = {}
        self._retries: dict[Queue, Retry] = {}
        self._same: tuple[object, ...] = ()
        self._letter: Letter | None = None

    def __len__(self) -> int:
        waiting = sum(len(entry.indexes) for line in self._waiting.values() for entry, _ in line)
        return waiting + sum(map(len, self._retries.values()))

    def add(self, queue: "Queue", entries: "list[Entry]", reason: str) -> None:
        """Take messages that have left `queue`."""
        retry = self._retry_of(queue)
        if retry is not None:
            retry.count(entries)
            if retry.full or retry.untried:
                retry.untried.extend((entry, reason) for entry in entries)
                return
        self._waiting.setdefault(queue, deque()).extend((entry, reason) for entry in entries)
        self.wake()

    def _retry_of(self, queue: "Queue") -> Retry | None:
        """Return what stays with a queue, if anything may: its dead letters go at least once, or did."""
        retry = self._retries.get(queue)
        if retry is None and queue.limits.at_least_once and not queue.deleted:
            retry = Retry(queue)
            retry.count(self.of(queue))
            self._retries[queue] = retry
        return retry

    def has(self, queue: "Queue") -> bool:
        """Tell whether messages of `queue` wait here, and will soon be gone."""
        return queue in self._waiting or (queue in self._retries and self._retries[queue].crowded)

    def of(self, queue: "Queue") -> "Iterator[Entry]":
        """Yield what waits of `queue`."""
        retry = self._retries.get(queue)
        waiting = self._waiting.get(queue, ())
        for entry, _ in waiting if retry is None else (*retry.tried, *retry.untried, *waiting):
            yield entry

    def held(self, queue: "Queue") -> tuple[int, int]:
        """Return how many messages and octets count as the queue's still: it forwards them at least once."""
        retry = self._retries.get(queue)
        return (0, 0) if retry is None else (retry.messages, retry.octets)

    def tick(self, now_ms: int) -> None:
        """Try messages that stay with their queue again, once a second."""
        for queue, retry in self._retries.items():
            if retry.is_due(queue, now_ms):
                line = self._waiting.setdefault(queue, deque())
                line.extendleft(reversed(retry.pop_tried(queue)))
                self.wake()

    def deliver(self, _now_ms: int) -> None:
        """Route one turn's share: of each queue in turn the oldest ones, which keep their order."""
        budget = TURN_COST
        try:
            while self._waiting and budget > 0:
                budget -= self._route_some()
        finally:
            if self._waiting:
                self.wake_again()

    def _route_some(self) -> int:
        """Route some of the queue that is first in line, which then goes to the line's end; return what that cost."""
        queue, line = next(iter(self._waiting.items()))
        retry = self._retry_of(queue)  # which counts what is in line
        cost = 0
        try:
            while line and cost < QUEUE_COST:
                entry, reason = line[0]
                message = Message(entry.run, entry.indexes[0], entry.deliveries)
                entry.indexes = entry.indexes[1:]
                if not entry.indexes:
                    line.popleft()
                cost += self._publish(queue, message, reason)
                if retry is not None and retry.stops(line):
                    line = deque()  # that one is what waits behind now
            if retry is not None and not line:
                line = retry.next_line()
        finally:
            del self._waiting[queue]
            if line:
                self._waiting[queue] = line
            elif retry is not None and not retry.tried and not retry.untried:
                del self._retries[queue]
        if not line and queue.backlog.messages_evicted:
            queue.head_came()  # those that are to follow were not read before there was room for them
        return cost

    def _publish(self, queue: "Queue", message: Message, reason: str) -> int:
        """Publish one message anew; return what that cost."""
        octets = message.property_octets
        broker = queue.vhost.broker
        second = broker.clock.timestamp_ms // 1000
        same = (queue, queue.limits, reason, message.names, octets, second, queue.vhost.generation)
        cost = 1
        if same != self._same:
            cost = 8 + len(octets) // 128
            self._letter = _letter(queue, message, octets, reason)
            self._same = () if self._letter is not None and self._letter.dynamic else same
        letter = self._letter
        retry = self._retries.get(queue)
        if retry is not None:
            targets = () if letter is None else letter.targets
            fault = obstacle(queue, message, targets) if queue.limits.at_least_once and not queue.deleted else ""
            if fault:
                text, vhost = f"Dead letters stay in {queue!r}: {fault}", queue.vhost.name
                broker.warn("dead_letter.waiting", f"stays {queue.id}", text, vhost=vhost, queue=queue.name)
                retry.add(message, reason, broker.clock.now_ms)
                if queue.vhost.tracing:
                    broker.traces.letter_stays(queue, message, fault)
                return cost
            retry.gone(message)
        if letter is not None and letter.targets:
            _forward(queue, message, letter, reason)
        else:
            if queue.vhost.tracing:
                broker.traces.letter_ends(queue, message, letter)
            queue.forget(message.run, range(message.index, message.index + 1))
        return cost


def held(queue: "Queue") -> tuple[int, int]:
    """Return how many messages and octets have left the queue's levels and are its own still."""
    return queue.vhost.broker.dead_letters.held(queue) if queue.limits.at_least_once else (0, 0)


def depart(queue: "Queue", entries: "list[Entry]", reason: str) -> None:
    """Send `entries`, which are in no level any more, to the queue's dead letter exchange; without one they end."""
    messages = sum([len(entry.indexes) for entry in entries])
    queue.fates.depart(messages, reason, forwarded=queue.limits.dead_letter_exchange is not None)
    broker, limits = queue.vhost.broker, queue.limits
    broker.totals.of_death(limits).count(reason, messages)
    losses = broker.losses
    if losses is not None:
        losses.departed(queue, entries, reason)
    if queue.vhost.tracing and reason != "rejected":  # that one knows by whom
        queue.vhost.broker.traces.left(queue, entries, reason)
    if queue.limits.dead_letter_exchange is not None:
        queue.vhost.broker.dead_letters.add(queue, entries, reason)
        return
    for entry in entries:
        queue.forget(entry.run, entry.indexes)


def _forward(queue: "Queue", message: Message, letter: "Letter", reason: str) -> None:
    """Give each target its copy, and settle the original.

    Copy and original in one call, so in one batch of the log: after a crash there is the one or the other. The original
    of a copy in another log is settled when that one is on disk.
    """
    broker, own = queue.vhost.broker, queue.log
    forget = partial(_arrived, queue, message)
    elsewhere: Receipt | None = None
    all_targets: Sequence[Destination] = letter.targets
    if queue.vhost.tracing:
        all_targets = broker.traces.forwarded(queue, message, letter, reason)
    with own.together():
        for log, targets in by_log(all_targets):
            run = single_run(log, letter.names, message, letter.octets, letter.attributes, broker.clock.now_ms)
            if log is own:
                enqueue(log, run, range(1), targets, NO_RECEIPT)
            else:
                elsewhere = elsewhere or Receipt()
                enqueue(log, run, range(1), targets, elsewhere)
        if elsewhere is None:
            forget()
        else:
            broker.handovers.add(elsewhere, forget)


def _arrived(queue: "Queue", message: Message) -> None:
    """Settle the original of a letter whose copies are where they should be."""
    queue.forget(message.run, range(message.index, message.index + 1))
    if queue.limits.at_least_once:
        queue.vhost.broker.totals.of_death(queue.limits).count("confirmed", 1)


class Letter(NamedTuple):
    """A message as forwarded: its names and properties with this death, and its targets; `dynamic` as in Routed."""

    names: Names
    octets: bytes
    attributes: RunAttributes
    targets: "tuple[Destination, ...]"
    dynamic: bool


def _letter(queue: "Queue", message: Message, octets: bytes, reason: str) -> Letter | None:
    """Return what a message with these properties becomes; None if it ends here."""
    vhost, limits, died = queue.vhost, queue.limits, message.names
    warn = vhost.broker.warn
    fate = "kept" if limits.at_least_once else "dropped"
    if limits.dead_letter_exchange is None:
        return None
    exchange = vhost.exchanges.get(limits.dead_letter_exchange)
    if exchange is None:
        name = limits.dead_letter_exchange
        text = f"Dead letters of {queue!r} are {fate}: exchange '{name}' does not exist"
        key = f"dlx {vhost.name}/{queue.name}"
        warn("dead_letter.no_exchange", key, text, vhost=vhost.name, queue=queue.name, exchange=name)
        return None
    props = properties.decode_properties(octets)
    old = props.headers if props.headers is not None else Table()
    carbon = _routes(old, "CC")
    headers = _with_death(old, queue, reason, died, [*carbon, *_routes(old, "BCC")], props.expiration)
    routing_keys = [died.routing_key, *carbon]
    if limits.dead_letter_routing_key is not None:
        routing_keys = [limits.dead_letter_routing_key]
        headers.pop("CC", None)
    props.headers = headers
    props.expiration = None
    octets = properties.encode_properties(props)
    if len(octets) > vhost.broker.settings.frame_octets_max - HEADER_FRAME_OCTETS:
        # Differs from RabbitMQ: it sends a header frame above frame_max, and the consumer closes its connection.
        text, key = f"Message {fate}: it was dead-lettered too often, last from {queue!r}", f"deaths {queue.id}"
        warn("dead_letter.too_large", key, text, vhost=vhost.name, queue=queue.name)
        return None
    try:
        attributes = properties.attributes_of(octets, GROWN)
    except AmqpError as error:
        # Headers that no peer would be allowed to send: nobody downstream has to read them.
        text, key = f"Message {fate}: its headers grew too large in {queue!r}: {error.text}", f"deaths {queue.id}"
        warn("dead_letter.too_large", key, text, vhost=vhost.name, queue=queue.name)
        return None
    names = names_of(limits.dead_letter_exchange, routing_keys[0])
    content = with_properties(message.content, octets)
    inbound = InboundMessage(names, attributes, content, message.run.channel, message.run.frame_octets_max)
    routed = route(vhost, exchange, routing_keys, headers, inbound=inbound)
    targets = tuple(target for target in routed.queues if reason == "rejected" or not _is_cycle(target.name, headers))
    if len(targets) < len(routed.queues):
        cycle = [death.get("queue") for death in _deaths(headers)]
        text, key = f"Message {fate}: its dead letter queues form a cycle: {cycle}", f"cycle {queue.id}"
        warn("dead_letter.cycle", key, text, vhost=vhost.name, queue=queue.name)
    return Letter(names, octets, attributes, targets, routed.dynamic)


def _routes(headers: Table, key: str) -> list[str]:
    value = headers.get(key)
    return [route for route in value if isinstance(route, str)] if isinstance(value, list) else []


def _deaths(headers: Table) -> list[dict[str, Any]]:
    deaths = headers.get("x-death")
    return [death for death in deaths if isinstance(death, dict)] if isinstance(deaths, list) else []


def _merged(deaths: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one entry for each queue and reason, in order: a client may have sent several, or some without a count.

    The first of equals stands for all; without a count it gets how many these are, as in RabbitMQ before 3.13.
    """
    equals: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for death in deaths:
        equals.setdefault((repr(death.get("queue")), repr(death.get("reason"))), []).append(death)
    merged = []
    for first, *others in equals.values():
        if "count" in first:
            merged.append(first)
        else:
            counted = Table(first)
            counted["count"], counted.types["count"] = 1 + len(others), "l"
            merged.append(counted)
    return merged


def _with_death(
    old: Table, queue: "Queue", reason: str, died: Names, carbon: list[str], expiration: str | None
) -> Table:
    """Return the headers with this death in front: one entry for each (queue, reason), counted."""
    headers = Table(old)
    deaths = _merged(_deaths(old))
    for which in ("last",) if deaths else ("first", "last"):
        for what, value in (("exchange", died.exchange), ("queue", queue.name), ("reason", reason)):
            headers[f"x-{which}-death-{what}"] = value
            headers.types[f"x-{which}-death-{what}"] = "S"
    mine = next((d for d in deaths if d.get("queue") == queue.name and d.get("reason") == reason), None)
    if mine is None:
        time = datetime.fromtimestamp(queue.vhost.broker.clock.timestamp_ms // 1000, UTC)
        keys = [died.routing_key, *carbon]
        values = {"count": 1, "reason": reason, "queue": queue.name, "time": time, "exchange": died.exchange}
        mine = Table(values | {"routing-keys": keys}, DEATH_TYPES)
        if expiration is not None:
            mine["original-expiration"] = expiration
    else:
        deaths.remove(mine)
        count = mine.get("count")
        mine = Table(mine)
        # A client may have written the largest number of its type there.
        mine["count"] = min(count + 1, COUNT_MAX) if isinstance(count, int) else 1
    headers["x-death"] = [mine, *deaths]
    headers.types["x-death"] = "A"
    return headers


def _is_cycle(queue: str, headers: Table) -> bool:
    """Tell whether a message that died in `queue` before came all the way back without anybody rejecting it."""
    for death in _deaths(headers):
        if death.get("reason") == "rejected":
            return False
        if death.get("queue") == queue:
            return True
    return False
