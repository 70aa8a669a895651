"""The line before the threads of handshakes: bounded, in order, to the thread that has the least to do."""

from pybroker.net.handshake_line import UNDER_WAY_MAX, HandshakeLine
from pybroker.store.worker import Worker


class Slow(Worker):
    """Keeps jobs until told to do the next one."""

    def __init__(self) -> None:
        self.jobs = []

    def submit(self, job, done) -> None:
        self.jobs.append((job, done))

    def work(self) -> None:
        job, done = self.jobs.pop(0)
        done(job())


def test_so_many_are_handed_over_and_the_others_wait():
    workers, results = [Slow(), Slow()], []
    line = HandshakeLine(workers)
    for number in range(UNDER_WAY_MAX + 3):
        line.submit(lambda number=number: number, results.append)
    assert [len(each.jobs) for each in workers] == [UNDER_WAY_MAX // 2] * 2
    assert (line.under_way, len(line)) == (UNDER_WAY_MAX, 3)
    workers[1].work()
    assert results == [1]
    assert [len(each.jobs) for each in workers] == [UNDER_WAY_MAX // 2] * 2
    while any(each.jobs for each in workers):
        for each in workers:
            if each.jobs:
                each.work()
    assert sorted(results) == list(range(UNDER_WAY_MAX + 3))
    assert (line.under_way, len(line)) == (0, 0)
