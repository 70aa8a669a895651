"""A start counts what is published and not settled, for each queue that exists."""

from array import array

from pybroker.seq_ranges import SeqRanges
from pybroker.store.recovery.count_live import count_live
from pybroker.store.segments.ack_ranges import AckRanges
from pybroker.store.segments.live_index import Recovered, Segment, Target


def test_settled_messages_and_those_of_strangers_do_not_live():
    segment, found = Segment(1, 0, 1, 1 << 26, 64), Recovered()
    segment.settled = {5: AckRanges(array("Q", [2, 3]))}
    seq_ranges = SeqRanges()
    seq_ranges.add(1, 4, 10)
    count_live(segment, {Target(0, False, (5, 9)): seq_ranges}, {5, 6}, found)
    ((priority, timed, live),) = found.queues[5]
    assert (0, False, [(1, 1, 10), (4, 1, 10)]) == (priority, timed, list(live.ranges()))
    assert ({5: 2}, 2, 10) == (segment.pairs, segment.live, found.next_queue_id)
