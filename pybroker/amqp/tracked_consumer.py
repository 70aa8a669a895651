"""TrackedConsumer: a consumer of a stream whose acknowledgements are stored as its offset, by its tag, as LavinMQ does.

# Differs from RabbitMQ: there only clients of the stream protocol can have offsets stored.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pybroker.amqp.stream_consumer import StreamConsumer
from pybroker.core.stream.offset import OFFSET_ARGUMENT
from pybroker.errors import PreconditionFailed
from pybroker.offset_spec import OffsetSpec

if TYPE_CHECKING:
    from pybroker.core.channel.unacked import Batch
    from pybroker.core.stream.filter import Filters

TRACKING_ARGUMENT: Final = "x-stream-automatic-offset-tracking"


def is_tracked(arguments: Mapping[str, Any], tag: str) -> bool:
    """Tell whether a consumer asks for that. Raises PreconditionFailed (406): it has no tag to be known by."""
    if not arguments.get(TRACKING_ARGUMENT, False):
        return False
    if not tag:
        raise PreconditionFailed(f"{TRACKING_ARGUMENT} needs a consumer tag, by which the offset is stored")
    return True


class TrackedConsumer(StreamConsumer):
    """The offset is of a message that it has acknowledged, with all that it got before; it is stored once a second."""

    __slots__ = ("_acked", "_stored")

    def begin(self, spec: OffsetSpec, filters: "Filters | None") -> None:
        """Begin behind the stored offset, once that is known, or where its argument says."""
        self._acked, self._stored = 0, -1
        self.queue.streams.trackers[self] = None
        if OFFSET_ARGUMENT in self.arguments:
            super().begin(spec, filters)
        else:
            self.queue.tracking.when_ready(lambda: self._resume(spec, filters))

    def _resume(self, spec: OffsetSpec, filters: "Filters | None") -> None:
        if self.cancelled or self.queue.deleted:
            return
        offset = self.queue.tracking.offset(self.tag)
        super().begin(spec if offset is None else OffsetSpec(offset=offset + 1), filters)
        self.queue.wake()

    def store_offset(self) -> None:
        """Store how far it is, if it has acknowledged anything since."""
        stream, acked = self.queue, self.acked
        reader = stream.readers.get(self)
        if acked == self._acked or reader is None or reader.next_offset is None:
            return
        if stream.deleted or not stream.tracking.is_ready:
            return
        self._acked = acked
        offset = min((each.run.first_seq + each.indexes[0] for each in self._waiting()), default=reader.next_offset) - 1
        if offset > self._stored:
            stream.tracking.store_offset(self.tag, offset)
            self._stored = offset

    def _waiting(self) -> "list[Batch]":
        """Return what it has to acknowledge, or has in a transaction that is not committed."""
        transaction = self.channel.transaction
        batches = [] if transaction is None else transaction.taken()
        return [each for each in (*self.channel.unacked, *batches) if each.consumer is self]

    def gone(self) -> None:
        """Store its offset once more: it is none of the channel's any more."""
        self.store_offset()
        self.queue.streams.trackers.pop(self, None)
