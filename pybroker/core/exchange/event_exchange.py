"""The event exchange ([rmq event exchange]): creations, changes and deletions as messages, and for the audit log.

`amq.rabbitmq.event`, an internal topic exchange, is in one virtual host alone, as RabbitMQ's plugin has it. Its
messages have an event's name for routing key, the facts for headers, an empty body. They leave at the end of the turn,
because the emitter is in the middle of something. Does not know what an event means.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pybroker.core.background_task import BackgroundTask
from pybroker.core.channel.receipt import NO_RECEIPT
from pybroker.core.events.cause import BROKER, Cause
from pybroker.core.exchange.topic import TopicExchange
from pybroker.core.routing.publish import enqueue, names_of
from pybroker.core.routing.router import route
from pybroker.log_event import BUG, event
from pybroker.run import Run, RunAttributes
from pybroker.wire import frame, properties
from pybroker.wire.erlang_table import printed_entries
from pybroker.wire.table import Array, Table

if TYPE_CHECKING:
    from pybroker.core.broker import Broker
    from pybroker.core.routing.binding import Binding
    from pybroker.core.topology.vhost import VHost

EXCHANGE: Final = "amq.rabbitmq.event"
# Events that wait for their turn: a hundred thousand bindings that go at once would be 100 MB.
WAITING_MAX: Final = 10_000
# Events published in one turn: one costs what some thirty plain messages do.
TURN_EVENTS_MAX: Final = 256
# Events that wait for a reader of the control socket.
FOLLOWED_MAX: Final = 10_000
# A content header frame without its properties (AMQP §4.2.6.1).
HEADER_FRAME_OCTETS: Final = 20
# RabbitMQ publishes them with delivery_mode 2.
_ATTRIBUTES: Final = RunAttributes(persistent=True)

Facts = Mapping[str, Any]
# Name, facts, cause, and what is for receivers alone.
Receiver = Callable[[str, Facts, Cause | None, Facts], None]
NOTHING_MORE: Final[Facts] = {}

log = logging.getLogger("pybroker")


class EventExchange(TopicExchange):
    """The exchange tells whether a binding leaves it: without one no event is made a message."""

    TYPE: ClassVar[str] = "topic"

    __slots__ = ()

    def _attach(self, binding: "Binding") -> None:
        super()._attach(binding)
        self.vhost.broker.events.bindings_changed()

    def _detach(self, binding: "Binding") -> None:
        super()._detach(binding)
        self.vhost.broker.events.bindings_changed()

    def discard(self) -> None:
        """Learn that its virtual host is deleted; bindings to exchanges there are not taken off one by one."""
        self.vhost.broker.events.close_exchange()


class Follower:
    """Keeps events for a reader, FOLLOWED_MAX at most; how many more there were is an event, too."""

    __slots__ = ("_dropped", "_kept", "_wants")

    def __init__(self, wants: Callable[[str], bool]) -> None:
        self._wants = wants
        self._kept: deque[dict[str, Any]] = deque()
        self._dropped = 0

    def record(self, name: str, facts: Facts, timestamp_ms: int) -> None:
        """Keep an event if it is wanted, as the exchange would publish it."""
        if not self._wants(name):
            return
        if len(self._kept) >= FOLLOWED_MAX:
            self._dropped += 1
            return
        self._kept.append({"event": name, "timestamp_in_ms": timestamp_ms, **as_table(facts)})

    def given(self, most: int) -> list[dict[str, Any]]:
        """Return the oldest, and forget them."""
        found = [self._kept.popleft() for _ in range(min(most, len(self._kept)))]
        if self._dropped and not self._kept:
            found.append({"event": "events.dropped", "count": self._dropped})
            self._dropped = 0
        return found


class Events(BackgroundTask):
    """`wanted`: somebody listens, `heard`: not receivers alone. Ask first if facts have to be gathered.

    Receivers, such as the audit log, get every event at once, with its cause.
    """

    __slots__ = (
        "_broker",
        "_delayed",
        "_dropped",
        "_exchange",
        "_followers",
        "_is_bound",
        "_is_catching_up",
        "_receivers",
        "_waiting",
        "heard",
        "ready",
        "wanted",
    )

    def __init__(self, broker: "Broker") -> None:
        super().__init__(broker.turn)
        self._broker = broker
        self._exchange: EventExchange | None = None
        self._delayed: deque[Callable[[], object]] = deque()
        self._dropped = 0
        self._followers: list[Follower] = []
        self._is_bound = False
        self._is_catching_up = False
        self._receivers: list[Receiver] = []
        self._waiting: deque[tuple[str, Facts, int]] = deque()
        self.heard = self.wanted = False
        self.ready = True  # False while the log is read: what stands in it comes first

    def __len__(self) -> int:
        return len(self._waiting)

    def add_receiver(self, receiver: Receiver) -> None:
        """Have every event given to a receiver, too."""
        self._receivers.append(receiver)
        self.bindings_changed()

    def remove_receiver(self, receiver: Receiver) -> None:
        """Give it no more."""
        self._receivers.remove(receiver)
        self.bindings_changed()

    def open_exchange(self, vhost: "VHost", user: str) -> None:
        """Give a virtual host the event exchange, if it is the one that has it."""
        if vhost.name == self._broker.settings.event_vhost:
            self._exchange = EventExchange(
                vhost, EXCHANGE, durable=True, auto_delete=False, internal=True, arguments=Table(), user=user
            )
            vhost.exchanges[EXCHANGE] = self._exchange
            self.bindings_changed()

    def close_exchange(self) -> None:
        """Publish no more: the exchange goes with its virtual host."""
        self._exchange = None
        self._waiting.clear()
        self.bindings_changed()

    def ensure_vhost(self, cause: Cause = BROKER) -> None:
        """Make the virtual host that was configured for the event exchange, as RabbitMQ's plugin does."""
        settings = self._broker.settings
        # The default one is made once: who deleted it since wanted that.
        if settings.event_vhost != settings.default_vhost:
            self._broker.add_vhost(settings.event_vhost, cause=cause)

    def bindings_changed(self) -> None:
        """Find out anew whether anybody listens."""
        self._is_bound = self._exchange is not None and self._exchange.in_use
        self.heard = self._is_bound or bool(self._followers)
        self.wanted = self.heard or bool(self._receivers)

    def begin(self) -> None:
        """Publish from now on, and what was told meanwhile."""
        self.ready = True
        if self._waiting:
            self.wake()

    def delay(self, emit: Callable[[], object]) -> None:
        """Have an event emitted when there is time for that, in any case before the next one."""
        if self.wanted:
            self._delayed.append(emit)
            self._broker.turn.when_spare("event", self._emit_oldest)

    def _emit_oldest(self) -> None:
        self._is_catching_up = True
        try:
            if self._delayed:
                self._delayed.popleft()()
        except Exception:
            # A bug in one event: nothing else is to suffer from it.
            log.exception("an event was not emitted", extra=event(BUG))
        finally:
            self._is_catching_up = False

    def _catch_up(self) -> None:
        """Emit what was delayed before another event."""
        while self._delayed and not self._is_catching_up:
            self._emit_oldest()

    def emit(self, name: str, facts: Facts, cause: Cause | None = None, more: Facts = NOTHING_MORE) -> None:
        """Emit an event such as `queue.created`, with RabbitMQ's facts; the acting user is added.

        `more` are facts that RabbitMQ's event does not have, for receivers.
        """
        if not self.wanted:
            return
        self._catch_up()
        for receiver in self._receivers:
            receiver(name, facts, cause, more)
        self.publish(name, facts, cause)

    def publish(self, name: str, facts: Facts, cause: Cause | None = None) -> None:
        """Do the same, but for receivers, which are not told."""
        if not self.heard:
            return
        self._catch_up()
        if cause is not None:
            facts = {**facts, "user_who_performed_action": cause.user}
        timestamp_ms = self._broker.clock.timestamp_ms
        for follower in self._followers:
            follower.record(name, facts, timestamp_ms)
        if not self._is_bound:
            return
        if len(self._waiting) >= WAITING_MAX:
            self._dropped += 1
            text = f"Events arrive faster than they can be published: {self._dropped} dropped since the start"
            self._broker.warn("event_exchange.dropped", "events", text)
            return
        self._waiting.append((name, facts, timestamp_ms))
        self.wake()

    @contextmanager
    def follow(self, wants: Callable[[str], bool]) -> Iterator[Callable[[int], list[dict[str, Any]]]]:
        """Enter with a function that returns the events of wanted names since, so many at most at a call."""
        follower = Follower(wants)
        self._followers.append(follower)
        self.bindings_changed()
        try:
            yield follower.given
        finally:
            self._followers.remove(follower)
            self.bindings_changed()

    def note(self, name: str, facts: Facts, cause: Cause) -> None:
        """Tell receivers alone."""
        self._catch_up()
        for receiver in self._receivers:
            receiver(name, facts, cause, NOTHING_MORE)

    def deliver(self, _now_ms: int) -> None:
        """Publish the oldest, one turn's share of them."""
        if not self.ready:
            return
        for _ in range(min(len(self._waiting), TURN_EVENTS_MAX)):
            self._publish(*self._waiting.popleft())
        if self._waiting:
            self.wake_again()

    def _publish(self, name: str, facts: Facts, timestamp_ms: int) -> None:
        exchange, broker = self._exchange, self._broker
        if exchange is None:
            return
        vhost = exchange.vhost
        if vhost.exchanges.get(EXCHANGE) is not exchange:
            return
        headers = as_table({**facts, "timestamp_in_ms": timestamp_ms})
        octets = properties.encode_properties(
            properties.Properties(headers=headers, delivery_mode=2, timestamp=timestamp_ms // 1000)
        )
        if len(octets) > broker.settings.frame_octets_max - HEADER_FRAME_OCTETS:
            text = f"Event {name} is not published: its headers exceed a frame"
            broker.warn("event_exchange.too_large", "event size", text)
            return
        exchange.publish_in += 1
        queues = route(vhost, exchange, [name], headers).queues
        exchange.publish_out += len(queues)
        vhost.traffic.count_made(len(queues))
        if not queues:
            return
        content = frame.frame(frame.HEADER, 1, b"\0\x3c\0\0" + bytes(8) + octets)
        # The node's log for all queues, as a publisher does.
        run = Run(
            names_of(EXCHANGE, name),
            _ATTRIBUTES,
            broker.log.take(1),
            [content],
            len(content),
            0,
            0,
            broker.clock.now_ms,
            1,
            broker.settings.frame_octets_max,
        )
        enqueue(broker.log, run, range(1), queues, NO_RECEIPT)


def as_table(facts: Facts) -> Table:
    """Return facts as RabbitMQ's plugin types them: any whole number is 'l', any other one 'f'.

    A table of a peer becomes an array of texts, `{<<"x-max-length">>,signedint,5}` each.
    """
    table = Table()
    for key, value in facts.items():
        table[key], letter = _typed(value)
        table.types[key] = letter
    return table


def _typed(value: Any) -> tuple[Any, str]:
    if isinstance(value, bool):
        return value, "t"
    if isinstance(value, int):
        return value, "l"
    if isinstance(value, float):
        return value, "f"
    if isinstance(value, Table):
        return printed_entries(value), "A"
    if isinstance(value, Mapping):
        return as_table(value), "F"
    if isinstance(value, list | tuple):
        pairs = [_typed(one) for one in value]
        return Array([one for one, _ in pairs], "".join(letter for _, letter in pairs)), "A"
    return str(value), "S"
