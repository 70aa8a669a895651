"""A segment in which little lives is written anew: seqs, contents and what is live stay as they are."""

import pytest

from pybroker.store.disk import Disk
from pybroker.store.format import segment_number
from pybroker.store.journal import maintenance
from pybroker.store.journal.log_stats import figures
from pybroker.store.tools.scrub import Scrub, scrub_log
from tests.store.journals import Node


@pytest.fixture
def disk(tmp_path):
    return Disk(tmp_path)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(maintenance, "COMPACT_OCTETS", 2_000)


def octets(disk, tmp_path):
    return sum((tmp_path / name).stat().st_size for name in disk.names() if segment_number(name) is not None)


def fill(node):
    """Publish to two queues in turn; settle all but each tenth in the first, and each twentieth in the second."""
    expected = ({}, {})
    for i in range(60):
        bodies = [bytes([i, j]) * (50 + j) for j in range(20)]
        run = node.publish(bodies, queues=((1,), (1, 2), (2,))[i % 3])
        node.commit()
        for queue, every, kept in ((1, 10, expected[0]), (2, 20, expected[1])):
            if queue not in ((1,), (1, 2), (2,))[i % 3]:
                continue
            for j in range(20):
                if (run.first_seq + j) % every:
                    node.settle(run, range(j, j + 1), queue=queue)
                else:
                    kept[run.first_seq + j] = bodies[j]
        node.commit()
    return expected


def test_what_lives_is_the_same_afterwards_in_less_room(disk, tmp_path, monkeypatch):
    node = Node(disk, largest=30_000)
    monkeypatch.setattr(maintenance, "COMPACT_OCTETS", 1_000_000)
    expected = fill(node)
    before = octets(disk, tmp_path)
    monkeypatch.setattr(maintenance, "COMPACT_OCTETS", 2_000)
    for _ in range(30):
        node.tick(61_000)
    assert figures(node.log)["compacted"] >= 2
    assert octets(disk, tmp_path) < before / 2
    for queue in (1, 2):
        assert expected[queue - 1] == node.bodies(sorted(expected[queue - 1]), queue)
    again = Node(disk)
    for queue in (1, 2):
        assert sorted(expected[queue - 1]) == again.live(queue)
        assert expected[queue - 1] == again.bodies(again.live(queue), queue)
    assert [] == again.recovered.reports


def test_a_footer_that_is_lost_afterwards_costs_nothing(disk, tmp_path):
    node = Node(disk, largest=30_000)
    expected = fill(node)
    for _ in range(30):
        node.tick(1_000)
    for name in disk.names():
        if segment_number(name) is not None and (tmp_path / name).stat().st_size < 30_000:
            with (tmp_path / name).open("r+b") as file:
                file.seek(-3, 2)
                file.write(b"\0")
    again = Node(disk)
    for queue in (1, 2):
        assert sorted(expected[queue - 1]) == again.live(queue)


def test_a_damaged_segment_is_left_as_it_is_and_told_of(disk, tmp_path):
    node = Node(disk, largest=30_000)
    run = node.publish([b"x" * 1_000] * 20)
    node.publish([b"needle" * 100])
    node.commit()
    for _ in range(3):
        node.publish([b"y" * 9_000])
        node.commit()
    path = tmp_path / min(name for name in disk.names() if segment_number(name) is not None)
    spoilt = path.read_bytes().replace(b"needle", b"needlf", 1)
    path.write_bytes(spoilt)
    node.settle(run)
    node.commit()
    for _ in range(6):
        node.publish([b"more"])
        node.tick(61_000)
    assert spoilt == path.read_bytes()
    assert 1 == len([text for text in node.unreadable if "not compacted" in text])


def test_entries_of_which_something_lives_stay_whole(disk, monkeypatch):
    monkeypatch.setattr(maintenance, "COMPACT_OCTETS", 1_000_000)
    node = Node(disk, largest=30_000)
    expected = {}
    for i in range(60):
        bodies = [bytes([i, j]) * 25 for j in range(20)]
        run = node.publish_entries(bodies)
        node.commit()
        if i % 10:
            node.settle(run)
        else:
            node.settle(run, range(5))
            expected |= dict(enumerate(bodies[5:], run.first_seq + 5))
        node.commit()
    monkeypatch.setattr(maintenance, "COMPACT_OCTETS", 2_000)
    for _ in range(30):
        node.tick(61_000)
    assert figures(node.log)["compacted"]
    assert expected == node.bodies(sorted(expected))
    again = Node(disk)
    assert sorted(expected) == again.live()
    assert expected == again.bodies(again.live())
    scrub = Scrub()
    for _ in scrub_log(disk, scrub):
        pass
    assert scrub.damage == []
