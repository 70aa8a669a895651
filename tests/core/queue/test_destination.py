"""All destinations of a route have an id of their own, a log, and a place in the turn's line."""

from pybroker.core.channel.receipt import NO_RECEIPT
from pybroker.core.delayed.schedule import Schedule
from pybroker.core.queue.destination import Destination
from pybroker.core.queue.queue import Queue
from pybroker.store.memory import MemoryLog
from tests.contents import run
from tests.topology import exchange, new_vhost, queue as make_queue, wired


def both_kinds():
    """Return a queue, and the schedule of a delayed exchange, of one virtual host."""
    vhost = new_vhost()
    queue = make_queue(vhost, "q")
    return queue, exchange(vhost, "x", "x-delayed-message", wired(x_delayed_type="direct")).schedule


def test_a_bare_destination_refuses_nothing_and_has_nobody_waiting():
    bare = Destination(new_vhost(), "d", durable=True)
    assert (False, False, False, False) == (bare.bounded, bare.one_by_one, bare.backlogged, bare.delivers_at_once)
    assert bare.has_room(1 << 40)
    assert (0, False, False) == (bare.octets_resident, bare.counts_deliveries, bare.republishes)


def test_a_schedule_is_no_queue():
    assert [False, True] == [issubclass(kind, Queue) for kind in (Schedule, Queue)]
    assert [False, True] == [kind.republishes for kind in (Queue, Schedule)]
    assert not {"consumers", "backlog", "limits"} & {name for kind in Schedule.__mro__ for name in dir(kind)}


def test_ids_differ_whatever_the_kind():
    queue, schedule = both_kinds()
    assert queue.id != schedule.id


def test_another_log_of_the_broker_is_that_of_every_destination():
    queue, schedule = both_kinds()
    broker = queue.vhost.broker
    assert queue.log is schedule.log is broker.log
    broker.log = MemoryLog()
    assert queue.log is schedule.log is broker.log
    assert make_queue(queue.vhost, "later").log is broker.log


def test_it_stands_in_the_line_once():
    queue, schedule = both_kinds()
    turn = queue.vhost.broker.turn
    for destination in (queue, schedule, queue):
        destination.wake()
    assert [queue, schedule] == list(turn.queues)


def test_who_has_messages_ready_delivers_none_at_once():
    queue, schedule = both_kinds()
    assert (False, False) == (queue.delivers_at_once, schedule.delivers_at_once)
    queue.enqueue(run(b"m"), range(1), NO_RECEIPT)
    assert (1, 1, 1) == (queue.messages, queue.messages_resident, queue.octets_resident)


def test_it_is_due_when_its_timers_say():
    queue, schedule = both_kinds()
    assert ((0, 0, 0), (0,)) == (queue.due_times, schedule.due_times)
    assert 1 == schedule.due(5)
    assert schedule.awake
