"""Subscriptions: chunks of a stream for one peer, as many as it has asked for.

A chunk is sent as the stream has it, without a copy. One that is larger than a frame of the peer may be is cut between
entries.
"""

from typing import TYPE_CHECKING, ClassVar, Final

from pybroker.core.auth.permissions import READ
from pybroker.core.channel.consumer import Consumer
from pybroker.core.events import connections as connection_events
from pybroker.core.events.cause import because
from pybroker.entries_run import ENTRIES_MAX, HEAD, EntriesRun
from pybroker.stream.access import check, stream_of
from pybroker.stream.offsets import spec_of
from pybroker.stream.publishers import REFERENCE_OCTETS_MAX
from pybroker.stream.refused import Refused
from pybroker.wire.stream.codes import Code
from pybroker.wire.stream.entries import cut
from pybroker.wire.stream.frame import DELIVER_OCTETS_MAX, credit_error, deliver, response

if TYPE_CHECKING:
    from pybroker.core.stream.stream import Stream
    from pybroker.stream.channel import StreamChannel
    from pybroker.stream.session import StreamSession
    from pybroker.wire.stream import commands

# Of a Deliver that is no entry.
_FRONT_OCTETS: Final = DELIVER_OCTETS_MAX + HEAD.size
# A peer may ask for chunks without end, not for a number that grows without end.
CHUNKS_MAX: Final = 1 << 30


class Subscription(Consumer):
    """`chunks` is how many the peer has asked for and not got; parts of one that was cut count each."""

    takes_chunks: ClassVar[bool] = True

    __slots__ = ("_id", "chunks")

    queue: "Stream"
    channel: "StreamChannel"

    def __init__(self, stream: "Stream", channel: "StreamChannel", subscription_id: int, chunks: int) -> None:
        super().__init__(stream, channel, str(subscription_id), no_ack=True, exclusive=False, prefetch=0)
        self._id = subscription_id
        self.chunks = chunks

    def credit(self) -> int:
        """Return how many chunks may be delivered now."""
        return 0 if self.channel.session.outbox_full else max(0, self.chunks)

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
        head = deliver(self._id, HEAD.size + run.octets, committed) + run.head
        # Put together once, for all who get it.
        session.outbox += (head, run.data)
        self.chunks -= 1
        session.queued(len(head) + run.octets)

    def cancelled_by_server(self) -> None:
        """Tell the peer that the stream is gone."""
        self.channel.stream_gone(self.queue)


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


def subscribe(session: "StreamSession", command: "commands.Subscribe") -> None:
    """Have the chunks of a stream delivered."""
    channel, properties = session.channel, command.properties
    check(session, READ, command.stream)
    if len(properties.get("name", "").encode()) > REFERENCE_OCTETS_MAX:
        raise Refused(Code.PRECONDITION_FAILED)
    stream = stream_of(session, command.stream, READ)
    tag = str(command.subscription_id)
    if tag in channel.consumers:
        raise Refused(Code.SUBSCRIPTION_ID_ALREADY_EXISTS)
    if properties.get("single-active-consumer") == "true":
        # Differs from RabbitMQ: the stream protocol has no single active consumers here; all of them would be active.
        raise Refused(Code.PRECONDITION_FAILED)
    subscription = Subscription(stream, channel, command.subscription_id, command.credit)
    subscription.arguments = dict(properties)
    channel.consumers[tag] = subscription
    session.consumers += 1
    channel.reply(response(command.key, command.correlation_id, Code.OK))
    stream.attach(subscription, spec_of(command.begin))
    stream.consumers.add(subscription)
    stream.wake()
    connection_events.consumer_created(subscription)


def credit(session: "StreamSession", command: "commands.Credit") -> None:
    """Deliver more chunks of a subscription; only one that there is not is answered."""
    subscription = session.channel.consumers.get(str(command.subscription_id))
    if isinstance(subscription, Subscription):
        subscription.give(command.more_credit)
    else:
        session.channel.reply(credit_error(command.subscription_id, Code.SUBSCRIPTION_ID_DOES_NOT_EXIST))


def unsubscribe(session: "StreamSession", command: "commands.Unsubscribe") -> None:
    """Deliver no more chunks."""
    channel = session.channel
    subscription = channel.consumers.pop(str(command.subscription_id), None)
    if subscription is None:
        raise Refused(Code.SUBSCRIPTION_ID_DOES_NOT_EXIST)
    session.consumers -= 1
    stream = subscription.queue
    stream.consumers.remove(subscription)
    channel.consumer_gone(subscription)
    channel.reply(response(command.key, command.correlation_id, Code.OK))
    connection_events.consumer_deleted(subscription)
    stream.consumer_left(because("its subscription ended", session))
