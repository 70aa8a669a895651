"""A start: what the log still has of a stream is settled, or read back and moved."""

import pytest

from pybroker.content_view import body
from pybroker.core.stream import streams
from pybroker.core.stream.pieces import load, recover
from pybroker.core.stream.pieces.piece import PIECE_OCTETS
from pybroker.entries_run import EntriesRun
from pybroker.seq_ranges import SeqRanges
from pybroker.store.streams.format import Chunk
from pybroker.store.streams.memory import MemoryStreamLog
from tests.core.stream.conftest import SlowFiles
from tests.core.stream.runs import bodies_run
from tests.core.stream.test_streams import Gated
from tests.entries import batch, bodies_of, entries_run


class Kept(Gated):
    """A log that gives back runs which are known by their seqs."""

    def __init__(self, runs):
        super().__init__()
        self.runs = runs
        self.parts = []  # how many were asked for at a time

    def fetch(self, queue_id, part, done):
        self.parts.append(part.count)
        wanted = {seq for first, count, _ in part.ranges() for seq in range(first, first + count)}
        found = []
        for run in self.runs:
            indexes = [index for index in range(run.count) if run.first_seq + index in wanted]
            if indexes:
                found.append((run, range(indexes[0], indexes[-1] + 1)))
        done(found)


def ranges(*elements):
    made = SeqRanges()
    for first, count in elements:
        made.add(first, count, 1)
    return made


@pytest.fixture
def files():
    made = MemoryStreamLog()
    made.append([Chunk(bodies_run(0, b"a", b"b"), 11, 5)], 0, lambda _: None)
    return made


def test_what_moved_is_settled_and_the_rest_follows(world, make_stream, files):
    runs = [bodies_run(10, b"a", b"b", b"c"), bodies_run(20, b"d")]
    world.broker.log = log = Kept(runs)
    stream = make_stream(files)
    stream.restore([(0, False, ranges((20, 1))), (0, False, ranges((10, 3)))], 0)
    assert (stream.next_offset, stream.messages, stream.pending) == (4, 4, 0)
    assert log.settled == [(stream.id, 10, 11), (stream.id, 12, 12), (stream.id, 20, 20)]
    assert (files.next_offset, files.last_seq, list(stream.pieces)) == (4, 20, [])
    found = []
    files.read(0, 1_000, found.append)
    assert [body(each) for run in found[0] for each in run.contents_at(range(run.count))] == [b"a", b"b", b"c", b"d"]


def test_much_is_read_back_in_parts(world, make_stream, monkeypatch):
    monkeypatch.setattr(recover, "LOGGED_MESSAGES_MAX", 2)
    runs = [bodies_run(1, b"0", b"1", b"2", b"3", b"4")]
    world.broker.log = log = Kept(runs)
    stream = make_stream()
    stream.restore([(0, False, ranges((1, 5)))], 0)
    assert log.parts == [2, 2, 1]
    assert (stream.files.next_offset, list(stream.pieces)) == (5, [])


def test_what_was_read_back_waits_for_nothing_new_before_it_moves(world, make_stream, monkeypatch):
    monkeypatch.setattr(recover, "LOGGED_MESSAGES_MAX", 2)
    monkeypatch.setattr(streams, "MOVE_OCTETS_MAX", 1)
    runs = [bodies_run(seq, b"%d" % seq) for seq in range(1, 6)]
    world.broker.log = Kept(runs)
    stream = make_stream()
    stream.restore([(0, False, ranges((1, 5)))], 0)
    assert (stream.files.next_offset, list(stream.pieces), stream.pending) == (5, [], 0)


def test_nothing_is_nothing(world, make_stream):
    stream = make_stream()
    stream.restore([], 0)
    assert (list(stream.pieces), stream.next_offset) == ([], 0)


