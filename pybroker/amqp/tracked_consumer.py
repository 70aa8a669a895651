"""TrackedConsumer: a consumer of a stream whose acknowledgements are stored as its offset, by its tag, as LavinMQ does.

# Differs from RabbitMQ: there only clients of the stream protocol can have offsets stored.
"""

from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from pybroker.amqp.stream_consumer import StreamConsumer
from pybroker.core.stream.offset import OFFSET_ARGUMENT
from pybroker.errors import PreconditionFailed
from pybroker.offset_spec import OffsetSpec

if TYPE_CHECKING:
    from pybroker.core.channel.unacked import Batch
    from pybroker.core.stream.filter import Filters

TRACKING_ARGUMENT: Final = "x-stream-automatic-offset-tracking"
# Of a channel, in one turn: some tens of microseconds.
LOOK_BATCHES: Final = 512

_FIRST_TAG = attrgetter("first_tag")


def is_tracked(arguments: Mapping[str, Any], tag: str) -> bool:
    """Tell whether a consumer asks for that. Raises PreconditionFailed (406): it has no tag to be known by."""
    if not arguments.get(TRACKING_ARGUMENT, False):
        return False
    if not tag:
        raise PreconditionFailed(f"{TRACKING_ARGUMENT} needs a consumer tag, by which the offset is stored")
    return True


class TrackedConsumer(StreamConsumer):
    """The offset is of a message that it has acknowledged, with all that it got before; it is stored once a second."""

    __slots__ = ("_acked", "_oldest_tag", "_stored")

    def begin(self, spec: OffsetSpec, filters: "Filters | None") -> None:
        """Begin behind the stored offset, once that is known, or where its argument says."""
        self._acked, self._stored = 0, -1
        self._oldest_tag = 0  # no message that it has to acknowledge has a lower one
        self.queue.streams.trackers.add(self)
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

    def store_offset(self) -> bool:
        """Store how far it is, if it has acknowledged anything since; False: that is not found yet."""
        stream, acked = self.queue, self.acked
        reader = stream.readers.get(self)
        if acked == self._acked or reader is None or reader.next_offset is None:
            return True
        if stream.deleted or not stream.tracking.is_ready:
            return True
        is_found, oldest = self._find_oldest()
        if not is_found:
            return False
        self._acked = acked
        offset = (reader.next_offset if oldest is None else oldest.run.first_seq + oldest.indexes[0]) - 1
        if offset > self._stored:
            stream.tracking.store_offset(self.tag, offset)
            self._stored = offset
        return True

    def _find_oldest(self) -> "tuple[bool, Batch | None]":
        """Look for the oldest that it has to acknowledge, or has in a transaction that is not committed, if any.

        Others of the channel may have very many that are older, so a share of them is looked at, and none twice; False:
        it was not among these.
        """
        transaction = self.channel.transaction
        taken = [] if transaction is None else [each for each in transaction.taken() if each.consumer is self]
        some = self.channel.unacked.since(self._oldest_tag, LOOK_BATCHES)
        mine = next((each for each in some if each.consumer is self), None)
        oldest = min([*taken, *([mine] if mine else [])], key=_FIRST_TAG, default=None)
        if some and (oldest is None or oldest.first_tag > some[-1].first_tag):
            self._oldest_tag = some[-1].last_tag + 1
            if len(some) == LOOK_BATCHES:
                return False, None
        if oldest is not None:
            self._oldest_tag = oldest.first_tag
        return True, oldest

    def gone(self) -> None:
        """Store its offset once more: it is none of the channel's any more."""
        while not self.store_offset():
            pass
        self.queue.streams.trackers.remove(self)
