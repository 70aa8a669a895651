"""Chunks that are in the files leave slice by slice, and are read again where the system has lost them."""

import errno

import pytest

from pybroker.core.peer.slice_buffers import SliceBuffers
from pybroker.core.stream.streams import SOUND_MS
from pybroker.session import FileOutput
from pybroker.store.streams.recovery import recover
from pybroker.store.streams.stream_log import StreamLog
from pybroker.stream.delivery import Delivery
from pybroker.tls_facts import TlsFacts
from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import Key, OffsetType
from pybroker.wire.stream.fields import Offset
from tests.fakes import take
from tests.inline_worker import InlineWorker
from tests.store.faulty_disk import FaultyDisk
from tests.stream_peer import FIRST, StreamPeer

SLICE = 1_000
TLS = TlsFacts("tlsv1.3", "", "", "", b"")
# Of several slices, of one, and one that is too small to stay in the files.
CHUNKS = [[b"%04d" % number + bytes(90) for number in range(30)], [b"x" * 700], [b"y"]]


class Files:
    """The files of stream `s`, which are asked when the test says so."""

    def __init__(self, world):
        self.disk, self.worker, self.reader = FaultyDisk(), InlineWorker(), InlineWorker()
        self.stream = world.vhost.queues["s"]
        self.stream.use_files(StreamLog(self.disk, self.worker, self.reader, recover(self.disk, self.stream.id)))
        self.world = world

    def run(self):
        """Have everything read that anybody wants."""
        while len(self.reader):
            self.reader.step()
            self.world.run()

    @property
    def segment(self):
        """Return the octets of the only segment."""
        (folder,) = self.disk.folders["streams"].folders.values()
        (segment,) = [file for name, file in folder.files.items() if name.endswith(".log")]
        return segment


@pytest.fixture
def files(world, peer, monkeypatch):
    monkeypatch.setattr("pybroker.core.peer.slice_buffers.SLICE_OCTETS", SLICE)
    monkeypatch.setattr("pybroker.stream.session.SLICE_OCTETS", SLICE)
    monkeypatch.setattr("pybroker.store.streams.reader.STORED_OCTETS_MIN", 500)
    files = Files(world)
    peer.declare()
    for bodies in CHUNKS:
        peer.publish(*bodies, first_id=files.stream.next_offset + 1)
    world.broker.streams.move(files.stream)
    files.worker.run()
    files.stream.pieces.forget(files.stream.files.next_offset)
    assert files.stream.files.next_offset == 32
    peer.inbox.clear()
    return files


@pytest.fixture(params=["files", "slices"])
def peer(request, world, monkeypatch):
    """A client that is sent chunks from their files, or slices that are read."""
    monkeypatch.setattr("pybroker.stream.delivery.SENT_FROM_FILE_MIN", 900 if request.param == "files" else 1 << 20)
    monkeypatch.setattr("pybroker.stream.delivery.PART_OCTETS", SLICE)
    peer = StreamPeer(world)
    peer.create()
    return peer


def deliveries(peer):
    return [part for part in peer.session.outbox if isinstance(part, Delivery)]


def test_chunks_come_as_they_were_published(peer, files):
    peer.subscribe()
    files.run()
    assert [chunk.bodies for chunk in peer.chunks()] == CHUNKS
    assert (peer.session.send_pend, peer.session.output_left, peer.session.outbox) == (0, False, [])
    # The next one is told by the system's memory alone.
    other = StreamPeer(peer.world)
    files.stream.readers.clear()
    other.subscribe()
    files.run()
    assert [chunk.bodies for chunk in other.chunks()] == CHUNKS


def test_a_peer_that_takes_nothing_has_one_slice_in_memory(world, peer, files):
    peer.subscribe()
    files.reader.run()
    world.broker.pump()
    session = peer.session
    parts = session.pop_output()
    assert sum(map(len, parts)) <= SLICE + 100
    assert (session.unsent_octets, session.output_left) == (sum(map(len, parts)), True)
    assert session.send_pend > 2_000
    peer.read(take(parts)[0])
    session.output_sent(0)
    session.mark_dirty()
    world.run()
    files.run()
    assert [chunk.bodies for chunk in peer.chunks()] == CHUNKS


def test_over_tls_all_is_read(world, files):
    secret = StreamPeer(world, tls=TLS)
    secret.subscribe()
    files.reader.run()
    world.broker.pump()
    assert not any(isinstance(part, FileOutput) for part in secret.session.pop_output())


