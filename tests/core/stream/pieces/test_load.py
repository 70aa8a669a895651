"""Contents that come back from the log; those that do not leave a gap."""

from pybroker.seq_ranges import SeqRanges
from tests.core.stream.pieces.test_recover import Kept
from tests.core.stream.runs import bodies_run


def test_what_cannot_be_read_leaves_a_gap_and_is_settled(world, make_stream):
    world.broker.log = log = Kept([bodies_run(1, b"0"), bodies_run(3, b"2")])
    stream = make_stream()
    logged = SeqRanges()
    logged.add(1, 3, 1)
    stream.restore([(0, False, logged)], 0)
    assert (stream.files.next_offset, stream.next_offset) == (3, 3)
    assert sorted(log.settled) == [(stream.id, 1, 1), (stream.id, 2, 2), (stream.id, 3, 3)]
    found = []
    stream.files.read(1, 1_000, found.append)
    assert [(run.first_seq, run.count) for run in found[0]] == [(2, 1)]


def test_a_stream_that_is_deleted_meanwhile_is_done_with(world, make_stream):
    class Late(Kept):
        def fetch(self, queue_id, part, done):
            self.answer = lambda: super(Late, self).fetch(queue_id, part, done)

    world.broker.log = log = Late([bodies_run(1, b"0")])
    stream = make_stream()
    logged = SeqRanges()
    logged.add(1, 1, 1)
    stream.restore([(0, False, logged)], 0)
    assert stream in world.broker.streams.busy()
    world.vhost.queues["s"] = stream
    stream.deleted = True
    log.answer()
    assert (stream in world.broker.streams.busy(), len(stream.pieces)) == (False, 1)
