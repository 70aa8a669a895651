"""Alternate exchanges, requirements A1 to A17, without sockets; A18 is tests/interop/test_alternate_exchange.py."""

import logging

import pytest

from tests.fakes import Basic, Content, Exchange, FakePeer, Queue, Tx


def exchange(peer: FakePeer, name: str, alternate: str | None = None, kind: str = "direct") -> None:
    arguments = {} if alternate is None else {"alternate-exchange": alternate}
    reply = peer.call(Exchange.Declare(exchange=name, exchange_type=kind, arguments=arguments))
    assert isinstance(reply, Exchange.DeclareOk), reply


def bound(peer: FakePeer, queue: str, source: str, key: str = "", **arguments) -> None:
    peer.declare(queue)
    assert isinstance(peer.call(Queue.Bind(queue=queue, exchange=source, routing_key=key)), Queue.BindOk)


def bodies(peer: FakePeer, queue: str) -> list[bytes]:
    return [message.body for message in peer.drain(queue)]


def test_a1_the_argument_must_be_a_string(peer):
    error = peer.error(Exchange.Declare(exchange="x", arguments={"alternate-exchange": 5_000_000}))
    text = "invalid type 'signedint' for arg 'alternate-exchange' in exchange 'x' in vhost '/'"
    assert error == (406, f"PRECONDITION_FAILED - {text}")


def restricted(world, configure: str, write: str, read: str) -> FakePeer:
    users = world.broker.users
    if "u" not in {user.name for user in users}:
        users.add("u", "secret", ())
    users.set_permissions("u", "/", configure, write, read)
    return world.connect(user="u", password="secret")


def test_a2_naming_one_needs_read_on_the_exchange_and_write_on_the_alternate(world):
    declare = Exchange.Declare(exchange="x", arguments={"alternate-exchange": "ae"})
    text = "access to exchange '{}' in vhost '/' refused for user 'u'"
    for permissions, what in (
        (("none", ".*", ".*"), "configure " + text.format("x")),
        ((".*", ".*", "none"), "read " + text.format("x")),
        ((".*", "none", ".*"), "write " + text.format("ae")),
    ):
        peer = restricted(world, *permissions)
        assert peer.error(declare) == (403, f"ACCESS_REFUSED - {what}")


def test_a2_a_redeclare_needs_configure_only(world, peer):
    exchange(peer, "x", "ae")
    other = restricted(world, ".*", "none", "none")
    exchange(other, "x", "ae")


@pytest.mark.parametrize("kind", ["direct", "fanout", "topic", "headers"])
def test_a3_of_any_type_and_declared_later(peer, kind):
    exchange(peer, "x", "ae")
    exchange(peer, "ae", kind=kind)
    bound(peer, "q", "ae", "k")
    peer.publish("x", "k", b"m")
    assert bodies(peer, "q") == [b"m"]


def test_a4_what_was_not_routed_goes_to_the_alternate(peer):
    exchange(peer, "x", "ae")
    exchange(peer, "ae", kind="fanout")
    bound(peer, "routed", "x", "known")
    bound(peer, "unrouted", "ae")
    peer.publish("x", "known", b"1")
    peer.publish("x", "unknown", b"2")
    assert (bodies(peer, "routed"), bodies(peer, "unrouted")) == ([b"1"], [b"2"])


def test_a4_a_matched_binding_to_an_exchange_counts_as_routed(peer):
    exchange(peer, "x", "ae")
    exchange(peer, "ae", kind="fanout")
    exchange(peer, "empty")
    bound(peer, "unrouted", "ae")
    peer.call(Exchange.Bind(destination="empty", source="x", routing_key="k"))
    peer.publish("x", "k", b"lost")
    assert bodies(peer, "unrouted") == []


def test_a6_a_missing_alternate_is_warned_about_once_and_counted(world, peer, caplog):
    exchange(peer, "x", "nosuch")
    with caplog.at_level(logging.WARNING):
        peer.publish("x", "k", b"1")
        peer.publish("x", "k", b"2")
    assert [r.levelname for r in caplog.records if "nosuch" in r.getMessage()] == ["WARNING"]
    assert world.vhost.unroutable_ae_missing == 2


def test_a7_alternates_have_alternates(peer):
    exchange(peer, "x1", "x2")
    exchange(peer, "x2", "x3", kind="topic")
    exchange(peer, "x3", kind="fanout")
    bound(peer, "q", "x3")
    peer.publish("x1", "k", b"m")
    assert bodies(peer, "q") == [b"m"]