def test_a_part_that_was_given_away_is_lost_by_the_system(world, peer, files):
    peer.subscribe()
    files.reader.run()
    world.broker.pump()
    session = peer.session
    parts = session.pop_output()
    files.disk.power.forgetful = isinstance(parts[-1], Delivery)
    octets, left = take(parts)
    peer.read(octets)
    session.output_sent(sum(map(len, left)))
    assert bool(left) is files.disk.power.forgetful
    assert len(take(left)[1]) == len(left)  # not there yet
    files.reader.run()
    octets, left = take(left)
    peer.read(octets)
    assert left == []
    session.output_sent(0)
    session.mark_dirty()
    world.run()
    files.run()
    assert [chunk.bodies for chunk in peer.chunks()] == CHUNKS


def test_room_is_given_back_when_a_slice_is_sent(world, peer, files, monkeypatch):
    lent = []
    monkeypatch.setattr(SliceBuffers, "borrow", lambda self: lent.append(1) or memoryview(bytearray(SLICE)))
    monkeypatch.setattr(SliceBuffers, "give_back", lambda self, buffer: lent.pop())
    peer.subscribe()
    files.run()
    assert (len(peer.chunks()), lent) == (3, [])


@pytest.mark.parametrize("readers", [0, 9])
def test_large_chunks_in_memory_leave_in_slices_if_there_are_many_readers(world, peer, monkeypatch, readers):
    world.broker.streams.readers += readers
    monkeypatch.setattr("pybroker.stream.session.SLICE_OCTETS", SLICE)
    monkeypatch.setattr("pybroker.stream.subscription.SLICE_OCTETS", SLICE)
    peer.declare()
    for bodies in CHUNKS:
        peer.publish(*bodies, first_id=world.vhost.queues["s"].next_offset + 1)
    other = StreamPeer(world)
    other.session.receive(commands.Subscribe(5, 1, "s", FIRST, 10, {}).octets)
    world.broker.pump()
    session, sizes = other.session, []
    while parts := session.pop_output():
        sizes.append(sum(map(len, parts)))
        other.read(b"".join(parts))
        session.output_sent(0)
    assert [chunk.bodies for chunk in other.chunks()] == CHUNKS
    assert (sizes[:3] == [SLICE] * 3) is (readers > 0)
    assert (session.output_left, session.send_pend) == (False, 0)


def test_what_the_system_has_lost_is_read_from_the_disk(world, peer, files):
    peer.subscribe()
    files.reader.step()  # found sound, and in memory
    files.disk.power.forgetful = True
    world.run()
    assert deliveries(peer)
    assert peer.chunks() == []
    # An answer waits behind it.
    peer.session.mark_dirty()
    world.run()
    peer.send_octets(bytes.fromhex("0000000400170001"))
    files.run()
    assert [chunk.bodies for chunk in peer.chunks()] == CHUNKS


def test_the_rest_of_a_chunk_is_lost_by_the_system(world, peer, files):
    peer.subscribe()
    files.reader.step()
    world.broker.pump()
    session = peer.session
    peer.read(take(session.pop_output())[0])
    session.output_sent(0)
    files.disk.power.forgetful = True
    session.mark_dirty()
    world.run()
    files.disk.power.forgetful = False
    session.mark_dirty()
    world.run()  # it is asked for already
    files.run()
    assert [chunk.bodies for chunk in peer.chunks()] == CHUNKS


def test_a_disk_that_cannot_read_is_tried_again(world, peer, files):
    peer.subscribe()
    files.reader.step()
    files.disk.power.forgetful = True
    world.run()
    files.disk.power.next_failures["read_at"] = [errno.EMFILE]
    files.run()
    assert peer.chunks() == []
    world.advance(1_000)
    files.run()
    assert [chunk.bodies for chunk in peer.chunks()] == CHUNKS


def test_a_chunk_that_is_damaged_by_now_ends_the_connection_and_is_passed_over_by_others(world, peer, files):
    peer.subscribe()
    files.reader.step()
    files.disk.power.forgetful = True
    world.run()
    files.segment.seen[500] ^= 1
    files.run()
    assert (peer.session.finished, peer.session.close_now) == (True, True)
    peer.disconnect()
    other = StreamPeer(world)
    other.subscribe()
    files.run()
    assert [chunk.bodies for chunk in other.chunks()] == CHUNKS[1:]


def test_a_stream_that_is_deleted_is_read_to_the_end_of_its_chunks(world, peer, files):
    other = StreamPeer(world)
    peer.subscribe()
    files.reader.step()
    world.broker.pump()
    peer.read(take(peer.session.pop_output())[0])
    peer.session.output_sent(0)
    assert deliveries(peer)
    other.send(commands.DeleteStream(9, "s"))
    peer.session.mark_dirty()
    world.run()
    assert [chunk.bodies for chunk in peer.chunks()] == CHUNKS
    assert [each.key for each in peer.inbox] == [Key.METADATA_UPDATE]


