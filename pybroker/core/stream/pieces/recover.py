"""Recovery of a stream at a start: what the node's log still has of it becomes its pieces, their contents on disk."""

from typing import TYPE_CHECKING, Final

from pybroker.core.stream.pieces.piece import Piece
from pybroker.seq_ranges import SeqRanges, merge

if TYPE_CHECKING:
    from pybroker.core.queue.recover import Part
    from pybroker.core.stream.stream import Stream

# Read back at a time.
LOGGED_MESSAGES_MAX: Final = 4_096
LOGGED_OCTETS_MAX: Final = 4_194_304
LOGGED_PIECES_MAX: Final = 4_096


def restore(stream: "Stream", parts: "list[Part]") -> None:
    """Settle what moved before the kill, and have the rest read back and moved."""
    found = merge([seq_ranges for _, _, seq_ranges in parts])
    last_seq = stream.files.last_seq
    for first, count, _ in found.ranges():
        if first <= last_seq:
            stream.log.settle_seqs(stream.id, first, min(first + count - 1, last_seq))
    left = found.without([(0, last_seq)])
    timestamp_ms = max(stream.vhost.broker.clock.timestamp_ms, stream.files.timestamp_ms)
    offset = stream.files.next_offset
    pieces = []
    # Of entries a few octets may be very many messages.
    least = left.count // LOGGED_PIECES_MAX
    while left.count:
        logged = left.pop_front(max(least, _messages(left)))
        piece = Piece(offset, None, logged.first_seq, 0, timestamp_ms, logged)
        pieces.append(piece)
        offset = piece.stop
    stream.recovered(pieces)


def _messages(left: SeqRanges) -> int:
    """Return how many of them are read back next."""
    return max(1, min(LOGGED_MESSAGES_MAX, left.count * LOGGED_OCTETS_MAX // max(1, left.octets)))
