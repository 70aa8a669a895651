"""basic.return: what a mandatory or immediate message meets when nobody can have it."""

from tests.fakes import Basic, Content, Exchange, Queue, World


def returned(peer, channel: int = 1) -> tuple:
    (content,) = peer.take(channel)
    assert isinstance(content, Content)
    method = content.method
    assert isinstance(method, Basic.Return)
    return method.reply_code, method.reply_text, method.exchange, method.routing_key, content.body


def test_a_mandatory_message_without_a_queue_comes_back(peer):
    # A9
    peer.publish("amq.direct", "nowhere", b"x", mandatory=True)
    assert returned(peer) == (312, "NO_ROUTE", "amq.direct", "nowhere", b"x")


def test_a_mandatory_message_with_a_queue_does_not(peer):
    peer.declare("q")
    peer.publish("", "q", b"x", mandatory=True)
    assert peer.take() == []


def test_its_properties_come_back_as_they_were(peer):
    peer.publish("", "nowhere", b"x", mandatory=True, headers={"a": 1}, message_id="7", priority=3)
    (content,) = peer.take()
    properties = content.properties
    assert (properties.headers, properties.message_id, properties.priority) == ({"a": 1}, "7", 3)


def test_without_mandatory_it_is_dropped_and_counted(world, peer):
    peer.publish("", "nowhere", b"x")
    assert peer.take() == []
    assert world.broker.totals.total("dropped") == 1


def test_an_empty_message_comes_back_too(peer):
    # G13: no body frame at all
    peer.publish("", "nowhere", b"", mandatory=True)
    assert returned(peer) == (312, "NO_ROUTE", "", "nowhere", b"")


def test_many_returns_keep_their_order(peer):
    frames = []
    for i in range(20):
        frames += peer.publish_frames("", f"nowhere{i}", b"%d" % i, mandatory=True)
    peer.send(*frames)
    assert [content.body for content in peer.take()] == [b"%d" % i for i in range(20)]


def test_immediate_without_a_consumer_is_313(peer):
    # A5, A10
    peer.declare("q")
    peer.publish("", "q", b"x", immediate=True)
    assert returned(peer) == (313, "NO_CONSUMERS", "", "q", b"x")
    assert peer.drain("q") == []


def test_immediate_with_a_consumer_is_delivered(peer):
    # A5
    peer.declare("q")
    peer.consume("q", no_ack=True)
    peer.publish("", "q", b"x", immediate=True)
    assert peer.bodies() == [b"x"]


def test_immediate_meets_a_consumer_without_credit(peer):
    # A5: a consumer that has all it may have cannot take it
    peer.declare("q")
    peer.call(Basic.Qos(prefetch_count=1))
    peer.consume("q")
    peer.publish("", "q", b"1", immediate=True)
    assert peer.bodies() == [b"1"]
    peer.publish("", "q", b"2", immediate=True)
    assert returned(peer)[:2] == (313, "NO_CONSUMERS")


def test_immediate_goes_to_the_alternate_exchange(peer):
    # A5, A10
    peer.declare("idle")
    peer.declare("busy")
    peer.consume("busy", no_ack=True)
    peer.call(Exchange.Declare(exchange="ae", exchange_type="fanout"))
    peer.call(Exchange.Declare(exchange="x", exchange_type="fanout", arguments={"alternate-exchange": "ae"}))
    peer.call(Queue.Bind(queue="idle", exchange="x"))
    peer.call(Queue.Bind(queue="busy", exchange="ae"))
    peer.publish("x", "k", b"now", immediate=True)
    (content,) = peer.take()
    assert (content.body, content.method.exchange) == (b"now", "x")
    assert peer.drain("idle") == []


def test_immediate_can_be_refused_as_rabbitmq_does():
    # A5: amqp.immediate = refuse
    peer = World(refuse_immediate=True).connect()
    peer.declare("q")
    error = peer.error(*peer.publish_frames("", "q", b"x", immediate=True))
    assert error == (540, "NOT_IMPLEMENTED - immediate=true")


def test_mandatory_and_immediate_without_a_route_is_312(peer):
    peer.publish("", "nowhere", b"x", mandatory=True, immediate=True)
    assert returned(peer)[:2] == (312, "NO_ROUTE")
