"""A start from any files: which records count, which are cut off silently, which are reported."""

import errno
import random

import pytest

from pybroker.store import format as fmt
from pybroker.store.disk import DiskError
from pybroker.store.recovery.quarantine import QUARANTINE
from pybroker.store.recovery.recovery import Recovery
from pybroker.store.segments.checkpoint import Checkpoint, checkpoint_name, write_checkpoint
from pybroker.store.segments.log_id import find
from pybroker.store.segments.newest import NAME as NEWEST
from tests.store.faulty_disk import FaultyDisk
from tests.store.journals import Node, open_segment
from tests.store.records import listed

FIRST = fmt.segment_name(1)


@pytest.fixture
def disk():
    return FaultyDisk()


def recover(disk, known=(1, 2, 3)):
    return Recovery(disk, set(known), lambda done, of: None).run()


def live(found, queue=1):
    return [
        (priority, timed, seq)
        for priority, timed, seq_ranges in found.queues.get(queue, [])
        for first, count, _ in seq_ranges.ranges()
        for seq in range(first, first + count)
    ]


def seqs(found, queue=1):
    return sorted(seq for _, _, seq in live(found, queue))


def batches(disk, count, octets=10, largest=None):
    """Live a life of `count` batches with one message each; return where each batch begins, in which segment."""
    node = Node(disk, largest=largest)
    places = []
    for number in range(1, count + 1):
        node.publish([bytes([number]) * octets])
        node.commit()
        segment = node.log.live_index.segments[-1]
        places.append((fmt.segment_name(segment.number), segment.used))
    return places


def records(disk, name=FIRST):
    number = fmt.segment_number(name)
    return list(open_segment(disk, number).scan_all())


def test_in_an_empty_folder_is_nothing(disk):
    found = recover(disk)
    assert (found.queues, found.next_seq, found.commit_position, found.clean) == ({}, 1, 0, False)
    assert (found.reports, found.cut, found.checkpoints) == ([], "", [])


def test_progress_is_told_from_nothing_to_all(disk):
    batches(disk, 30, 1_000, largest=4_000)
    told = []
    Recovery(disk, {1}, lambda done, of: told.append((done, of))).run()
    assert len(told) > 3
    of = told[0][1]
    assert told == [(done, of) for done in range(of + 1)]


def test_a_start_leaves_every_segment_with_its_footer(disk):
    batches(disk, 3)
    assert open_segment(disk).read_footer() is None
    recover(disk)
    footer = open_segment(disk).read_footer()
    assert (footer.first_commit_position, footer.last_commit_position) == (1, 3)
    before = disk.read_file(FIRST)
    assert seqs(recover(disk)) == [1, 2, 3]
    assert disk.read_file(FIRST) == before


def test_what_a_kill_left_half_made_is_removed(disk):
    batches(disk, 1)
    disk.write_file("ckpt.0000000000000001.new", b"half")
    disk.close(disk.create(fmt.segment_name(2) + ".new", 500))
    recover(disk)
    assert [name for name in disk.names() if name.endswith(".new")] == []


def test_messages_of_a_queue_that_is_gone_are_gone(disk):
    batches(disk, 3)
    found = recover(disk, known=(2,))
    assert found.queues == {}
    assert found.live_index.segments[0].live == 0
    assert found.next_seq == 4


def test_the_id_of_a_queue_that_was_never_on_disk_is_not_given_again(disk):
    node = Node(disk)
    node.publish([b"a"], queues=(2, 7))
    node.commit()
    for _ in range(2):  # from the records, and from the footer
        assert recover(disk, known=(1, 2)).next_queue_id == 8


@pytest.mark.parametrize("torn", [1, 30, 80])
def test_a_torn_last_batch_is_cut_off_without_alarm(disk, torn):
    places = batches(disk, 3, 100)
    name, used = places[-1]
    file = disk.open(name, write=True)
    disk.write_at(file, used - torn, bytes(torn))
    found = recover(disk)
    assert (seqs(found), found.reports) == ([1, 2], [])
    assert found.cut.startswith("the log ended in an incomplete, unconfirmed batch")
    assert disk.size(file) < used
    again = recover(disk)
    assert (seqs(again), again.reports, again.cut) == ([1, 2], [], "")


def test_a_lost_head_of_the_last_batch_loses_the_batch_alone(disk):
    places = batches(disk, 3, 100)
    file = disk.open(FIRST, write=True)
    disk.write_at(file, places[1][1], bytes(fmt.BATCH_RECORD_OCTETS))
    found = recover(disk)
    assert (seqs(found), found.reports) == ([1, 2], [])


