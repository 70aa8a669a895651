"""The firehose: copies of what is published and delivered, as RabbitMQ makes them (rabbit_trace.erl)."""

import pytest
from pamqp import commands

from tests.fakes import Content, World

TRACE = "amq.rabbitmq.trace"
Basic, Exchange, Queue, Tx = commands.Basic, commands.Exchange, commands.Queue, commands.Tx


@pytest.fixture
def world() -> World:
    return World(node_name="pybroker@vm")


@pytest.fixture
def peer(world):
    """A client with a queue `q`, and a queue `traces` that gets everything from the firehose."""
    peer = world.connect()
    peer.declare("q")
    peer.declare("traces")
    peer.call(Queue.Bind(queue="traces", exchange=TRACE, routing_key="#"))
    world.vhost.trace(on=True)
    return peer


def traces(peer) -> list[Content]:
    return peer.drain("traces")


def keys(peer) -> list[str]:
    return [trace.method.routing_key for trace in traces(peer)]


def test_a_publish_is_copied_with_what_became_of_it(peer):
    peer.publish("", "q", b"body", content_type="text/plain", priority=3, headers={"a": 1})
    [trace] = traces(peer)
    assert trace.method.exchange == TRACE
    assert trace.method.routing_key == "publish."
    assert trace.body == b"body"
    assert trace.headers == {
        "exchange_name": "",
        "routing_keys": ["q"],
        "properties": {"priority": 3, "headers": {"a": 1}, "content_type": "text/plain"},
        "node": "pybroker@vm",
        "vhost": "/",
        "connection": peer.session.name,
        "channel": 1,
        "user": "guest",
        "routed_queues": ["q"],
    }


def test_a_delivery_is_copied_with_its_queue_and_how_often(world, peer):
    peer.publish("amq.topic", "nobody.listens", b"")
    world.connect().consume("q", no_ack=False)
    peer.publish("", "q", b"body", delivery_mode=2)
    unrouted, published, delivered = traces(peer)
    assert unrouted.method.routing_key == "publish.amq.topic"
    assert unrouted.headers["routed_queues"] == []
    assert published.method.routing_key == "publish."
    assert delivered.method.routing_key == "deliver.q"
    assert delivered.body == b"body"
    # Of the message itself, not of the copy.
    assert delivered.headers["properties"] == {"delivery_mode": 2}
    assert published.properties.delivery_mode is None
    assert delivered.headers["redelivered"] == 0
    assert delivered.headers["channel"] == 1
    assert "routed_queues" not in delivered.headers


def test_a_redelivery_says_so(world, peer):
    other = world.connect()
    other.consume("q", no_ack=False)
    peer.publish("", "q", b"")
    other.disconnect()
    peer.consume("q")
    assert [t.headers["redelivered"] for t in traces_of(peer, "deliver.q")] == [0, 1]


def traces_of(peer, key) -> list[Content]:
    peer.open(2)
    return [t for t in peer.drain("traces", channel=2) if t.method.routing_key == key]


def test_basic_get_is_a_delivery(peer):
    peer.publish("", "q", b"")
    peer.get("q")
    assert keys(peer) == ["publish.", "deliver.q"]


def test_what_the_firehose_delivers_is_not_traced_again(world, peer):
    peer.publish("", "q", b"")
    watcher = world.connect()
    watcher.consume("traces", no_ack=True)
    assert len(watcher.take()) == 1
    peer.publish("", "q", b"")
    assert [each.method.routing_key for each in watcher.take()] == ["publish."]


def test_several_consumers_and_many_messages_are_all_told(world, peer):
    one, two = world.connect(), world.connect()
    one.consume("q", no_ack=True)
    two.consume("q", no_ack=True)
    frames = [f for i in range(1_500) for f in peer.publish_frames("", "q", b"%d" % i)]
    peer.send(*frames)
    found = traces(peer)
    delivered = [trace for trace in found if trace.method.routing_key == "deliver.q"]
    assert {int(trace.body) for trace in delivered} == set(range(1_500))
    assert len(found) == 3_000
    assert [int(t.body) for t in found if t.method.routing_key == "publish."] == list(range(1_500))


