"""A session's own state: the outbox and its limits, closes from our side, and a lost socket."""

import pytest
from pamqp import frame

from pybroker.core.peer.session import OUTBOX_OCTETS_MAX, REPLY_OCTETS_MAX
from pybroker.core.queue.dispatch import POUR_OCTETS_MAX
from pybroker.run import RUN_OCTETS_MAX
from tests.fakes import Basic, Channel, FakePeer, Queue, World

# -- who it is --------------------------------------------------------------------------------------------------------


# -- outbox -----------------------------------------------------------------------------------------------------------


class Slow:
    """A peer whose socket takes nothing: what was sent stays unsent until `read`."""

    def __init__(self, world: World, no_ack: bool = True, size: int = 10_000, count: int = 100) -> None:
        self.world = world
        self.peer = world.connect()
        self.session = self.peer.session
        self.peer.declare("q")
        self.count = count
        publisher = world.connect()
        for _ in range(count):
            publisher.send(*publisher.publish_frames("", "q", b"x" * size))
        self.queue = world.vhost.queues["q"]
        self.session.receive(frame.marshal(Basic.Consume(queue="q", no_ack=no_ack, consumer_tag="c"), 1))
        self.turn()

    def turn(self) -> None:
        """End turns until the queues rest; nothing leaves the outbox."""
        self.world.turn.sessions.clear()
        self.session.dirty = False
        for _ in range(1_000):
            if not self.world.turn.queues:
                return
            self.world.broker.pump()
        raise AssertionError("the queues never came to rest")

    def read(self, octets: int) -> None:
        """Let the kernel accept so many of the octets that wait."""
        self.session.pop_output()
        self.session.output_sent(max(0, self.session.unsent_octets - octets))
        self.turn()

    @property
    def waiting(self) -> int:
        return self.session.send_pend


