"""The line before the threads of handshakes: bounded, fair to each address, to the thread that has the least to do."""

import pytest

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


class Hands:
    """A handshake of a client at `address`."""

    def __init__(self, line, address="192.0.2.1") -> None:
        self.line = line
        self.address = address
        self.stopped = False

    def stop(self) -> None:
        self.stopped = True
        self.line.leave(self)

    give_way = stop


def test_so_many_are_handed_over_and_the_others_wait():
    workers, results = [Slow(), Slow()], []
    line = HandshakeLine(workers)
    for number in range(UNDER_WAY_MAX + 3):
        line.submit(Hands(line), lambda number=number: number, results.append)
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


def run(workers):
    while any(each.jobs for each in workers):
        for each in workers:
            if each.jobs:
                each.work()


def test_the_lines_of_addresses_take_turns():
    workers, results = [Slow()], []
    line = HandshakeLine(workers)
    for number in range(UNDER_WAY_MAX + 50):
        line.submit(Hands(line), lambda number=number: number, results.append)
    line.submit(Hands(line, "192.0.2.2"), lambda: "other", results.append)
    run(workers)
    assert results.index("other") == UNDER_WAY_MAX + 1
    assert len(results) == UNDER_WAY_MAX + 51


def test_one_that_was_stopped_is_skipped():
    workers, results = [Slow()], []
    line = HandshakeLine(workers)
    some = [Hands(line) for _ in range(UNDER_WAY_MAX + 2)]
    for number, each in enumerate(some):
        line.submit(each, lambda number=number: number, results.append)
    some[-2].stop()
    run(workers)
    assert results == [*range(UNDER_WAY_MAX), UNDER_WAY_MAX + 1]


def test_the_oldest_that_waits_for_its_client_gives_way(monkeypatch):
    monkeypatch.setattr("pybroker.net.handshake_line.BEGUN_MAX", 3)
    workers = [Slow()]
    line = HandshakeLine(workers)

    def answer(hands):
        line.submit(hands, lambda: None, lambda _: None)

    some = [Hands(line) for _ in range(7)]
    for each in some[:3]:
        answer(each)
    run(workers)
    answer(some[0])  # its client has answered: now it waits for us
    answer(some[3])
    assert [each.stopped for each in some[:4]] == [False, True, False, False]
    run(workers)
    some[0].stop()  # through
    answer(some[4])
    assert not some[2].stopped
    answer(some[5])
    assert some[2].stopped
    assert not some[4].stopped


def test_an_error_in_what_follows_stops_nobody():
    workers, results = [Slow()], []
    line = HandshakeLine(workers)

    def broken(_):
        raise ZeroDivisionError

    for number in range(UNDER_WAY_MAX + 1):
        line.submit(Hands(line), lambda number=number: number, broken if number == 0 else results.append)
    with pytest.raises(ZeroDivisionError):
        workers[0].work()
    run(workers)
    assert results == list(range(1, UNDER_WAY_MAX + 1))
