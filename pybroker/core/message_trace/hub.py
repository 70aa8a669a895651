"""Traces: the hook points in the life of a message, for the firehose and for message traces.

Callers test `VHost.tracing` first, which is true while either is on, so both cost nothing while they are off. The
firehose publishes copies of messages, a message trace collects events for its reader. Neither knows the other.

Some hooks return the destinations of a message with a Watch in front, through which a trace learns its seq.
"""

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pybroker.content_view import property_octets, with_properties
from pybroker.core.delayed.due import due_times
from pybroker.core.exchange.trace import Firehose, Frames
from pybroker.core.message_trace import pauses
from pybroker.core.message_trace.criteria import Criteria
from pybroker.core.message_trace.facts import holder, left_behind, who
from pybroker.core.message_trace.followed import DELAYED, READY
from pybroker.core.message_trace.guard import Guard
from pybroker.core.message_trace.path import Paths, end_of, paths_of
from pybroker.core.message_trace.trace import ROUTED_MAX, MessageTrace
from pybroker.core.message_trace.watch import Watch
from pybroker.core.routing.inbound_message import InboundMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pybroker.core.broker import Broker
    from pybroker.core.channel.consumer import Consumer
    from pybroker.core.channel.state import ChannelState
    from pybroker.core.channel.unacked import Batch
    from pybroker.core.delayed.publish import Group
    from pybroker.core.delayed.schedule import Schedule
    from pybroker.core.message_trace.followed import Followed
    from pybroker.core.queue.dead_letter.route import Letter
    from pybroker.core.queue.destination import Destination
    from pybroker.core.queue.move.source import Way
    from pybroker.core.queue.paging.segments import EvictedSegment
    from pybroker.core.queue.queue import Queue
    from pybroker.core.routing.publish import Contents, Route
    from pybroker.core.topology.vhost import VHost
    from pybroker.message import Message
    from pybroker.run import Entry, Run

    Spans = list[tuple[int, int]]
    # A door's own: it has confirms and transactions.
    Channel = Any

# Traces of the node at one time.
TRACES_MAX: Final = 8