def test_every_octet_of_a_batch_that_another_follows_is_reported_if_it_is_damaged(disk):
    places = batches(disk, 4, 5)
    start, end = places[0][1], places[1][1]
    size = places[-1][1] + 100
    whole = fmt.segment_header(1, find(disk).log_id, size) + disk.read_file(FIRST)[fmt.HEADER_OCTETS : size]
    for octet in range(start, end):
        broken = FaultyDisk()
        broken.write_file(FIRST, whole)
        for name in (checkpoint_name(0), NEWEST):
            broken.write_file(name, disk.read_file(name))
        broken.flip(FIRST, 8 * octet + octet % 8)
        found = recover(broken)
        assert seqs(found) in ([1, 3, 4], [1, 2, 3, 4])
        assert len(found.reports) == 1, found.reports
        assert found.cut == ""
        (kept,) = broken.below(QUARANTINE).names()
        number, _, offset = kept.partition(".")
        octets = broken.below(QUARANTINE).read_file(kept)
        assert int(number, 16) == 1
        assert int(offset, 16) <= octet < int(offset, 16) + len(octets)


def test_a_damaged_head_of_a_segment_is_reported_and_costs_nothing(disk):
    batches(disk, 3)
    disk.flip(FIRST, 100)
    found = recover(disk)
    assert seqs(found) == [1, 2, 3]
    assert found.reports == [f"segment {FIRST}: the header of the segment is damaged"]


def spoil_targets(disk, which):
    """Damage those of the records that say where messages went."""
    said = [each.offset for each in records(disk) if each.type == fmt.TARGETS]
    for offset in said[which]:
        disk.damage(FIRST, offset + fmt.RECORD_OCTETS, b"\xff")
    return len(said[which])


@pytest.mark.parametrize("which", [slice(0, 1), slice(1, 2), slice(1, None), slice(0, -1)])
def test_where_messages_went_is_known_if_it_is_said_once_in_a_segment(disk, which):
    batches(disk, 6, 500)
    count = spoil_targets(disk, which)
    found = recover(disk)
    assert (seqs(found), len(found.reports)) == ([1, 2, 3, 4, 5, 6], count)
    node = Node(disk)
    assert node.bodies(range(1, 7)) == {number: bytes([number]) * 500 for number in range(1, 7)}


def test_if_it_is_said_nowhere_the_messages_are_lost_and_counted(disk):
    batches(disk, 6, 500)
    count = spoil_targets(disk, slice(None))
    found = recover(disk)
    assert (seqs(found), len(found.reports)) == ([], count + 1)
    assert "6 messages from offset " in found.reports[-1]
    assert found.next_seq == 7


