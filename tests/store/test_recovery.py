"""What a start believes of the log: more is in test_journal, test_power_loss and test_flips."""

from faulty_disk import FaultyDisk
from journals import NAMES, Node, content

from pybroker.run import Run, Traits
from pybroker.store.recovery import Recovery


def test_an_empty_folder_has_nothing():
    found = Recovery(FaultyDisk(), {1}, lambda done, of: None).run()
    assert (1, 0, False, {}, []) == (found.next_seq, found.ticket, found.clean, found.queues, found.reports)


def test_what_a_kill_left_half_made_is_removed():
    disk = FaultyDisk()
    disk.close(disk.create("reserve.new", 10))
    Node(disk)
    assert [] == disk.names()


def test_it_tells_how_far_it_is():
    disk = FaultyDisk()
    node = Node(disk, largest=2_000)
    for _ in range(3):
        node.publish([bytes(1_500)])
        node.commit()
    seen = []
    Recovery(disk, {1}, lambda done, of: seen.append((done, of))).run()
    assert [(0, 3), (1, 3), (2, 3), (3, 3)] == seen


def test_priorities_and_ttls_of_messages_are_known_without_reading_them():
    disk = FaultyDisk()
    node = Node(disk)
    for priority, ttl_ms in ((0, None), (5, None), (5, 10), (0, 10)):
        node.publish([b"x"], traits=Traits(persistent=True, priority=priority, ttl_ms=ttl_ms))
    node.commit()
    parts = Node(disk).recovered.queues[1]
    assert {(0, True, (1, 4)), (5, True, (2, 3))} == {
        (priority, timed, tuple(stretch.firsts[i] + j for i in range(len(stretch)) for j in range(stretch.counts[i])))
        for priority, timed, stretch in parts
    }


def test_a_seq_is_never_used_twice_also_when_nothing_lives():
    disk = FaultyDisk()
    node = Node(disk)
    run = node.publish([b"a", b"b"])
    node.commit()
    node.settle(run)
    node.commit()
    assert 3 == Node(disk).log.next_seq
    assert 2 == Node(disk).log.last_ticket


def test_what_is_published_and_settled_in_one_batch_is_gone():
    disk = FaultyDisk()
    node = Node(disk)
    node.settle(node.publish([b"a", b"b"]), range(1))
    node.commit()
    again = Node(disk)
    assert [2] == again.live()
    run = Run(NAMES, Traits(persistent=True), 2, [content(b"b")], 32, 1, 1, 0)
    again.settle(run)
    again.commit()
    assert [] == Node(disk).live()
