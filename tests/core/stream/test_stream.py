"""A queue whose messages stay."""

import pytest

from pybroker.content_view import body
from pybroker.core.channel.receipt import NO_RECEIPT, Receipt
from pybroker.core.policy.limits import QueueLimits
from pybroker.core.routing.publish import Contents, Publisher, Route, enqueue, names_of
from pybroker.core.stream import streams
from pybroker.core.stream.make import make_queue
from pybroker.core.stream.stream import Stream
from pybroker.run import PLAIN_ATTRIBUTES
from pybroker.wire.table import Table
from tests.core.stream.runs import content, run_of
from tests.core.stream.test_streams import Gated
from tests.entries import bodies_of, entries_run


def read(stream, offset, octets_max=1_000_000):
    found = []
    stream.read(offset, octets_max, found.append)
    (runs,) = found
    return [
        (run.first_seq + at, body(each)) for run in runs for at, each in enumerate(run.contents_at(range(run.count)))
    ]


def test_counts(stream, fill):
    fill(stream, b"0", b"1")
    assert (stream.messages, stream.messages_ready, stream.messages_unacknowledged) == (2, 2, 0)
    assert (stream.messages_resident, stream.published, stream.backlogged) == (2, 2, False)
    assert stream.memory_octets > 0
    assert repr(stream) == "stream 's' in vhost '/'"


def test_transient_messages_are_logged_too(world, stream):
    world.broker.log = log = Gated()
    receipt = Receipt()
    run = run_of(7, [content(b"0")], PLAIN_ATTRIBUTES)
    enqueue(log, run, range(1), [stream], receipt)
    assert (log.appended, receipt.position) == ([(7, 1, (stream.id,))], 1)


def test_a_transient_message_is_logged_once_for_all_streams(world):
    world.broker.log = log = Gated()
    vhost = world.vhost
    limits = QueueLimits(queue_type="stream")
    a, classic, b = (
        make_queue(vhost, "q", durable=True, auto_delete=False, owner=None, arguments=Table(), limits=each)
        for each in (limits, QueueLimits(), limits)
    )
    route = Route(1, names_of("", "a"), mandatory=False, immediate=False)
    octets = content(b"0")
    receipt = Receipt()
    contents = Contents(PLAIN_ATTRIBUTES, [octets], len(octets), 1, 1)
    Publisher(vhost, 1, 0).publish(route, contents, (a, classic, b), receipt)
    assert ([(n, ids) for _, n, ids in log.appended], receipt.position) == ([(1, (a.id, b.id))], 1)


def test_publishes_of_one_batch_are_one_piece(world, stream):
    world.broker.log = Gated()
    run = run_of(1, [content(b"0")])
    stream.enqueue(run, range(1), NO_RECEIPT)
    more = [content(b"1")]
    run.extend(more, len(more[0]), 1, 1)
    stream.enqueue(run, range(1, 2), NO_RECEIPT)
    assert [(piece.offset, piece.stop, piece.octets) for piece in stream.pieces] == [(0, 2, stream.pending)]
    world.broker.log_completed(1)
    run.extend(more, len(more[0]), 1, 1)
    stream.enqueue(run, range(2, 3), NO_RECEIPT)
    assert [(piece.offset, piece.stop) for piece in stream.pieces] == [(0, 2), (2, 3)]
    assert (stream.next_offset, stream.end_offset) == (2, 3)


def test_entries_of_one_batch_are_one_piece(world, stream):
    world.broker.log = log = Gated()
    receipt = Receipt()
    stream.publish_entries(entries_run(0, b"0", b"1"), receipt)
    stream.publish_entries(entries_run(0, b"2"), receipt)
    assert (log.appended, receipt.position) == ([(1, 2, (stream.id,)), (3, 1, (stream.id,))], 1)
    (piece,) = stream.pieces
    assert (piece.offset, piece.stop, piece.first_seq, piece.last_seq) == (0, 3, 1, 3)
    assert (piece.run.first_seq, bodies_of(piece.run), piece.octets) == (0, [b"0", b"1", b"2"], stream.pending)
    assert piece.run.timestamp_ms == piece.timestamp_ms == world.clock.timestamp_ms
    assert (stream.next_offset, stream.end_offset, stream.published) == (0, 3, 3)
    world.broker.log_completed(1)
    assert stream.next_offset == 3
    stream.publish_entries(entries_run(0, b"3"), receipt)
    assert [(piece.offset, piece.stop) for piece in stream.pieces] == [(0, 3), (3, 4)]
    assert world.vhost.traffic.total("publish_in") == 4


