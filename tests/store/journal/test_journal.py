"""The log on disk, without its threads: what is completed survives, what is settled does not come back."""

import errno
import random

import pytest

from pybroker.seq_ranges import SeqRanges
from pybroker.store import format as fmt
from pybroker.store.disk import Disk
from pybroker.store.format import segment_number
from tests.clock import FakeClock
from tests.store.faulty_disk import FaultyDisk
from tests.store.journals import Node, content, open_segment
from tests.store.records import listed


@pytest.fixture
def disk(tmp_path):
    return Disk(tmp_path)


def segments(disk):
    return [name for name in disk.names() if segment_number(name) is not None]


def test_what_is_committed_is_there_after_a_kill(disk):
    node = Node(disk)
    node.publish([b"a", b"bc", b""])
    node.publish([b"d"], queues=(1, 2))
    assert 1 == node.log.commit_position
    node.commit()
    assert [1] == node.completed
    again = Node(disk)
    assert ([1, 2, 3, 4], [4]) == (again.live(1), again.live(2))
    assert {1: b"a", 2: b"bc", 3: b"", 4: b"d"} == again.bodies([1, 2, 3, 4])
    assert again.log.next_seq == 5
    assert not again.recovered.clean
    assert [] == again.recovered.reports


def test_what_is_not_committed_has_no_ticket_completed(disk):
    node = Node(disk)
    node.publish([b"a"])
    assert [] == node.completed
    assert [] == Node(disk).live()


def test_what_is_settled_does_not_come_back(disk):
    node = Node(disk)
    run = node.publish([b"%d" % i for i in range(10)], queues=(1, 2))
    node.commit()
    node.settle(run, range(3, 7))
    node.settle(run, range(0, 10, 2), queue=2)
    node.commit()
    again = Node(disk)
    assert ([1, 2, 3, 8, 9, 10], [2, 4, 6, 8, 10]) == (again.live(1), again.live(2))


def test_a_queue_that_is_gone_has_nothing(disk):
    node = Node(disk)
    node.publish([b"a"], queues=(1, 2))
    node.commit()
    again = Node(disk, queues=(2,))
    assert ([], [1]) == (again.live(1), again.live(2))


def test_a_clean_stop_remembers_what_was_delivered(disk):
    node = Node(disk)
    node.publish([b"a", b"b"])
    node.close([(1, 2, 2, 3)])
    again = Node(disk)
    assert again.recovered.clean
    assert [(1, 2, 2, 3)] == listed(again.recovered.returned)
    assert [1, 2] == again.live()
    again.log.commit_nothing()
    again.work()
    assert not Node(disk).recovered.clean


def test_segments_roll_get_footers_and_go_when_nothing_in_them_lives(disk):
    node = Node(disk, largest=20_000)
    runs = []
    for i in range(50):
        runs.append(node.publish([bytes([i]) * 2_000]))
        node.commit()
    assert len(segments(disk)) > 5
    assert {1 + i: bytes([i]) * 2_000 for i in range(50)} == node.bodies(range(1, 51))
    for run in runs[:45]:
        node.settle(run)
    node.commit()
    for _ in range(6):
        node.tick(1_000)
    assert len(segments(disk)) <= 3
    again = Node(disk)
    assert list(range(46, 51)) == again.live()
    assert {1 + i: bytes([i]) * 2_000 for i in range(45, 50)} == again.bodies(range(46, 51))


def test_settles_in_a_segment_without_live_messages_are_kept_until_two_checkpoints_know_them(disk):
    node = Node(disk, largest=20_000)
    first = node.publish([bytes(2_000)] * 4)
    node.commit()
    kept = node.publish([b"kept"])
    node.commit()
    # A segment of settles and messages that are gone.
    for _ in range(8):
        gone = node.publish([bytes(2_000)] * 3)
        node.commit()
        node.settle(gone)
        node.commit()
    node.settle(first)
    node.commit()
    for _ in range(8):
        node.tick(1_000)
    assert [kept.first_seq] == Node(disk).live()


