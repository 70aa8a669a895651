"""Dead letters go home, each by the way that its headers tell."""

import pytest

from pybroker.core.queue.move.source import Stop
from pybroker.run import RunAttributes
from tests.contents import content
from tests.core.disk_log import DiskBench, shrink
from tests.core.moving import finish
from tests.core.queue.move.test_deaths import death
from tests.topology import exchange as make_exchange, link, queue as make_queue, wired

PERSISTENT = RunAttributes(persistent=True)


def publish(bench, *deaths) -> None:
    """Put one dead letter into the source; the first of its deaths is the last one."""
    run = bench.publish(b"x", attributes=PERSISTENT)
    run.contents[:] = [content(b"x", headers={"x-death": list(deaths)})]
    if isinstance(bench, DiskBench):
        bench.log.records[run.first_seq] = run.part(range(1))


@pytest.mark.parametrize("on_disk", [False, True])
def test_each_goes_home(monkeypatch, bench, on_disk):
    if on_disk:
        shrink(monkeypatch)
        bench = DiskBench()
    b, c = make_queue(bench.vhost, "b"), make_queue(bench.vhost, "c")
    for number in range(20):
        publish(bench, death("b" if number % 2 else "c", keys=(f"k{number % 3}",)))
    if on_disk:
        bench.log.complete(bench.broker)
        bench.turn()
        assert bench.queue.backlog.messages_evicted
    move = finish(bench, bench.broker.moves.redrive(bench.queue))
    assert (20, None, 10, 10, 0) == (
        move.messages,
        move.stop,
        b.messages_ready,
        c.messages_ready,
        bench.queue.messages_ready,
    )
    assert ("x", "k1") == (b.backlog.head().run.names.exchange, b.backlog.head().run.names.routing_key)


def test_through_the_exchange_by_all_keys(bench):
    b, c = make_queue(bench.vhost, "b"), make_queue(bench.vhost, "c")
    make_exchange(bench.vhost, "x")
    link(bench.vhost, "x", "b", "k")
    link(bench.vhost, "x", "c", "copy")
    publish(bench, death("gone", keys=("k", "copy")))
    move = finish(bench, bench.broker.moves.redrive(bench.queue, through_exchange=True))
    assert (1, None, 1, 1) == (move.messages, move.stop, b.messages_ready, c.messages_ready)


def test_an_exchange_that_is_gone_ends_it(bench):
    publish(bench, death("gone", exchange="left"))
    move = finish(bench, bench.broker.moves.redrive(bench.queue, through_exchange=True))
    text = "exchange 'left' in vhost '/', to which messages were published, does not exist any more"
    assert (Stop(text), 1) == (move.stop, bench.queue.messages_ready)


def test_headers_decide_message_by_message(bench):
    b = make_queue(bench.vhost, "b")
    make_exchange(bench.vhost, "x", "headers")
    link(bench.vhost, "x", "b", arguments=wired(x_match="all"))
    for _ in range(3):
        publish(bench, death("gone"))
    move = finish(bench, bench.broker.moves.redrive(bench.queue, through_exchange=True))
    assert (3, None, 3) == (move.messages, move.stop, b.messages_ready)


def test_a_home_that_keeps_nothing_ends_it(bench):
    make_queue(bench.vhost, "b", wired(x_message_ttl=0))
    publish(bench, death("b"))
    move = finish(bench, bench.broker.moves.redrive(bench.queue))
    assert (Stop("queue 'b' in vhost '/' keeps no messages: its message TTL is 0"), 1) == (
        move.stop,
        bench.queue.messages_ready,
    )