def test_a_segment_that_is_removed_is_read_to_the_end_of_its_chunk(world, peer, files):
    peer.subscribe()
    files.reader.step()
    world.broker.pump()
    peer.read(take(peer.session.pop_output())[0])
    peer.session.output_sent(0)
    (folder,) = files.disk.folders["streams"].folders.values()
    for name in [name for name in folder.files if name.endswith(".log")]:
        folder.unlink(name)
    files.disk.power.forgetful = True
    peer.session.mark_dirty()
    world.run()
    files.reader.step()
    files.disk.power.forgetful = False
    world.run()
    assert [chunk.bodies for chunk in peer.chunks()][:1] == CHUNKS[:1]
    assert not peer.session.close_now


def test_a_reader_whose_segment_is_missing_goes_on_behind_it(world, peer, files):
    peer.subscribe()
    files.reader.step()
    world.broker.streams.shared_reads.clear()
    files.reader.run()
    (folder,) = files.disk.folders["streams"].folders.values()
    for name in [name for name in folder.files if name.endswith(".log")]:
        folder.unlink(name)
    world.run()
    files.run()
    peer.publish(b"z", first_id=33)
    assert [chunk.bodies for chunk in peer.chunks()] == [[b"z"]]
    assert not peer.session.close_now


def test_a_reader_whose_segment_was_removed_goes_on_with_the_oldest_that_is_left(world, peer, files):
    peer.subscribe()
    files.reader.step()
    world.broker.streams.shared_reads.clear()
    removed = []
    files.stream.files.retain(None, 1 << 60, removed.append)
    files.worker.run()
    assert removed == [1]
    world.run()
    files.run()
    peer.publish(b"z", first_id=33)
    assert [chunk.bodies for chunk in peer.chunks()] == [[b"z"]]
    assert not peer.session.close_now


def test_chunks_of_segments_that_are_not_open_any_more_are_read_again(world, peer, files, monkeypatch):
    monkeypatch.setattr("pybroker.core.stream.chunk_reader.AHEAD_OCTETS_MIN", 1)
    peer.subscribe()
    files.reader.step()
    world.broker.streams.shared_reads.clear()
    world.run()
    files.run()
    assert [chunk.bodies for chunk in peer.chunks()] == CHUNKS


def test_nothing_is_left_out_if_a_segment_is_closed_while_what_follows_is_read(world, peer, files, monkeypatch):
    monkeypatch.setattr("pybroker.core.stream.chunk_reader.AHEAD_OCTETS_MIN", 250)
    monkeypatch.setattr("pybroker.core.stream.chunk_reader.NODE_AHEAD_OCTETS", 250)
    more = [[b"%d" % number + bytes(700)] for number in range(9)]
    for bodies in more:
        peer.publish(*bodies, first_id=files.stream.next_offset + 1)
    world.broker.streams.move(files.stream)
    files.worker.run()
    files.stream.pieces.forget(files.stream.files.next_offset)
    peer.inbox.clear()
    peer.subscribe(begin=Offset(OffsetType.OFFSET, 32), credit=4)
    files.reader.step()
    world.run()
    (reader,) = files.stream.readers.values()
    assert reader.ahead
    assert reader.is_reading
    world.broker.streams.shared_reads.clear()
    peer.send(commands.Credit(1, 20))
    world.run()
    files.run()
    assert [chunk.bodies for chunk in peer.chunks()] == more


def test_a_peer_that_leaves_is_not_waited_for(world, peer, files):
    peer.subscribe()
    files.reader.step()
    files.disk.power.forgetful = True
    world.run()
    peer.disconnect()
    files.run()
    assert peer.session.outbox == []


def test_a_peer_of_small_frames_gets_parts(world, files):
    small = StreamPeer(world, frame_octets_max=1_000)
    small.subscribe()
    files.run()
    chunks = small.chunks()
    assert len(chunks) > 3
    assert [body for chunk in chunks for body in chunk.bodies] == [body for bodies in CHUNKS for body in bodies]


def test_a_disk_that_damages_a_chunk_is_noticed_though_somebody_reads_all_the_time(world, peer, files):
    readers = [peer, StreamPeer(world), StreamPeer(world)]
    for reader in readers[:2]:
        reader.subscribe()
    files.run()
    files.segment.seen[files.segment.seen.index(b"0007")] ^= 1
    world.advance(SOUND_MS)
    readers[2].subscribe()
    files.run()
    found = [[chunk.bodies for chunk in reader.chunks()] for reader in readers]
    assert found == [CHUNKS, CHUNKS, CHUNKS[1:]]