@pytest.mark.parametrize("damage", ["footer", "trailer", "cut"])
def test_a_damaged_footer_costs_nothing(disk, damage):
    batches(disk, 30, 1_000, largest=8_000)
    name = FIRST
    file = disk.open(name, write=True)
    size = disk.size(file)
    offset = fmt.decode_trailer(disk.read_at(file, size - 16, 16))
    assert offset
    if damage == "cut":
        disk.truncate(file, (offset + size) // 2)
    else:
        disk.flip(name, 8 * ((offset + 20) if damage == "footer" else size - 3))
    found = recover(disk)
    assert (seqs(found), found.reports, found.cut) == (list(range(1, 31)), [], "")


def test_the_power_may_go_while_a_segment_is_sealed(disk):
    # its footer torn, or the file cut and the footer lost, the next segment already written
    places = batches(disk, 8, 1_000, largest=4_500)
    whole = disk.read_file(FIRST)
    offset = fmt.decode_trailer(whole[-16:])
    assert places[-1][0] != FIRST
    rng = random.Random(1)
    for _ in range(60):
        torn = bytearray(whole)
        for at in range(offset, len(whole), 16):
            if rng.random() < 0.5:
                torn[at : at + 16] = bytes(min(16, len(whole) - at))
        broken = FaultyDisk()
        for name in disk.names():
            broken.write_file(name, disk.read_file(name))
        broken.write_file(FIRST, bytes(torn[: rng.randint(offset, len(whole))]) + bytes(rng.choice((0, 500))))
        found = recover(broken)
        assert (seqs(found), found.cut) == (list(range(1, 9)), "")
        assert found.reports == []


def test_seqs_and_tickets_go_on_above_all_that_was(disk):
    node = Node(disk)
    run = node.publish([b"a", b"b"])
    node.commit()
    node.settle(run)
    node.commit()
    write_checkpoint(disk, Checkpoint(node.log.log_id, 9, 500), [])
    found = recover(disk)
    assert (found.commit_position, found.next_seq, found.checkpoints) == (9, 500, [9])


def test_only_the_checkpoint_of_a_stop_makes_a_clean_start(disk):
    node = Node(disk)
    run = node.publish([b"a", b"b"])
    node.commit()
    node.close([(1, 2, 2, 3)])
    found = recover(disk)
    assert (found.clean, listed(found.returned), seqs(found)) == (True, [(1, 2, 2, 3)], [1, 2])
    assert run.count == 2
    again = Node(disk)
    again.publish([b"c"])
    again.commit()
    found = recover(disk)
    assert (found.clean, seqs(found)) == (False, [1, 2, 3])


def test_priority_and_expiry_are_told_of_each_message(disk):
    from pybroker.run import RunAttributes

    node = Node(disk)
    for attributes in (
        RunAttributes(persistent=True),
        RunAttributes(persistent=True, priority=2),
        RunAttributes(persistent=True, ttl_ms=5),
    ):
        node.publish([b"x"], attributes=attributes)
    node.commit()
    found = recover(disk)
    assert sorted(live(found)) == [(0, True, 1), (0, True, 3), (2, False, 2)]


@pytest.mark.parametrize("damaged", [False, True])
def test_a_full_disk_does_not_keep_the_broker_from_starting(disk, damaged):
    places = batches(disk, 3)
    if damaged:
        disk.flip(FIRST, 8 * (places[1][1] - 10))
    disk.fail_next("write_at", errno.ENOSPC, times=99)
    disk.fail_next("create", errno.ENOSPC, times=99)
    found = recover(disk)
    assert seqs(found) == ([1, 3] if damaged else [1, 2, 3])
    assert len(found.reports) == damaged
    disk.power.next_failures = {}
    assert seqs(recover(disk)) == seqs(found)


def test_a_start_on_a_full_disk_gives_back_what_was_made_ahead(disk):
    batches(disk, 3)
    size = len(disk.read_file(FIRST))
    disk.fail_next("write_at", errno.ENOSPC, times=99)
    recover(disk)
    assert len(disk.read_file(FIRST)) < 1_000 < size


def test_a_disk_that_cannot_be_written_does(disk):
    batches(disk, 3)
    disk.fail_next("sync", errno.EIO)
    with pytest.raises(DiskError):
        recover(disk)


def test_a_newer_version_is_refused(disk, monkeypatch):
    batches(disk, 3)
    monkeypatch.setattr(fmt, "VERSION", 2)
    file = disk.open(FIRST, write=True)
    disk.write_at(file, 0, fmt.segment_header(1, find(disk).log_id, 0))
    monkeypatch.undo()
    with pytest.raises(fmt.VersionError):
        recover(disk)


def test_any_damage_anywhere_never_refuses_a_start():
    disk = FaultyDisk()
    batches(disk, 25, 300, largest=4_000)
    whole = {name: disk.read_file(name) for name in disk.names()}
    for seed in range(60):
        rng = random.Random(seed)
        broken = FaultyDisk()
        for name, octets in whole.items():
            broken.write_file(name, octets)
        for _ in range(rng.randint(1, 4)):
            name = rng.choice([name for name in whole if whole[name]])
            start = rng.randrange(len(whole[name]))
            octets = rng.choice((bytes, rng.randbytes))(rng.choice((1, 20, 700, 5_000)))
            broken.damage(name, start, octets[: len(whole[name]) - start])
        found = recover(broken)
        lost = set(range(1, 26)) - set(seqs(found))
        assert not lost or found.reports or found.cut or found.commit_position < 25, (seed, lost)
        # And whatever it was, what is left is what the next start finds.
        assert seqs(recover(broken)) == seqs(found)


def test_a_segment_in_which_nothing_was_written_goes():
    disk = FaultyDisk()
    node = Node(disk, largest=2_000)
    node.publish([bytes(1_500)])
    node.commit()
    file = disk.create(fmt.segment_name(2), 2_000)
    disk.write_at(file, 0, fmt.segment_header(2, node.log.log_id, 2_000))
    disk.close(file)
    again = Node(disk, largest=2_000)
    assert [] == again.recovered.reports
    assert fmt.segment_name(2) not in disk.names()
    again.publish([bytes(1_500)])
    again.commit()
    assert [1, 2] == Node(disk).live()
