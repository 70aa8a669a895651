"""Super streams: an exchange and the streams that are bound to it."""

import pytest

from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import Code
from pybroker.wire.stream.fields import FORMS, Reader
from tests.fakes import Exchange, Queue


@pytest.fixture
def orders(world, peer):
    """Streams b, a and c, bound in that order, and a queue."""
    amqp = world.connect()
    amqp.call(Exchange.Declare(exchange="orders", exchange_type="direct", durable=True))
    for order, name in enumerate("bac"):
        peer.create(name)
        amqp.call(
            Queue.Bind(queue=name, exchange="orders", routing_key=name, arguments={"x-stream-partition-order": order})
        )
    amqp.declare("q")
    amqp.call(Queue.Bind(queue="q", exchange="orders", routing_key="a"))
    return peer


def names(answer) -> tuple[str, ...]:
    assert Code.OK == answer.code
    return FORMS["streams"][0](Reader(answer.content, 0, len(answer.content)))


def test_partitions_are_in_their_order(orders):
    assert ("b", "a", "c") == names(orders.call(commands.Partitions, "orders"))


def test_a_key_leads_to_streams(orders):
    assert ("a",) == names(orders.call(commands.Route, "a", "orders"))
    assert () == names(orders.call(commands.Route, "z", "orders"))


@pytest.mark.parametrize(("made", "fields"), [(commands.Partitions, ()), (commands.Route, ("a",))])
def test_who_may_ask_for_what(world, orders, made, fields):
    assert (2, bytes(4)) == orders.call(made, *fields, "nowhere")[2:]
    world.broker.users.set_permissions("guest", "/", ".*", "^orders$", "^$")
    assert (16, bytes(4)) == orders.call(made, *fields, "orders")[2:]
    world.broker.users.set_permissions("guest", "/", ".*", "^$", "^$")
    assert (16, bytes(4)) == orders.call(made, *fields, "orders")[2:]
