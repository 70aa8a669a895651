"""From a received run to the queues: route -> enqueue, with the answers to publishers.

`Route` is one distinct publish of one channel (exchange, key, flags), resolved once and valid while the vhost's
generation stands. This file does not know frames; it takes contents as octets.
"""

from typing import TYPE_CHECKING, Any, Final

from pybroker.content_view import body_size, body_sizes, first_property_flags, property_octets, with_properties
from pybroker.core.routing.inbound_message import InboundMessage
from pybroker.core.routing.router import route as find_queues
from pybroker.run import RUN_MESSAGES_MAX, RUN_OCTETS_MAX, WANTS_CC, Names, Run, RunAttributes
from pybroker.wire import properties
from pybroker.wire.table import join_table, split_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pybroker.core.channel.receipt import Receipt
    from pybroker.core.queue.destination import Destination
    from pybroker.core.routing.exchange import Exchange
    from pybroker.core.topology.vhost import VHost
    from pybroker.message import Message
    from pybroker.store.log import Log
    from pybroker.wire.table import Table

# A run of slow publishes spans this much time at most: the error of a message's age.
RUN_AGE_MS_MAX: Final = 1_000

# A run of large bodies that came in one read may be larger than one that grew: at 128 KiB each, 256 KiB is one message,
# and what a run costs is paid for each. Half of what a peer may have waiting before it is not read any more.
READ_RUN_OCTETS_MAX: Final = 524_288
# The bit of the first property flag octet that says: there is a headers table (§4.2.6.1).
HEADERS_FLAG: Final = 0x20


def names_of(exchange: str, routing_key: str) -> Names:
    """Return the names with the tail that ends their basic.deliver: two shortstrs and the frame-end."""
    x, k = exchange.encode(), routing_key.encode()
    return Names(exchange, routing_key, bytes((len(x),)) + x + bytes((len(k),)) + k + b"\xce")


class Route:
    """One distinct basic.publish of a channel. `queues` and `exchange` are valid while `generation` is the vhost's.

    `run` is the last run of this route while it may still grow; `channel` is the number its frames carry. `dynamic`
    says that headers decide, or that somebody traces, so each message is routed by itself. Messages of one run share
    their time of arrival, so a run grows for `slack_ms` at most: not beyond its tick where a TTL may apply.
    """

    __slots__ = (
        "channel",
        "dynamic",
        "exchange",
        "generation",
        "immediate",
        "mandatory",
        "names",
        "octets",
        "owner",
        "queues",
        "run",
        "slack_ms",
        "to_reply",
        "verdict",
    )

    def __init__(
        self, channel: int, names: Names, *, mandatory: bool, immediate: bool, owner: object = None, octets: int = 0
    ) -> None:
        self.channel = channel
        self.names = names
        self.octets = octets  # of the method's frame
        self.mandatory = mandatory
        self.immediate = immediate
        self.owner = owner  # the door's channel
        self.generation = -1
        self.verdict = -1  # generation of the users whose permissions were checked
        self.to_reply: str | None = None  # key of a direct reply-to consumer
        self.exchange: Exchange | None = None
        self.queues: tuple[Destination, ...] = ()
        self.dynamic = False
        self.run: Run | None = None
        self.slack_ms = 0

    def resolve(self, vhost: "VHost", exchange: "Exchange") -> None:
        """Find the queues anew; the caller has checked permissions."""
        self.exchange = exchange
        routed = find_queues(vhost, exchange, (self.names.routing_key,), None, probe=True)
        self.queues = routed.queues
        # A trace looks at each message as well; a flag of its own would be one test more for every publish.
        traced = vhost.tracing and vhost.broker.traces.sees(vhost, self.names.exchange, routed.queues)
        # So is each one to a paused queue.
        paused = vhost.paused and any(queue.paused for queue in routed.queues)
        self.dynamic = bool(routed.dynamic or traced or paused)
        # A delay counts from the time of arrival, to the millisecond.
        exact = (routed.dynamic and vhost.schedules) or any(queue.bounded for queue in routed.queues)
        self.slack_ms = 0 if exact else RUN_AGE_MS_MAX
        self.run = None
        self.generation = vhost.generation


