"""Up to where straight writes are committed, as a start finds it in the log."""

import pytest

from pybroker.seq_ranges import SeqRanges
from pybroker.store.log import companion_of
from pybroker.store.segments.live_index import Missing, Recovered
from pybroker.store.streams.straight import MARK_PRIORITY, committed_seqs


def found(*marks, reports=(), missing=()):
    queues = {5: [(MARK_PRIORITY, False, ranges(99))], companion_of(6): [(0, False, ranges(98))]}
    parts = [(0, False, ranges(50))]
    parts += [(MARK_PRIORITY, False, ranges(mark)) for mark in marks]
    queues[companion_of(7)] = parts
    return Recovered(queues=queues, reports=list(reports), missing=list(missing))


def ranges(seq):
    made = SeqRanges()
    made.add(seq, 1, 8)
    return made


def test_the_newest_mark_counts():
    committed = committed_seqs(found(10, 12, 11))
    assert [0, 0, 12] == [committed.of(stream_id) for stream_id in (5, 6, 7)]


@pytest.mark.parametrize(
    ("reports", "missing", "is_known"),
    [
        (["all checkpoints of the log are missing or damaged"], [], True),
        (["the log is damaged: segment 1, 20 octets"], [], False),
        ([], [Missing("seg.1", {})], False),
    ],
)
def test_a_mark_may_be_in_what_is_damaged(reports, missing, is_known):
    assert (12 if is_known else None) == committed_seqs(found(12, reports=reports, missing=missing)).of(7)