def test_what_a_start_found_moves_on_though_little_comes(world, make_stream, fill, monkeypatch):
    """Consumers wait for contents that are in the log alone."""
    monkeypatch.setattr(recover, "LOGGED_MESSAGES_MAX", 1)
    world.broker.log = Kept([bodies_run(1, b"a", b"b", b"c")])
    files = SlowFiles()
    stream = make_stream(files)
    stream.restore([(0, False, ranges((1, 3)))], 0)
    fill(stream, b"little")
    for _ in range(3):
        files.run()
    assert (files.next_offset, [piece.offset for piece in stream.pieces]) == (3, [3])


def test_contents_come_back_while_others_move(world, make_stream, monkeypatch):
    """Readers need not wait for a slow disk."""
    monkeypatch.setattr(recover, "LOGGED_MESSAGES_MAX", 1)
    run = bodies_run(1, b"a", b"b", b"c", b"d", b"e")
    monkeypatch.setattr(streams, "NODE_OCTETS", 3 * (PIECE_OCTETS + run.octets // run.count))
    world.broker.log = Kept([run])
    files = SlowFiles()
    stream = make_stream(files)
    stream.restore([(0, False, ranges((1, 5)))], 0)
    assert [piece.run is None for piece in stream.pieces] == [False, False, False, True, True]
    assert files.next_offset == 0
    files.run()
    assert [(piece.offset, piece.run is None) for piece in stream.pieces] == [
        (1, False),
        (2, False),
        (3, False),
        (4, True),
    ]
    for _ in range(4):
        files.run()
    assert (files.next_offset, list(stream.pieces)) == (5, [])


def test_the_messages_of_so_many_streams_come_back_at_once(world, make_stream, monkeypatch):
    monkeypatch.setattr(load, "LOADS_MAX", 1)
    world.broker.log = Kept([bodies_run(1, b"a"), bodies_run(2, b"b")])
    files = SlowFiles()
    first, second = make_stream(files), make_stream()
    first.restore([(0, False, ranges((1, 1)))], 0)
    second.restore([(0, False, ranges((2, 1)))], 0)
    assert second.pieces[0].run is None
    world.broker.streams.tick()
    assert (second.pieces[0].run, second.files.next_offset) == (None, 0)
    files.run()
    world.broker.streams.tick()
    assert (files.next_offset, second.files.next_offset) == (1, 1)


def test_entries_come_back_whole(world, make_stream, files, monkeypatch):
    monkeypatch.setattr(recover, "LOGGED_MESSAGES_MAX", 2)
    runs = [entries_run(12, b"c", b"d", b"e", b"f", b"g"), entries_run(17, b"h"), bodies_run(18, b"i")]
    world.broker.log = log = Kept(runs)
    stream = make_stream(files)
    stream.restore([(0, False, ranges((12, 7)))], 0)
    assert (stream.next_offset, files.next_offset, files.last_seq, list(stream.pieces)) == (9, 9, 18, [])
    assert sorted(log.settled) == [(stream.id, 12, 16), (stream.id, 17, 17), (stream.id, 18, 18)]
    found = []
    files.read(2, 1_000, found.append)
    assert [(run.first_seq, bodies_of(run)) for run in found[0]] == [
        (2, [b"c", b"d", b"e", b"f", b"g"]),
        (7, [b"h"]),
        (8, [b"i"]),
    ]


def test_an_entry_may_have_very_many_messages(world, make_stream, monkeypatch):
    """Sub-batches: 65,535 in each of as many entries."""
    monkeypatch.setattr(recover, "LOGGED_PIECES_MAX", 10)
    count = 65_535 * 65_535
    run = EntriesRun(1, [batch(b"")], 1, count, len(batch(b"")), 0)
    world.broker.log = log = Kept([run])
    monkeypatch.setattr(log, "fetch", lambda queue_id, part, done: done([(run, range(part.count))]))
    stream = make_stream()
    stream.restore([(0, False, ranges((1, count)))], 0)
    assert (stream.next_offset, stream.files.next_offset, list(stream.pieces)) == (count, count, [])
    assert log.settled == [(stream.id, 1, count)]
