"""StreamChannel: what an open connection of the stream protocol has: publishers, subscriptions, answers that wait."""

from typing import TYPE_CHECKING, Final

from pybroker.core.auth.permissions import READ, WRITE
from pybroker.core.events import connections as connection_events
from pybroker.core.events.cause import because
from pybroker.core.exchange.trace import Party
from pybroker.core.peer.channel import PeerChannel
from pybroker.stream.access import may
from pybroker.stream.confirms import Confirms
from pybroker.wire.stream.codes import Code
from pybroker.wire.stream.commands import ConsumerUpdate, MetadataUpdate

if TYPE_CHECKING:
    from pybroker.core.channel.consumer import Consumer
    from pybroker.core.queue.queue import Queue
    from pybroker.core.stream.stream import Stream
    from pybroker.errors import InternalError
    from pybroker.stream.grouped_subscription import GroupedSubscription
    from pybroker.stream.publishers import Publisher
    from pybroker.stream.session import StreamSession
    from pybroker.wire.stream.commands import ConsumerUpdated

# So long a peer may take to answer ConsumerUpdate, as in RabbitMQ.
ANSWER_MS_MAX: Final = 60_000


class StreamChannel(PeerChannel):
    """Its `consumers` are the subscriptions, by their tags. `frame_octets_max` is what the peer agreed to."""

    __slots__ = ("_last_id", "_updates", "confirms", "frame_octets_max", "publishers", "starting", "transaction")

    session: "StreamSession"

    def __init__(self, session: "StreamSession") -> None:
        super().__init__(session, 0)
        self.starting = False
        self.transaction = None
        self.frame_octets_max = 0
        self.publishers: dict[int, Publisher] = {}
        self.confirms = Confirms()
        self._last_id = 0  # of a request of ours
        # Requests to members of groups that are not answered: whether to begin, and until when; the oldest first.
        self._updates: dict[int, tuple[GroupedSubscription, bool, int]] = {}

    @property
    def pid(self) -> str:
        """Return its connection's id: it has no other channel."""
        return self.session.pid

    @property
    def party(self) -> Party:
        """Return its consumers as the firehose names them."""
        user = self.session.user
        return Party(self.session.name, 0, user.name if user is not None else "")

    # -- out ----------------------------------------------------------------------------------------------------------

    def reply(self, octets: bytes) -> None:
        """Answer a request, behind the answers that wait for the disk."""
        self.send_octets(octets)

    def reply_defined(self, octets: bytes, commit_position: int) -> None:
        """Answer a request when the definitions are on disk up to a position. Raises InternalError (541)."""
        self.send_octets_when(octets, self.session.broker.definitions, commit_position)

    def replies_failed(self, error: "InternalError") -> None:
        """Close the connection: an answer will never come."""
        self.session.fail(Code.INTERNAL_ERROR, error.text, error.text)

    def send_confirms(self) -> None:
        """Tell publishers what is on disk by now."""
        confirms, session = self.confirms, self.session
        if not confirms.is_waiting:
            return
        unconfirmed = session.broker.unconfirmed
        for octets in confirms.pop(session.frame_octets_max):
            session.send(octets)
        if confirms.awaited is not None:
            unconfirmed[self] = confirms.awaited
        else:
            unconfirmed.pop(self, None)

    # -- publishers ---------------------------------------------------------------------------------------------------

    def add_publisher(self, publisher: "Publisher") -> None:
        """Have one more."""
        if not self.publishers:
            self.session.broker.totals.publishers += 1
        self.publishers[publisher.id] = publisher

    def remove_publisher(self, publisher: "Publisher") -> None:
        """Have one less; what it sent stays, and is not confirmed any more."""
        publisher.leave()
        if self.publishers.pop(publisher.id, None) is not None and not self.publishers:
            self.session.broker.totals.publishers -= 1

    # -- groups of consumers ------------------------------------------------------------------------------------------

    def ask_update(self, member: "GroupedSubscription", *, active: bool) -> None:
        """Ask the peer to begin with a subscription, or to stop."""
        # One that is leaving with others of its connection, or with its stream, is not asked.
        if self.consumers.get(member.tag) is not member or member.queue.deleted:
            return
        self._last_id += 1
        self._updates[self._last_id] = member, active, self.session.broker.clock.now_ms + ANSWER_MS_MAX
        self.reply(ConsumerUpdate(self._last_id, member.id, active).octets)

    def updated(self, answer: "ConsumerUpdated") -> None:
        """Take an answer to that; one that nobody waits for is none."""
        member, active, _ = self._updates.pop(answer.correlation_id, (None, False, 0))
        if member is None:
            return
        if answer.code != Code.OK:
            # As in RabbitMQ it goes on all the same.
            text = f"{self!r} answers ConsumerUpdate of subscription {member.id} with code {answer.code}"
            self.session.broker.warn("stream.update_refused", f"update {self.session.id}", text, self.session)
        if active:
            member.resume_at(answer.resumed)
        else:
            member.stopped()

    @property
    def is_late(self) -> bool:
        """Tell whether the peer owes an answer for too long, on which other consumers wait."""
        return any(until_ms <= self.session.broker.clock.now_ms for _, _, until_ms in self._updates.values())

    def renew_updates(self) -> None:
        """Give the peer the whole time again: its answer may have come, and was not read."""
        until_ms = self.session.broker.clock.now_ms + ANSWER_MS_MAX
        self._updates = {number: (member, active, until_ms) for number, (member, active, _) in self._updates.items()}

    def consumer_gone(self, consumer: "Consumer") -> None:
        """Keep what a subscription has counted; it is none of the channel's any more."""
        self._updates = {number: asked for number, asked in self._updates.items() if asked[0] is not consumer}
        super().consumer_gone(consumer)

    # -- streams that go ----------------------------------------------------------------------------------------------

    def stream_gone(self, stream: "Stream") -> None:
        """Learn that a stream is deleted, or that the user may not use it any more: the peer is told once."""
        is_used = False
        for publisher in [each for each in self.publishers.values() if each.stream is stream]:
            self.remove_publisher(publisher)
            is_used = True
        consumers = [each for each in self.consumers.values() if each.queue is stream]
        for consumer in consumers:
            del self.consumers[consumer.tag]
        for consumer in consumers:
            self.session.consumers -= 1
            self.consumer_gone(consumer)
            if not stream.deleted:
                stream.consumers.remove(consumer)
                connection_events.consumer_deleted(consumer)
            is_used = True
        if not is_used:
            return
        if not stream.deleted:
            stream.consumer_left(because("a user has lost a permission", self.session))
        self.reply(MetadataUpdate(Code.STREAM_NOT_AVAILABLE, stream.name).octets)

    def drop_forbidden(self) -> None:
        """Let go of publishers and subscriptions that the user may not have any more."""
        session = self.session
        streams = {each.stream: None for each in self.publishers.values() if not may(session, WRITE, each.stream.name)}
        readers = {each.queue: None for each in self.consumers.values() if not may(session, READ, each.queue.name)}
        for stream in (*streams, *readers):
            self.stream_gone(stream)  # type: ignore[arg-type]  # consumers of a stream

    # -- the end ------------------------------------------------------------------------------------------------------

    def leave(self, why: str) -> None:
        """Let go of everything. Idempotent."""
        session = self.session
        self.drop_line()
        self.confirms.clear()
        session.broker.unconfirmed.pop(self, None)
        for publisher in list(self.publishers.values()):
            self.remove_publisher(publisher)
        consumers, self.consumers = self.consumers, {}
        session.consumers -= len(consumers)
        left: dict[Queue, None] = {}
        for consumer in consumers.values():
            consumer.queue.consumers.remove(consumer)
            self.consumer_gone(consumer)
            connection_events.consumer_deleted(consumer)
            left[consumer.queue] = None
        for queue in left:
            queue.consumer_left(because(why, session))

    def __repr__(self) -> str:
        return f"stream connection {self.session.name}"
