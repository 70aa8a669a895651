"""The facts known of a client before its session begins."""

import pytest

from pybroker.amqp.session import AmqpSession
from pybroker.peer import Peer, connection_name
from tests.fakes import FakePeer, World


def test_the_handshakes_deadline_counts_from_accept():
    world = World(handshake_timeout_ms=1_000)
    in_time = FakePeer(world)
    world.clock.advance(400)
    late = AmqpSession(world.broker, Peer(("192.0.2.1", 1), ("192.0.2.2", 5671), False, world.clock.now_ms - 400))
    assert late.deadline_ms == in_time.session.deadline_ms


@pytest.mark.parametrize(
    ("address", "local", "name"),
    [
        (("192.0.2.1", 1), ("192.0.2.2", 2), "192.0.2.1:1 -> 192.0.2.2:2"),
        (("2001:db8::1", 1), ("::1", 2), "[2001:db8::1]:1 -> [::1]:2"),
        (("unix", 0), ("/run/a.sock", 0), "unix -> /run/a.sock"),
    ],
)
def test_a_connection_is_named_after_its_ends_as_rabbitmq_names_it(address, local, name):
    assert connection_name(address, local) == name
