"""Class exchange, and RabbitMQ's bindings between exchanges."""

import pytest

from tests.fakes import Exchange, Queue

OTHER_TYPE = (
    "PRECONDITION_FAILED - inequivalent arg 'type' for exchange 'amq.direct' in vhost '/': "
    "received 'fanout' but current is 'direct'"
)


def test_declare_delete_and_their_no_wait(world, peer):
    assert isinstance(peer.call(Exchange.Declare(exchange="x", exchange_type="topic")), Exchange.DeclareOk)
    assert isinstance(peer.call(Exchange.Delete(exchange="x")), Exchange.DeleteOk)
    peer.send(Exchange.Declare(exchange="y", nowait=True), Exchange.Delete(exchange="y", nowait=True))
    assert peer.take() == []
    assert not {"x", "y"} & set(world.vhost.exchanges)


def test_deleting_what_is_not_there_is_no_error(peer):
    assert isinstance(peer.call(Exchange.Delete(exchange="nosuch")), Exchange.DeleteOk)


@pytest.mark.parametrize(
    ("method", "error"),
    [
        (
            Exchange.Declare(exchange="x", exchange_type="magic"),
            (503, "COMMAND_INVALID - unknown exchange type 'magic'"),
        ),
        (Exchange.Declare(exchange="x", passive=True), (404, "NOT_FOUND - no exchange 'x' in vhost '/'")),
        (
            Exchange.Declare(exchange="amq.mine"),
            (403, "ACCESS_REFUSED - exchange name 'amq.mine' contains reserved prefix 'amq.*'"),
        ),
        (
            Exchange.Delete(exchange="amq.direct"),
            (403, "ACCESS_REFUSED - deletion of system exchange 'amq.direct' in vhost '/' not allowed"),
        ),
        (Exchange.Declare(exchange="amq.direct", exchange_type="fanout", durable=True), (406, OTHER_TYPE)),
        (Exchange.Bind(destination="no", source="amq.direct"), (404, "NOT_FOUND - no exchange 'no' in vhost '/'")),
    ],
)
def test_refusals_are_rabbitmqs(peer, method, error):
    assert peer.error(method) == error


@pytest.mark.parametrize("name", ["amq.direct", "amq.fanout", "amq.topic", "amq.headers", "amq.match"])
def test_the_predeclared_ones_are_there(peer, name):
    # F3: redeclaring one as it is needs no right to the prefix
    kind = {"amq.match": "headers"}.get(name, name[4:])
    reply = peer.call(Exchange.Declare(exchange=name, exchange_type=kind, durable=True))
    assert isinstance(reply, Exchange.DeclareOk)


def test_if_unused_looks_at_bindings(peer):
    peer.declare("q")
    peer.call(Exchange.Declare(exchange="x"))
    peer.call(Queue.Bind(queue="q", exchange="x", routing_key="k"))
    in_use = (406, "PRECONDITION_FAILED - exchange 'x' in vhost '/' in use")
    assert peer.error(Exchange.Delete(exchange="x", if_unused=True)) == in_use
    peer.call(Queue.Unbind(queue="q", exchange="x", routing_key="k"))
    assert isinstance(peer.call(Exchange.Delete(exchange="x", if_unused=True)), Exchange.DeleteOk)


def test_exchanges_are_bound_and_unbound(peer):
    peer.declare("q")
    for name in ("a", "b"):
        peer.call(Exchange.Declare(exchange=name))
    peer.call(Queue.Bind(queue="q", exchange="b", routing_key="k"))
    assert isinstance(peer.call(Exchange.Bind(destination="b", source="a", routing_key="k")), Exchange.BindOk)
    peer.publish("a", "k", b"1")
    assert isinstance(peer.call(Exchange.Unbind(destination="b", source="a", routing_key="k")), Exchange.UnbindOk)
    peer.publish("a", "k", b"2")
    assert [m.body for m in peer.drain("q")] == [b"1"]
