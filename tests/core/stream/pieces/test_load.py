"""Contents that come back from the log; those that do not leave a gap."""

from pybroker.core.stream.pieces import load
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


def logged(first, count):
    made = SeqRanges()
    made.add(first, count, 1)
    return [(0, False, made)]


def test_a_stream_that_is_deleted_meanwhile_is_done_with(world, make_stream, monkeypatch):
    class Late(Kept):
        def fetch(self, queue_id, part, done):
            self.answer = lambda: super(Late, self).fetch(queue_id, part, done)

    monkeypatch.setattr(load, "LOADS_MAX", 1)
    world.broker.log = log = Late([bodies_run(1, b"0"), bodies_run(2, b"1")])
    first, second = make_stream(), make_stream()
    first.restore(logged(1, 1), 0)
    second.restore(logged(2, 1), 0)
    first.deleted = True
    log.answer()
    assert first.pieces[0].run is None
    world.broker.streams.tick()
    log.answer()
    assert second.files.next_offset == 1
