"""AmqpChannel: one channel's state, and contents that arrive frame by frame (AMQP §4.2.6).

The effect of each method is in `amqp/methods/`, the handling of a publish in `amqp/publishing.py`.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from pamqp import commands

from pybroker.amqp.content_assembler import ContentAssembler
from pybroker.amqp.publishing import finish_content, open_route
from pybroker.core.channel.requeue import FEW_BATCHES, give_back
from pybroker.core.channel.timed_out import TAG_MAX
from pybroker.core.events import connections as connection_events
from pybroker.core.events.cause import because
from pybroker.core.exchange.trace import Party
from pybroker.core.peer.channel import PeerChannel
from pybroker.core.routing.publish import Publisher
from pybroker.core.topology.removal_steps import remove_unused
from pybroker.errors import AmqpError, InternalError, PreconditionFailed, UnexpectedFrame
from pybroker.wire import frame
from pybroker.wire.methods import encode_method, make_method

if TYPE_CHECKING:
    from pamqp import base

    from pybroker.amqp.session import AmqpSession
    from pybroker.core.channel.confirm import ConfirmLine
    from pybroker.core.channel.receipt import Receipt
    from pybroker.core.channel.timed_out import TimedOutTags
    from pybroker.core.channel.transaction import Transaction
    from pybroker.core.channel.unacked import Batch
    from pybroker.core.peer.reply_queue import Reply, Source
    from pybroker.core.queue.queue import Queue
    from pybroker.core.topology.removal import Removal

# From here on the rest of a body is read in large portions: 128-KiB reads would copy what has come again and again.
LARGE_BODY_OCTETS: Final = 65_536

# Class and method of basic.publish.
PUBLISH: Final = (60, 40)

_ACK_FRAME: Final = b"\x00\x00\x00\x0d\x00\x3c\x00\x50"
_NACK_FRAME: Final = b"\x00\x00\x00\x0d\x00\x3c\x00\x78"


class AmqpChannel(PeerChannel):
    """States: `starting` until channel.open is answered, `closing` between our channel.close and its close-ok.

    While a reply waits for the disk there is a `reply_queue`, and nothing is delivered: the output keeps its order.
    Confirms and returns have one of their own, and do not stand in it.
    """

    __slots__ = (
        "assembly",
        "closing",
        "confirms",
        "flow_active",
        "last_queue",
        "prefetch",
        "publisher",
        "publishes",
        "receipt",
        "reply_consumer",
        "routes_open",
        "starting",
        "transaction",
    )

    session: "AmqpSession"

    def __init__(self, session: "AmqpSession", number: int) -> None:
        super().__init__(session, number)
        assert session.vhost is not None
        self.starting = True
        self.closing = False
        self.assembly: ContentAssembler | None = None
        self.confirms: ConfirmLine | None = None
        self.transaction: Transaction | None = None
        self.last_queue = ""  # the queue that an empty name means
        self.prefetch = session.broker.settings.default_consumer_prefetch
        self.flow_active = True  # the peer's wish (channel.flow)
        self.reply_consumer: tuple[str, str] | None = None  # (consumer tag, key) of direct reply-to
        self.routes_open = 0  # how many of the session's remembered routes are this channel's
        self.receipt: Receipt | None = None  # a blank one, for the next publish
        self.publishes = False  # it has published: it counts as a publisher
        self.publisher = Publisher(session.vhost, session.id, session.frame_octets_max)

    @property
    def pid(self) -> str:
        """Return the channel's id as rabbitmqctl shows one: its connection's, which ends in the channel's number."""
        return f"{self.session.pid[:-2]}{self.number}>"

    @property
    def party(self) -> Party:
        """Return the publisher and consumer of this channel as the firehose names them."""
        user = self.session.user
        return Party(self.session.name, self.number, user.name if user is not None else "")

    @property
    def confirmed(self) -> int:
        """Return how many of its publishes were confirmed."""
        return 0 if self.confirms is None else self.confirms.confirmed

    # -- out ----------------------------------------------------------------------------------------------------------

    def send(self, method: "base.Frame") -> None:
        """Send a method on this channel."""
        self.send_octets(encode_method(self.number, method))

    def send_confirms(self) -> None:
        """Send what may be confirmed now, coalesced ([rmq confirms]); refuse messages that the log will never have."""
        confirms = self.confirms
        if confirms is None or self.closing:
            return
        session = self.session
        broker = session.broker
        told = confirms.pop()
        if confirms.awaited is not None:
            broker.unconfirmed[self] = confirms.awaited
        elif broker.unconfirmed:
            broker.unconfirmed.pop(self, None)
        if told:
            head = b"\x01" + self.number.to_bytes(2)
            for ack, seq, multiple in told:
                method = head + (_ACK_FRAME if ack else _NACK_FRAME)
                session.send(method + seq.to_bytes(8) + (b"\x01\xce" if multiple else b"\x00\xce"))

    # -- replies that wait --------------------------------------------------------------------------------------------

    def send_when(self, method: "base.Frame", source: "Source", commit_position: int) -> None:
        """Send a method when `source` has completed a position. Raises InternalError (541) if it never will."""
        self.send_octets_when(encode_method(self.number, method), source, commit_position)

    def send_defined(self, method: "base.Frame", commit_position: int) -> None:
        """Send a method when the definitions are on disk up to a position."""
        self.send_when(method, self.session.broker.definitions, commit_position)

    def send_when_over(self, method: "base.Frame", removal: "Removal") -> None:
        """Send a method when something is gone with all that hung on it, and that is on disk."""
        if removal.is_over:
            self.send_defined(method, removal.commit_position)
        else:
            reply = self.reserve(method)
            removal.call_backs.append(lambda: self.release(reply, removal.commit_position))

    def reserve(self, method: "base.Frame") -> "Reply":
        """Keep the place of a method that is sent before what its change of definitions brings about."""
        return self.reserve_octets(encode_method(self.number, method))

    def replies_began(self) -> None:
        """Deliver nothing while a reply waits: the output keeps its order."""
        self.may_deliver = False

    def replies_ended(self) -> None:
        """Deliver again."""
        self.pause_or_resume()

    def replies_failed(self, error: InternalError) -> None:
        """Close the connection with 541."""
        self.session.fail(error)

    def pause_or_resume(self) -> None:
        """Deliver if the peer wants it and no reply waits."""
        self.may_deliver = self.flow_active and self.reply_queue is None
        if self.may_deliver:
            self.resume_consumers()

    def resume_consumers(self) -> None:
        """Serve waiting consumers again, after flow, credit or outbox; also a basic.get among the replies."""
        if self.reply_queue is not None and self.reply_queue.calls:
            self.advance()
        super().resume_consumers()

    # -- contents, frame by frame -------------------------------------------------------------------------------------

    def begin_publish(self, payload: bytes) -> None:
        """Take a basic.publish method; its header and body frames follow."""
        self.assembly = ContentAssembler(open_route(self, payload))
        self.session.assembling += 1

    def receive_content(self, kind: int, payload: bytes) -> None:
        """Take a header frame's payload.

        Raises UnexpectedFrame (505) for another kind, or out of turn; PreconditionFailed (406) as soon as the header
        announces more than max_message_size: no octet of that body is kept.
        """
        assembly = self.assembly
        session = self.session
        if assembly is None:
            raise UnexpectedFrame("expected method frame, got non method frame instead")
        if assembly.began:
            raise UnexpectedFrame("expected content body, got non content body frame instead", PUBLISH)
        if not session.publishing:
            session.first_published()  # its body, if it has one, is not read while there is an alarm
        class_id = int.from_bytes(payload[:2])
        if kind != frame.HEADER or payload[2:4] != b"\0\0":
            text = "expected content header for class 60, got non content header frame instead"
            raise UnexpectedFrame(text, PUBLISH)
        if class_id != PUBLISH[0]:
            text = f"expected content header for class 60, got one for class {class_id} instead"
            raise UnexpectedFrame(text, PUBLISH)
        assembly.begin(self.number, payload)
        maximum = session.broker.settings.message_octets_max
        if assembly.body_octets > maximum:
            text = f"message size {assembly.body_octets} is larger than configured max size {maximum}"
            raise PreconditionFailed(text, PUBLISH)
        self._assembled(assembly)

    def receive_body(self, octets: bytes) -> None:
        """Take a body frame, whole. Raises UnexpectedFrame (505) out of turn, or for more than was announced."""
        assembly, session = self.assembly, self.session
        if assembly is None:
            raise UnexpectedFrame("expected method frame, got non method frame instead")
        if not assembly.began:
            text = "expected content header for class 60, got non content header frame instead"
            raise UnexpectedFrame(text, PUBLISH)
        if not session.publishing:
            session.first_published()  # an alarm holds up large messages as well, not only the next one
        # Differs from RabbitMQ: it never compares (CVE-2026-67235).
        if not assembly.add(octets, session.frame_octets_max):
            raise UnexpectedFrame("content body is longer than its header announced", PUBLISH)
        self._assembled(assembly)

    def _assembled(self, assembly: ContentAssembler) -> None:
        """Publish the content if it is complete; else read the rest of a large one in large portions."""
        if not assembly.remaining:
            self._end_assembly()
            finish_content(self, assembly)
        elif assembly.remaining > LARGE_BODY_OCTETS:
            self.session.read_octets = self.session.large_octets

    def _end_assembly(self) -> None:
        if self.assembly is not None:
            self.assembly = None
            self.session.assembling = max(0, self.session.assembling - 1)

    # -- acknowledgements ---------------------------------------------------------------------------------------------

    def ack(self, first: int, last: int, *, multiple: bool) -> None:
        """Acknowledge tags `first .. last`, or all up to `last`. Raises PreconditionFailed (406) for an unknown tag."""
        if multiple:
            taken = self.unacked.pop_up_to(last) if self.timed_out is None else self._pop_up_to(self.timed_out, last)
            if taken is None:
                raise PreconditionFailed(f"unknown delivery tag {last}")
            self._settle(taken)
            return
        if first == last:
            batch = self.unacked.pop(first)
            if batch is not None:
                self._settle([batch])
            elif not self.answer_timed_out(first, first):
                raise PreconditionFailed(f"unknown delivery tag {first}")
            return
        while first <= last:
            outstanding = self.unacked.count
            taken = self.unacked.pop_range(first, last)
            first += outstanding - self.unacked.count
            self._settle(taken)
            if first <= last:
                if not self.answer_timed_out(first, first):
                    raise PreconditionFailed(f"unknown delivery tag {first}")
                first += 1

    def _pop_up_to(self, timed_out: "TimedOutTags", tag: int) -> "list[Batch] | None":
        """Take what is outstanding up to `tag`, 0: all; None if that tag itself is not, nor has timed out."""
        taken = self.unacked.pop_up_to(tag)
        if taken is None and tag in timed_out:
            taken = self.unacked.pop_below(tag)
        if taken is not None:
            self.answer_timed_out(1, tag or TAG_MAX)
        return taken

    def _settle(self, batches: "list") -> None:  # type: ignore[type-arg]
        if self.transaction is not None:
            self.transaction.acks.append(("ack", batches))
        elif len(batches) <= FEW_BATCHES:
            self.settle(batches)
        else:
            self.ack_all(batches)

    def nack(self, tag: int, *, multiple: bool, requeue: bool, failed: bool = False) -> None:
        """Reject one tag, or all up to it. Raises PreconditionFailed (406) for an unknown tag.

        For a delayed retry, basic.reject says that the consumer `failed`, and basic.nack does not.
        """
        if multiple:
            taken = self.unacked.pop_up_to(tag) if self.timed_out is None else self._pop_up_to(self.timed_out, tag)
        else:
            batch = self.unacked.pop(tag)
            taken = [batch] if batch is not None else [] if self.answer_timed_out(tag, tag) else None
        if taken is None:
            raise PreconditionFailed(f"unknown delivery tag {tag}")
        if self.transaction is not None:
            what = "fail" if failed and requeue else "requeue" if requeue else "reject"
            self.transaction.acks.append((what, taken))
        else:
            self.give_back(taken, requeue=requeue, failed=failed)

    # -- ends ---------------------------------------------------------------------------------------------------------

    def fail(self, error: AmqpError) -> None:
        """Send channel.close and ignore everything but its answer."""
        if error.method == PUBLISH:
            self.session.broker.totals.refused += 1
        self.end()
        self.closing = True
        self.send(
            make_method(
                commands.Channel.Close,
                reply_code=error.reply_code,
                reply_text=error.reply_text,
                class_id=error.method[0],
                method_id=error.method[1],
            )
        )

    def end(self) -> "Removal | None":
        """Let go of everything; return what is to be waited for until messages are back, if any. Idempotent."""
        queues, batches = self.leave()
        removal = give_back(batches, requeue=True, failed=True)
        cause = because("auto-delete: the channel of its last consumer was closed", self.session)
        self.session.broker.removals.start(partial(remove_unused, list(queues), cause), cause)
        return removal

    def leave(self) -> "tuple[dict[Queue, None], list[Batch]]":
        """Let go of everything; return the queues that lost a consumer, and the batches to be requeued.

        The caller sees to both: a connection that ends does so for all of its channels together. Idempotent.
        """
        self._end_assembly()
        if self.confirms is not None and not self.closing:
            self.send_confirms()
        ended, self.closing = self.closing, True
        session = self.session
        session.confirming.pop(self, None)
        session.broker.unconfirmed.pop(self, None)
        if self.reply_consumer is not None:
            session.broker.reply_consumers.pop(self.reply_consumer[1], None)
            self.reply_consumer = None
        consumers, self.consumers = self.consumers, {}
        session.consumers -= len(consumers)
        queues: dict[Queue, None] = {}
        for consumer in consumers.values():
            consumer.queue.consumers.remove(consumer)
            queues[consumer.queue] = None
            self.consumer_gone(consumer)
            connection_events.consumer_deleted(consumer)
        totals = session.broker.totals
        if not ended:
            totals.churn.count("channels_closed")
            connection_events.channel_closed(self)
        if self.publishes:
            self.publishes = False
            totals.publishers -= 1
        if self.transaction is not None:
            self.unacked.put_back(self.transaction.taken())
            self.transaction = None
        batches = list(self.unacked)
        self.unacked.clear()
        self.timed_out = None
        self.last_served = None
        self.unacked_consumed = 0
        if self.routes_open:
            session.routes = {octets: route for octets, route in session.routes.items() if route.owner is not self}
            self.routes_open = 0
        return queues, batches

    def __repr__(self) -> str:
        return f"channel {self.number} of {self.session.name}"
