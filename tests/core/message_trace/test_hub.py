"""The life of a message, event by event, for every way in which one can end."""

from pamqp import commands

from pybroker.core.events.cause import BROKER
from pybroker.core.message_trace.hub import TRACES_MAX
from tests.core.message_trace.conftest import declare_exchange, names, told

Basic, Confirm, Exchange, Queue, Tx = (
    commands.Basic,
    commands.Confirm,
    commands.Exchange,
    commands.Queue,
    commands.Tx,
)
LETTERS = {"x-dead-letter-exchange": "dlx"}


def declare_dying(peer, **arguments):
    """Declare a queue `dying` whose dead letters reach the queue `dead`."""
    declare_exchange(peer, "dlx", "fanout")
    peer.declare("dead")
    peer.call(Queue.Bind(queue="dead", exchange="dlx"))
    peer.declare("dying", {**LETTERS, **{key.replace("_", "-"): value for key, value in arguments.items()}})


def test_a_message_is_published_routed_delivered_and_acknowledged(world, peer, follow):
    trace = follow(queue="q")
    peer.publish("", "q", b"body", message_id="m-1", delivery_mode=2, mandatory=True)
    published, routed = trace.poll(10)
    assert {
        "event": "published",
        "message": 1,
        "after_ms": 0,
        "exchange": "",
        "routing_key": "q",
        "user": "guest",
        "connection": peer.session.name,
        "client_name": "",
        "channel": 1,
        "persistent": True,
        "mandatory": True,
        "confirms": False,
        "transaction": False,
        "body_bytes": 4,
        "message_id": "m-1",
        "timestamp_in_ms": world.clock.timestamp_ms,
    } == published
    assert ("q", False) == (routed["queue"], routed["durable"])
    world.clock.advance(70)
    worker = world.connect()
    tag = worker.consume("q")
    delivered = told(trace, "delivered")
    assert (tag, worker.session.name, False, False) == tuple(
        delivered[key] for key in ("consumer_tag", "connection", "redelivered", "auto_ack")
    )
    assert 70 == delivered["after_ms"]
    worker.send(Basic.Ack(worker.next().method.delivery_tag))
    acknowledged, settled, ended = trace.poll(10)
    assert ("acknowledged", worker.session.name) == (acknowledged["event"], acknowledged["connection"])
    assert ("settled", "ended") == (settled["event"], ended["event"])
    assert ("count", 1, 0) == (ended["why"], ended["messages"], ended["unsettled"])


def test_nothing_is_left_of_a_trace_that_ended(world, peer, follow):
    trace = follow(queue="q")
    assert world.vhost.tracing
    peer.publish("", "q")
    peer.get("q")
    assert trace.over == "count"
    assert not world.vhost.tracing
    assert world.broker.traces.running == ()
    names(trace)
    peer.publish("", "q")
    assert names(trace) == []


def test_a_trace_does_not_switch_the_firehose_on_nor_off(world, peer, follow):
    peer.declare("copies")
    peer.call(Queue.Bind(queue="copies", exchange="amq.rabbitmq.trace", routing_key="#"))
    trace = follow(queue="q", count=5)
    peer.publish("", "q")
    assert world.vhost.queues["copies"].messages_ready == 0
    world.vhost.trace(on=True)
    peer.publish("", "q")
    assert [each.method.routing_key for each in peer.drain("copies")] == ["publish."]
    trace.stop("stopped")
    assert world.vhost.tracing
    world.vhost.trace(on=False)
    assert not world.vhost.tracing


def test_a_rejected_message_is_followed_to_its_dead_letter_queue(world, peer, follow):
    declare_dying(peer)
    trace = follow(queue="dying")
    peer.publish("", "dying")
    peer.consume("dying")
    peer.send(Basic.Reject(peer.next().method.delivery_tag, requeue=False))
    events = trace.poll(100)
    assert [event["event"] for event in events] == [
        "published",
        "routed",
        "delivered",
        "rejected",
        "dead_lettered",
        "routed",
    ]
    assert events[3]["dead_letter_exchange"] == "dlx"
    assert (events[4]["reason"], events[4]["exchange"], events[5]["queue"]) == ("rejected", "dlx", "dead")
    assert events[5]["path"][0]["by"] == "binding"
    peer.get("dead")
    assert names(trace) == ["delivered", "settled", "ended"]


