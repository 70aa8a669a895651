"""Marks of straight writes: what the node's log has of messages that went into a stream's files and nowhere else.

A write is on disk before the mark of it is committed, and the mark's seq is the last seq of the write: a start counts
a stream's last write if it did not go straight, or if a mark with its seq lives. Each mark is a small message beside
the stream's tracked values, with a priority of its own; the next one settles it.
"""

from typing import TYPE_CHECKING, Final

from pybroker.store.log import COMPANION

if TYPE_CHECKING:
    from pybroker.seq_ranges import SeqRanges
    from pybroker.store.segments.live_index import Recovered

MARK_PRIORITY: Final = 1


def committed_seqs(found: "Recovered") -> "CommittedSeqs":
    """Return up to which seq straight writes are committed, as a start found it."""
    return CommittedSeqs(found.queues, is_damaged=found.is_damaged)


class CommittedSeqs:
    """By stream. If the log is damaged a mark may be lost: then nobody knows, and whatever is there counts."""

    def __init__(self, queues: "dict[int, list[tuple[int, bool, SeqRanges]]]", *, is_damaged: bool) -> None:
        self._is_damaged = is_damaged
        self._seqs = {
            queue_id & ~COMPANION: max(found.last_seq for priority, _, found in parts if priority == MARK_PRIORITY)
            for queue_id, parts in queues.items()
            if queue_id & COMPANION and any(priority == MARK_PRIORITY and found.count for priority, _, found in parts)
        }

    def of(self, stream_id: int) -> int | None:
        """Return it for a stream; 0: there is none, None: nobody knows."""
        return None if self._is_damaged else self._seqs.get(stream_id, 0)