def test_batches_that_nobody_has_seen_become_one_piece_when_there_is_much_in_memory(world, stream, monkeypatch):
    world.broker.log = Gated()
    monkeypatch.setattr(streams, "MERGE_OCTETS", 0)
    for number in range(4):
        stream.publish_entries(entries_run(0, b"%d" % number), NO_RECEIPT)
        world.broker.log_completed(number + 1)
        assert [(piece.offset, piece.stop) for piece in stream.pieces] == [(0, number + 1)]
    found = []
    stream.read(0, 1_000, found.append)
    stream.publish_entries(entries_run(0, b"4"), NO_RECEIPT)
    world.broker.log_completed(5)
    assert [(piece.offset, piece.stop) for piece in stream.pieces] == [(0, 4), (4, 5)]


def test_entries_and_contents_are_in_pieces_of_their_own(world, stream, fill):
    world.broker.log = Gated()
    stream.publish_entries(entries_run(0, b"0"), NO_RECEIPT)
    fill(stream, b"1")
    stream.publish_entries(entries_run(0, b"2"), NO_RECEIPT)
    assert [(piece.offset, piece.stop) for piece in stream.pieces] == [(0, 1), (1, 2), (2, 3)]


def test_a_chunk_of_entries_does_not_become_too_large(world, stream):
    world.broker.log = Gated()
    for size in (600_000, 400_000, 100_000):
        stream.publish_entries(entries_run(0, bytes(size)), NO_RECEIPT)
    for _ in range(2):
        stream.publish_entries(entries_run(0, *[b""] * 40_000), NO_RECEIPT)
    assert [piece.stop - piece.offset for piece in stream.pieces] == [2, 40_001, 40_000]


def test_entries_are_read_whole(world, stream):
    stream.publish_entries(entries_run(0, b"0", b"1"), NO_RECEIPT)
    world.broker.streams.move(stream)
    stream.publish_entries(entries_run(0, b"2", b"3"), NO_RECEIPT)
    for offset, bodies in ((0, [b"0", b"1"]), (1, [b"0", b"1"]), (3, [b"2", b"3"])):
        found = []
        stream.read(offset, 1_000_000, found.append)
        ((run,),) = found
        assert (run.first_seq, bodies_of(run)) == (offset - offset % 2, bodies)


def test_reading_it_all(world, stream, fill):
    fill(stream, b"0", b"1")
    world.broker.streams.move(stream)
    assert read(stream, 0) == [(0, b"0"), (1, b"1")]
    fill(stream, b"2", b"3")
    assert read(stream, 1) == [(0, b"0"), (1, b"1")]
    assert read(stream, 3) == [(2, b"2"), (3, b"3")]
    assert read(stream, 4) == []
    assert read(stream, -5) == [(0, b"0"), (1, b"1")]


@pytest.mark.parametrize("moved", [False, True])
def test_the_last_chunk(world, stream, fill, moved):
    assert stream.last_chunk_offset == 0
    fill(stream, b"0")
    fill(stream, b"1", b"2")
    if moved:
        world.broker.streams.move(stream)
    assert stream.last_chunk_offset == 1


def test_it_hands_nothing_back(stream, fill):
    run = fill(stream, b"0")
    stream.settled(run, range(1))
    stream.forget(run, range(1))
    stream.give_back([])
    stream.reject([])
    stream.hold()
    stream.release()
    stream.touch()
    assert (stream.messages, stream.due_times, stream.has_room(1 << 40)) == (1, (), True)


def test_a_bug_behind_the_log_ends_it(world, stream, fill, monkeypatch):
    failed = []
    world.broker.log = log = Gated()
    log.fail = failed.append
    monkeypatch.setattr(Stream, "_published", None)
    with pytest.raises(TypeError):
        fill(stream, b"0")
    with pytest.raises(TypeError):
        stream.publish_entries(entries_run(0, b"0"), Receipt())
    assert len(failed) == 2


def test_a_queue_that_fails_before_a_stream_has_its_messages_ends_the_log(world, stream, monkeypatch):
    failed = []
    world.broker.log = log = Gated()
    log.fail = failed.append
    queue = make_queue(
        world.vhost, "q", durable=True, auto_delete=False, owner=None, arguments=Table(), limits=QueueLimits()
    )
    monkeypatch.setattr(type(queue), "enqueue", None)
    run = run_of(7, [content(b"0")], PLAIN_ATTRIBUTES)
    with pytest.raises(TypeError):
        enqueue(log, run, range(1), [queue], Receipt())
    assert failed == []
    with pytest.raises(TypeError):
        enqueue(log, run, range(1), [queue, stream], Receipt())
    assert len(failed) == 1
