"""Publishers: their ids on a connection, and the names by which their messages are known when they come again."""

from typing import TYPE_CHECKING

from pybroker.core.auth.permissions import READ, WRITE
from pybroker.core.channel.receipt import Receipt
from pybroker.errors import PreconditionFailed
from pybroker.stream.access import NAME_OCTETS_MAX, check, stream_of, tracking_of
from pybroker.stream.refused import Refused
from pybroker.wire.stream.codes import Code
from pybroker.wire.stream.frame import response

if TYPE_CHECKING:
    from pybroker.core.stream.stream import Stream
    from pybroker.stream.session import StreamSession
    from pybroker.wire.stream import commands


class Publisher:
    """`verdict` is the generation of the users with which its permission was checked last."""

    __slots__ = ("confirmed", "id", "is_gone", "name", "published", "refused", "session", "stream", "verdict")

    def __init__(self, session: "StreamSession", publisher_id: int, name: str, stream: "Stream") -> None:
        self.session = session
        self.id = publisher_id
        self.name = name  # empty: none
        self.stream = stream
        self.verdict = session.broker.users.generation
        self.published = self.confirmed = self.refused = 0
        self.is_gone = False
        stream.publishers[self] = None
        if name:
            stream.tracking.hold(name)

    def count_confirmed(self, publishes: int) -> None:
        """Count publishes that it was told of to be on disk."""
        self.confirmed += publishes
        self.stream.vhost.traffic.confirmed += publishes
        self.session.broker.totals.stream_confirmed += publishes

    def leave(self) -> None:
        """Be none any more. Idempotent."""
        if self.is_gone:
            return
        self.is_gone = True
        self.stream.publishers.pop(self, None)
        if self.name:
            self.stream.tracking.release(self.name)

    def stream_gone(self) -> None:
        """Learn that the stream is deleted."""
        self.session.channel.stream_gone(self.stream)


def check_reference(name: str) -> None:
    """Refuse the name of a publisher or a consumer that is too long. Raises PreconditionFailed, which is code 17."""
    if len(name.encode()) > NAME_OCTETS_MAX:
        raise PreconditionFailed(f"the name has more than {NAME_OCTETS_MAX} octets: {name:.300}")


def declare_publisher(session: "StreamSession", command: "commands.DeclarePublisher") -> None:
    """Make a publisher."""
    name, publishers = command.reference, session.channel.publishers
    if session.broker.alarms:
        # Differs from RabbitMQ: there, memory that is short does not count for the stream protocol.
        raise PreconditionFailed("an alarm blocks publishers")
    check(session, WRITE, command.stream)
    check_reference(name)
    is_taken = any(name and each.name == name and each.stream.name == command.stream for each in publishers.values())
    if command.publisher_id in publishers or is_taken:
        there = f"publisher {command.publisher_id}, or one with its name for the same stream"
        raise PreconditionFailed(f"the connection has {there}, already")
    stream = stream_of(session, command.stream, WRITE)
    if name:
        tracking_of(stream)
    session.channel.add_publisher(Publisher(session, command.publisher_id, name, stream))
    session.channel.reply(response(command.key, command.correlation_id, Code.OK))


def delete_publisher(session: "StreamSession", command: "commands.DeletePublisher") -> None:
    """Forget a publisher; what it sent stays, and is not confirmed any more."""
    publisher = session.channel.publishers.get(command.publisher_id)
    if publisher is None:
        raise Refused(Code.PUBLISHER_DOES_NOT_EXIST)
    session.channel.remove_publisher(publisher)
    session.channel.reply(response(command.key, command.correlation_id, Code.OK))


def query_publisher_sequence(session: "StreamSession", command: "commands.QueryPublisherSequence") -> None:
    """Answer with the last publishing id of a name, as soon as its message is on disk; 0 if it is not known.

    A publisher that comes back takes the answer for a confirm: it does not send again what has an id up to that one.
    """
    stream = stream_of(session, command.stream, READ)
    sequence = tracking_of(stream).publisher_id(command.reference) or 0
    receipt = Receipt()
    if sequence:
        receipt.wait(stream.log, stream.uncommitted_position)
    receipt.want()
    reply = response(command.key, command.correlation_id, Code.OK, sequence.to_bytes(8))
    session.channel.send_octets_when(reply, receipt, 1)
