"""When a trace ends, and what bounds it."""

from pamqp import commands

from pybroker.core.message_trace import trace as module
from tests.core.message_trace.conftest import names, told
from tests.fakes import World

Basic, Confirm, Queue = commands.Basic, commands.Confirm, commands.Queue


def test_time_ends_it_whether_or_not_it_is_read(world, peer, follow):
    trace = follow(queue="q", duration_ms=2_000)
    peer.publish("", "q")
    peer.get("q", no_ack=False)
    world.advance(1_999)
    assert not trace.over
    world.advance(1)
    assert trace.over == "duration"
    assert not world.vhost.tracing
    *_, unsettled, ended = trace.poll(100)
    assert ("unacknowledged", peer.session.name) == (unsettled["state"], unsettled["connection"])
    assert (1, 1) == (ended["messages"], ended["unsettled"])


def test_its_virtual_host_ends_it(world, follow):
    trace = follow(queue="q")
    world.broker.delete_vhost("/")
    world.advance(1_000)
    assert told(trace, "ended")["why"] == "vhost_deleted"


def test_copies_are_bounded(world, peer, follow, monkeypatch):
    monkeypatch.setattr(module, "COPIES_MAX", 2)
    monkeypatch.setattr(module, "ROUTED_MAX", 2)
    for name in "abc":
        peer.declare(name)
        peer.call(Queue.Bind(queue=name, exchange="amq.fanout"))
    trace = follow(exchange="amq.fanout")
    peer.publish("amq.fanout", "")
    assert names(trace) == ["published", "routed", "routed", "routed", "not_followed"]
    for name in "ab":
        peer.get(name)
    assert trace.over == "count"
    assert peer.get("c")


def test_no_more_messages_are_followed_than_asked_for(peer, follow):
    trace = follow(queue="q", count=2)
    for _ in range(5):
        peer.publish("", "q")
    assert names(trace) == ["published", "routed"] * 2


def test_a_message_that_waits_says_why_when_that_changes(world, peer, follow):
    trace = follow(queue="q")
    peer.publish("", "q")
    peer.publish("", "q")
    names(trace)
    world.advance(1_000)
    assert told(trace, "waiting")["why"] == "no_consumer"
    world.advance(1_000)
    assert names(trace) == []
    peer.consume("q")
    world.advance(5_000)
    delivered, waiting = trace.poll(10)
    assert ("delivered", "waiting", "unacknowledged") == (delivered["event"], waiting["event"], waiting["why"])


def life(*, traced: bool) -> list:
    """Return all that clients see, and the counters, of a day with confirms, limits, dead letters and requeues."""
    world = World()
    peer, worker = world.connect(), world.connect()
    peer.declare("dead")
    peer.declare("q", {"x-max-length": 6, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"})
    peer.declare("full", {"x-max-length": 1, "x-overflow": "reject-publish"})
    peer.call(Confirm.Select())
    if traced:
        for which in ({"queue": "q"}, {"exchange": ""}, {"headers": (("n", "3"),)}):
            assert world.broker.traces.follow(world.vhost, 1_000, 60_000, **which) is not None
    frames = [f for i in range(20) for f in peer.publish_frames("", "q", b"%d" % i, headers={"n": i})]
    peer.send(*frames)
    for _ in range(2):
        peer.publish("", "full")
        peer.publish("", "nowhere", mandatory=True)
    worker.send(Basic.Qos(prefetch_count=3))
    worker.consume("q", "tag")
    seen = [*worker.take()]
    deliveries = [each for each in seen if hasattr(each, "method")]
    worker.send(Basic.Nack(deliveries[1].method.delivery_tag, requeue=True))
    worker.send(Basic.Ack(deliveries[0].method.delivery_tag))
    worker.send(Basic.Reject(deliveries[2].method.delivery_tag, requeue=False))
    seen += worker.take()
    worker.disconnect()
    told = [
        (type(each).__name__, getattr(each, "delivery_tag", 0), getattr(each, "multiple", None))
        if not hasattr(each, "method")
        else (dict(each.method), each.body, each.headers)
        for each in [*seen, *peer.take()]
    ]
    left = [(c.body, c.method.redelivered) for queue in ("q", "full", "dead") for c in peer.drain(queue)]
    counters = [
        (q.name, q.published, q.delivered, q.acked, q.redelivered, q.dropped, q.got, q.messages)
        for q in world.vhost.queues.values()
    ]
    exchange = world.vhost.exchanges[""]
    broker = world.broker
    totals = [
        broker.message_sizes.messages,
        broker.totals.total("confirmed"),
        broker.totals.given,
        broker.totals.total("acked"),
        broker.totals.total("returned"),
        broker.totals.total("dropped"),
    ]
    return [told, left, counters, exchange.publish_in, exchange.publish_out, totals]


def test_clients_and_counters_notice_nothing():
    assert life(traced=True) == life(traced=False)