@pytest.mark.parametrize("no_ack", [True, False])
def test_deliveries_stop_at_an_outbox_full_and_go_on_at_half_of_it(world, no_ack):
    slow = Slow(world, no_ack, count=200)
    assert slow.session.outbox_full
    # One delivery may be more than an outbox full, and its last run is not cut.
    assert OUTBOX_OCTETS_MAX < slow.waiting < POUR_OCTETS_MAX + RUN_OCTETS_MAX
    left = slow.queue.messages_ready
    slow.read(slow.waiting - OUTBOX_OCTETS_MAX // 2 - 1)
    assert (True, left) == (slow.session.outbox_full, slow.queue.messages_ready)
    slow.read(1)
    assert slow.queue.messages_ready < left
    assert OUTBOX_OCTETS_MAX < slow.waiting < OUTBOX_OCTETS_MAX // 2 + POUR_OCTETS_MAX + RUN_OCTETS_MAX


def test_everything_arrives_in_the_end(world):
    slow = Slow(world)
    turns = 0
    while slow.queue.messages_ready:
        slow.read(50_000)
        turns += 1
        assert turns < 100
    assert not slow.session.outbox_full or slow.waiting > OUTBOX_OCTETS_MAX // 2


def test_replies_come_on_top_of_deliveries(world):
    slow = Slow(world)
    before = slow.waiting
    slow.session.receive(b"\x01\0\x01\0\0\0\x0b\0\x3c\0\x0a" + b"\0" * 7 + b"\xce")  # basic.qos
    assert slow.waiting > before
    assert slow.session.readable


@pytest.mark.parametrize("size", [250, 16_384, 131_072, 3_000_000])
def test_deliveries_alone_never_stop_the_peer_from_being_read(world, peer, size):
    """A client that publishes before it reads on would wait for us, and we for it."""
    consumer = world.connect()
    peer.declare("q")
    for _ in range(max(4, 2_000_000 // size)):
        peer.publish("", "q", bytes(size))
    consumer.consume("q")
    world.run()
    assert (0, True) == (consumer.session.throttle.flow_count, consumer.session.readable)


def test_above_a_mebibyte_of_replies_the_peer_is_not_read_until_it_reads(world, peer):
    session = peer.session
    while session.send_pend <= REPLY_OCTETS_MAX:
        assert session.readable
        session.receive(b"\x01\0\x01\0\0\0\x0b\0\x3c\0\x0a" + b"\0" * 7 + b"\xce")
    assert not session.readable
    session.pop_output()
    session.output_sent(REPLY_OCTETS_MAX // 2 + 1)
    assert not session.readable
    session.output_sent(REPLY_OCTETS_MAX // 2)
    assert session.readable


def test_a_slow_peer_does_not_hold_up_its_neighbours(world):
    slow = Slow(world)
    fast = world.connect()
    fast.consume("q", no_ack=True)
    ready = slow.queue.messages_ready
    assert (ready, 0) == (len(fast.bodies()), slow.queue.messages_ready)


# -- ends -------------------------------------------------------------------------------------------------------------


def test_a_lost_socket_gives_everything_back_at_once(world, peer):
    peer.declare("q")
    peer.declare("mine", exclusive=True)
    peer.publish("", "q", b"m")
    peer.consume("q")
    peer.take()
    peer.send_octets(b"\x01\0")
    peer.session.peer_gone("gone")
    assert (1, 0, 0) == (
        world.vhost.queues["q"].messages_ready,
        world.vhost.queues["q"].consumer_count,
        len(peer.session.channels),
    )
    assert "mine" not in world.vhost.queues
    assert (b"", [], "closed") == (peer.session.rest, peer.session.outbox, peer.session.state)
    peer.session.peer_gone("gone again")


def test_a_soft_error_closes_one_channel_and_a_hard_one_all(world, peer):
    peer.open(2)
    peer.send(Queue.Declare(queue="nosuch", passive=True), channel=2)
    assert isinstance(peer.next(2), Channel.Close)
    assert isinstance(peer.call(Basic.Qos()), Basic.QosOk)
    peer.send(Channel.Open())
    close = peer.next(0)
    assert (504, 20, 10) == (close.reply_code, close.class_id, close.method_id)
    assert {} == peer.session.channels


def test_an_error_names_the_method_that_caused_it(peer: FakePeer):
    peer.send(Basic.Get(queue="nosuch"))
    close = peer.next()
    assert (60, 70) == (close.class_id, close.method_id)


def test_what_all_channels_of_a_lost_socket_had_goes_back_to_a_queue_at_once(world, monkeypatch):
    # Sorted in channel by channel, 100,000 messages of 100 consumers took three seconds.
    peer = world.connect()
    peer.declare("q")
    for number in range(2, 12):
        peer.open(number)
        peer.consume("q", channel=number)
    for i in range(50):
        peer.publish("", "q", b"%d" % i)
    queue, calls = world.vhost.queues["q"], []
    original = type(queue).give_back

    def give_back(self, batches, **more):
        calls.append(self)
        original(self, batches, **more)

    monkeypatch.setattr(type(queue), "give_back", give_back)
    peer.disconnect()
    assert [queue] == calls
    assert [m.body for m in world.connect().drain("q")] == [b"%d" % i for i in range(50)]


def test_a_channel_that_never_published_leaves_the_routes_of_the_others_alone(world, peer):
    peer.declare("q")
    peer.open(2)
    peer.open(3)
    peer.publish("", "q", b"1")
    peer.publish("", "q", b"2", channel=3)
    before = peer.session.routes
    peer.call(Channel.Close(200, "", 0, 0), 2)
    assert before is peer.session.routes
    peer.call(Channel.Close(200, "", 0, 0), 3)
    assert {1} == {route.channel for route in peer.session.routes.values()}


def test_a_channels_routes_are_counted_to_the_last_also_when_they_are_forgotten(world, peer):
    # More distinct keys than are remembered: what is forgotten is counted out of whoever it belonged to.
    peer.open(2)
    for number in (1, 2):
        for i in range(700):
            peer.send_octets(b"".join(frame.marshal(f, number) for f in peer.publish_frames("", f"k{i}")))
    channels, routes = peer.session.channels, peer.session.routes.values()
    assert 1_024 == len(routes)
    assert [sum(r.owner is channels[n] for r in routes) for n in (1, 2)] == [channels[n].routes_open for n in (1, 2)]