class Traces:
    """The firehose, and the message traces that are running."""

    __slots__ = ("_broker", "_running", "firehose")

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self.firehose = Firehose(broker.turn)
        self._running: list[MessageTrace] = []

    # -- traces ---------------------------------------------------------------------------------------------------

    @property
    def running(self) -> "Sequence[MessageTrace]":
        """Return the message traces that have not ended."""
        return tuple(self._running)

    def follow(
        self,
        vhost: "VHost",
        count: int,
        duration_ms: int,
        queue: str = "",
        exchange: str | None = None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> MessageTrace | None:
        """Start a trace; the arguments are those of `start` and Criteria."""
        return self.start(vhost, Criteria(queue, exchange, headers), count, duration_ms)

    def start(self, vhost: "VHost", criteria: "Criteria", count: int, duration_ms: int) -> MessageTrace | None:
        """Start a trace of `count` messages, or return None if TRACES_MAX are running.

        The reader must poll it, and stop it when it leaves.
        """
        if len(self._running) >= TRACES_MAX:
            return None
        trace = MessageTrace(vhost, criteria, count, duration_ms, self._stopped)
        self._running.append(trace)
        vhost.watch(1)
        pauses.begun(trace, criteria.queue)
        return trace

    def _stopped(self, trace: MessageTrace) -> None:
        self._running.remove(trace)
        trace.vhost.watch(-1)

    def tick(self) -> None:
        """End traces whose time is up, even if nobody polls them."""
        for trace in self.running:
            with Guard(trace):
                trace.check()

    def of(self, vhost: "VHost") -> list[MessageTrace]:
        """Return the message traces of a virtual host."""
        return [trace for trace in self._running if trace.vhost is vhost]

    def sees(self, vhost: "VHost", exchange: str, queues: "Iterable[Destination]") -> bool:
        """Tell whether to look at messages that are published to an exchange and go to these queues."""
        return vhost.firehose or any(trace.may_want(exchange, queues) for trace in self.of(vhost))

    # -- publishers -----------------------------------------------------------------------------------------------

    def published(
        self,
        channel: "Channel",
        route: "Route",
        contents: "Contents",
        original: bytes,
        queues: "tuple[Destination, ...]",
        refusing: "tuple[Destination, ...]" = (),
    ) -> "tuple[Destination, ...]":
        """Report the publish of a message; return its queues with any watches. `original` is its content with BCC.

        It goes to none of the queues that are `refusing` it because they are paused.
        """
        vhost: VHost = channel.publisher.vhost
        if vhost.firehose:
            frames = Frames(route.channel, channel.publisher.frame_octets_max)
            names = [queue.name for queue in queues if not queue.republishes]
            self.firehose.publish(vhost, route.names, original, frames, channel.party, names)
        watched = queues
        for trace in self.of(vhost):
            with Guard(trace):
                if trace.wants(route.names.exchange, original, (*queues, *refusing)):
                    followed = self._follow(trace, channel, route, contents, original)
                    pauses.refused(trace, followed, refusing)
                    if refusing and not queues:
                        trace.end(followed)
                    elif self._tell_route(trace, followed, channel, route, contents, original, queues):
                        watched = (Watch(trace, [(followed, 0)], queues), *watched)
        return watched

    def replied(self, channel: "Channel", route: "Route", contents: "Contents", *, there: bool) -> None:
        """Report a direct reply; `there` tells whether a channel waits for it."""
        vhost: VHost = channel.publisher.vhost
        content = contents.contents[0]
        if vhost.firehose:
            frames = Frames(route.channel, channel.publisher.frame_octets_max)
            key = route.names.routing_key
            self.firehose.publish(vhost, route.names, content, frames, channel.party, [key])
        for trace in self.of(vhost):
            with Guard(trace):
                if trace.wants(route.names.exchange, content, ()):
                    followed = self._follow(trace, channel, route, contents, content)
                    if there:
                        trace.record(followed, "replied")
                    else:
                        why = "nobody waits for this reply"
                        trace.record(followed, "unroutable", exchange="", why=why, returned=route.mandatory)

    def _follow(
        self, trace: MessageTrace, channel: "Channel", route: "Route", contents: "Contents", content: bytes
    ) -> "Followed":
        facts = {
            **who(channel),
            "persistent": contents.attributes.persistent,
            "mandatory": route.mandatory,
            "confirms": channel.confirms is not None,
            "transaction": channel.transaction is not None,
        }
        transaction = None if channel.transaction is None or route.to_reply else (channel, channel.transaction)
        return trace.published(route.names, content, facts, transaction)

    def _tell_route(
        self,
        trace: MessageTrace,
        followed: "Followed",
        channel: "Channel",
        route: "Route",
        contents: "Contents",
        original: bytes,
        queues: "tuple[Destination, ...]",
    ) -> bool:
        """Report where a message goes; return whether it goes anywhere."""
        exchange = route.exchange
        assert exchange is not None
        if queues and queues[0].republishes:
            trace.delayed(
                followed, exchange.name, *due_times(property_octets(original), self._broker.clock.timestamp_ms)
            )
            return True
        frame_octets_max = channel.publisher.frame_octets_max
        inbound = InboundMessage(route.names, contents.attributes, original, route.channel, frame_octets_max)
        paths = paths_of(exchange, inbound)
        if queues:
            trace.routed(followed, queues, paths, persistent=contents.attributes.persistent)
            return True
        followed.entered()  # a transaction returns it at its commit
        trace.record(followed, "unroutable", **end_of(paths, exchange), returned=route.mandatory)
        return False

    # -- queues ---------------------------------------------------------------------------------------------------

    def delivered(
        self,
        queue: "Queue",
        run: "Run",
        indexes: range,
        deliveries: int,
        channel: "ChannelState",
        consumer: "Consumer | None",
        *,
        no_ack: bool,
    ) -> None:
        """Report a delivery to a consumer, or by basic.get."""
        vhost = queue.vhost
        if vhost.firehose:
            self.firehose.add(queue, run, indexes, deliveries, channel.party)
        # Nothing becomes of a message of a stream when it is read; its seqs there are offsets.
        for trace in () if queue.retains else self.of(vhost):
            with Guard(trace):
                trace.delivered(queue, run, indexes, deliveries, partial(holder, channel, consumer, no_ack=no_ack))

    def settled(self, batches: "Sequence[Batch]", outcome: str, channel: "ChannelState | None") -> None:
        """Report that deliveries were answered or come back; without a `channel`, theirs is closed or was too slow."""
        if not batches:
            return
        vhost = batches[0].queue.vhost
        if vhost.firehose:
            self.firehose.settled(batches, outcome, channel)
        for trace in self.of(vhost):
            with Guard(trace):
                for batch in batches:
                    if batch.queue.retains:
                        continue
                    by = partial(left_behind, batch) if channel is None else partial(who, channel)
                    trace.answered(batch.queue, batch.run, batch.indexes, batch.deliveries, outcome, by)

    def left(self, queue: "Queue", entries: "Sequence[Entry]", reason: str) -> None:
        """Report that messages expire, exceed a limit or die otherwise."""
        if queue.vhost.firehose:
            self.firehose.left(queue, entries, reason)
        for trace in self.of(queue.vhost):
            with Guard(trace):
                for entry in entries:
                    trace.left(queue, entry.run, entry.indexes, entry.deliveries, reason)

    def retry_delayed(self, queue: "Queue", entries: "Iterable[Entry]", due_ms: int) -> None:
        """Report that messages wait for their retry until `due_ms`, on the clock's now_ms."""
        due_in_ms = due_ms - self._broker.clock.now_ms
        facts = {"due_in_ms": due_in_ms, "due_timestamp_in_ms": self._broker.clock.timestamp_ms + due_in_ms}
        self._changed(queue, entries, DELAYED, "retry_delayed", facts)

    def retried(self, queue: "Queue", entries: "Iterable[Entry]") -> None:
        """Report that messages are due for their retry and ready again."""
        self._changed(queue, entries, READY, "retry_due", {})

    def _changed(
        self, queue: "Queue", entries: "Iterable[Entry]", state: str, name: str, facts: dict[str, Any]
    ) -> None:
        for trace in self.of(queue.vhost):
            with Guard(trace):
                for entry in entries:
                    trace.changed(queue, entry, state, name, facts)

    def refused(self, queue: "Queue", entries: "Iterable[Entry]", *, dies: bool) -> None:
        """Report that a full queue refuses messages; `dies` tells whether it dead-letters them."""
        for trace in self.of(queue.vhost):
            with Guard(trace):
                for entry in entries:
                    trace.refused(queue, entry.run, entry.indexes, dies=dies)

    def emptied(self, queue: "Destination") -> None:
        """Report that `queue` was purged, or deleted with its unacknowledged messages."""
        name = "deleted" if queue.deleted else "purged"
        self._gone(queue, name, lambda _, state: queue.deleted or state in {READY, DELAYED})

    def cancelled(self, schedule: "Schedule", seq: int) -> None:
        """Report that an operator cancelled a scheduled message."""
        self._gone(schedule, "cancelled", lambda one, _: one == seq)

    def dropped_unseen(self, queue: "Queue", segment: "EvictedSegment") -> None:
        """Report that evicted messages were dropped because the queue is too long."""
        spans = list(segment.spans())
        self._gone(queue, "maxlen", lambda seq, state: state == READY and _is_within(seq, spans))

    def unreadable(self, queue: "Queue", group: "Iterable[EvictedSegment]") -> None:
        """Report the messages of segments that could not be read back from disk."""
        for segment in group:
            self._lost(queue, READY, list(segment.spans()), segment.found or [])

    def unreadable_delayed(self, queue: "Queue", first_seq: int, messages: int, found: "list[Entry]") -> None:
        """Report messages that wait for their retry and could not be read back: all from a seq on but those found."""
        self._lost(queue, DELAYED, [(first_seq, first_seq + messages - 1)], found)

    def _lost(self, queue: "Queue", state: str, spans: "Spans", found: "list[Entry]") -> None:
        def is_lost(seq: int, is_in: str) -> bool:
            there = any(seq - entry.run.first_seq in entry.indexes for entry in found)
            return is_in == state and _is_within(seq, spans) and not there

        self._gone(queue, "unreadable", is_lost)

    def _gone(self, queue: "Destination", name: str, has: "Callable[[int, str], bool]") -> None:
        for trace in self.of(queue.vhost):
            with Guard(trace):
                trace.gone(queue, name, has)

    # -- from one queue to others ---------------------------------------------------------------------------------

    def forwarded(self, queue: "Queue", message: "Message", letter: "Letter", reason: str) -> "tuple[Destination, ...]":
        """Report that a dead letter is forwarded; return its targets with any watches."""
        targets = letter.targets
        watched = targets
        names = letter.names
        for trace in self.of(queue.vhost):
            with Guard(trace):
                for followed, seq in trace.leaving(queue, message.run, _place_of(message), message.deliveries, targets):
                    facts = {"reason": reason, "exchange": names.exchange, "routing_key": names.routing_key}
                    trace.moves_on(followed, queue, seq, "dead_lettered", **facts)
                    paths = self._paths_of_letter(queue, message, letter)
                    trace.routed(followed, targets, paths, persistent=letter.attributes.persistent)
                    watched = (Watch(trace, [(followed, 0)], targets), *watched)
        return watched

    def moved(self, source: "Queue", way: "Way", parts: "Iterable[tuple[Run, range]]") -> "Sequence[Destination]":
        """Report that an operator moves messages; return their targets with any watches."""
        watched: Sequence[Destination] = way.targets
        for trace in self.of(source.vhost):
            with Guard(trace):
                mine: list[tuple[Followed, int]] = []
                offset = 0
                for run, indexes in parts:
                    for followed, seq in trace.leaving(source, run, indexes, 0, way.targets):
                        self._tell_move(trace, followed, source, way, run, seq)
                        mine.append((followed, offset + indexes.index(seq - run.first_seq)))
                    offset += len(indexes)
                if mine:
                    watched = (Watch(trace, mine, way.targets), *watched)
        return watched

    def _tell_move(
        self, trace: MessageTrace, followed: "Followed", source: "Queue", way: "Way", run: "Run", seq: int
    ) -> None:
        names, exchange = way.names, way.exchange
        to = [target.name for target in way.targets[:ROUTED_MAX]]
        facts = {"exchange": names.exchange, "routing_key": names.routing_key, "to": to}
        trace.moves_on(followed, source, seq, "moved", **facts, routed=exchange is not None)
        if exchange is not None:
            content = run.content(seq - run.first_seq)
            inbound = InboundMessage(names, run.attributes, content, run.channel, run.frame_octets_max)
            trace.routed(followed, way.targets, paths_of(exchange, inbound), persistent=run.attributes.persistent)

    def letter_ends(self, queue: "Queue", message: "Message", letter: "Letter | None") -> None:
        """Report that a dead letter is dropped."""
        for trace in self.of(queue.vhost):
            with Guard(trace):
                for followed, seq in trace.leaving(queue, message.run, _place_of(message), message.deliveries):
                    facts = self._why_letter_ends(queue, message, letter)
                    trace.ends(followed, queue, seq, "dead_letter_dropped", **facts)

    def letter_stays(self, queue: "Queue", message: "Message", why: str) -> None:
        """Report that a dead letter stays in its queue, which must not drop it."""
        for trace in self.of(queue.vhost):
            with Guard(trace):
                for followed, seq in trace.leaving(queue, message.run, _place_of(message), message.deliveries):
                    trace.stays(followed, queue, seq, why)

    def _paths_of_letter(self, queue: "Queue", message: "Message", letter: "Letter") -> Paths:
        exchange = queue.vhost.exchanges.get(letter.names.exchange)
        if exchange is None:
            return Paths({}, [])
        content = with_properties(message.content, letter.octets)
        run = message.run
        return paths_of(
            exchange, InboundMessage(letter.names, letter.attributes, content, run.channel, run.frame_octets_max)
        )

    def _why_letter_ends(self, queue: "Queue", message: "Message", letter: "Letter | None") -> dict[str, Any]:
        name = queue.limits.dead_letter_exchange
        exchange = None if name is None else queue.vhost.exchanges.get(name)
        if name is None:
            return {"exchange": None, "why": "the queue has no dead letter exchange any more"}
        if exchange is None:
            return {"exchange": name, "why": "the exchange does not exist"}
        if letter is None:
            return {"exchange": name, "why": "its headers grew too large"}
        paths = self._paths_of_letter(queue, message, letter)
        if paths.to:
            return {"exchange": name, "why": "it would go round in a circle"}
        return end_of(paths, exchange)

    def released(
        self, schedule: "Schedule", group: "Group", seqs: "Sequence[int]", contents: "Sequence[bytes]"
    ) -> "Sequence[Destination]":
        """Report that scheduled messages are due; return their queues with any watches."""
        exchange, queues = schedule.exchange, group.queues
        watched = queues
        for trace in self.of(schedule.vhost):
            with Guard(trace):
                mine: list[tuple[Followed, int]] = []
                for offset, (seq, content) in enumerate(zip(seqs, contents, strict=True)):
                    followed = trace.of_seq(schedule, seq)
                    if followed is None and trace.wants(group.names.exchange, content, queues):
                        followed = trace.found_delayed(group.names, group.attributes, content)
                    if followed is None:
                        continue
                    frames = group.channel, group.frame_octets_max
                    paths = paths_of(exchange, InboundMessage(group.names, group.attributes, content, *frames))
                    trace.moves_on(followed, schedule, seq, "due", exchange=exchange.name)
                    if queues:
                        trace.routed(followed, queues, paths, persistent=group.attributes.persistent)
                        mine.append((followed, offset))
                    else:
                        trace.record(followed, "unroutable", **end_of(paths, exchange), returned=False)
                if mine:
                    watched = (Watch(trace, mine, queues), *watched)
        return watched


def _place_of(message: "Message") -> range:
    return range(message.index, message.index + 1)


def _is_within(seq: int, spans: "Spans") -> bool:
    return any(first <= seq <= last for first, last in spans)
