"""Count of what lives in a segment at a start: published and not settled, by queue."""

from typing import TYPE_CHECKING

from pybroker.seq_ranges import SeqRanges, merge
from pybroker.store.log import COMPANION
from pybroker.store.segments.ack_ranges import ranges

if TYPE_CHECKING:
    from collections.abc import Collection

    from pybroker.store.segments.live_index import Recovered, Segment, Target


def count_live(
    segment: "Segment", by_target: "dict[Target, SeqRanges]", known: "Collection[int]", found: "Recovered"
) -> None:
    """Add the live messages of a segment to those that were `found`, for the queues `known`, and count them."""
    queues: dict[int, dict[int, list[tuple[bool, SeqRanges]]]] = {}
    for target, seq_ranges in by_target.items():
        for queue_id in target.queue_ids:
            found.next_queue_id = max(found.next_queue_id, (queue_id & ~COMPANION) + 1)
            if queue_id not in known:
                continue
            segment.published += seq_ranges.count
            settled = segment.settled.get(queue_id)
            left = seq_ranges if settled is None else seq_ranges.without(ranges(settled.normalize()))
            if left.count:
                queues.setdefault(queue_id, {}).setdefault(target.priority, []).append((target.timed, left))
    for queue_id, by_priority in queues.items():
        parts = found.queues.setdefault(queue_id, [])
        count = 0
        for priority, lefts in by_priority.items():
            whole = merge([left for _, left in lefts])
            count += whole.count
            parts.append((priority, any(timed for timed, _ in lefts), whole))
        segment.pairs[queue_id] = count
        segment.live += count
    for queue_id in segment.settled:
        segment.pairs.setdefault(queue_id, 0)
