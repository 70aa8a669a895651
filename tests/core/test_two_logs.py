"""Copies that go to another log: the original is settled in its own log when the copy is on disk, and not before."""

import pytest

from tests.core.disk_log import DiskLog
from tests.fakes import Exchange, Queue, World


class Place:
    """A world whose queue `far` has a log of its own; the one of all others is `near`."""

    def __init__(self):
        self.world = World()
        self.near = self.world.broker.log = DiskLog()
        self.far = DiskLog()
        self.far.take(1_000)  # seqs of the two logs have nothing to do with each other
        self.peer = self.world.connect()

    def declare(self, name, **arguments):
        """Declare a durable queue."""
        self.peer.declare(name, arguments, durable=True)
        queue = self.world.vhost.queues[name]
        if name.startswith("far"):
            queue.use_log(self.far)
        return queue

    def complete(self, log):
        """Have a log complete what it has, and let the world see to what follows."""
        self.world.broker.log_completed(log.commit_position, log)
        self.world.run()

    def live(self, destination):
        """Return how many messages of a destination its log keeps."""
        return len(destination.log.live[destination.id])

    @property
    def waits(self):
        """Tell whether an original still waits for its copies."""
        return bool(self.world.broker.handovers._waiting)


@pytest.fixture
def place():
    return Place()


@pytest.fixture
def delayed(place):
    """A delayed exchange that leads to `far`, and its schedule."""
    declare = Exchange.Declare(
        exchange="x", exchange_type="x-delayed-message", durable=True, arguments={"x-delayed-type": "fanout"}
    )
    assert isinstance(place.peer.call(declare), Exchange.DeclareOk)
    (schedule,) = place.world.vhost.schedules
    return schedule


def bind(place, *names):
    for name in names:
        assert isinstance(place.peer.call(Queue.Bind(queue=name, exchange="x", routing_key="k")), Queue.BindOk)


def test_a_dead_letter_stays_in_its_log_until_the_copy_is_on_disk(place):
    far = place.declare("far")
    source = place.declare("q", **{"x-max-length": 1, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "far"})
    for body in (b"1", b"2", b"3"):
        place.peer.publish("", "q", body, delivery_mode=2)
    assert (1, 2) == (source.messages_ready, far.messages_ready)
    assert (3, 2, True) == (place.live(source), place.live(far), place.waits)
    place.complete(place.near)
    assert 3 == place.live(source)
    place.complete(place.far)
    assert (1, 2) == (place.live(source), place.live(far))
    assert not place.waits
    assert all(seq > 1_000 for seq in place.far.live[far.id])
    assert [b"1", b"2"] == [content.body for content in place.peer.drain("far")]


def test_a_dead_letter_with_copies_in_both_logs_waits_for_the_other_one(place):
    far, near = place.declare("far"), place.declare("near")
    place.peer.call(Exchange.Declare(exchange="x", exchange_type="fanout", durable=True))
    bind(place, "far", "near")
    source = place.declare("q", **{"x-max-length": 1, "x-dead-letter-exchange": "x"})
    for body in (b"1", b"2"):
        place.peer.publish("", "q", body, delivery_mode=2)
    assert (2, 1, 1) == (place.live(source), place.live(near), place.live(far))
    place.complete(place.far)
    assert (1, 1, 1) == (place.live(source), place.live(near), place.live(far))


def test_a_dead_letter_whose_copy_is_never_on_disk_stays_in_its_log(place):
    place.declare("far")
    source = place.declare("q", **{"x-max-length": 0, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "far"})
    place.peer.publish("", "q", b"1", delivery_mode=2)
    place.world.broker.log_failed("the disk is full", place.far)
    place.complete(place.far)
    assert 1 == place.live(source)
    assert not place.waits


def test_a_dead_letter_that_does_not_last_is_waited_for_by_nobody(place):
    far = place.declare("far")
    place.declare("q", **{"x-max-length": 0, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "far"})
    place.peer.publish("", "q", b"1", delivery_mode=1)
    assert (1, 0) == (far.messages_ready, place.live(far))
    assert not place.waits


def test_a_dead_letter_in_one_log_is_settled_in_the_same_call(place):
    near = place.declare("near")
    source = place.declare(
        "q", **{"x-max-length": 0, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "near"}
    )
    place.peer.publish("", "q", b"1", delivery_mode=2)
    assert (0, 1) == (place.live(source), place.live(near))


def test_a_delayed_message_stays_in_its_log_until_the_copy_is_on_disk(place, delayed):
    far, near = place.declare("far"), place.declare("near")
    bind(place, "far", "near")
    for body in (b"1", b"2"):
        place.peer.publish("x", "k", body, delivery_mode=2, headers={"x-delay": 10})
    place.complete(place.near)
    place.world.advance(20)
    assert (0, 2, 2) == (delayed.messages, far.messages_ready, near.messages_ready)
    assert (2, 2, 2) == (place.live(delayed), place.live(far), place.live(near))
    place.complete(place.near)
    assert 2 == place.live(delayed)
    place.complete(place.far)
    assert (0, 2, 2) == (place.live(delayed), place.live(far), place.live(near))
    assert [b"1", b"2"] == [content.body for content in place.peer.drain("far")]


def test_a_delayed_message_of_an_exchange_that_is_gone_is_not_settled(place, delayed):
    far = place.declare("far")
    bind(place, "far")
    place.peer.publish("x", "k", b"1", delivery_mode=2, headers={"x-delay": 10})
    place.world.advance(20)
    place.peer.call(Exchange.Delete(exchange="x"))
    place.complete(place.far)
    assert 1 == place.live(far)
    assert not place.waits
