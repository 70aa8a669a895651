"""Up to where straight writes are committed, as a start finds it in the log."""

from pybroker.seq_ranges import SeqRanges
from pybroker.store.log import companion_of
from pybroker.store.segments.live_index import Recovered
from pybroker.store.streams.straight import MARK_PRIORITY, committed_seqs


def found(*marks):
    queues = {5: [(MARK_PRIORITY, False, ranges(99))], companion_of(6): [(0, False, ranges(98))]}
    parts = [(0, False, ranges(50))]
    parts += [(MARK_PRIORITY, False, ranges(mark)) for mark in marks]
    queues[companion_of(7)] = parts
    return Recovered(queues=queues)


def ranges(seq):
    made = SeqRanges()
    made.add(seq, 1, 8)
    return made


def test_the_newest_mark_counts():
    committed = committed_seqs(found(10, 12, 11))
    assert [0, 0, 12] == [committed.of(stream_id) for stream_id in (5, 6, 7)]


def test_a_mark_may_be_in_what_is_damaged():
    log = found(12)
    log.reports.append("all checkpoints of the log are missing")
    assert 12 == committed_seqs(log).of(7)
    log.add_damage("segment 1 has lost a checkpoint, or whatever the sentence says")
    assert None is committed_seqs(log).of(7)