def test_carbon_copies_are_among_the_keys_and_the_blind_ones_not_in_the_headers(peer):
    peer.declare("other")
    peer.publish("", "q", b"", headers={"CC": ["other"], "BCC": ["hidden"], "x": "y"})
    [trace] = traces(peer)
    assert trace.headers["routing_keys"] == ["q", "other", "hidden"]
    assert trace.headers["properties"] == {"headers": {"CC": ["other"], "x": "y"}}
    assert sorted(trace.headers["routed_queues"]) == ["other", "q"]
    peer.get("q")
    assert traces(peer)[0].headers["routing_keys"] == ["q", "other"]


def test_a_publish_in_a_transaction_is_told_at_once(peer):
    peer.open(2)
    peer.call(Tx.Select(), channel=2)
    peer.publish("", "q", b"", channel=2)
    [trace] = traces(peer)
    assert (trace.headers["channel"], trace.headers["routed_queues"]) == (2, ["q"])
    peer.call(Tx.Commit(), channel=2)
    assert keys(peer) == []


def test_a_queue_that_gets_messages_and_their_traces_is_dealt_properly(world, peer):
    peer.declare("both", {"x-max-length": 100})
    peer.call(Queue.Bind(queue="both", exchange=TRACE, routing_key="deliver.both"))
    watcher = world.connect()
    watcher.consume("both", no_ack=True)
    peer.send(*[f for _ in range(5) for f in peer.publish_frames("", "both", b"x")])
    assert sorted(each.method.exchange for each in watcher.take()) == [""] * 5 + [TRACE] * 5


def test_confirms_and_returns_are_as_ever(peer):
    peer.call(commands.Confirm.Select())
    peer.publish("", "q", b"")
    assert isinstance(peer.next(), Basic.Ack)
    peer.publish("", "nowhere", b"", mandatory=True)
    assert isinstance(peer.next().method, Basic.Return)
    assert isinstance(peer.next(), Basic.Ack)


def test_a_direct_reply_is_told_as_published_not_as_delivered(world, peer):
    caller = world.connect()
    caller.consume("amq.rabbitmq.reply-to", no_ack=True)
    caller.publish("", "q", b"?", reply_to="amq.rabbitmq.reply-to")
    asked = peer.get("q")
    reply_to = asked.properties.reply_to
    peer.publish("", reply_to, b"!")
    assert caller.bodies() == [b"!"]
    found = [(t.method.routing_key, t.headers.get("routed_queues")) for t in traces(peer)]
    assert found == [("publish.", ["q"]), ("deliver.q", None), ("publish.", [reply_to])]


def test_it_can_be_switched_off_and_costs_nothing_then(world, peer):
    world.vhost.trace(on=False)
    peer.publish("", "q", b"")
    peer.get("q")
    assert keys(peer) == []
    assert len(world.broker.traces.firehose) == 0


def test_other_vhosts_are_not_traced(world, peer):
    world.broker.add_vhost("v")
    world.broker.users.set_permissions("guest", "v", ".*", ".*", ".*")
    other = world.connect(vhost="v")
    other.declare("q")
    other.publish("", "q", b"")
    assert keys(peer) == []


def test_without_anybody_listening_nothing_is_made(world, peer):
    peer.call(Queue.Unbind(queue="traces", exchange=TRACE, routing_key="#"))
    seq = world.broker.log.take(1)
    peer.publish("", "q", b"")
    peer.get("q")
    assert world.broker.log.take(1) == seq + 2


def test_a_key_never_grows_beyond_a_shortstr(peer):
    name = "x" * 255
    peer.declare(name)
    peer.publish("", name, b"")
    peer.get(name)
    assert keys(peer) == ["publish.", "deliver." + "x" * 247]


def test_a_frame_full_of_headers_is_not_traced(world):
    world = World(frame_octets_max=4_096)
    peer = world.connect(frame_octets_max=4_096)
    peer.declare("q")
    peer.declare("traces")
    peer.call(Queue.Bind(queue="traces", exchange=TRACE, routing_key="#"))
    world.vhost.trace(on=True)
    peer.publish("", "q", b"", headers={"x": "y" * 4_000})
    peer.publish("", "q", b"")
    assert keys(peer) == ["publish."]