class Contents:
    """Messages of one kind as the scanner found them: `octets` with frames, `body_octets` without, see Run."""

    __slots__ = ("attributes", "body_octets", "body_size", "contents", "octets")

    def __init__(
        self, attributes: RunAttributes, contents: list[bytes], octets: int, body_octets: int, body_size: int
    ) -> None:
        self.attributes = attributes
        self.contents = contents
        self.octets = octets
        self.body_octets = body_octets
        self.body_size = body_size

    def single(self, index: int) -> "Contents":
        """Return one of them alone, for what is decided message by message."""
        content = self.contents[index]
        body = body_size(content)
        return Contents(self.attributes, [content], len(content), body, body)

    def part(self, start: int, stop: int) -> "Contents":
        """Return those from `start` up to `stop`: the others are refused, or have to wait."""
        contents = self.contents[start:stop]
        body_octets = sum(body_sizes(contents))
        return Contents(self.attributes, contents, sum(map(len, contents)), body_octets, self.body_size)


def enqueue(log: "Log", run: Run, indexes: range, queues: "Sequence[Destination]", receipt: "Receipt") -> None:
    """Put messages into the log, if they are to last, and into the queues; the receipt learns what to wait for.

    The durable ones of `queues` must all use this log, see `by_log`.
    """
    persistent = run.attributes.persistent
    # Before the queues have it: what they settle at once must be in the log by then. Once for all of them: there is one
    # record of a seq. Streams keep transient messages, too.
    keeping = tuple([queue.id for queue in queues if (queue.durable if persistent else queue.retains)])
    try:
        if keeping:
            receipt.wait(log, log.append(run, indexes, keeping))
        for queue in queues:
            queue.enqueue(run, indexes, receipt)
    except Exception as error:
        # The log has them for a stream that may not. A start would give them the offsets that others have here.
        if any(queue.retains for queue in queues):
            log.fail(error)
        raise


def by_log(queues: "Sequence[Destination]") -> "list[tuple[Log, Sequence[Destination]]]":
    """Return destinations (not empty) with the log that they use: most often one for all."""
    log = queues[0].log
    if all(queue.log is log for queue in queues):
        return [(log, queues)]
    logs = dict.fromkeys(queue.log for queue in queues)
    return [(log, [queue for queue in queues if queue.log is log]) for log in logs]