def test_a_message_that_nobody_wants_ends_where_there_is_no_dead_letter_exchange(peer, follow):
    trace = follow(queue="q")
    peer.publish("", "q")
    peer.consume("q")
    peer.send(Basic.Nack(peer.next().method.delivery_tag, requeue=False))
    assert names(trace)[-3:] == ["rejected", "settled", "ended"]


def test_an_expired_message_says_so(world, peer, follow):
    declare_dying(peer)
    trace = follow(exchange="")
    peer.publish("", "dying", expiration="50")
    world.advance(60)
    assert names(trace) == ["published", "routed", "expired", "dead_lettered", "routed"]


def test_the_oldest_message_of_a_full_queue_says_so(peer, follow):
    peer.declare("short", {"x-max-length": 1})
    trace = follow(queue="short")
    peer.publish("", "short")
    peer.publish("", "short")
    assert names(trace)[-3:] == ["maxlen", "settled", "ended"]


def test_a_message_that_is_refused_says_by_which_queue_and_why(world, peer, follow):
    peer.declare("short", {"x-max-length": 1, "x-overflow": "reject-publish"}, durable=True)
    peer.publish("", "short", delivery_mode=2)
    trace = follow(queue="short")
    peer.publish("", "short", delivery_mode=2)
    refused = told(trace, "refused")
    assert ("short", 1, "reject-publish") == (refused["queue"], refused["max_length"], refused["overflow"])
    assert trace.over == "count"


def test_a_refused_message_can_be_a_dead_letter(peer, follow):
    declare_dying(peer, x_max_length=1, x_overflow="reject-publish-dlx")
    peer.publish("", "dying")
    trace = follow(queue="dying")
    peer.publish("", "dying")
    assert names(trace) == ["published", "routed", "refused", "dead_lettered", "routed"]


def test_a_message_that_is_delivered_too_often_says_so(peer, follow):
    declare_dying(peer, x_delivery_limit=1)
    trace = follow(queue="dying")
    peer.publish("", "dying")
    peer.consume("dying")
    for _ in range(2):
        peer.send(Basic.Nack(peer.next().method.delivery_tag, requeue=True))
    found = names(trace)
    assert found[2:5] == ["delivered", "requeued", "delivered"]
    assert "delivery_limit" in found
    assert found[-2:] == ["dead_lettered", "routed"]


def test_dead_letters_without_a_way_on_say_why(world, peer, follow):
    peer.declare("nowhere", {"x-dead-letter-exchange": "missing", "x-message-ttl": 0})
    peer.declare("round", {"x-dead-letter-exchange": "", "x-message-ttl": 0})
    declare_exchange(peer, "empty", "topic")
    peer.declare("unbound", {"x-dead-letter-exchange": "empty", "x-message-ttl": 0})
    for queue, why in (
        ("nowhere", "the exchange does not exist"),
        ("unbound", "no binding matches"),
        ("round", "it would go round in a circle"),
    ):
        trace = follow(queue=queue)
        peer.publish("", queue)
        assert told(trace, "dead_letter_dropped")["why"] == why
        assert trace.over == "count"


def test_a_killed_consumer_leaves_its_messages_to_the_next_one(world, peer, follow):
    trace = follow(queue="q")
    peer.publish("", "q")
    worker = world.connect()
    tag = worker.consume("q")
    worker.disconnect()
    requeued = told(trace, "requeued")
    assert (tag, worker.session.name) == (requeued["consumer_tag"], requeued["connection"])
    assert requeued["why"] == "its channel or connection was closed"
    peer.consume("q")
    assert told(trace, "delivered")["redelivered"]


