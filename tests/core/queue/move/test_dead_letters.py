"""Dead letters are taken as heads, and others between them stay where they are."""

import pytest

from pybroker.run import RunAttributes
from tests.contents import content
from tests.core.disk_log import DiskBench, shrink
from tests.core.moving import finish
from tests.core.queue.move.test_deaths import death
from tests.readers import Bench
from tests.topology import queue as make_queue


def fill(bench, kinds: str) -> None:
    """Put messages into the source, as runs of three: dead letters of queue `b` or `c`, or none (`-`)."""
    for at in range(0, len(kinds), 3):
        part = kinds[at : at + 3]
        run = bench.publish(*[b"x"] * len(part), attributes=RunAttributes(persistent=True))
        made = [content(b"x", headers={"x-death": [death(kind)]} if kind != "-" else {"none": 1}) for kind in part]
        run.contents[:] = made
        if isinstance(bench, DiskBench):
            record = run.part(range(run.count))
            bench.log.records.update(dict.fromkeys(range(run.first_seq, run.first_seq + run.count), record))
    if isinstance(bench, DiskBench):
        bench.log.complete(bench.broker)
        bench.turn()


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize("kinds", ["bcbbcc", "-", "bb-cc", "-bbb-cc-b", "bbbbbbbbb---", "bcb-" * 8, "-" * 9 + "b"])
@pytest.mark.parametrize("most", [None, 2])
def test_all_dead_letters_go_and_the_others_stay(monkeypatch, on_disk, kinds, most):
    if on_disk:
        shrink(monkeypatch)
    bench = DiskBench() if on_disk else Bench(name="a")
    homes = {name: make_queue(bench.vhost, name) for name in "bc"}
    fill(bench, kinds)
    taken = [at for at, kind in enumerate(kinds) if kind != "-"][:most]
    move = finish(bench, bench.broker.moves.redrive(bench.queue, messages_max=most))
    assert (len(taken), None) == (move.messages, move.stop)
    for name, home in homes.items():
        assert home.messages_ready == sum(kinds[at] == name for at in taken)
    reader = bench.reader(no_ack=True)
    for _ in range(30):
        bench.turn()
        if on_disk:
            bench.settle_down()
    assert [at + 1 for at in range(len(kinds)) if at not in taken] == reader.seqs


def test_counting_takes_nothing():
    bench = Bench(name="a")
    fill(bench, "bcb-b")
    survey = bench.broker.moves.redrive(bench.queue).survey(lambda _: None)
    found = []

    def count():
        found.append((yield from survey))

    assert [] != list(count())
    assert {("b", "rejected"): 3, ("c", "rejected"): 1} == found[0]
    assert 5 == bench.queue.messages_ready


def test_one_that_comes_after_the_beginning_stays():
    bench = Bench(name="a")
    make_queue(bench.vhost, "b")
    fill(bench, "-b")
    move = bench.broker.moves.redrive(bench.queue)
    fill(bench, "b")
    finish(bench, move)
    assert (1, 2) == (move.messages, bench.queue.messages_ready)
