"""Windows of a level, by seqs: where they begin and end."""

import pytest

from pybroker.core.queue.browse import window
from pybroker.core.queue.browse.browsed import READY, UNACKNOWLEDGED
from pybroker.core.queue.browse.window import Place, find
from pybroker.run import PLAIN_ATTRIBUTES
from tests.core.disk_log import DiskBench, evicted_seqs, shrink
from tests.readers import Bench

ALL = 1 << 40


def seqs(queue, seq, *, backwards=False, states=(READY,), before=ALL):
    return [found.seq for found in find(queue, queue.backlog.levels[0], Place(seq, before, backwards), states)]


@pytest.mark.parametrize("at", range(12))
def test_it_begins_anywhere_in_runs_and_in_what_is_evicted(monkeypatch, at):
    shrink(monkeypatch)
    bench = DiskBench()
    for _ in range(3):
        bench.publish(b"x", b"xx")
        bench.fill(1, attributes=PLAIN_ATTRIBUTES)
    bench.fill(1)
    assert evicted_seqs(bench)
    assert list(range(max(at, 1), 11)) == seqs(bench.queue, at)
    assert list(range(min(at, 10), 0, -1)) == seqs(bench.queue, at, backwards=True)


def test_strides_lie_where_they_belong():
    bench = Bench()
    first, second = bench.reader("a", prefetch=3), bench.reader("b", prefetch=3)
    bench.flood(6)
    bench.turn()
    assert sorted(first.seqs + second.seqs) == [1, 2, 3, 4, 5, 6]
    first.channel.give_back(first.channel.unacked.pop_up_to(0), requeue=True)
    bench.queue.consumers.remove(first)
    ready = [entry.first_seq for entry in bench.queue.backlog.levels[0]]
    assert ready
    assert seqs(bench.queue, 0) == sorted(seqs(bench.queue, 9, backwards=True))


def test_it_is_bounded_by_messages_and_by_what_is_read_from_disk(monkeypatch):
    bench = Bench()
    bench.flood(5)
    monkeypatch.setattr(window, "WINDOW_MESSAGES", 2)
    assert [1, 2] == seqs(bench.queue, 0)
    assert [5, 4] == seqs(bench.queue, 5, backwards=True)
    monkeypatch.undo()
    shrink(monkeypatch)
    monkeypatch.setattr(window, "WINDOW_OCTETS", 250)
    bench = DiskBench()
    bench.fill(9, size=100)
    assert {3, 4, 5} <= set(evicted_seqs(bench))
    assert [1, 2] == seqs(bench.queue, 0)[:2]
    assert [4, 5] == seqs(bench.queue, 4)
    monkeypatch.setattr(window, "WINDOW_OCTETS", 1)
    assert [4] == seqs(bench.queue, 4), "one at least"


def test_what_came_later_is_not_in_it():
    bench = Bench()
    bench.flood(5)
    assert [1, 2] == seqs(bench.queue, 0, before=3)
    assert [2, 1] == seqs(bench.queue, 3, before=3, backwards=True)


class Connection:
    """A session with one channel."""

    def __init__(self, channel):
        self.channels = {1: channel}


def test_what_is_with_consumers_is_found_in_many_batches(monkeypatch):
    monkeypatch.setattr(window, "WINDOW_MESSAGES", 4)
    bench = Bench()
    reader = bench.reader()
    other = Bench(bench.vhost, "other").reader(channel=reader.channel)
    for _ in range(20):
        bench.flood(1)
        run = bench.publish(b"x", b"y")
        other.queue.enqueue(run, range(2), None)
        bench.turn()
    bench.vhost.sessions[Connection(reader.channel)] = None
    assert 60 == bench.queue.messages_unacknowledged
    assert [] == seqs(bench.queue, 0)
    assert [1, 2, 3, 4] == seqs(bench.queue, 0, states=(UNACKNOWLEDGED,))
    assert [30, 29, 28, 27] == seqs(bench.queue, 30, states=(UNACKNOWLEDGED,), backwards=True)
    bench.queue.consumers.remove(reader)
    bench.flood(1)
    assert [59, 60, 61] == seqs(bench.queue, 59, states=(READY, UNACKNOWLEDGED))