def test_basic_get_is_a_delivery_as_well(peer, follow):
    trace = follow(queue="q")
    peer.publish("", "q")
    peer.get("q", no_ack=False)
    delivered = told(trace, "delivered")
    assert delivered["consumer_tag"] is None
    peer.disconnect()
    assert told(trace, "requeued")["connection"] == peer.session.name


def test_a_message_that_is_purged_or_deleted_with_its_queue_says_so(peer, follow):
    trace = follow(queue="q")
    peer.publish("", "q")
    peer.call(Queue.Purge(queue="q"))
    assert names(trace)[-3:] == ["purged", "settled", "ended"]
    trace = follow(queue="q")
    peer.publish("", "q")
    peer.get("q", no_ack=False)
    peer.call(Queue.Delete(queue="q"))
    assert names(trace)[-3:] == ["deleted", "settled", "ended"]


def test_a_message_from_before_the_trace_is_found_when_something_happens_to_it(world, peer, follow):
    peer.publish("", "q", headers={"order": 7})
    peer.publish("", "q", headers={"order": 8})
    world.clock.advance(5_000)
    trace = follow(headers=(("order", "8"),))
    peer.get("q")
    assert names(trace) == []
    peer.get("q")
    found, delivered, *_ = trace.poll(10)
    assert ("found", "q", 5_000) == (found["event"], found["queue"], found["after_ms"])
    assert delivered["event"] == "delivered"


def test_a_message_that_only_its_dead_letter_brings_to_the_queue_is_found(world, peer, follow):
    declare_dying(peer)
    trace = follow(queue="dead")
    peer.publish("", "dying", expiration="5")
    world.advance(10)
    assert names(trace) == ["found", "dead_lettered", "routed"]


def test_a_direct_reply_is_told(world, peer, follow):
    asker = world.connect()
    asker.consume("amq.rabbitmq.reply-to", no_ack=True)
    asker.publish("", "q", reply_to="amq.rabbitmq.reply-to")
    address = peer.get("q").properties.reply_to
    trace = follow(exchange="", count=2)
    peer.publish("", address)
    peer.publish("", address + "x")
    assert names(trace) == ["published", "replied", "settled", "published", "unroutable", "settled", "ended"]


def test_each_copy_of_a_message_must_be_settled(peer, follow):
    peer.declare("other")
    for queue in ("q", "other"):
        peer.call(Queue.Bind(queue=queue, exchange="amq.fanout"))
    trace = follow(exchange="amq.fanout")
    peer.publish("amq.fanout", "")
    peer.get("q")
    assert "settled" not in names(trace)
    peer.get("other")
    assert names(trace) == ["delivered", "settled", "ended"]


def test_there_are_so_many_traces_and_no_more(world, peer, follow):
    traces = [follow(queue="q") for _ in range(TRACES_MAX)]
    assert world.broker.traces.follow(world.vhost, 1, 1_000, "q") is None
    peer.publish("", "q")
    assert [names(trace) for trace in traces] == [["published", "routed"]] * TRACES_MAX
    traces[0].stop("stopped")
    assert world.broker.traces.follow(world.vhost, 1, 1_000, "q") is not None


def test_a_moved_message_is_followed_into_its_new_queue(world, peer, follow):
    peer.declare("elsewhere")
    for _ in range(3):
        peer.publish("", "q")
    trace = follow(queue="elsewhere", count=2)
    peer.publish("", "q", b"seen")
    move = world.broker.moves.to_queue(world.vhost.queues["q"], world.vhost.queues["elsewhere"])
    for _ in move.run(lambda _: world.run(), BROKER):
        world.run()
    events = trace.poll(100)
    assert [event["event"] for event in events] == ["found", "found", "moved", "moved"]
    assert (events[-1]["to"], events[-1]["routed"]) == (["elsewhere"], False)
    assert len(peer.drain("elsewhere")) == 4
    assert names(trace) == ["delivered", "settled", "delivered", "settled", "ended"]


