"""Commits of transactions that their publisher numbers: each is in its streams once, however often it comes.

A stream's tracking has a publisher's last number, in the same batch of the log as the messages: after a crash there is
both, or neither.
"""

from functools import partial
from typing import TYPE_CHECKING

from pybroker.core.channel.publisher_sequence import sequence_of
from pybroker.core.channel.throttle import TrackingCause
from pybroker.core.stream.stream import Stream
from pybroker.errors import PreconditionFailed

if TYPE_CHECKING:
    from pybroker.amqp.session import AmqpSession
    from pybroker.core.channel.publisher_sequence import PublisherSequence
    from pybroker.core.channel.receipt import Receipt
    from pybroker.core.channel.transaction import Transaction
    from pybroker.core.stream.tracking import Tracking


class UnreadyError(Exception):
    """A stream's tracking is being read back after a start. The commit is read once more then."""

    def __init__(self, tracking: "Tracking") -> None:
        super().__init__(tracking)
        self._tracking = tracking

    def have_wait(self, session: "AmqpSession") -> None:
        """Leave the commit, and what is behind it, until then."""
        cause = TrackingCause()
        session.input_pending = True
        session.stop_reading(cause)
        self._tracking.when_ready(partial(session.resume_reading, cause))


def check_reply(transaction: "Transaction | None", content: bytes) -> None:
    """Refuse a direct reply in a transaction that is numbered, or would be by it: it leaves at once, and each time.

    Raises PreconditionFailed (406).
    """
    if transaction is None:
        return
    number = transaction.sequence if transaction.publishes else sequence_of(content)
    if number is not None:
        raise PreconditionFailed(f"{_name(number)} has a direct reply, which reaches no stream")


def streams_of(transaction: "Transaction") -> "list[Stream]":
    """Return the streams that a numbered transaction reaches; none if it has no number.

    Raises PreconditionFailed (406) if a part of it would be elsewhere, or nowhere, and UnreadyError.
    """
    number = transaction.sequence
    streams: dict[Stream, None] = {}
    if number is None:
        return []
    for route, _, queues in transaction.publishes:
        present = [queue for queue in queues if not queue.deleted]
        if route.immediate:
            raise PreconditionFailed(f"{_name(number)} has an immediate message: it may be dropped")
        if not present and route.mandatory:
            names = f"exchange '{route.names.exchange}' with routing key '{route.names.routing_key}'"
            raise PreconditionFailed(f"{_name(number)} has a mandatory message to {names}, which reaches no stream")
        for queue in present:
            if not isinstance(queue, Stream):
                raise PreconditionFailed(f"{_name(number)} reaches {queue!r}, which is no stream")
            streams[queue] = None
    for stream in streams:
        if not stream.tracking.is_ready:
            raise UnreadyError(stream.tracking)
    return list(streams)


def is_known(number: "PublisherSequence", streams: "list[Stream]", receipt: "Receipt") -> bool:
    """Tell whether a transaction came before; then the receipt learns what that one waits for."""
    publisher, sequence = number
    # All of them had it in one batch, or none had; one that was declared again has lost it.
    found = [last for stream in streams if (last := stream.tracking.publisher_id(publisher)) is not None]
    if not found or max(found) < sequence:
        return False
    for stream in streams:
        receipt.wait(stream.log, stream.uncommitted_position)
    return True


def note(number: "PublisherSequence", streams: "list[Stream]") -> None:
    """Note that a transaction is committed, in the call in which that is done."""
    for stream in streams:
        stream.tracking.note_publisher(*number)


def _name(number: "PublisherSequence") -> str:
    return f"transaction {number.sequence} of publisher '{number.publisher}'"
