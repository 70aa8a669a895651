"""StreamConsumer: a consumer of a stream, whose deliveries say their offset in the header x-stream-offset."""

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from pybroker.amqp.consumer import AmqpConsumer, reframed
from pybroker.content_view import NUMBER_OCTETS, with_numbers
from pybroker.wire import properties
from pybroker.wire.table import encode_value, join_table, split_table

if TYPE_CHECKING:
    from pybroker.run import Run

OFFSET_HEADER: Final = b"x-stream-offset"


class StreamConsumer(AmqpConsumer):
    """Differs from a queue's consumer in what is written into each message."""

    __slots__ = ()

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
    one, other = (_with_offset(octets, offset) for offset in (0, -1))
    at = next(index for index, (left, right) in enumerate(zip(one, other, strict=True)) if left != right)
    return one[:at], one[at + NUMBER_OCTETS :]


def _with_offset(octets: bytes, offset: int) -> bytes:
    table = properties.find_headers(octets)
    pairs = [pair for pair in split_table(table) if pair[0] != OFFSET_HEADER] if table else []
    return properties.replace_headers(octets, join_table([*pairs, (OFFSET_HEADER, encode_value(offset, "l"))]))
