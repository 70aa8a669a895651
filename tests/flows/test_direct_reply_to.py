"""Direct reply-to ([rmq direct reply-to]): answers without a queue."""

from pybroker.wire.methods import encode_method, make_method
from tests.fakes import Basic, Queue

PSEUDO = "amq.rabbitmq.reply-to"


def test_a_reply_reaches_the_channel_that_asked(world, peer):
    tag = peer.consume(PSEUDO, no_ack=True)
    server = world.connect()
    server.declare("rpc")
    peer.publish("", "rpc", b"question", reply_to=PSEUDO, correlation_id="7")
    question = server.get("rpc")
    address = question.properties.reply_to
    assert address.startswith(PSEUDO + ".")
    server.publish("", address, b"answer", correlation_id="7")
    (answer,) = peer.take()
    assert (answer.body, answer.method.consumer_tag, answer.properties.correlation_id) == (b"answer", tag, "7")
    assert (answer.method.exchange, answer.method.routing_key) == ("", address)


def test_without_the_consumer_it_is_406(peer):
    peer.declare("rpc")
    frames = peer.publish_frames("", "rpc", b"question", reply_to=PSEUDO)
    assert peer.error(*frames) == (406, "PRECONDITION_FAILED - fast reply consumer does not exist")


def test_the_consumer_must_not_acknowledge(peer):
    error = peer.error(Basic.Consume(queue=PSEUDO, no_ack=False))
    assert error == (406, "PRECONDITION_FAILED - reply consumer cannot acknowledge")


def test_there_is_one_a_channel(peer):
    peer.consume(PSEUDO, no_ack=True)
    error = peer.error(Basic.Consume(queue=PSEUDO, no_ack=True))
    assert error == (406, "PRECONDITION_FAILED - reply consumer already set")


def test_a_reply_to_who_has_gone_is_unroutable(world, peer):
    tag = peer.consume(PSEUDO, no_ack=True)
    server = world.connect()
    server.declare("rpc")
    peer.publish("", "rpc", b"question", reply_to=PSEUDO)
    address = server.get("rpc").properties.reply_to
    peer.call(Basic.Cancel(tag))
    server.publish("", address, b"answer", mandatory=True)
    assert server.take()[0].method.reply_code == 312


def test_the_address_can_be_asked_for(world, peer):
    peer.consume(PSEUDO, no_ack=True)
    server = world.connect()
    server.declare("rpc")
    peer.publish("", "rpc", b"question", reply_to=PSEUDO)
    address = server.get("rpc").properties.reply_to
    assert address.endswith("==")  # by which php-amqplib knows it
    declare = encode_method(1, make_method(Queue.Declare, queue=address, passive=True))
    server.send_octets(declare)
    world.run()
    assert server.next().queue == address
    peer.disconnect()
    server.send_octets(declare)
    world.run()
    assert server.next().reply_code == 404


def test_a_second_one_is_refused_as_such_also_under_the_tag_of_the_first(peer):
    peer.consume(PSEUDO, "t", no_ack=True)
    error = peer.error(Basic.Consume(queue=PSEUDO, consumer_tag="t", no_ack=True))
    assert error == (406, "PRECONDITION_FAILED - reply consumer already set")