def test_a8_a_cycle_ends_where_it_began(peer):
    exchange(peer, "x1", "x2")
    exchange(peer, "x2", "x1")
    exchange(peer, "own", "own")
    peer.publish("x1", "k", b"m", mandatory=True)
    peer.publish("own", "k", b"m", mandatory=True)
    assert [reply.method.reply_code for reply in peer.take()] == [312, 312]


def test_a8_the_chain_ends_at_the_first_that_routes(peer):
    exchange(peer, "x1", "x2")
    exchange(peer, "x2", "x3", kind="fanout")
    exchange(peer, "x3", kind="fanout")
    bound(peer, "second", "x2")
    bound(peer, "third", "x3")
    peer.publish("x1", "k", b"m")
    assert (bodies(peer, "second"), bodies(peer, "third")) == ([b"m"], [])


def test_a9_mandatory_is_content_with_the_alternate(peer):
    exchange(peer, "x", "ae")
    exchange(peer, "ae", kind="fanout")
    bound(peer, "q", "ae")
    peer.publish("x", "k", b"m", mandatory=True)
    assert peer.take() == []
    assert bodies(peer, "q") == [b"m"]


def test_a9_the_return_names_the_original_exchange_and_key(peer):
    exchange(peer, "x", "ae")
    exchange(peer, "ae")
    peer.publish("x", "key", b"m", mandatory=True)
    (returned,) = peer.take()
    assert (returned.method.exchange, returned.method.routing_key) == ("x", "key")


def test_a11_properties_and_the_original_name_are_kept(peer):
    exchange(peer, "x", "ae")
    exchange(peer, "ae", kind="fanout")
    bound(peer, "q", "ae")
    peer.publish("x", "key", b"m", delivery_mode=2, priority=4, headers={"h": "v"}, content_type="text/plain")
    message = peer.get("q")
    assert (message.method.exchange, message.method.routing_key) == ("x", "key")
    properties = message.properties
    assert (properties.delivery_mode, properties.priority, properties.headers) == (2, 4, {"h": "v"})
    assert properties.content_type == "text/plain"


def test_a12_in_tx_the_message_appears_at_commit(peer):
    exchange(peer, "x", "ae")
    exchange(peer, "ae", kind="fanout")
    bound(peer, "q", "ae")
    peer.open(2)
    peer.call(Tx.Select(), 2)
    peer.publish("x", "k", b"m", channel=2)
    assert bodies(peer, "q") == []
    assert isinstance(peer.call(Tx.Commit(), 2), Tx.CommitOk)
    assert bodies(peer, "q") == [b"m"]


def test_a14_the_alternate_sees_the_original_key(peer):
    exchange(peer, "x", "ae")
    exchange(peer, "ae", kind="topic")
    bound(peer, "mine", "ae", "a.*")
    bound(peer, "other", "ae", "b.*")
    peer.publish("x", "a.1", b"m")
    assert (bodies(peer, "mine"), bodies(peer, "other")) == ([b"m"], [])


def test_a16_the_default_exchange_is_left_alone(peer):
    refused = (403, "ACCESS_REFUSED - operation not permitted on the default exchange")
    peer.declare("q")
    assert peer.error(Exchange.Declare(exchange="", arguments={"alternate-exchange": "ae"})) == refused
    assert peer.error(Exchange.Delete(exchange="")) == refused
    assert peer.error(Queue.Bind(queue="q", exchange="", routing_key="k")) == refused
    assert peer.error(Queue.Unbind(queue="q", exchange="", routing_key="q")) == refused


def test_a17_redeclaring_with_another_alternate_is_406(peer):
    exchange(peer, "x", "a")
    text = "inequivalent arg 'alternate-exchange' for exchange 'x' in vhost '/': received 'b' but current is 'a'"
    error = peer.error(Exchange.Declare(exchange="x", arguments={"alternate-exchange": "b"}))
    assert error == (406, f"PRECONDITION_FAILED - {text}")
    exchange(peer, "x", "a")


def test_a17_other_arguments_of_exchanges_are_not_compared(peer):
    exchange(peer, "x")
    reply = peer.call(Exchange.Declare(exchange="x", arguments={"anything": 1}))
    assert isinstance(reply, Exchange.DeclareOk)


def test_a_consumer_gets_what_the_alternate_routed(peer):
    exchange(peer, "x", "ae")
    exchange(peer, "ae", kind="fanout")
    bound(peer, "q", "ae")
    peer.consume("q", no_ack=True)
    peer.publish("x", "k", b"m")
    (delivery,) = peer.take()
    assert isinstance(delivery, Content)
    assert isinstance(delivery.method, Basic.Deliver)
    assert delivery.method.exchange == "x"