class Publisher:
    """A publisher: the part of a channel that the core needs. `origin` is the session's id."""

    __slots__ = ("frame_octets_max", "origin", "vhost")

    def __init__(self, vhost: "VHost", origin: int, frame_octets_max: int) -> None:
        self.vhost = vhost
        self.origin = origin
        self.frame_octets_max = frame_octets_max

    def publish(self, route: Route, contents: Contents, queues: "tuple[Destination, ...]", receipt: "Receipt") -> None:
        """Put the messages into `queues` (not empty), as a run of their own or at the end of the route's last one."""
        broker = self.vhost.broker
        octets, attributes = contents.octets, contents.attributes
        n = len(contents.contents)
        if octets > READ_RUN_OCTETS_MAX and n > 1:
            self._publish_parts(route, contents, queues, receipt)
            return
        # One log for all: a node has one, and parting the queues `by_log` would cost every publish. A destination that
        # has a log of its own is not durable for this one: it appends in its `enqueue`, and tells the receipt.
        log = queues[0].log
        seq = log.next_seq  # `log.take`, without the call
        log.next_seq = seq + n
        if broker.growing is not route:
            # Only the run with the last seq can grow; any other one would be kept alive by its route for nothing.
            if broker.growing is not None:
                broker.growing.run = None
            broker.growing = route
        run = route.run
        now_ms = broker.clock.now_ms
        if (
            run is not None
            and run.first_seq + run.count == seq
            and run.attributes is attributes
            and run.contents is not None
            and run.count + n <= RUN_MESSAGES_MAX
            and run.octets + octets <= RUN_OCTETS_MAX
            and now_ms - run.arrived_ms <= (route.slack_ms if attributes.ttl_ms is None else 0)
        ):
            start = run.count
            run.extend(contents.contents, octets, contents.body_octets, contents.body_size)
        else:
            start = 0
            run = Run(
                route.names,
                attributes,
                seq,
                contents.contents,
                octets,
                contents.body_octets,
                contents.body_size,
                now_ms,
                route.channel,
                self.frame_octets_max,
                self.origin,
            )
            route.run = run
        receipt.index = start
        indexes = range(start, start + n)
        if attributes.persistent or broker.streams.known:
            enqueue(log, run, indexes, queues, receipt)
            return
        for queue in queues:
            queue.enqueue(run, indexes, receipt)

    def _publish_parts(
        self, route: Route, contents: Contents, queues: "tuple[Destination, ...]", receipt: "Receipt"
    ) -> None:
        """Publish what a large read brought as several runs: a consumer's outbox takes one whole, so none is large."""
        n = len(contents.contents)
        each = max(1, n * READ_RUN_OCTETS_MAX // contents.octets)
        offset = receipt.offset
        for start in range(0, n, each):
            receipt.begin(offset + start)
            self.publish(route, contents.part(start, start + each), queues, receipt)
        receipt.begin(offset)

    def targets(
        self, exchange: "Exchange", route: Route, attributes: RunAttributes, content: bytes, *, probe: bool = False
    ) -> "tuple[tuple[Destination, ...], bytes]":
        """Route one message by what it is; return its queues, its content without BCC (sender-selected routing).

        With a `probe` no exchange keeps the message.
        """
        if exchange.SCHEDULES and not attributes.wants & WANTS_CC:
            waits = exchange.waits(property_octets(content))
            if waits:
                return waits, content
        headers = headers_of(content)
        keys = [route.names.routing_key]
        if attributes.wants & WANTS_CC and headers is not None:
            for name in ("CC", "BCC"):
                value: Any = headers.get(name)
                if isinstance(value, list):
                    keys += [key for key in value if isinstance(key, str)]
        shown = without_header(content, b"BCC") if headers is not None and "BCC" in headers else content
        inbound = None
        if not probe:
            inbound = InboundMessage(route.names, attributes, shown, route.channel, self.frame_octets_max)
        queues = find_queues(self.vhost, exchange, keys, headers, probe=probe, inbound=inbound).queues
        # Until it is due nobody sees it, and BCC is needed then.
        return queues, content if queues and all(queue.republishes for queue in queues) else shown


def headers_of(content: bytes) -> "Table | None":
    """Return a message's headers, None if it has no table of them."""
    if first_property_flags(content) & HEADERS_FLAG:
        return properties.decode_properties(property_octets(content)).headers
    return None


def without_header(content: bytes, key: bytes) -> bytes:
    """Return the content without one entry of its headers table, all other octets as they were."""
    octets = property_octets(content)
    table = properties.find_headers(octets)
    if table is None:
        return content
    pairs = [pair for pair in split_table(table) if pair[0] != key]
    return with_properties(content, properties.replace_headers(octets, join_table(pairs)))


def single_run(
    log: "Log", names: Names, message: "Message", octets: bytes, attributes: RunAttributes, now_ms: int
) -> Run:
    """Return a run of one message: `message` re-published with other properties. It takes a new seq of `log`."""
    content = with_properties(message.content, octets)
    seq = log.take(1)
    run = message.run
    body = body_size(content)
    return Run(
        names,
        attributes,
        seq,
        [content],
        len(content),
        body,
        body,
        now_ms,
        run.channel,
        run.frame_octets_max,
        run.origin,
    )
