"""Nobody starves: neither beside a flooding publisher, nor beside a slow reader, nor beside a hot queue.

Nothing here measures time: progress is counted in messages, fairness in octets accepted while the others made theirs.
"""

import socket
import threading

import pytest
from pamqp import commands, frame as codec

from tests.interop.peer import publish

ROUND_TRIPS = 200
OCTETS_PER_ROUND_TRIP_MAX = 8 << 20  # a turn reads at most 1 MiB over all connections; a round trip needs a few turns
SHARE_MIN = 0.2


class Flood(threading.Thread):
    """Publishes without a pause until stopped, and counts the octets the broker took."""

    def __init__(self, broker, exchange, key, body_octets=200):
        super().__init__(daemon=True)
        self.peer = broker.peer()
        self.batch = publish(exchange, key, b"x" * body_octets) * (65_536 // (body_octets + 60) + 1)
        self.octets = 0
        self.stopping = threading.Event()

    def run(self):
        while not self.stopping.is_set():
            try:
                self.octets += self.peer.socket.send(self.batch)
            except OSError:
                return

    def stop(self):
        """Stop in the middle of whatever is being sent."""
        self.stopping.set()
        self.peer.socket.shutdown(2)
        self.join()
        self.peer.socket.close()


@pytest.fixture
def flood(broker):
    """Return a function that starts a flood; all floods end with the test."""
    floods = []

    def start(exchange, key, **options):
        floods.append(Flood(broker, exchange, key, **options))
        floods[-1].start()
        return floods[-1]

    yield start
    for one in floods:
        one.stop()


def bounded_queue(peer, **options):
    arguments = {"x-max-length": 1_000}
    return peer.call(
        commands.Queue.Declare(exclusive=True, arguments=arguments, **options), commands.Queue.DeclareOk
    ).queue


def round_trips(peer, count):
    """Publish and consume `count` messages one after another."""
    queue = peer.call(commands.Queue.Declare(exclusive=True), commands.Queue.DeclareOk).queue
    peer.call(commands.Basic.Consume(queue=queue), commands.Basic.ConsumeOk)
    for number in range(count):
        peer.publish("", queue, b"%d" % number)
        delivery = peer.read_delivery()
        assert b"%d" % number == delivery.body
        peer.send(commands.Basic.Ack(delivery.method.delivery_tag))


@pytest.mark.parametrize("floods", [1, 4])
def test_a_client_has_its_round_trips_beside_flooding_publishers(broker, flood, floods):
    with broker.peer() as owner, broker.peer() as client:
        started = [flood("", bounded_queue(owner)) for _ in range(floods)]
        before = sum(one.octets for one in started)
        round_trips(client, ROUND_TRIPS)
        taken = sum(one.octets for one in started) - before
        client.close()
    assert taken > 0
    assert taken < ROUND_TRIPS * OCTETS_PER_ROUND_TRIP_MAX


def test_flooding_publishers_share_alike(broker, flood):
    with broker.peer() as owner, broker.peer() as client:
        started = [flood("", bounded_queue(owner)) for _ in range(4)]
        round_trips(client, ROUND_TRIPS)
        shares = [one.octets for one in started]
        client.close()
    assert min(shares) / max(shares) > SHARE_MIN, shares


def test_a_consumer_of_the_flooded_queue_is_served(broker, flood):
    with broker.peer() as consumer:
        queue = bounded_queue(consumer)
        consumer.call(commands.Basic.Qos(prefetch_count=100), commands.Basic.QosOk)
        consumer.call(commands.Basic.Consume(queue=queue), commands.Basic.ConsumeOk)
        flood("", queue)
        for _ in range(2_000):
            consumer.send(commands.Basic.Ack(consumer.read_delivery().method.delivery_tag))


def test_a_hot_queue_leaves_the_others_their_share(broker, flood):
    with broker.peer() as hot, broker.peer() as client:
        queue = bounded_queue(hot)
        hot.call(commands.Basic.Consume(queue=queue, no_ack=True), commands.Basic.ConsumeOk)
        flood("", queue)
        reading = threading.Thread(target=drain, args=(hot,), daemon=True)
        reading.start()
        round_trips(client, ROUND_TRIPS)
        client.close()
        hot.socket.shutdown(2)
        reading.join()


def drain(peer):
    try:
        while peer.socket.recv(1 << 20):
            pass
    except OSError:
        pass


def test_a_slow_reader_gets_no_more_than_its_outbox_and_the_others_the_rest(broker):
    """A consumer without prefetch that never reads: what its socket cannot hold stays in the queue for others."""
    messages, octets = 600, 65_536
    with broker.peer() as owner, broker.peer() as slow, broker.peer() as fast:
        queue = owner.call(commands.Queue.Declare(auto_delete=False), commands.Queue.DeclareOk).queue
        slow.call(commands.Basic.Consume(queue=queue, no_ack=True), commands.Basic.ConsumeOk)
        owner.call(commands.Confirm.Select(), commands.Confirm.SelectOk)
        for number in range(messages):
            owner.publish("", queue, number.to_bytes(4) + b"x" * octets)
            owner.expect(commands.Basic.Ack)
        left = owner.call(commands.Queue.Declare(queue=queue, passive=True), commands.Queue.DeclareOk).message_count
        if broker.is_ours:
            assert messages // 2 < left
        round_trips(fast, 20)
        with broker.peer() as other:
            other.call(commands.Basic.Consume(queue=queue, no_ack=True), commands.Basic.ConsumeOk)
            got = [int.from_bytes(other.read_delivery().body[:4]) for _ in range(left)]
            other.close()
        assert sorted(got) == got
        owner.call(commands.Queue.Delete(queue=queue), commands.Queue.DeleteOk)
        fast.close()


@pytest.mark.slow
def test_a_reader_that_never_reads_its_replies_is_not_read_from(broker):
    """Each request here costs the broker a reply; its outbox must not grow without end, others go on."""
    with broker.peer() as deaf, broker.peer() as client:
        before = broker.rss_octets()
        sent = ask_without_reading(deaf, 256 << 20)
        round_trips(client, 20)
        grown = broker.rss_octets() - before
        client.close()
    if broker.is_ours:
        assert sent < 256 << 20
        assert grown < 32 << 20


def ask_without_reading(peer, octets_max):
    """Send requests until the broker takes no more for two seconds; return the octets it took."""
    peer.socket.settimeout(2)
    # Megabytes of replies would fit into what the kernel keeps for a reader otherwise.
    peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    requests = codec.marshal(commands.Exchange.Declare(exchange="amq.direct", passive=True), 1) * 2_000
    sent = 0
    try:
        while sent < octets_max:
            sent += peer.socket.send(requests)
    except (TimeoutError, ConnectionError):
        pass
    return sent