def test_the_newest_checkpoint_damaged_the_one_before_gives_the_exact_answer(disk, tmp_path):
    node = Node(disk, largest=20_000)
    runs = []
    for i in range(40):
        runs.append(node.publish([bytes([i]) * 2_000]))
        node.commit()
        if i >= 10:
            node.settle(runs[i - 10])
            node.commit()
        node.tick(1_000)
    expected = Node(disk).live()
    assert list(range(31, 41)) == expected
    newest = max(name for name in disk.names() if name.startswith("ckpt."))
    octets = bytearray((tmp_path / newest).read_bytes())
    octets[len(octets) // 2] ^= 1
    (tmp_path / newest).write_bytes(octets)
    again = Node(disk)
    assert expected == again.live()
    assert 1 == len(again.recovered.reports)


def test_a_torn_last_batch_is_cut_without_alarm(disk, tmp_path):
    node = Node(disk)
    node.publish([b"safe"])
    node.commit()
    used = node.log.live_index.segments[-1].used
    node.publish([b"torn" * 100])
    node.commit()
    (name,) = segments(disk)
    octets = bytearray((tmp_path / name).read_bytes())
    octets[used + 200] ^= 1
    (tmp_path / name).write_bytes(octets)
    again = Node(disk)
    assert [1] == again.live()
    assert [] == again.recovered.reports
    assert again.recovered.cut
    again.publish([b"next"])
    again.commit()
    assert [1, again.log.next_seq - 1] == Node(disk).live()


def test_damage_in_a_batch_that_is_proven_is_reported_and_the_rest_stays(disk, tmp_path):
    node = Node(disk)
    node.publish([b"one"])
    node.publish([b"two" * 100], queues=(2,))
    node.publish([b"three"])
    node.commit()
    node.tick()
    node.tick()  # proven
    (name,) = segments(disk)
    octets = bytearray((tmp_path / name).read_bytes())
    octets[octets.index(b"twotwo") + 1] ^= 1
    (tmp_path / name).write_bytes(octets)
    again = Node(disk)
    assert ([1, 3], []) == (again.live(1), again.live(2))
    assert 1 == len(again.recovered.reports)
    assert "PUBLISH" in again.recovered.reports[0]
    assert 1 == len(list((tmp_path / "quarantine").iterdir()))


def test_on_a_full_disk_the_proof_waits_and_leaves_no_hole():
    disk = FaultyDisk()
    node = Node(disk)
    node.publish([b"one"])
    node.commit()
    disk.fail_next("write_at", errno.ENOSPC)
    node.tick()
    assert node.log.full
    node.publish([b"two"])
    node.log.commit()
    node.tick(1_000)
    assert ("", [1, 2]) == (node.log.full, node.completed)
    found = list(open_segment(disk).scan_all())
    assert [fmt.BATCH, fmt.TARGETS, fmt.PUBLISH, fmt.PROVEN, fmt.BATCH, fmt.TARGETS, fmt.PUBLISH] == [
        each.type for each in found
    ]
    again = Node(disk.crash(random.Random(1)))
    assert ([1, 2], []) == (again.live(), again.recovered.reports)


def test_without_a_descriptor_a_batch_waits_for_one():
    disk = FaultyDisk()
    node = Node(disk)
    node.publish([b"one"])
    disk.fail_next("create", errno.EMFILE, times=2)
    disk.fail_next("sync_folder", errno.EMFILE)
    node.commit()
    assert ("", []) == (node.log.failed, node.completed)
    assert 0 == node.log.completed
    for _ in range(4):
        node.tick(1_000)
    assert ("", "", [1]) == (node.log.failed, node.log.full, node.completed)
    again = Node(disk.crash(random.Random(1)))
    assert ([1], []) == (again.live(), again.recovered.reports)


def test_a_proof_completes_no_ticket_for_the_second_time(disk):
    node = Node(disk)
    node.publish([b"a"])
    node.commit()
    node.tick()
    node.tick()
    assert [1] == node.completed


def test_a_run_that_grows_over_batches_is_a_record_in_each(disk):
    node = Node(disk)
    run = node.publish([b"a", b"b"])
    node.commit()
    seq = node.log.take(2)
    assert seq == run.first_seq + run.count
    more = [content(b"c"), content(b"d")]
    run.extend(more, sum(map(len, more)), 2, 1)
    node.log.append(run, range(2, 3), (1,))
    node.log.append(run, range(3, 4), (1,))
    assert node.log.uncommitted_octets == sum(map(len, more))
    node.commit()
    assert 0 == node.log.uncommitted_octets
    assert {1: b"a", 2: b"b", 3: b"c", 4: b"d"} == Node(disk).bodies(range(1, 5))


def test_time_in_the_log_does_not_go_back_with_the_clock(disk):
    node = Node(disk)
    node.publish([b"a"])
    node.clock.now_ms += 5_000
    node.commit()
    node.close()
    clock = FakeClock(timestamp_ms=node.clock.timestamp_ms - 3_600_000)
    again = Node(disk, clock=clock)
    got = []
    part = SeqRanges()
    part.add(1, 1, 1)
    again.log.fetch(1, part, got.extend)
    again.work()
    # It arrived five seconds before the log's newest time.
    assert clock.now_ms - 5_000 == got[0][0].arrived_ms


def test_a_clean_stop_gives_the_files_back():
    disk = FaultyDisk()
    node = Node(disk)
    node.publish([b"a"])
    node.commit()
    assert len(disk._open) == 1
    node.close()
    assert disk._open == {}


def test_nothing_comes_after_the_checkpoint_of_a_clean_stop(disk):
    node = Node(disk)
    node.publish([b"a", b"b"])
    node.close([(1, 2, 2, 3)])
    node.tick(60_000)
    assert node.log.maintenance.hold() is None  # of a backup that waited
    node.log.commit_nothing()
    node.publish([b"late"])
    node.log.commit()
    node.work()
    again = Node(disk)
    assert again.recovered.clean
    assert [(1, 2, 2, 3)] == listed(again.recovered.returned)


def test_how_often_a_message_came_back_survives_a_kill_also_past_checkpoints(disk):
    node = Node(disk)
    run = node.publish([b"a", b"b", b"c", b"d"])
    node.commit()
    node.log.give_back(1, run, range(0, 4, 2), 1)
    node.log.give_back(1, run, range(1, 2), 1)
    node.commit()
    node.log.give_back(1, run, range(1), 2)
    node.commit()
    node.settle(run, range(2, 3))
    node.commit()
    expected = [(1, 1, 1, 2), (1, 2, 2, 1)]
    assert expected == listed(Node(disk).recovered.returned)
    node = Node(disk)
    node.publish([b"e"])
    node.tick(61_000)
    node.tick(61_000)
    assert expected == listed(Node(disk).recovered.returned)


def test_a_queue_that_goes_before_its_batch_is_closed_leaves_nothing_live(tmp_path):
    node = Node(Disk(tmp_path))
    node.publish([b"a" * 100])
    node.log.forget_queue(1)
    node.commit()
    assert [0] == [segment.live for segment in node.log.live_index.segments]


def test_a_queue_that_goes_takes_nothing_of_another_along(tmp_path):
    disk = Disk(tmp_path)
    node = Node(disk, largest=20_000)
    run = node.publish([b"a", b"b"])
    node.publish([b"keep"], queues=(2,))
    node.commit()
    # In one batch: the queue is used, and goes before the batch is closed.
    node.settle(run)
    node.publish([b"c"])
    node.log.forget_queue(1)
    node.commit()
    for _ in range(12):
        node.settle(node.publish([b"x" * 4_000], queues=(3,)), queue=3)
        node.commit()
        node.tick(2_000)
    for _ in range(6):
        node.tick(2_000)
    assert [3] == Node(disk).live(2)


@pytest.mark.parametrize("settled", [(0, 1), (1, 3), (0, 3)])
def test_a_read_that_is_tried_again_wants_what_is_not_settled(settled):
    """The segment may have been written anew meanwhile, or be gone: what is settled is not missed."""
    disk = FaultyDisk()
    node = Node(disk, largest=2_000)
    run = node.publish([bytes(400), b"two", b"three"])
    node.commit()
    node.publish([bytes(1_500)])
    node.commit()
    part, got = SeqRanges(), []
    part.add(1, 3, 0)
    disk.fail_next("open", errno.EMFILE)
    node.log.fetch(1, part, got.append)
    node.files_worker.run()
    node.settle(run, range(*settled))
    node.commit()
    for _ in range(8):
        node.tick(1_000)
    (found,) = got
    left = [1, 2, 3][: settled[0]] + [1, 2, 3][settled[1] :]
    assert left == [each.first_seq + i for each, indexes in found for i in indexes]
    assert ([], []) == (node.unreadable, node.failed)


def test_the_highest_count_of_a_batch_stays(disk):
    """One message comes back for the second time before another does for the first."""
    node = Node(disk)
    run = node.publish([b"a", b"b", b"c"])
    node.commit()
    node.log.give_back(1, run, range(1), 1)
    node.commit()
    for index, deliveries in ((0, 2), (2, 1), (2, 2)):
        node.log.give_back(1, run, range(index, index + 1), deliveries)
    node.commit()
    assert (
        [(1, 1, 1, 2), (1, 3, 3, 2)]
        == listed(node.log.live_index.returned.tidy({}, 0))
        == listed(Node(disk).recovered.returned)
    )