def test_a_message_moved_to_an_exchange_tells_its_bindings(world, peer, follow):
    peer.declare("elsewhere")
    declare_exchange(peer, "x", "topic")
    peer.call(commands.Queue.Bind(queue="elsewhere", exchange="x", routing_key="a.*"))
    peer.publish("", "q")
    trace = follow(queue="q")
    move = world.broker.moves.to_exchange(world.vhost.queues["q"], world.vhost.exchanges["x"], "a.b")
    for _ in move.run(lambda _: world.run(), BROKER):
        world.run()
    found, moved, routed = trace.poll(100)
    assert (found["event"], moved["event"], routed["event"]) == ("found", "moved", "routed")
    assert (moved["exchange"], moved["routing_key"], moved["routed"]) == ("x", "a.b", True)
    assert [(step["exchange"], step["key"], step["to"]) for step in routed["path"]] == [("x", "a.*", "elsewhere")]


def test_a_dead_letter_that_must_stay_says_why_once(world, peer, follow):
    arguments = {**LETTERS, "x-overflow": "reject-publish", "x-dead-letter-strategy": "at-least-once"}
    peer.declare("kept", {**arguments, "x-queue-type": "quorum"}, durable=True)
    trace = follow(queue="kept")
    peer.publish("", "kept", expiration="5")
    world.advance(10)
    waiting = told(trace, "waiting")
    assert ("dead_letter", "exchange 'dlx' is missing or routes to no queue") == (waiting["why"], waiting["text"])
    world.advance(5_000)
    assert "waiting" not in names(trace)
    declare_exchange(peer, "dlx", "fanout")
    peer.call(Queue.Bind(queue="q", exchange="dlx"))
    world.advance(1_000)
    assert names(trace)[:2] == ["dead_lettered", "routed"]


def test_a_delivery_that_timed_out_says_so(world, peer, follow):
    world.broker.settings.consumer_timeout_ms = 60_000
    world.broker.settings.close_timed_out = False
    trace = follow(queue="q", duration_ms=10_000_000)
    peer.publish("", "q")
    worker = world.connect()
    worker.consume("q")
    names(trace)
    for _ in range(8):
        world.advance(60_000)
    back = [event["why"] for event in trace.poll(100) if event["event"] == "requeued"]
    assert set(back) == {"its acknowledgement timed out"}


def test_a_message_that_waits_for_its_retry_is_followed(world, peer, follow):
    peer.declare("again", {"x-delayed-retry-type": "all", "x-delayed-retry-min": 1_000})
    trace = follow(queue="again")
    peer.publish("", "again")
    peer.consume("again")
    peer.send(Basic.Nack(peer.next().method.delivery_tag, requeue=True))
    *_, requeued, delayed = trace.poll(100)
    assert ("requeued", "retry_delayed", 1, 1_000) == (
        requeued["event"],
        delayed["event"],
        delayed["deliveries"],
        delayed["due_in_ms"],
    )
    world.advance(1_000)
    assert names(trace)[:2] == ["retry_due", "delivered"]
    peer.send(Basic.Nack(peer.next().method.delivery_tag, requeue=True))
    peer.call(Queue.Purge(queue="again"))
    assert names(trace)[-4:] == ["retry_delayed", "purged", "settled", "ended"]


def test_a_stream_keeps_a_message_whoever_reads_it(peer, follow):
    peer.declare("s", {"x-queue-type": "stream"}, durable=True)
    peer.call(Queue.Bind(queue="s", exchange="amq.fanout"))
    peer.call(Queue.Bind(queue="q", exchange="amq.fanout"))
    peer.call(Basic.Qos(prefetch_count=5))
    peer.consume("s")
    trace = follow(exchange="amq.fanout")
    peer.publish("amq.fanout", "", b"x")
    peer.send(Basic.Ack(peer.next().method.delivery_tag))
    first, second = (event for event in trace.poll(10) if event["event"] == "routed")
    assert {"q": False, "s": True} == {each["queue"]: each["durable"] for each in (first, second)}
    peer.get("q")
    events = trace.poll(10)
    assert ["delivered", "settled", "ended"] == [event["event"] for event in events]
    assert ("q", ["s"]) == (events[0]["queue"], events[1]["streams"])
