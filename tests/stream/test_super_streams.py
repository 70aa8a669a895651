"""Super streams: an exchange and the streams that are bound to it."""

import pytest

from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import Code
from pybroker.wire.stream.fields import FORMS, FieldReader
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
    return FORMS["streams"][0](FieldReader(answer.content, 0, len(answer.content)))


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


def test_a_super_stream_is_made_and_deleted(world, peer):
    made = commands.CreateSuperStream
    given = "x", ("x-0", "x-1"), ("0", "1"), {"max-age": "1D"}
    assert Code.OK == peer.call(made, *given).code
    assert ("x-0", "x-1") == names(peer.call(commands.Partitions, "x"))
    assert ("x-1",) == names(peer.call(commands.Route, "1", "x"))
    assert 86_400_000 == world.vhost.queues["x-0"].limits.age_max_ms
    assert Code.STREAM_ALREADY_EXISTS == peer.call(made, *given).code
    assert Code.STREAM_ALREADY_EXISTS == peer.call(made, "y", ("x-0",), ("0",), {}).code
    peer.subscribe("x-0")
    assert Code.OK == peer.call(commands.DeleteSuperStream, "x").code
    assert "x" not in world.vhost.exchanges
    assert {"s"} == set(world.vhost.queues)
    assert 1 == len(peer.take(16))


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (("x", ("x-0",), ("0", "1"), {}), Code.PRECONDITION_FAILED),
        (("x", (), (), {}), Code.PRECONDITION_FAILED),
        (("x", ("x-0", "x-0"), ("0", "1"), {}), Code.PRECONDITION_FAILED),
        (("x", ("x-0",), ("0",), {"max-age": "soon"}), Code.PRECONDITION_FAILED),
    ],
)
def test_super_streams_that_cannot_be(world, peer, given, code):
    assert code == peer.call(commands.CreateSuperStream, *given).code
    assert {"s"} == set(world.vhost.queues)


def test_who_may_make_and_delete_super_streams(world, peer):
    peer.call(commands.CreateSuperStream, "x", ("x-0",), ("0",), {})
    assert Code.STREAM_DOES_NOT_EXIST == peer.call(commands.DeleteSuperStream, "nowhere").code
    assert Code.PRECONDITION_FAILED == peer.call(commands.DeleteSuperStream, "amq.direct").code
    world.broker.users.set_permissions("guest", "/", "^x$", ".*", ".*")
    assert Code.ACCESS_REFUSED == peer.call(commands.DeleteSuperStream, "x").code
    assert Code.ACCESS_REFUSED == peer.call(commands.CreateSuperStream, "y", ("y-0",), ("0",), {}).code
    assert {"s", "x-0"} == set(world.vhost.queues)
