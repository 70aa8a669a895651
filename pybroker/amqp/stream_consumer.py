"""StreamConsumer: a consumer of a stream, whose deliveries say their offset in the header x-stream-offset."""

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from pybroker.amqp.consumer import AmqpConsumer, reframed
from pybroker.content_view import NUMBER_OCTETS, with_numbers
from pybroker.wire.properties import around_headers
from pybroker.wire.table import join_table, split_table

if TYPE_CHECKING:
    from pybroker.core.stream.filter import Filters
    from pybroker.core.stream.stream import Stream
    from pybroker.offset_spec import OffsetSpec
    from pybroker.run import Run

OFFSET_HEADER: Final = b"x-stream-offset"
# The entry of a headers table, up to its value, which is a long.
_ENTRY: Final = b"%c%bl" % (len(OFFSET_HEADER), OFFSET_HEADER)
# In front of a table: its length.
LENGTH_OCTETS: Final = 4


class StreamConsumer(AmqpConsumer):
    """Differs from a queue's consumer in what is written into each message."""

    __slots__ = ()

    queue: "Stream"

    def begin(self, spec: "OffsetSpec", filters: "Filters | None") -> None:
        """Be delivered what passes from there on."""
        self.queue.attach(self, spec, filters)

    def _contents(self, run: "Run", indexes: range, deliveries: int) -> list[bytes]:  # noqa: ARG002 - nothing comes again
        """Return the contents with their offsets; a run's seqs are its offsets."""
        channel = self.channel
        made = with_offsets(run.contents_at(indexes), run.first_seq + indexes.start, channel.session.frame_octets_max)
        return reframed(made, run, channel)


def with_offsets(contents: list[bytes], offset: int, frame_octets_max: int) -> list[bytes]:
    """Return contents of one run whose headers say their offsets, the first one's first.

    A header frame that would come to more than `frame_octets_max` (0: not limited) stays as it is: the peer would close
    the connection, and get the same message again.
    """
    return with_numbers(contents, offset, _around, frame_octets_max)


@lru_cache(64)
def _around(octets: bytes) -> tuple[bytes, bytes]:
    """Return properties with the header, without its value: what comes before that, and after."""
    before, table, after = around_headers(octets)
    if OFFSET_HEADER in table:
        table = join_table([pair for pair in split_table(table) if pair[0] != OFFSET_HEADER])
    entries = table[LENGTH_OCTETS:] + _ENTRY
    return before + (len(entries) + NUMBER_OCTETS).to_bytes(LENGTH_OCTETS) + entries, after
