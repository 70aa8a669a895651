"""Subscription: a consumer of chunks of a stream, for one peer, as many as it has asked for.

A chunk is sent as the stream has it, without a copy. One that is larger than a frame of the peer may be is cut between
entries.
"""

from typing import TYPE_CHECKING, ClassVar, Final

from pybroker.core.channel.consumer import Consumer
from pybroker.core.peer.slice_buffers import SLICE_OCTETS
from pybroker.core.stream.filter import filters_of_properties
from pybroker.entries_run import ENTRIES_MAX, ENTRIES_OCTETS_MAX, HEAD, EntriesRun
from pybroker.store.streams.stored_entries import StoredEntries
from pybroker.stream.delivery import Delivery
from pybroker.stream.offsets import spec_of
from pybroker.wire.stream.entries import cut
from pybroker.wire.stream.frame import DELIVER_OCTETS_MAX, deliver

if TYPE_CHECKING:
    from pybroker.core.stream.stream import Stream
    from pybroker.stream.channel import StreamChannel
    from pybroker.wire.stream import commands

# Of a Deliver that is no entry.
_FRONT_OCTETS: Final = DELIVER_OCTETS_MAX + HEAD.size
# A peer may ask for chunks without end, not for a number that grows without end.
CHUNKS_MAX: Final = 1 << 30
# So many readers take no long turns with large chunks in memory, which are sent whole to them: that costs less.
WHOLE_READERS_MAX: Final = 8


class Subscription(Consumer):
    """`chunks` is how many the peer has asked for and not got; parts of one that was cut count each."""

    takes_chunks: ClassVar[bool] = True

    __slots__ = ("begin", "chunks", "filters", "id")

    queue: "Stream"
    channel: "StreamChannel"

    def __init__(self, stream: "Stream", channel: "StreamChannel", asked: "commands.Subscribe") -> None:
        super().__init__(stream, channel, tag_of(asked.subscription_id), no_ack=True, exclusive=False, prefetch=0)
        self.id = asked.subscription_id
        self.begin = asked.begin
        self.chunks = asked.credit
        self.arguments = dict(asked.properties)
        self.filters = filters_of_properties(asked.properties)

    def start(self) -> None:
        """Have chunks delivered from where the peer said."""
        self.queue.attach(self, spec_of(self.begin), self.filters)
        self.queue.consumers.add(self)
        self.queue.wake()

    def credit(self) -> int:
        """Return how many chunks may be delivered now."""
        return 0 if self.channel.session.outbox_full else max(0, self.chunks)

    @property
    def takes_stored(self) -> bool:
        """Tell whether no chunk has to be cut for the peer."""
        octets_max = self.channel.session.frame_octets_max
        return not octets_max or octets_max + 4 >= ENTRIES_OCTETS_MAX + _FRONT_OCTETS

    def give(self, more: int) -> None:
        """Take the peer's wish for more chunks."""
        self.chunks = min(self.chunks + more, CHUNKS_MAX)
        self.resume()

    def deliver_chunk(self, run: EntriesRun, now_ms: int) -> None:  # noqa: ARG002 - it does not age
        """Put a chunk into the outbox."""
        session = self.channel.session
        octets_max = session.frame_octets_max
        self.delivered += run.count
        if octets_max and run.octets + _FRONT_OCTETS - 4 > octets_max and run.entries > 1:
            for part in parts_of(run, octets_max + 4 - _FRONT_OCTETS):
                self._send(part)
        else:
            self._send(run)

    def _send(self, run: EntriesRun) -> None:
        session = self.channel.session
        committed = self.queue.last_chunk_offset if session.knows_committed else None
        head = deliver(self.id, HEAD.size + run.octets, committed) + run.head
        if isinstance(run, StoredEntries):
            session.outbox += (head, Delivery(session, self.queue, run))
            session.output_left = True
        else:
            # Put together once, for all who get it.
            session.outbox += (head, run.data)
            if run.octets > SLICE_OCTETS and self.queue.streams.readers > WHOLE_READERS_MAX:
                session.output_left = True
        self.chunks -= 1
        session.queued(len(head) + run.octets)

    def cancelled_by_server(self) -> None:
        """Tell the peer that the stream is gone."""
        self.channel.stream_gone(self.queue)


def tag_of(subscription_id: int) -> str:
    """Return the consumer tag of a subscription, as RabbitMQ lists it among other consumers."""
    return f"stream.subid-{subscription_id}"


def parts_of(run: EntriesRun, octets_max: int) -> "list[EntriesRun]":
    """Return a chunk as several, each within a limit unless it is a single entry."""
    parts, data, offset, at = [], run.data, run.first_seq, 0
    while at < len(data):
        stop, entries, count = cut(data, at, ENTRIES_MAX, octets_max)
        part = EntriesRun(offset, [data[at:stop]], entries, count, stop - at, run.arrived_ms)
        part.timestamp_ms = run.timestamp_ms
        parts.append(part)
        offset += count
        at = stop
    return parts
